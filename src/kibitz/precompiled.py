"""Compiled code that a wheel brings along, so that not even the first move has to wait for a compiler.

`make wheel` compiles all games and their experts for x86-64-v3, which most processors since 2015 can run, and
puts the code into the package (`precompiled.zip`, an archive as in `kibitz.archive`). It is used where the
processor has the instructions and the sources and versions agree; elsewhere code is compiled as usual. Code
that was compiled for the very processor is up to an eighth faster, so that is done in the background, and
used from the next start on. `KIBITZ_PRECOMPILED=0` does without all this.
"""

from __future__ import annotations

import atexit
import importlib
import json
import os
import pickle
import subprocess
import sys
import threading
import time
import zipfile
from collections.abc import Callable
from contextlib import suppress
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple

from llvmlite.binding import get_host_cpu_features
from numba.core import serialize

from kibitz import cache as compiled
from kibitz import kernel
from kibitz.archive import MANIFEST

FILE = Path(__file__).with_name("precompiled.zip")

INSTRUCTIONS = {
    "x86-64-v3": ("avx", "avx2", "bmi", "bmi2", "f16c", "fma", "lzcnt", "movbe", "popcnt", "sse4.2", "xsave")
}
"""What a processor must have for code that was compiled for a level of x86-64."""


class _Shipped(NamedTuple):
    archive: zipfile.ZipFile
    names: frozenset[str]
    processor: dict[str, str]


@cache
def _shipped() -> _Shipped | None:
    """The code that came with the package, if this processor can run it."""
    if os.environ.get("KIBITZ_PRECOMPILED") == "0":
        return None
    try:
        archive = zipfile.ZipFile(FILE)
        processor = json.loads(archive.read(MANIFEST))["processor"]
        needed, system = INSTRUCTIONS.get(processor["processor"]), processor["system"]
    except Exception:  # no such file, or a damaged one: code is compiled as usual
        return None
    here = get_host_cpu_features()
    runs = needed is not None and all(here.get(name) for name in needed)
    if not runs or system != kernel.processor()["system"]:
        return None
    return _Shipped(archive, frozenset(archive.namelist()), processor)


def read(folder: str, name_for: Callable[[dict[str, str]], str]) -> bytes | None:
    """The content of a file, named by the processor it was compiled for; None if it is not there."""
    shipped = _shipped()
    if shipped is None:
        return None
    name = f"{folder}/{name_for(shipped.processor)}"
    if name not in shipped.names:
        return None
    try:
        with _lock:
            return compiled.content_of(shipped.archive.read(name))
    except Exception:  # damaged
        return None


# --- compiled natively in the background -------------------------------------------------------------

_lock = threading.RLock()
_wanted: list[tuple[str, str, Any, Any]] = []
_BREATH = 3.0
"""Seconds after which the background starts: until then the first move has been made."""
_LONGEST = 1800.0
"""Seconds after which another process may compile in the background, whatever became of the last one."""


def compile_natively(entry: kernel.Entry, classes: Any, types_of_arguments: Any) -> None:
    """Compile a version for this very processor in a process of its own, and keep it for the next start."""
    with _lock:
        if not _wanted:
            atexit.register(_start)
            timer = threading.Timer(_BREATH, _start)
            timer.daemon = True
            timer.start()
        _wanted.append((entry.function.__module__, entry.__name__, classes, types_of_arguments))


def _start() -> None:
    with _lock:
        if not _wanted:
            return
        work = serialize.dumps(list(_wanted))
        _wanted.clear()
    # As in `kibitz.web.worker`, nothing is imported from the current folder.
    path = os.pathsep.join(filter(None, sys.path))
    environment = {**os.environ, "KIBITZ_PRECOMPILED": "0", "PYTHONPATH": path}
    with suppress(OSError):  # then the next process tries
        child = subprocess.Popen(
            [sys.executable, "-P", "-m", "kibitz.precompiled"],
            stdin=subprocess.PIPE,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            env=environment,
            start_new_session=True,  # Ctrl-C is not for it
            creationflags=getattr(subprocess, "CREATE_NEW_PROCESS_GROUP", 0),  # nor is it on Windows
        )
        assert child.stdin is not None
        with child.stdin as stream:
            stream.write(work)
        child.returncode = 0  # it outlives this process, and nobody waits for it


def main() -> None:
    """Compile what another process of this user asks for on standard input, unless one of us is at it."""
    if hasattr(os, "nice"):
        os.nice(19)
    work = sys.stdin.buffer.read()
    busy = compiled.root() / "background"
    with suppress(OSError):  # left by a process that was killed
        if time.time() - busy.stat().st_mtime > _LONGEST:
            busy.unlink()
    try:
        busy.touch(mode=0o600, exist_ok=False)
    except OSError:
        return
    try:
        for module, name, classes, types_of_arguments in pickle.loads(work):
            with suppress(Exception):  # one that fails does not hold up the others
                getattr(importlib.import_module(module), name).compile(classes, types_of_arguments)
    finally:
        busy.unlink(missing_ok=True)


if __name__ == "__main__":
    main()

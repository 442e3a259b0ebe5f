"""How a program ends: by Ctrl-C or SIGTERM, or by a crash of compiled code.

The first signal ends a program in good order, the second one ends it in any case.

Python calls a handler between two steps of its main thread, and compiled code is one long step. But every
signal is also noted in a socket at once (`signal.set_wakeup_fd`), and compiled code lets other threads run:
one of them reads that socket. What is in a store is safe; what was about to be printed is lost.

After a crash no Python code runs. But Python's `faulthandler` can still write to a pipe, and a small process
at its other end says whose rules were played.
"""

from __future__ import annotations

import atexit
import faulthandler
import os
import signal
import socket
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Any

GRACE_SECONDS = 1.5
"""After the second signal: batch systems send SIGTERM twice, and mean an end in good order."""
INTERRUPTED = 130
_MESSAGE_SECONDS = 0.2
_SIGNALS = (signal.SIGINT, signal.SIGTERM)

_noted: list[socket.socket] = []  # both ends; a socket that nobody holds would be closed
_asked = threading.Event()


def end_when_asked() -> None:
    """Let SIGINT and SIGTERM raise `KeyboardInterrupt` once, and end the process if they come again."""
    if _noted or threading.current_thread() is not threading.main_thread():
        return
    name_crashes()
    for number in _SIGNALS:
        if signal.getsignal(number) is not signal.SIG_IGN:  # a shell's background jobs ignore Ctrl-C
            signal.signal(number, _interrupt)
    reader, writer = socket.socketpair()
    writer.setblocking(False)
    _noted.extend((reader, writer))
    signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    atexit.register(_ignore)
    threading.Thread(target=_watch, args=(reader,), daemon=True, name="signals").start()


def _interrupt(_number: int, _frame: Any) -> None:
    """The first signal is Ctrl-C; what comes later must not disturb the end that has begun."""
    if not _asked.is_set():
        _asked.set()
        raise KeyboardInterrupt


def _ignore() -> None:
    """The very end, when Python takes the handlers away, takes no time: a second signal changes nothing."""
    if _asked.is_set():
        for number in _SIGNALS:
            signal.signal(number, signal.SIG_IGN)


def _watch(reader: socket.socket) -> None:
    """Count signals, and end the process when there were two and it is still there."""
    came = 0
    while came < 2:
        came += sum(number in _SIGNALS for number in reader.recv(64))
    time.sleep(GRACE_SECONDS)
    message = threading.Thread(target=_say_so, daemon=True)
    message.start()
    message.join(_MESSAGE_SECONDS)  # a pipe that nobody reads holds up whoever writes to it
    os._exit(INTERRUPTED)


def _say_so() -> None:
    with suppress(OSError, ValueError):
        print("kibitz: ended at once; what was finished before is kept", file=sys.stderr, flush=True)


@contextmanager
def without_delay() -> Iterator[None]:
    """Let the first signal end the process, while code runs that lets no other thread run.

    Neither a handler nor the thread above would get its turn before that code is done.
    """
    ours = [number for number in _SIGNALS if signal.getsignal(number) is _interrupt]
    if not ours or threading.current_thread() is not threading.main_thread():
        yield
        return
    for number in ours:
        signal.signal(number, signal.SIG_DFL)
    try:
        yield
    finally:
        for number in ours:
            signal.signal(number, _interrupt)


# --- crashes ---------------------------------------------------------------------------------------

_FAULTS = ("SIGSEGV", "SIGBUS", "SIGILL", "SIGFPE", "SIGABRT")
"""What ends a process that reads, writes or jumps where it must not."""
_WINDOWS_FAULT = 0xC0000000
"""There, exit codes from here on."""


def fault_of(code: int | None) -> str:
    """The fault that the exit code of a process tells of; empty if no fault ended it.

    >>> fault_of(-11), fault_of(3)
    ('SIGSEGV', '')
    """
    if code and code >= _WINDOWS_FAULT:
        return f"code {code:#x}"
    return next((name for name in _FAULTS if code and code == -getattr(signal, name, 0)), "")


_WITNESS = "import sys\nif sys.stdin.buffer.read(): print(sys.argv[1], file=sys.stderr)"


class _Crashes:
    """Who says whose rules were played, if this process crashes."""

    is_wanted = False
    played: tuple[str, ...] = ()
    witness: subprocess.Popen[bytes] | None = None

    def watch(self, file: str) -> None:
        """From now on, a crash may be the fault of this file, too."""
        if not self.is_wanted or file in self.played:
            return
        self.played = (*self.played, file)
        checks = " or ".join(f"`kibitz check {each}`" for each in self.played)
        text = (
            f"kibitz: the program crashed while it ran the rules of {', '.join(self.played)}, which may use "
            f"an index or a move that does not exist; {checks} looks for it"
        )
        before = self.witness
        with suppress(OSError):  # then a crash says nothing, as without this
            self.witness = subprocess.Popen(
                [sys.executable, "-I", "-S", "-c", _WITNESS, text],
                stdin=subprocess.PIPE,
                stdout=subprocess.DEVNULL,
                start_new_session=True,  # Ctrl-C is not for it
            )
            assert self.witness.stdin is not None
            faulthandler.enable(self.witness.stdin, all_threads=False)
            self.witness.returncode = 0  # it ends with this process, and nobody waits for it
        if before is not None and before.stdin is not None:
            before.stdin.close()


_crashes = _Crashes()


def name_crashes() -> None:
    """Let crashes of this process be told of on standard error."""
    _crashes.is_wanted = True


def may_crash(file: str) -> None:
    """The rules of this file are going to run as machine code."""
    _crashes.watch(file)

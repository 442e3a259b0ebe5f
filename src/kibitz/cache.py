"""Machine code on the disk: whose folder it lies in, and whether a file is as it was written.

Whoever can change such a file decides what this user runs. So a folder is used only if it belongs to the
user and nobody else can write in it, or put another one in its place. Folders that Kibitz makes are closed
to all others (mode 0700). On Windows there are no such modes to look at: the user's own cache folder is
closed by the system, and a folder that `KIBITZ_CACHE_DIR` names is taken as it is.

Every file begins with the SHA-256 of the rest, for machine code with one wrong bit would crash the process.
"""

from __future__ import annotations

import hashlib
import json
import os
import re
import shutil
import stat
import sys
import tempfile
from collections.abc import Callable, Iterable
from contextlib import suppress
from functools import cache
from pathlib import Path

from kibitz import sources as files
from kibitz.errors import Unwritable, say_once

_DIGEST_BYTES = 32


# --- folders ---------------------------------------------------------------------------------------


def root() -> Path:
    """The folder of all compiled code: `KIBITZ_CACHE_DIR`, or the user's cache folder."""
    chosen = os.environ.get("KIBITZ_CACHE_DIR")
    if chosen:
        return Path(chosen)
    import platformdirs

    return Path(platformdirs.user_cache_dir("kibitz")) / "compiled"


SOURCES = "sources.json"
"""In each folder: the modules that its code was compiled from, with the SHA-256 of each."""


def digest_of(modules: tuple[str, ...], settings: str) -> str:
    """What the folder of code compiled from `modules` with these settings is called."""
    return _digest(_sources_of(modules), settings)


def _sources_of(modules: tuple[str, ...]) -> dict[str, bytes]:
    return reachable_sources((*modules, "kibitz.protocol"), in_functions=False)  # it has the games' defaults


def _digest(sources: dict[str, bytes], settings: str) -> str:
    digest = hashlib.sha256(settings.encode())
    for name, text in sorted(sources.items()):
        digest.update(name.encode() + b"\0" + text + b"\0")
    return digest.hexdigest()[:16]


def folder_of(modules: tuple[str, ...], settings: str) -> Path | None:
    """Where code compiled from `modules` with these settings lives, or None if none can be kept there."""
    sources = _sources_of(modules)
    folder = folder_named(_digest(sources, settings))
    if folder is not None and not (folder / SOURCES).exists():
        write(folder / SOURCES, json.dumps({n: sha256_of(text) for n, text in sources.items()}).encode())
    return folder


def folder_named(digest: str) -> Path | None:
    """The folder with this name, made if need be; None if no code can be kept there."""
    folder = Path(os.path.realpath(root())) / digest
    return folder if _can_be_used(folder) else None


def sha256_of(content: bytes) -> str:
    """The digest of a source, as it is written down."""
    return hashlib.sha256(content).hexdigest()


@cache
def _can_be_used(folder: Path) -> bool:
    try:
        _make(folder)
        with tempfile.TemporaryFile(dir=folder):
            pass
        if is_private(folder):
            _close_older()
            return True
        say_once(
            f"other users can change {root()}, so no compiled code is taken from it, and none is kept; set "
            f"KIBITZ_CACHE_DIR to a folder of your own, or delete this one"
        )
    except OSError as error:
        say_once(
            f"{root()} is not writable ({error.strerror}), so compiled code is not kept; set "
            f"KIBITZ_CACHE_DIR to a writable folder"
        )
    return False


def _make(folder: Path) -> None:
    """Make a folder, and those above it, for this user alone."""
    if not folder.exists():
        _make(folder.parent)
        folder.mkdir(mode=0o700, exist_ok=True)


@cache
def _close_older() -> None:
    """Folders of older versions could be read by all."""
    for folder in folders():
        with suppress(OSError):  # somebody else's
            status = folder.lstat()
            if stat.S_ISDIR(status.st_mode) and status.st_mode & 0o077 and not _others_write(status):
                folder.chmod(0o700)


def is_private(folder: Path) -> bool:
    """Whether nobody else can write in a folder (given by its real path) or put another in its place."""
    if not hasattr(os, "geteuid"):
        return True
    own, user = folder.stat(), os.geteuid()
    if own.st_uid != user or _others_write(own):
        return False
    # In a container the system's folders may belong to somebody else than user 0.
    trusted = {user, 0, Path(folder.anchor).stat().st_uid}
    above = [each.stat() for each in folder.parents]
    # In a sticky folder, such as /tmp, others can make things, but neither rename nor delete ours.
    return all(
        each.st_uid in trusted and (not _others_write(each) or each.st_mode & stat.S_ISVTX) for each in above
    )


def _others_write(status: os.stat_result) -> bool:
    if status.st_mode & stat.S_IWOTH:
        return True
    return bool(status.st_mode & stat.S_IWGRP) and not _is_own_group(status.st_gid)


@cache
def _is_own_group(number: int) -> bool:
    """Whether a group has this user only: many systems make one for everybody, and let it write."""
    import grp
    import pwd

    try:
        user, group = pwd.getpwuid(os.geteuid()), grp.getgrgid(number)
    except KeyError:
        return False
    alone = set(group.gr_mem) <= {user.pw_name}
    return alone and group.gr_gid == user.pw_gid and group.gr_name == user.pw_name


def clear() -> int:
    """Delete all compiled code and nothing else; the number of bytes that were freed."""
    before = size()
    for folder in folders():
        shutil.rmtree(folder, ignore_errors=True)
    with suppress(OSError):  # what else lies there is not ours
        root().rmdir()
    _can_be_used.cache_clear()
    _close_older.cache_clear()
    if size():
        raise Unwritable(f"not all compiled code in {root()} could be deleted; no permission?")
    return before


def folders() -> list[Path]:
    """The folders that Kibitz has made, by their names: digests."""
    here = root()
    return [f for f in here.iterdir() if re.fullmatch("[0-9a-f]{16}", f.name)] if here.is_dir() else []


def size() -> int:
    """Bytes of compiled code on disk."""
    return sum(file.stat().st_size for f in folders() for file in f.rglob("*") if file.is_file())


# --- files -----------------------------------------------------------------------------------------


def read(file: Path) -> bytes | None:
    """What `write` has put into a file; None if there is none, or if it is not as it was written.

    A file that somebody else owns, or could write, is as good as none: its folder may have been open to all.
    """
    try:
        with open(file, "rb", opener=_open_ours) as opened:
            whole = opened.read()
    except PermissionError:
        discard(file)
        return None
    except OSError:
        return None
    content = content_of(whole)
    if content is None:
        discard(file)
    return content


def content_of(whole: bytes) -> bytes | None:
    """The content of a file without its digest; None if they do not agree."""
    digest, content = whole[:_DIGEST_BYTES], whole[_DIGEST_BYTES:]
    return content if hashlib.sha256(content).digest() == digest else None


def whole_of(content: bytes) -> bytes:
    """A content behind its digest, as it stands in a file."""
    return hashlib.sha256(content).digest() + content


def _open_ours(path: str, flags: int) -> int:
    """Open a file of this user's that nobody else can write, and that is no link; else `PermissionError`."""
    number = os.open(path, flags | getattr(os, "O_NOFOLLOW", 0))
    status = os.fstat(number)
    if hasattr(os, "geteuid") and (status.st_uid != os.geteuid() or _others_write(status)):
        os.close(number)
        raise PermissionError
    return number


def write(file: Path, content: bytes) -> None:
    """Keep a content; another process may be doing the same. On a full disk nothing is kept."""
    unfinished = file.with_suffix(f".{os.getpid()}")
    try:
        unfinished.touch(mode=0o600)
        unfinished.write_bytes(whole_of(content))
        unfinished.replace(file)
    except OSError:
        discard(unfinished)


def discard(file: Path) -> None:
    """Delete a file that is of no use."""
    with suppress(OSError):
        file.unlink(missing_ok=True)


# --- sources ---------------------------------------------------------------------------------------

_IMPORT = re.compile(r"^(\s*)(?:from\s+([\w.]+)\s+import\s+(\([^)]*\)|[^\n]*)|import\s+([\w., ]+))", re.M)


def reachable_sources(
    modules: tuple[str, ...], without: Iterable[str] = (), in_functions: bool = True
) -> dict[str, bytes]:
    """The sources of `modules` and of all they import from Kibitz or from their own home.

    Numba looks only at the file of the entry itself and would not see an edit anywhere else. For rules from a
    file it is the text that runs here, whatever has become of the file. Compiled code knows nothing of what
    Kibitz imports within a function, which may have been loaded or not.
    """
    sources: dict[str, bytes] = dict.fromkeys(without, b"")
    waiting = list(modules)
    homes = [_home(name) for name in modules]
    while waiting:
        name = waiting.pop()
        module = sys.modules.get(name)
        file = getattr(module, "__file__", None)
        if name in sources or not file or not any(home(name, file) for home in homes):
            continue
        package = getattr(module, "__package__", "") or ""
        loader = files.loader_of(module)
        if loader is not None:
            sources[name] = loader.source
            waiting += files.imports(loader.source, package)
            continue
        sources[name] = Path(file).read_bytes() if Path(file).is_file() else b""
        for indented, source, names, plain in _IMPORT.findall(sources[name].decode()):
            if indented.strip("\n") and not in_functions and name.split(".")[0] == "kibitz":
                continue
            names = re.sub(r"#.*|[()\\]", "", names)
            if source.startswith("."):
                up = len(source) - len(source.lstrip("."))
                parts = package.split(".")[: len(package.split(".")) - up + 1]
                source = ".".join([*parts, source.lstrip(".")]).strip(".")
            waiting += [f"{source}.{n.split(' as ')[0].strip()}" for n in names.split(",")]
            waiting += [source, *(n.split(" as ")[0].strip() for n in plain.split(","))]
    return {name: text for name, text in sources.items() if name not in without}


def _home(name: str) -> Callable[[str, str], bool]:
    """Whether a module belongs to the same package as `name`, or lies beside it or below."""
    top = name.split(".")[0]
    file = getattr(sys.modules.get(name), "__file__", None)
    folder = Path(file).parent if file and "." not in name else None

    def is_home(other: str, other_file: str) -> bool:
        path = Path(other_file)
        beside = folder is not None and folder in path.parents and "site-packages" not in path.parts
        return beside or other.split(".")[0] in (top, "kibitz")

    return is_home

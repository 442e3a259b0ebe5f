"""Files and stores that commands name: checked before work starts, then opened."""

from __future__ import annotations

import os
from pathlib import Path
from typing import TYPE_CHECKING

from kibitz.cli.output import warn
from kibitz.errors import BadOption, Unwritable, quoted

if TYPE_CHECKING:
    from kibitz.arena.store import Store


def must_be_writable(path: Path) -> None:
    """Raise an error before hours of work rather than after them; nothing on the disk is changed."""
    folder = path.parent
    if path.is_dir():
        raise Unwritable(f"{path} is a folder; give the name of a file")
    if not folder.is_dir():
        raise Unwritable(f"{path} cannot be written: there is no folder {folder}; make it, or choose another")
    if not os.access(path if path.exists() else folder, os.W_OK):
        raise Unwritable(f"{path} cannot be written: no permission; choose another with --out")


def must_be_new(file: Path, force: bool) -> None:
    """Raise an error if the file exists, unless it may be overwritten."""
    if file.is_file() and not force:
        raise BadOption(f"{quoted(str(file))} exists already; give another name, or --force to overwrite it")


def open_store(path: Path | None) -> Store:
    """The store that was named, or the one in the user's data folder."""
    from kibitz.arena.store import Store, default_store

    if path is None:
        path = default_store()
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise Unwritable(
                f"{path.parent} cannot be made ({error.strerror}); name a store with --store"
            ) from error
    return Store(path)


def open_to_read(path: Path) -> Store:
    """A store that is not changed; if it is incomplete, a warning says what is missing."""
    from kibitz.arena.store import Store

    store = Store(path, read_only=True)
    if store.incomplete:
        warn(store.incomplete)
    return store


def allow(files: dict[str, frozenset[str]]) -> None:
    """List the files that data name, then let them run; a file that has changed since is refused."""
    from kibitz import trust

    digests = {file: trust.digest(file) for file in files}
    for file, recorded in files.items():
        about = "no such file" if not digests[file] else f"sha256 {digests[file][:16]}…"
        about += ", as recorded" if digests[file] in recorded else ""
        helpers = trust.helpers(file)
        about += f"; with {', '.join(map(quoted, helpers))} beside it" if helpers else ""
        warn(f"--trust: {quoted(file, 300)} ({about})")
    if not files:
        warn("--trust: the data names no file")
    for file, recorded in files.items():
        if digests[file]:
            trust.allow_file(file, recorded)

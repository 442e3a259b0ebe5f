"""Compiled code in one file, for other machines of the same kind: a class of laptops, a cluster.

Machine code is right only where the processor, the versions of Numba, NumPy and Python, and all sources are
those that it was compiled with. An archive says what they were, and code goes into the cache of another
machine only if all of them agree there. It is a program, too: whoever takes it in has to trust its maker.
"""

from __future__ import annotations

import functools
import importlib.util
import io
import json
import re
import zipfile
from collections.abc import Iterable
from importlib import metadata
from pathlib import Path
from typing import Any, NamedTuple

import kibitz
from kibitz import cache, kernel
from kibitz.errors import InputError, Unwritable, quoted

MANIFEST = "manifest.json"
_KIND = "compiled code of Kibitz, 1"
_FOLDER, _FILE = re.compile("[0-9a-f]{16}"), re.compile("[0-9a-f]{16}/[0-9a-f]{16}-[0-9a-f]{16}[.]nbc")
_MOST_BYTES = 2_000_000_000
_LONGEST_TEXT = 5_000  # the features of a processor are about 2,000 letters


class Mismatch(InputError):
    """Compiled code that is not for this machine, with what differs."""


class Archive(NamedTuple):
    """What an archive holds."""

    versions: dict[str, str]
    processor: dict[str, str]
    folders: dict[str, dict[str, str]]
    """Folder of the cache → module → SHA-256 of its source."""
    files: dict[str, bytes]

    @property
    def about(self) -> str:
        """The machine that it is for, in one line."""
        versions = ", ".join(f"{name} {self.versions[name]}" for name in ("Numba", "NumPy", "Python"))
        return f"{self.processor['processor']} ({self.processor['system']}), {versions}"

    def must_fit(self) -> None:
        """`Mismatch` unless the processor, all versions and all sources are those of this machine."""
        for what, theirs, ours in (
            *_pairs(self.processor, kernel.processor()),
            *_pairs(self.versions, kernel.versions()),
        ):
            if theirs != ours:
                raise Mismatch(
                    f"the code was compiled for another machine: {_difference(what, theirs, ours)}"
                )
        for sources in self.folders.values():
            for module, digest in sources.items():
                if _source_digest(module) != digest:
                    raise Mismatch(
                        f"the code was compiled from other sources: {module} is not the same here. Install "
                        f"the same version of Kibitz, without edits, on both machines, or compile here: "
                        f"kibitz cache warm"
                    )

    def unpack(self) -> int:
        """Put the code into the cache of this machine; the number of files that are new there."""
        self.must_fit()
        contents = {name: cache.content_of(whole) for name, whole in self.files.items()}
        damaged = [name for name, content in contents.items() if content is None]
        if damaged:  # then nothing of it is taken in
            raise Mismatch(f"{damaged[0]} in the archive is damaged; export it again")
        added = 0
        for name, content in contents.items():
            digest, _, file = name.partition("/")
            folder = cache.folder_named(digest)
            if folder is None:
                raise Unwritable(f"nothing can be kept in {cache.root()}")
            assert content is not None
            if not (folder / file).exists():
                cache.write(folder / file, content)
                added += 1
            if not (folder / cache.SOURCES).exists():
                cache.write(folder / cache.SOURCES, json.dumps(self.folders[digest]).encode())
        return added


def _pairs(theirs: dict[str, str], ours: dict[str, str]) -> list[tuple[str, str, str]]:
    return [(name, theirs.get(name, "unknown"), ours[name]) for name in ours]


def _difference(what: str, theirs: str, ours: str) -> str:
    if what != "features":
        return f"{what} {theirs}, and here it is {ours}"
    there, here = set(theirs.split(",")), set(ours.split(","))
    other = sorted(feature.lstrip("+") for feature in there ^ here if feature.startswith("+"))
    return f"its processor has other instructions ({', '.join(other[:5]) or 'unknown'})"


# --- making one ------------------------------------------------------------------------------------


def collect(module: str = "kibitz") -> list[Path]:
    """The code in the cache that was compiled for this processor, from this module among others."""
    ending = kernel.suffix(kernel.processor())
    folders = [folder for folder in cache.folders() if module in _sources_of(folder)]
    return [file for folder in folders for file in sorted(folder.iterdir()) if file.name.endswith(ending)]


def pack(files: Iterable[Path]) -> tuple[bytes, int]:
    """An archive of some files of the cache, and their number.

    Left out is what nobody else could use: code of sources that have changed since, or that are no part of an
    installed package.
    """
    packed = io.BytesIO()
    folders: dict[str, dict[str, str]] = {}
    taken = 0
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as archive:
        for file in files:
            digest = file.parent.name
            if digest not in folders:
                folders[digest] = _sources_of(file.parent)
            content = cache.read(file) if folders[digest] else None
            if content is not None:
                archive.writestr(f"{digest}/{file.name}", cache.whole_of(content))
                taken += 1
        manifest = {
            "kind": _KIND,
            "kibitz": kibitz.__version__,
            "versions": kernel.versions(),
            "processor": kernel.processor(),
            "folders": {digest: sources for digest, sources in folders.items() if sources},
        }
        archive.writestr(MANIFEST, json.dumps(manifest, indent=1))
    return packed.getvalue(), taken


def _sources_of(folder: Path) -> dict[str, str]:
    """The sources of a folder of the cache; none, if they are no longer, or not, those installed here."""
    noted = cache.read(folder / cache.SOURCES)
    sources: dict[str, str] = json.loads(noted) if noted is not None else {}
    return sources if all(_source_digest(module) == digest for module, digest in sources.items()) else {}


@functools.cache  # every folder of the cache asks for the same modules
def _source_digest(module: str) -> str:
    """The digest of an installed module's source; empty if there is none. Nothing is imported for it."""
    top, *inside = module.split(".")
    if top not in _packages() or not all(part.isidentifier() for part in inside):
        return ""
    spec = importlib.util.find_spec(top)
    origin = Path(spec.origin) if spec is not None and spec.origin else None
    if origin is None:
        return ""
    place = origin.parent.joinpath(*inside)
    file = (place / "__init__.py" if place.is_dir() else place.with_suffix(".py")) if inside else origin
    return cache.sha256_of(file.read_bytes()) if file.is_file() else ""


@functools.cache
def _packages() -> set[str]:
    """Kibitz, and those that bring games of their own."""
    points = metadata.entry_points(group="kibitz.games")
    return {"kibitz", *(point.module.partition(".")[0] for point in points)}


# --- reading one -----------------------------------------------------------------------------------


def read(file: Path) -> Archive:
    """The archive in a file; `InputError` if it is none. What it holds is neither loaded nor run."""
    try:
        return parse(file.read_bytes())
    except OSError as error:
        raise InputError(f"{quoted(str(file))} cannot be read: {error.strerror or error}") from error
    except InputError as error:
        raise InputError(f"{quoted(str(file))} {error}") from error


def parse(packed: bytes) -> Archive:
    """The archive in some bytes."""
    refusal = InputError("is not compiled code that `kibitz cache export` has written")
    try:
        with zipfile.ZipFile(io.BytesIO(packed)) as archive:
            if sum(member.file_size for member in archive.infolist()) > _MOST_BYTES:
                raise refusal
            manifest: dict[str, Any] = json.loads(archive.read(MANIFEST))
            kind = manifest["kind"]
            names = [name for name in archive.namelist() if name != MANIFEST]
            found = Archive(
                _texts(manifest["versions"]),
                _texts(manifest["processor"]),
                {digest: _texts(sources) for digest, sources in manifest["folders"].items()},
                {name: archive.read(name) for name in names},
            )
    except Exception as error:  # a damaged archive makes the standard library raise almost anything
        raise refusal from error
    is_right = (
        kind == _KIND
        and {"Numba", "NumPy", "Python"} <= set(found.versions)
        and {"system", "processor", "features"} <= set(found.processor)
        and all(_FOLDER.fullmatch(digest) for digest in found.folders)
        and all(_FILE.fullmatch(name) and name.partition("/")[0] in found.folders for name in names)
    )
    if not is_right:
        raise refusal
    return found


@functools.lru_cache(maxsize=4)
def take_in(packed: bytes) -> int:
    """Put the code of an archive into the cache, once in a process; the number of new files there."""
    return parse(packed).unpack()


def _texts(found: Any) -> dict[str, str]:
    """Names with short texts, as a manifest has them; `TypeError` if they are anything else."""
    if not isinstance(found, dict) or not all(
        isinstance(text, str) and len(text) <= _LONGEST_TEXT and text.isprintable()
        for pair in found.items()
        for text in pair
    ):
        raise TypeError
    return found

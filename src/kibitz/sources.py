"""Rules from a file: which files they are made of, and how exactly those texts are run.

Python would take a module from wherever it finds one: from a `.pyc` that is never compared with its source,
from a compiled library, or from a file that was replaced a moment ago. So each file is read once (`collect`),
`kibitz.trust` decides about these texts, and they are what runs (`run`). A module beside the file that is not
among them is refused.
"""

from __future__ import annotations

import ast
import importlib
import sys
import threading
import warnings
from collections.abc import Iterator, Sequence
from functools import lru_cache
from importlib.abc import InspectLoader, MetaPathFinder
from importlib.machinery import ModuleSpec, PathFinder
from importlib.util import decode_source, module_from_spec, spec_from_file_location
from pathlib import Path
from types import CodeType, ModuleType

from kibitz.errors import BadGame, Untrusted, quoted

Texts = dict[str, bytes]
"""Path in the folder of the rules → content."""

# --- which files ---------------------------------------------------------------------------------------


def collect(path: Path) -> Texts:
    """A file and the Python files beside it that it imports, each read once; nothing, if there is no file."""
    folder, waiting, found = path.parent, [path], Texts()
    while waiting:
        file = waiting.pop()
        place = file.relative_to(folder)
        if place.as_posix() in found or not file.is_file():
            continue
        found[place.as_posix()] = content = file.read_bytes()
        if file.suffix == ".py":
            for name in imports(content, ".".join(place.parts[:-1])):
                waiting += _places_of(name, folder)
    return found


@lru_cache(maxsize=256)
def imports(source: bytes, package: str = "") -> tuple[str, ...]:
    """The names of all modules that a source may import, wherever in it; none, if Python cannot read it.

    >>> imports(b"if 1: import a.b; from .c import d", "parts")
    ('a.b', 'parts.c', 'parts.c.d')
    """
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return ()
    found: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            found += [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            above = package.split(".") if node.level and package else []
            above = above[: len(above) - max(0, node.level - 1)]
            parts = [*above, node.module] if node.module else above
            found += [".".join(parts), *(".".join([*parts, alias.name]) for alias in node.names)]
    return tuple(dict.fromkeys(filter(None, found)))


def _places_of(name: str, folder: Path) -> Iterator[Path]:
    """Where the source of a module would be, and of those above it; a package is taken whole."""
    parts = name.split(".")
    if parts[0] == "kibitz":  # is running, whatever lies beside the rules
        return
    for n in range(1, len(parts) + 1):
        place = folder.joinpath(*parts[:n])
        yield place.with_name(f"{place.name}.py")
        yield place / "__init__.py"
    if (folder / parts[0] / "__init__.py").is_file():
        yield from (folder / parts[0]).rglob("*.py")


# --- running them --------------------------------------------------------------------------------------


class Loader(InspectLoader):
    """Runs a text from memory; Python's own loaders would read the disk again."""

    def __init__(self, file: Path, source: bytes, texts: Texts) -> None:
        self.file, self.source = file, source
        self.texts = texts
        """Of the rules that it belongs to."""

    def get_source(self, fullname: str) -> str:
        return decode_source(self.source)

    def get_code(self, fullname: str) -> CodeType:
        return self.source_to_code(self.source, str(self.file))

    def spec(self, name: str) -> ModuleSpec:
        """What Python wants to know of a module before it makes one."""
        inside = [str(self.file.parent)] if self.file.name == "__init__.py" else None
        spec = spec_from_file_location(name, self.file, loader=self, submodule_search_locations=inside)
        assert spec is not None
        return spec


def loader_of(module: ModuleType | None) -> Loader | None:
    """What has run a module, if it is one of rules from a file."""
    found = getattr(getattr(module, "__spec__", None), "loader", None)
    return found if isinstance(found, Loader) else None


def run(name: str, path: Path, texts: Texts) -> ModuleType:
    """The module that these texts of a file and its helpers make; the same one, if they have run already."""
    with _lock:
        if name in sys.modules:
            loader = loader_of(sys.modules[name])
            if loader is None or loader.texts != texts:
                raise _changed(path)
            return sys.modules[name]
        loader = Loader(path, texts[path.name], texts)
        helpers = {_name_of(place): Loader(path.parent / place, texts[place], texts) for place in texts}
        if not any(_name_of(path.name) in imports(texts[place]) for place in texts if place != path.name):
            del helpers[_name_of(path.name)]  # a game may be called like a module that it imports: random.py
        _finder.refuse_hidden(helpers, path)
        return _execute(name, loader, helpers)


_lock = threading.RLock()


def _name_of(place: str) -> str:
    return ".".join(Path(place).with_suffix("").parts).removesuffix(".__init__")


def _execute(name: str, loader: Loader, helpers: dict[str, Loader]) -> ModuleType:
    spec = loader.spec(name)
    module = module_from_spec(spec)
    known, loaded = dict(_finder.helpers), set(sys.modules)
    if _finder not in sys.meta_path:
        sys.meta_path.insert(0, _finder)
    importlib.invalidate_caches()  # files beside it may be new
    _finder.helpers |= helpers
    _finder.loading = loader.file
    sys.modules[name] = module
    try:
        loader.exec_module(module)
    except BaseException:  # nothing half done may be found later
        _finder.helpers = known
        for each in set(sys.modules) - loaded:
            if loader_of(sys.modules[each]) is not None:
                del sys.modules[each]
        raise
    finally:
        _finder.loading = None
    return module


def _changed(file: Path) -> Untrusted:
    return Untrusted(f"{_shown(file)} has changed since it was loaded; start again to use it as it is now")


def _shown(file: Path) -> str:
    return quoted(file.name)[1:-1]


class _Finder(MetaPathFinder):
    """Gives rules their helpers, also those that they import when they are played."""

    def __init__(self) -> None:
        self.helpers: dict[str, Loader] = {}
        self.loading: Path | None = None

    def find_spec(
        self, name: str, path: Sequence[str] | None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        if name in sys.builtin_module_names:
            return None
        if name in self.helpers:
            spec = self.helpers[name].spec(name)
            above = self.helpers[name].file.parents[1 if spec.submodule_search_locations else 0]
            return spec if path is None or str(above) in path else None
        inside = next((each for each in self.helpers if each.startswith(f"{name}.")), None)
        if inside is not None and not _is_regular(PathFinder.find_spec(name, path)):
            spec = ModuleSpec(name, None, is_package=True)  # a folder without __init__.py
            file = self.helpers[inside].file
            folder = file.parents[inside.count(".") - name.count(".") - (file.name != "__init__.py")]
            spec.submodule_search_locations = [str(folder)]
            return spec if path is None or str(folder.parent) in path else None
        if self.loading is not None:
            self._refuse_unread(name, path, self.loading)
        return None

    def _refuse_unread(self, name: str, path: Sequence[str] | None, file: Path) -> None:
        """`Untrusted`, if Python would take a module from beside the file that is not among the texts."""
        place = file.parent.joinpath(*name.split(".")[:-1])
        beside, usual = PathFinder.find_spec(name, [str(place)]), PathFinder.find_spec(name, path)
        if not _is_regular(beside):
            return
        assert beside is not None
        assert beside.origin is not None
        if usual is None or not _is_regular(usual) or _is_same(str(usual.origin), beside.origin):
            raise Untrusted(
                f"{_shown(file)} imports {_shown(Path(beside.origin))} beside it, which is not run: only "
                f"Python sources that an import statement names are part of its digest"
            )

    def refuse_hidden(self, helpers: dict[str, Loader], path: Path) -> None:
        """A helper must not be another module of the same name that is loaded, or known, already."""
        for name, helper in sorted(helpers.items()):
            top, there = name.partition(".")[0], loader_of(sys.modules.get(name)) or self.helpers.get(name)
            module = sys.modules.get(top)
            files = [getattr(module, "__file__", None) or "", *getattr(module, "__path__", [])]
            elsewhere = [file for file in files if file and path.parent not in Path(file).resolve().parents]
            if elsewhere or (there is not None and there.file != helper.file):
                raise BadGame(
                    f"{_shown(path)} imports {quoted(top)}, but another module of that name is loaded; "
                    f"rename {quoted(top)[1:-1]}.py beside it"
                )
            if there is not None and there.source != helper.source:
                raise _changed(helper.file)


_finder = _Finder()


def _is_regular(spec: ModuleSpec | None) -> bool:
    """Whether a module has a file: a folder without `__init__.py` gives way to any other module."""
    return spec is not None and spec.origin is not None and spec.has_location


def _is_same(one: str, other: str) -> bool:
    return Path(one).resolve() == Path(other).resolve()

"""How plain Python rules become machine code: `@game`, `@component`, `@kernel`, `@entry`.

This is the only module that touches Numba's compiler. Five decorators:

| decorator    | on                   | makes                                                        |
|--------------|----------------------|--------------------------------------------------------------|
| `@kernel`    | a function           | a helper for compiled code and the interpreter alike         |
| `@component` | a `NamedTuple` class | an object (objective, policy) that compiled code can call    |
| `@game`      | a `NamedTuple` class | the same, completed with the defaults of `kibitz.protocol`   |
| `@entry`     | a function           | a door from Python into compiled code, cached on disk        |
| `@inlined`   | a kernel or method   | the same, put into its callers by the compiler               |

Compiled code finds a method by the class of its object: every method name is registered once
with Numba for all named tuples and resolves to `getattr(the class, name)`. So a search is written
once, and Numba makes a version of it for every game that is played.

Rules for everything that is compiled: nothing is allocated (buffers are arguments owned by the
caller), no objects, strings or exceptions, randomness only from an explicit `rng`. Then the same
text runs interpreted and compiled, and stays fit for a GPU.
"""

from __future__ import annotations

import functools
import hashlib
import inspect
import pickle
import re
import signal
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, TypeVar

import numba
import numpy as np
from llvmlite.binding import Linkage
from numba.core import config, event, serialize, types
from numba.core.codegen import JITCodeLibrary
from numba.core.compiler import Compiler, CompileResult
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.extending import overload_method, register_jitable

from kibitz import cache, compiling
from kibitz.errors import BadGame

_C = TypeVar("_C", bound=type)
_F = TypeVar("_F", bound=Callable[..., Any])


# --- parts of a program ---------------------------------------------------------------------------

# Left alone, Numba makes optimized machine code of every function together with all that it calls:
# the deepest ones are compiled once for each function on the way to them, and nobody runs the
# result, for only entries are called from Python. Here the other functions are parts, and an entry
# is linked from all of its parts and optimized as a whole. That takes half of the time or less.


class _Part(JITCodeLibrary):  # type: ignore[misc]
    """A function that only compiled code calls; it becomes machine code in the entries around it."""

    def finalize(self) -> None:
        self._finalized = True


class _Program(JITCodeLibrary):  # type: ignore[misc]
    """An entry with all its parts."""

    def _optimize_final_module(self) -> None:
        # Nobody else can call the parts of a program, and LLVM must know: then it inlines a function that has
        # one caller, and drops arguments that are constant. They get no symbol at all ("private", where
        # "internal" would keep a local one), because the linker would take a local symbol for the function of
        # the same name that another program holds.
        for function in self._final_module.functions:
            if not function.is_declaration and function.linkage == Linkage.linkonce_odr:
                function.linkage = Linkage.private
        super()._optimize_final_module()


class _Compiler(Compiler):  # type: ignore[misc]
    """Compiles without counting references: nothing is allocated, and the caller keeps its arrays.

    Counting was two thirds of the time of an alpha-beta search, and up to a third of that of others.
    """

    def __init__(
        self, typing: Any, target: Any, library: Any, args: Any, to: Any, flags: Any, names: Any
    ) -> None:
        flags = flags.copy()
        flags.nrt = False
        super().__init__(typing, target, library, args, to, flags, names)


class _PartCompiler(_Compiler):
    def compile_extra(self, function: Any) -> Any:
        flags = self.state.flags.copy()
        flags.no_compile = flags.no_cpython_wrapper = flags.no_cfunc_wrapper = True
        self.state.flags = flags
        self.state.library = _Part(self.state.targetctx.codegen(), function.__qualname__)
        done = super().compile_extra(function)
        if getattr(function, "is_inlined", False):
            code = done.library._final_module.get_function(done.fndesc.mangled_name)
            code.add_function_attribute("alwaysinline")
        # Numba knows code by its address; instead of one, there is an object that is never called.
        address: Any = [].append
        parts = dict.fromkeys([done.library, *done.library._linking_libraries])
        self.state.targetctx.insert_user_function(address, done.fndesc, list(parts))
        return done._replace(entry_point=address)


class _ProgramCompiler(_Compiler):
    def compile_extra(self, function: Any) -> Any:
        self.state.library = _Program(self.state.targetctx.codegen(), function.__qualname__)
        self.state.library.enable_object_caching()
        return super().compile_extra(function)


kernels: list[Callable[..., Any]] = []
"""All functions marked with `@kernel`, for `kibitz.gpu`."""


def kernel(function: _F) -> _F:
    """Mark a plain function as callable from compiled code; the interpreter calls it as it is."""
    kernels.append(function)
    return register_jitable(pipeline_class=_PartCompiler)(function)


def inlined(function: _F) -> _F:
    """Put a kernel or method into each of its callers, whatever its size: for what playouts spend time on.

    The compiler weighs how long code is, and cannot know how often it runs. Write it below `@kernel`.
    """
    function.is_inlined = True  # type: ignore[attr-defined]
    return function


_exposed: dict[str, int] = {}


def methods() -> dict[str, int]:
    """All method names that compiled code can call, with their numbers of arguments."""
    return dict(_exposed)


_fields: set[str] = set()  # the names of all fields
# These belong to every tuple: a method of this name would never be called.
_TUPLE_METHODS = frozenset({"count", "index"})


def component(cls: _C) -> _C:
    """Let compiled code call the methods of `cls`, a `NamedTuple` of numbers and arrays."""
    fields = getattr(cls, "_fields", None)
    if not fields:
        raise BadGame(
            f"{cls.__name__} has no fields; write it as a NamedTuple with at least one field "
            f"(for example `seats: int = 2`)"
        )
    cls.at = _at(cls)  # type: ignore[attr-defined]
    methods = {
        name: len(inspect.signature(method).parameters)
        for name, method in vars(cls).items()
        if inspect.isfunction(method) and not name.startswith("_")
    }
    if _TUPLE_METHODS & {*methods, *fields}:
        raise BadGame(f"{cls.__name__}: 'count' and 'index' belong to tuples; choose other names")
    clash = [*(set(fields) & {*_exposed, *methods}), *(set(methods) & _fields)]
    if clash:
        # Numba would take the field for the method.
        raise BadGame(
            f"{cls.__name__}: '{clash[0]}' is a field in one class and a method in another; "
            f"compiled code cannot tell them apart, so give one of them another name"
        )
    for name, arity in methods.items():
        if _exposed.get(name, arity) != arity:
            raise BadGame(
                f"{cls.__name__}.{name} takes {arity} arguments, but in other classes a method of this "
                f"name takes {_exposed[name]}; give it that many, or another name"
            )
    _fields.update(fields)
    for name, arity in methods.items():
        _expose(name, arity)
    return cls


def stack(components: Sequence[Any]) -> Any:
    """Components of one class as one, whose fields have an axis more; its `at(number)` is one of them."""
    columns = [[np.atleast_1d(part) for part in column] for column in zip(*components, strict=True)]
    longest = [max(map(len, column)) for column in columns]
    fields = []
    for column, most, sample in zip(columns, longest, components[0], strict=True):
        table = np.zeros((len(column), most), column[0].dtype)
        for row, part in zip(table, column, strict=True):
            row[: len(part)] = part
        fields.append(table if isinstance(sample, np.ndarray) else table[:, 0].copy())
    return type(components[0])(*fields)


def _at(cls: _C) -> Callable[..., Any]:
    """The method that takes one component out of a stack of them: compiled code knows no loop over fields."""
    names: dict[str, Any] = {"cls": cls}
    fields = ", ".join(f"stack.{field}[number]" for field in cls._fields)  # type: ignore[attr-defined]
    exec(f"def at(stack, number): return cls({fields})", names)
    return names["at"]


def _expose(name: str, arity: int) -> None:
    """Register `name` with Numba once for all classes: two registrations break its lowering."""
    if name in _exposed:
        return
    _exposed[name] = arity

    # Not "forceinline": every function that such a method calls would inherit it.
    options = {"pipeline_class": _PartCompiler}
    for kind in (types.NamedTuple, types.NamedUniTuple):  # type: ignore[attr-defined]
        overload_method(kind, name, strict=False, jit_options=options)(resolver(name, arity))


def resolver(name: str, arity: int) -> Callable[..., Any]:
    """What tells Numba which function a method is: that of the object's class."""

    def resolve(instance: Any, *_arguments: Any) -> Any:
        return getattr(instance.instance_class, name)

    # Numba reads the number of arguments from the signature.
    positional = inspect.Parameter.POSITIONAL_OR_KEYWORD
    resolve.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
        [inspect.Parameter(f"argument_{i}", positional) for i in range(arity)]
    )
    return resolve


def game(cls: _C) -> _C:
    """Make a game of a `NamedTuple` with the methods of `kibitz.protocol.Game`.

    Optional methods that the class leaves out get the protocol's defaults; `cls.defaulted` names
    them, so that an algorithm can say what it misses.
    """
    from kibitz import protocol

    missing = [name for name in protocol.REQUIRED if not hasattr(cls, name)]
    if missing:
        raise BadGame(
            f"game {cls.__name__} lacks {', '.join(missing)}; "
            f"kibitz.protocol.Game says what each of them does"
        )
    if "seats" not in getattr(cls, "_fields", ()):
        raise BadGame(f"'seats' of game {cls.__name__} must be a field; write `seats: int = 2`")
    for name, arity in protocol.ARITY.items():
        method = vars(cls).get(name)
        if inspect.isfunction(method) and len(inspect.signature(method).parameters) != arity:
            raise BadGame(
                f"{cls.__name__}.{name} takes {len(inspect.signature(method).parameters)} arguments, but "
                f"kibitz.protocol.Game.{name} takes {arity}"
            )
    defaulted = frozenset(name for name in protocol.OPTIONAL if name not in vars(cls))
    cls.defaulted = defaulted  # type: ignore[attr-defined]
    for name in defaulted:
        setattr(cls, name, protocol.OPTIONAL[name])
    for name, value in protocol.ATTRIBUTES.items():
        if name not in vars(cls):
            setattr(cls, name, value)
    return component(cls)


_CALLBACKS = "_raw_object_cache_"
"""How the names of the functions begin that LLVM calls."""


@contextmanager
def _interrupt_kept() -> Iterator[None]:
    """Let no Ctrl-C get lost: the compiler swallows what is raised while it calls back into Python.

    It would also print it. So a Ctrl-C in a callback waits until the function is compiled.
    """
    usual = signal.getsignal(signal.SIGINT)
    if not callable(usual) or threading.current_thread() is not threading.main_thread():
        yield
        return
    seen = []

    def note(number: int, frame: Any) -> None:
        seen.append(number)
        while frame is not None and not frame.f_code.co_name.startswith(_CALLBACKS):
            frame = frame.f_back
        if frame is None:
            usual(number, frame)

    signal.signal(signal.SIGINT, note)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, usual)
    if seen:
        raise KeyboardInterrupt


# --- compiled entries -----------------------------------------------------------------------------


class Entry:
    """A function that Python calls and that runs compiled, with its machine code kept on disk.

    Each combination of classes among the arguments (game, objective, policy) has a dispatcher of
    its own whose cache folder is named by a digest of all sources that it can reach: an edited
    rule can never be answered with the code of the old one.
    """

    def __init__(self, function: Callable[..., Any]) -> None:
        self.function = function
        self.__name__ = function.__name__
        self.__doc__ = function.__doc__
        self._dispatchers: dict[tuple[type, ...], Any] = {}
        self._ready: dict[tuple[type, ...], Any] = {}  # those with their code in memory

    def __call__(self, *arguments: Any) -> Any:
        if config.DISABLE_JIT:
            return self.interpreted(*arguments)
        classes = tuple([cls for a in arguments if isinstance(a, tuple) for cls in classes_in(a)])
        if classes not in self._ready:
            self._prepare(classes, arguments)
        return self._ready[classes](*arguments)

    def _prepare(self, classes: tuple[type, ...], arguments: tuple[Any, ...]) -> None:
        """Compile the code, or load it from the disk, before it is first run.

        Rules that cannot be compiled (`interpreted`, those of another library) are left to Python.
        """
        if any(getattr(cls, "interpreted", False) for cls in classes):
            self._ready[classes] = self.interpreted
            return
        with _lock:
            if classes not in self._ready:  # another thread may have been quicker
                self._compile(classes, arguments)

    def _compile(self, classes: tuple[type, ...], arguments: tuple[Any, ...]) -> None:
        types_of_arguments = tuple([numba.typeof(argument) for argument in arguments])
        with _interrupt_kept(), _announced(self, classes), compiling.quickly():
            try:
                self._dispatcher(classes).compile(types_of_arguments)
            except NumbaError as error:
                raise BadGame(_reason(classes, str(error))) from error
        self._ready[classes] = self._dispatcher(classes)
        if getattr(self._dispatcher(classes)._cache, "is_shipped", False):
            from kibitz import precompiled

            precompiled.compile_natively(self, classes, types_of_arguments)

    def compile(self, classes: tuple[type, ...], types_of_arguments: tuple[Any, ...]) -> None:
        """Compile a version ahead, without arguments."""
        with _announced(self, classes), compiling.quickly():
            self._dispatcher(classes).compile(types_of_arguments)

    def interpreted(self, *arguments: Any) -> Any:
        """Run the same text in the Python interpreter, for reading, debugging and comparing."""
        with np.errstate(over="ignore"):  # the random generator wraps around on purpose
            return self.function(*[_as_records(a) for a in arguments])

    def _dispatcher(self, classes: tuple[type, ...]) -> Any:
        with _lock:
            if classes not in self._dispatchers:
                jit = numba.njit(nogil=True, pipeline_class=_ProgramCompiler)(self.function)
                code = self.function.__code__
                # What was typed in is not kept: its source cannot be read again.
                if Path(code.co_filename).is_file() and not self.function.__closure__:
                    modules = (self.function.__module__, *(cls.__module__ for cls in classes))
                    names = [f"{cls.__module__}.{cls.__qualname__}" for cls in classes]
                    about = f"{modules[0]}.{code.co_qualname}:{code.co_firstlineno} {names}"
                    jit._cache = Kept(modules, about)
                self._dispatchers[classes] = jit
            return self._dispatchers[classes]


def classes_in(argument: tuple[Any, ...]) -> tuple[type, ...]:
    """The classes of a component and of the components that it, or a plain tuple, holds."""
    own = () if type(argument) is tuple else (type(argument),)
    return sum([classes_in(item) for item in argument if isinstance(item, tuple)], own)


def compiles() -> bool:
    """Whether entries run compiled; with NUMBA_DISABLE_JIT=1 they do not."""
    return not config.DISABLE_JIT


def entry(function: Callable[..., Any]) -> Entry:
    """Make `function` a door from Python into compiled code: it is compiled when it is first called.

    >>> import kibitz, numpy as np
    >>> @kibitz.entry
    ... def count_down(start, out):
    ...     for i in range(start):
    ...         out[i] = start - i
    >>> out = np.zeros(3)
    >>> count_down(3, out)
    >>> out
    array([3., 2., 1.])
    """
    return Entry(function)


_lock = threading.RLock()


def _as_records(argument: Any) -> Any:
    """Structured arrays as record arrays, whose items have attributes in the interpreter."""
    if isinstance(argument, np.ndarray) and argument.dtype.names:
        return argument.view(np.recarray)
    if isinstance(argument, tuple) and any(isinstance(a, np.ndarray) for a in argument):
        parts = [_as_records(a) for a in argument]
        return tuple(parts) if type(argument) is tuple else type(argument)(*parts)
    return argument


# --- the first compilation, announced -------------------------------------------------------------

CompileReport = Callable[[str, int, float, bool], None]
"""Called with (what is compiled, functions so far, seconds so far, whether it is done)."""


def _one_line(what: str, functions: int, _seconds: float, done: bool) -> None:
    if functions == 1 and not done:
        print(f"kibitz: compiling {what}, once …", file=sys.stderr, flush=True)


compile_report: CompileReport = _one_line


class _Stopwatch:
    """The time in which at least one thread compiles or loads code."""

    def __init__(self) -> None:
        self._lock, self._running, self._since, self._before = threading.Lock(), 0, 0.0, 0.0

    def start(self) -> None:
        with self._lock:
            self._since = self._since if self._running else time.perf_counter()
            self._running += 1

    def stop(self) -> None:
        with self._lock:
            self._running -= 1
            if not self._running:
                self._before += time.perf_counter() - self._since

    def seconds(self) -> float:
        with self._lock:
            return self._before + (time.perf_counter() - self._since if self._running else 0.0)


class _Count(event.Listener):  # type: ignore[misc]
    """Counts the functions that Numba compiles; code served from the cache is not compiled."""

    def __init__(self, what: str) -> None:
        self.what, self.functions, self.began = what, 0, time.perf_counter()
        _compiling.start()

    def on_start(self, _event: Any) -> None:
        self.functions += 1
        compile_report(self.what, self.functions, time.perf_counter() - self.began, False)

    def on_end(self, _event: Any) -> None:
        pass

    def end(self) -> None:
        """Tell how long it took."""
        _compiling.stop()
        if self.functions:
            compile_report(self.what, self.functions, time.perf_counter() - self.began, True)


@contextmanager
def _announced(compiled: Entry, classes: tuple[type, ...]) -> Iterator[None]:
    played = [cls.__name__ for cls in classes if hasattr(cls, "defaulted")]
    what = ": ".join([*played, compiled.__name__.replace("_", " ")])
    count = _Count(what)
    try:
        with event.install_listener("numba:compile", count):
            yield
    finally:
        count.end()


@contextmanager
def announced(what: str) -> Iterator[Callable[[], None]]:
    """Tell that something is compiled that Numba does not tell of, when the given function is called."""
    count = _Count(what)
    try:
        yield lambda: count.on_start(None)
    finally:
        count.end()


_compiling = _Stopwatch()


def seconds_compiling() -> float:
    """Time spent so far in this process on compiling or loading code, to be told from thinking."""
    return _compiling.seconds()


def _reason(classes: tuple[type, ...], text: str) -> str:
    """What a reader can do about code that does not compile, out of Numba's many lines."""
    lines = [line.strip() for line in re.sub(r"\x1b\[[\d;]*m", "", text).splitlines()]
    places = [line for line in lines if line.startswith("File ") and ", line " in line]
    causes = [line for line in lines if re.match(r"\w*Error:|No implementation|Cannot|Unknown|Untyped", line)]
    names = ", ".join(cls.__name__ for cls in classes if hasattr(cls, "defaulted")) or "the code"
    return (
        f"{names} cannot be compiled: {(causes or lines or ['no reason given'])[-1][:300]} "
        f"{(places or [''])[-1].rstrip(':')}. Kernels know numbers, tuples and arrays only; "
        f"NUMBA_DISABLE_JIT=1 runs the same code in the interpreter"
    )


# --- machine code on the disk ---------------------------------------------------------------------


def versions() -> dict[str, str]:
    """What compiled code depends on, beside its sources and the processor."""
    return {
        "Numba": numba.__version__,
        "NumPy": np.__version__.partition(".")[0],
        "Python": f"{sys.implementation.name} {sys.version_info.major}.{sys.version_info.minor}",
        "Numba's settings": f"{config.BOUNDSCHECK} {config.OPT} {config.DEBUGINFO_DEFAULT}",
    }


@functools.cache
def processor() -> dict[str, str]:
    """The processor that code is compiled for in this process."""
    system, name, features = cpu_target.target_context.codegen().magic_tuple()
    return {"system": system, "processor": name, "features": features}


def cache_folder(modules: tuple[str, ...]) -> Path | None:
    """Where code compiled from `modules` lives, or None if none can be kept there."""
    return cache.folder_of(modules, str(versions()))


class Kept:
    """The compiled versions of a function on the disk, as Numba asks for them.

    The folder is named by a digest of all sources, a file in it by what else goes into a version: the
    function, the types of its arguments, the processor.
    """

    def __init__(self, modules: tuple[str, ...], about: str) -> None:
        self.modules, self.about = modules, about
        self.folder = cache_folder(modules)
        self.is_shipped = False  # what was loaded came with the package

    def name(self, signature: Any, processor: dict[str, str]) -> str:
        """What the file of the version for these types of arguments is called."""
        return f"{short_digest(f'{self.about} {signature}')}{suffix(processor)}"

    def file(self, signature: Any) -> Path | None:
        """Where the version for these types of arguments is, or will be."""
        return self.folder / self.name(signature, processor()) if self.folder is not None else None

    def load_overload(self, signature: Any, context: Any) -> Any:
        """A version, if it is there and whole: compiled on this machine, or else shipped with the package.

        Numba would first import the implementations of all that it can compile. Code that is compiled already
        needs none of them, and that takes longer than all the rest.
        """
        file = self.file(signature)
        content = cache.read(file) if file is not None else None
        if content is None:
            content = self.shipped(signature)
            self.is_shipped = content is not None and file is not None  # else a native one is not kept either
        if content is None:
            return None
        try:
            return self.unpack(content, context)
        except Exception:  # whatever leads to it, the version is made anew
            self.is_shipped = False
            if file is not None:
                cache.discard(file)
            return None

    def shipped(self, signature: Any) -> bytes | None:
        """A version that was compiled when the package was built (`kibitz.precompiled`)."""
        from kibitz import precompiled

        if not precompiled.FILE.exists():
            return None
        folder = cache.digest_of(self.modules, str(versions()))
        return precompiled.read(folder, lambda built_for: self.name(signature, built_for))

    def save_overload(self, signature: Any, version: Any) -> None:
        """Keep a version."""
        file, content = self.file(signature), self.pack(version)
        if file is not None and content is not None:
            cache.write(file, content)

    def pack(self, version: Any) -> bytes | None:
        """A version as bytes, or None if it holds only in this process."""
        return None if version.library.has_dynamic_globals else serialize.dumps(version._reduce())

    def unpack(self, content: bytes, context: Any) -> Any:
        """A version from its bytes."""
        return CompileResult._rebuild(context, *pickle.loads(content))


def suffix(processor: dict[str, str]) -> str:
    """How the names of files end that hold code for a processor."""
    return f"-{short_digest(str(processor))}.nbc"


def short_digest(text: str) -> str:
    """A name for a text that no other one has."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]

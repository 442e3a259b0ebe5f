"""Many lanes at once: the same rules, played on a GPU where there is one, else on the processor.

A **task** is a component with a method `lane(task, game, number, scratch, data)` that does the work of
one lane: it plays a game, or some playouts, and writes what came of it into its own part of the
results. On a processor lanes are a loop; on a GPU each is a thread. It is the same text and the same
random streams, so the results are the same, bit by bit where they are whole numbers.

What makes a GPU fast here, measured on an H200 with random rounds of DiminishingBridge:

- positions lie in shared memory, a block's together: 2.3 times the rate of local memory, where a
  multiprocessor's positions do not fit into its cache;
- cards are counted and found by instructions of the GPU instead of tables: 1.7 times;
- records are copied by words, not by bytes: 4 %;
- the game's parameters are constants of the program: half as many instructions and registers, which
  alone is no faster.

With random rounds of Tichu, whose program is long:

- no function stands in it twice that need not: a multiprocessor has few instructions at hand, and waited
  for them half of the time. Mini-Tichu became 1.4 times as fast, Tichu, which lists no moves now, 10 times;
- a thread has 64 registers at most, so that 1024 of them are there: Tichu 1.25 times, Mini-Tichu 1.03 times.
  Trees are not bound so: few of them grow at a time.

And there must be no way out of a lane but its end, not even by an error that never comes: threads of a
warp that have gone different ways wait for each other at the next place that all of them must pass.
"""

from __future__ import annotations

import hashlib
import operator
import pickle
import sys
import time
import warnings
from collections.abc import Callable
from dataclasses import asdict, dataclass
from functools import cache
from importlib.metadata import version
from multiprocessing import parent_process
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from kibitz import bits, kernel
from kibitz.errors import BadOption, MissingExtra
from kibitz.kernel import entry

DEVICES = ("auto", "cpu", "gpu")
LARGE = 100_000
"""From so many playouts for one decision on, `device=auto` lets lanes play them, on a GPU if there is one."""
_LEAST_CAPABILITY = (6, 0)
_SHARED_BYTES = 48 << 10  # what every GPU gives to a block without being asked
_THREADS = 128  # of a block; more hide latency, but their positions must fit
_WARP, _RESIDENT_THREADS = 32, 1024  # threads in step, and those of a multiprocessor with many registers
_REGISTERS = (1 << 16) // _RESIDENT_THREADS  # of a thread, where a multiprocessor has 2¹⁶


class Scratch(NamedTuple):
    """The memory of one lane."""

    position: NDArray[Any]
    moves: NDArray[np.int64]
    values: NDArray[np.float64]
    rng: NDArray[np.uint64]


def scratch(game: Any) -> Scratch:
    """Memory for a lane on the processor."""
    return Scratch(
        np.zeros(1, game.state),
        np.zeros(game.max_moves, np.int64),
        np.zeros(2 * game.seats),
        np.zeros(1, np.uint64),
    )


@entry
def run_lanes(game, task, first, last, scratch, data):
    """The lanes first … last − 1, one after the other."""
    for number in range(first, last):
        task.lane(game, number, scratch, data)


# --- which GPU there is ----------------------------------------------------------------------------


@dataclass(frozen=True)
class Device:
    """A GPU that can be used, or why there is none."""

    name: str = ""
    memory: int = 0
    """Bytes."""
    capability: tuple[int, int] = (0, 0)
    reason: str = ""
    """Why there is none; empty, if there is one."""

    @property
    def is_there(self) -> bool:
        return not self.reason

    def to_dict(self) -> dict[str, Any]:
        """Plain data, as `--json` prints it."""
        return asdict(self)

    def __str__(self) -> str:
        if self.reason:
            return f"none: {self.reason}"
        return f"{self.name}, {self.memory / 2**30:.0f} GiB, compute capability {self.capability[0]}." + str(
            self.capability[1]
        )


@cache
def device() -> Device:
    """The first GPU of this machine."""
    try:
        cuda = _cuda()
    except MissingExtra as error:
        return Device(reason=str(error))
    try:
        if not cuda.is_available():
            return Device(reason="the NVIDIA driver was not found, or reports no GPU")
        found = cuda.get_current_device()
        memory = int(cuda.current_context().get_memory_info().total)
        name, capability = found.name, tuple(found.compute_capability)
    except Exception as error:  # whatever a driver finds wrong: the processor can do it too
        return Device(reason=f"{type(error).__name__}: {str(error).strip().splitlines()[0]}")
    name = name.decode() if isinstance(name, bytes) else str(name)
    if capability < _LEAST_CAPABILITY:
        return Device(reason=f"{name} is too old: compute capability {capability[0]}.{capability[1]}")
    return Device(name, memory, (int(capability[0]), int(capability[1])))


def choose(wanted: str) -> bool:
    """Whether to use a GPU, if `wanted` is auto, cpu or gpu; says so once, if gpu is wanted in vain."""
    if wanted not in DEVICES:
        raise BadOption(f"device={wanted} is not known; choose {', '.join(DEVICES)}")
    if wanted == "gpu" and not device().is_there:
        _say_once(f"no GPU is used: {device().reason}")
    return wanted != "cpu" and device().is_there


@cache
def _say_once(text: str) -> None:
    if parent_process() is None:  # what workers meet with, the process that started them has told
        told = f"kibitz: {text}; the processor does it, with the results that a GPU would give"
        print(told, file=sys.stderr, flush=True)


@cache
def _cuda() -> Any:
    """The compiler for GPUs, or `MissingExtra`."""
    if not hasattr(np, "row_stack"):  # gone from NumPy, but numba-cuda asks for it
        np.row_stack = np.vstack
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            from numba import cuda
            from numba.cuda.core import config

            config.CUDA_LOW_OCCUPANCY_WARNINGS = False  # a few lanes are played too
    except (ImportError, AttributeError) as error:
        raise MissingExtra("a GPU", "gpu") from error
    return cuda


# --- lanes -----------------------------------------------------------------------------------------


def run(
    game: Any,
    task: Any,
    lanes: int,
    inputs: tuple[Any, ...],
    outputs: tuple[NDArray[Any], ...],
    on_gpu: bool,
    fixed: bool = False,
    memory: Callable[[int], list[tuple[Any, Any]]] | None = None,
) -> float:
    """Let every lane of a task do its work: `data` are the inputs and then the outputs.

    A lane writes its own part of the outputs, all of it. With `fixed`, a GPU gets a program for just
    this task, its policies included: faster, but compiled anew for another one. `memory` tells the
    shapes and kinds of arrays that so many lanes work in at the same time; they stand behind the outputs.
    The seconds that the lanes took, without compiling and without the transfer of data.
    """
    if on_gpu and block_size(game) and not getattr(game, "interpreted", False):
        try:
            return _on_gpu(game, task, lanes, inputs, outputs, fixed, memory(lanes) if memory else [])
        except Exception as error:
            if not _is_lack_of_memory(error):
                raise
            _say_once("the GPU has too little memory")
    own = [np.zeros(shape, kind) for shape, kind in (memory(1) if memory else [])]
    return _on_processor(game, task, lanes, (*inputs, *outputs, *own))


def _is_lack_of_memory(error: Exception) -> bool:
    return isinstance(error, MemoryError) or "OUT_OF_MEMORY" in str(error).upper().replace(" ", "_")


_LANES_AT_ONCE = 1 << 14
"""Lanes between two looks at Ctrl-C."""


def _on_processor(game: Any, task: Any, lanes: int, data: tuple[Any, ...]) -> float:
    memory = scratch(game)
    run_lanes(game, task, 0, 0, memory, data)  # compiles
    began = time.perf_counter()
    for first in range(0, lanes, _LANES_AT_ONCE):
        run_lanes(game, task, first, min(lanes, first + _LANES_AT_ONCE), memory, data)
    return time.perf_counter() - began


def _on_gpu(
    game: Any,
    task: Any,
    lanes: int,
    inputs: tuple[Any, ...],
    outputs: tuple[Any, ...],
    fixed: bool,
    memory: list[tuple[Any, Any]],
) -> float:
    cuda, block = _cuda(), block_size(game)
    program = _program(game, task, fixed, inputs, None if memory else _REGISTERS)
    results = [cuda.device_array(out.shape, out.dtype) for out in outputs]
    own = [cuda.device_array(shape, kind) for shape, kind in memory]
    data = (*([] if fixed else [_sent(task)]), (*(_sent(item) for item in inputs), *results, *own))
    if not program.overloads:
        with kernel.announced(f"{type(game).__name__}: {type(task).__name__} for a GPU") as begin:
            program._cache.when_missing = begin
            program[1, block](0, 1, *data)
            cuda.synchronize()
    began = time.perf_counter()
    spread = spread_of(lanes)
    program[-(-lanes * spread // block), block](lanes, spread, *data)
    cuda.synchronize()
    seconds = time.perf_counter() - began
    for result, out in zip(results, outputs, strict=True):
        result.copy_to_host(out)
    return seconds


def _sent(item: Any) -> Any:
    """An argument as a kernel takes it: arrays are on the device, those in components too."""
    if isinstance(item, np.ndarray):
        return _cuda().to_device(item)
    if isinstance(item, tuple):
        sent = [_sent(part) for part in item]
        return type(item)(*sent) if hasattr(item, "_fields") else tuple(sent)
    return item


def spread_of(lanes: int) -> int:
    """How many threads apart lanes are: few lanes share no warp, whose threads wait for each other."""
    multiprocessors = _cuda().get_current_device().MULTIPROCESSOR_COUNT
    spread = _WARP
    while spread > 1 and lanes * spread > multiprocessors * _RESIDENT_THREADS:
        spread //= 2
    return spread


def free_memory() -> int:
    """Bytes that are free on the GPU."""
    return int(_cuda().current_context().get_memory_info().free)


def block_size(game: Any) -> int:
    """Threads of a block: as many as their positions fit into its shared memory."""
    fit = _SHARED_BYTES // game.state.itemsize
    return max(32, min(_THREADS, fit // 32 * 32)) if fit >= 32 else 0


_programs: dict[Any, Any] = {}


def _program(
    game: Any, task: Any, fixed: bool, inputs: tuple[Any, ...] = (), registers: int | None = _REGISTERS
) -> Any:
    """The program for a game, a task and components among its inputs, made once."""
    classes = kernel.classes_in((game, task, inputs))  # tuples of two classes may be equal
    built_in = (game, task if fixed else None, registers)
    if (classes, built_in) not in _programs:
        _register()
        program = _cuda().jit(thread_of(game, task if fixed else None), max_registers=registers)
        program._cache = Kept(classes, f"{classes} {built_in}")
        _programs[classes, built_in] = program
    return _programs[classes, built_in]


class Kept(kernel.Kept):
    """Programs for a GPU on the disk: compiling takes seconds to minutes.

    What goes into a program beside its sources: the values that are built in, the types of the arguments, the
    GPU and the compiler.
    """

    def __init__(self, classes: tuple[type, ...], built_in: str) -> None:
        modules = (__name__, *(cls.__module__ for cls in classes))
        super().__init__(modules, built_in)
        if not all(getattr(sys.modules[name], "__file__", None) for name in modules):
            self.folder = None  # what is typed in is not kept
        self.when_missing: Callable[[], None] = lambda: None

    def name(self, signature: Any, processor: dict[str, str]) -> str:
        about = f"{self.about} {signature} {device()} {version('numba-cuda')}"
        return f"gpu-{kernel.short_digest(about)}.pickle"

    def shipped(self, signature: Any) -> None:
        return None

    def load_overload(self, signature: Any, context: Any) -> Any:
        found = super().load_overload(signature, context)
        if found is None:
            self.when_missing()
        return found

    def pack(self, version: Any) -> bytes | None:
        from numba.cuda.serialize import dumps

        return dumps(version._reduce_states())

    def unpack(self, content: bytes, context: Any) -> Any:
        from numba.cuda.dispatcher import _Kernel

        return _Kernel._rebuild(**pickle.loads(content))


def thread_of(game: Any, task: Any = None) -> Callable[..., None]:
    """What one thread of a GPU does: its lane, with the game (and the task, if it is given) built in."""
    import numba

    cuda = _cuda()
    state, block = numba.from_dtype(game.state), block_size(game)
    places, most, width = max(block, 1), game.max_moves, 2 * game.seats
    # Numba wants one text for each case: what is shared, and what is built in, are decided before.

    def memory(positions: Any, place: Any) -> Any:
        return Scratch(
            positions[place : place + 1],
            cuda.local.array(most, np.int64),
            cuda.local.array(width, np.float64),
            cuda.local.array(1, np.uint64),
        )

    memory = cuda.jit(device=True, forceinline=True)(memory)

    def with_task(lanes, spread, data):
        thread = cuda.grid(1)
        positions = cuda.shared.array(places, state, 8)
        if thread % spread == 0 and thread // spread < lanes:
            task.lane(game, thread // spread, memory(positions, cuda.threadIdx.x), data)

    def with_argument(lanes, spread, given, data):
        thread = cuda.grid(1)
        positions = cuda.shared.array(places, state, 8)
        if thread % spread == 0 and thread // spread < lanes:
            given.lane(game, thread // spread, memory(positions, cuda.threadIdx.x), data)

    return with_argument if task is None else with_task


# --- what compiled code for a GPU can call ----------------------------------------------------------

_registered: set[Any] = set()
_INLINE = {"forceinline": True}


def _register() -> None:
    """Tell the compiler for GPUs about all kernels and methods that are there by now."""
    _cuda()
    from numba.core import types
    from numba.cuda.extending import overload_method, register_jitable

    if not _registered:
        _substitute()
    for function in kernel.kernels:
        if function not in _registered:
            _registered.add(function)
            register_jitable(**_INLINE)(function)
    for name, arity in kernel.methods().items():
        if name not in _registered:
            _registered.add(name)
            for kind in (types.NamedTuple, types.NamedUniTuple):  # type: ignore[attr-defined]
                resolve = kernel.resolver(name, arity)
                overload_method(kind, name, strict=False, jit_options=_INLINE)(resolve)


def _substitute() -> None:
    """Instructions of the GPU instead of the tables and loops that a processor likes."""
    cuda = _cuda()
    from numba.cuda.extending import overload

    @cuda.jit(device=True, forceinline=True)
    def nth_by_halves(mask, k):
        half, place, k = np.uint32(mask & 0xFFFFFFFF), np.int32(0), np.int32(k)
        n = np.int32(cuda.popc(half))
        if k >= n:
            half, place, k = np.uint32((mask >> 32) & 0xFFFFFFFF), np.int32(32), np.int32(k - n)
        for width in (16, 8, 4, 2, 1):
            n = np.int32(cuda.popc(np.uint32(half & np.uint32((1 << width) - 1))))
            if k >= n:
                half, place, k = np.uint32(half >> np.uint32(width)), np.int32(place + width), np.int32(k - n)
        return np.int64(place)

    def size(mask):
        return lambda mask: np.int64(cuda.popc(mask))

    def lowest(mask):
        return lambda mask: np.int64(cuda.ffs(mask)) - 1

    def nth(mask, k):
        return lambda mask, k: nth_by_halves(mask, k)

    for function, instead in ((bits.size, size), (bits.lowest, lowest), (bits.nth, nth)):
        overload(function, jit_options=_INLINE)(instead)
        _registered.add(function)
    _copy_by_words()
    _compare_at_once()
    _keep_tables_in_memory()


def _copy_by_words() -> None:
    """`records[i] = record` by words: Numba would load and store every byte."""
    from llvmlite import ir
    from numba.core import types
    from numba.cuda.cudaimpl import lower
    from numba.cuda.np import arrayobj

    @lower(operator.setitem, types.Array, types.Integer, types.Record)
    def set_record(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        array_type, index_type, value_type = sig.args
        if array_type.dtype != value_type or not value_type.aligned or value_type.size % 8:
            return arrayobj.setitem_array(context, builder, sig, args)
        array = arrayobj.make_array(array_type)(context, builder, args[0])
        kinds, places = arrayobj.normalize_indices(context, builder, (index_type,), (args[1],))
        into, _, _ = arrayobj.basic_indexing(
            context, builder, array_type, array, kinds, places, boundscheck=False
        )
        word = ir.IntType(64)
        target, source = (builder.bitcast(pointer, word.as_pointer()) for pointer in (into, args[2]))
        numbers = [ir.Constant(ir.IntType(32), i) for i in range(value_type.size // 8)]
        words = [builder.load(builder.gep(source, [i]), align=8) for i in numbers]
        for i, value in zip(numbers, words, strict=True):
            builder.store(value, builder.gep(target, [i]), align=8)
        return None


def _compare_at_once() -> None:
    """`x in (A, B)` by two comparisons: Numba would walk along the tuple, and past its end leave the program.

    It never gets there, but the threads of a warp would wait for each other at the end of the program only,
    and so play one by one.
    """
    from llvmlite import ir
    from numba.core import types
    from numba.cuda import cgutils
    from numba.cuda.cudaimpl import lower
    from numba.cuda.typing import signature

    @lower(operator.contains, types.UniTuple, types.Any)  # type: ignore[attr-defined]
    def is_one_of(context: Any, builder: Any, sig: Any, args: Any) -> Any:
        kind = sig.args[0].dtype
        is_equal = context.get_function(operator.eq, signature(types.boolean, kind, kind))
        found = ir.Constant(ir.IntType(1), 0)
        for item in cgutils.unpack_tuple(builder, args[0], sig.args[0].count):
            found = builder.or_(found, is_equal(builder, (item, args[1])))
        return found


def _keep_tables_in_memory() -> None:
    """Arrays of kernels are in the GPU's main memory: its constants have no room for them, and are slow
    where every thread looks at another place.
    """
    from llvmlite import ir
    from numba.core import types
    from numba.cuda.target import CUDATargetContext

    byte, main_memory = ir.IntType(8), 1

    def make_constant_array(context: Any, builder: Any, kind: Any, array: Any) -> Any:
        content, module = bytearray(array.tobytes()), builder.module
        name = f"table_{hashlib.sha256(content).hexdigest()[:16]}"
        table = module.globals.get(name)
        if table is None:
            table = ir.GlobalVariable(module, ir.ArrayType(byte, len(content)), name, main_memory)
            table.linkage, table.global_constant, table.align = "internal", True, 16
            table.initializer = ir.Constant(table.value_type, content)
        pointer = builder.addrspacecast(table, byte.as_pointer(), "generic")
        made = context.make_array(kind)(context, builder)
        context.populate_array(
            made,
            data=builder.bitcast(pointer, made.data.type),
            shape=[context.get_constant(types.intp, n) for n in array.shape],
            strides=[context.get_constant(types.intp, n) for n in array.strides],
            itemsize=context.get_constant(types.intp, array.itemsize),
            parent=None,
            meminfo=None,
        )
        return made._getvalue()

    CUDATargetContext.make_constant_array = make_constant_array


def facts(game: Any, task: Any) -> dict[str, int]:
    """Registers, local and shared memory of a thread of a program that has run."""
    program = _program(game, task, True)
    read = {
        "registers": program.get_regs_per_thread,
        "local_bytes": program.get_local_mem_per_thread,
        "shared_bytes_of_a_block": program.get_shared_mem_per_block,
    }
    found = {}
    for name, function in read.items():
        values = function()
        found[name] = int(next(iter(values.values())) if isinstance(values, dict) else values)
    return found | {"threads_of_a_block": block_size(game)}


def ptx(game: Any, task: Any, signature: tuple[Any, ...], fixed: bool = True) -> str:
    """The program as text, made without a GPU: to see that it can be compiled."""
    cuda = _cuda()
    import numba.cuda.dispatcher as dispatcher

    _register()
    usual = dispatcher.get_current_device
    dispatcher.get_current_device = lambda: type("Any", (), {"compute_capability": (9, 0)})
    try:
        text, _ = cuda.compile_ptx(thread_of(game, task if fixed else None), signature, cc=(9, 0))
    finally:
        dispatcher.get_current_device = usual
    return str(text)

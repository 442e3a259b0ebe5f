"""Numba compiles faster inside `quickly()`: the same code comes out, but work that nobody needs is left out.

A profile of Numba 0.68 shows four places that take up to half of the time of compiling and change nothing:

- flags are hashed and compared by building a dict of all their values (tens of thousands of times);
- which implementations suit the target is sorted out anew at every call that is typed;
- which variables are live at the start of each block is computed after every pass, and only generators
  and the object mode read it;
- the garbage collector looks through all that the compiler keeps.

Each replacement stands in for one function of Numba while Kibitz compiles, and does what that function
does. If a version of Numba lacks the function, or gives it other parameters, that version's own is used.
"""

from __future__ import annotations

import gc
import inspect
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from numba.core import transforms, utils
from numba.core.compiler_lock import global_compiler_lock
from numba.core.postproc import PostProcessor, VariableLifetime
from numba.core.targetconfig import TargetConfig
from numba.core.typing import context


@contextmanager
def quickly() -> Iterator[None]:
    """Let Numba compile faster within this block. No other thread can compile in the meantime."""
    with global_compiler_lock:
        replaced = [(place, name, getattr(place, name)) for place, name, _ in _REPLACEMENTS]
        collects = gc.isenabled()
        gc.disable()
        for place, name, replacement in _REPLACEMENTS:
            setattr(place, name, replacement)
        try:
            yield
        finally:
            for place, name, usual in replaced:
                setattr(place, name, usual)
            _orders.clear()
            if collects:
                gc.enable()


# --- flags -----------------------------------------------------------------------------------------

_usual_hash, _usual_equality = TargetConfig.__hash__, TargetConfig.__eq__
_hashes: dict[type, int] = {}


def _hash_of_flags(self: Any) -> int:
    if type(self) not in _hashes:  # Numba hashes the names of the options: all flags of a class have one hash
        _hashes[type(self)] = _usual_hash(self)
    return _hashes[type(self)]


def _are_equal(self: Any, other: Any) -> Any:
    if self is other or (type(self) is type(other) and self._values == other._values):
        return True
    return _usual_equality(self, other)


# --- implementations for a target ------------------------------------------------------------------

_usual_order = utils.order_by_target_specificity
_orders: dict[Any, list[Any]] = {}


def _order_once(target: Any, templates: Any, fnkey: Any = "") -> list[Any]:
    key = (target, tuple(templates))
    if key not in _orders:
        _orders[key] = _usual_order(target, templates, fnkey)
    return list(_orders[key])


# --- live variables --------------------------------------------------------------------------------

_usual_run = PostProcessor.run


def _run_lazily(self: Any, emit_dels: bool = False, extend_lifetimes: bool = False) -> None:
    if self.func_ir.is_generator:
        _usual_run(self, emit_dels, extend_lifetimes)
        return
    self.func_ir.blocks = transforms.canonicalize_cfg(self.func_ir.blocks)
    self.func_ir.variable_lifetime = VariableLifetime(self.func_ir.blocks)  # computes what it is asked for
    self.func_ir.generator_info = None
    if emit_dels:
        self._insert_var_dels(extend_lifetimes=extend_lifetimes)


# --- which of them this version of Numba has -------------------------------------------------------


def _fits(place: Any, name: str, replacement: Callable[..., Any]) -> bool:
    """Whether Numba has what is to be replaced, with the same parameters."""
    usual = getattr(place, name, None)
    return usual is not None and list(_parameters(usual)) == list(_parameters(replacement))


def _parameters(function: Callable[..., Any]) -> Any:
    return inspect.signature(function).parameters


_WANTED: list[tuple[Any, str, Callable[..., Any]]] = [
    (TargetConfig, "__hash__", _hash_of_flags),
    (TargetConfig, "__eq__", _are_equal),
    (utils, "order_by_target_specificity", _order_once),
    (context, "order_by_target_specificity", _order_once),
    (PostProcessor, "run", _run_lazily),
]
_REPLACEMENTS = [each for each in _WANTED if _fits(*each)]

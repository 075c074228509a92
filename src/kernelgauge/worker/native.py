"""Which library a compiled function lies in, and counting those that ctypes calls. Runs in the worker."""

from __future__ import annotations

import ctypes
import os
import time
from collections.abc import Callable
from pathlib import Path
from types import BuiltinFunctionType
from typing import Any


class _Address(ctypes.Structure):
    """Dl_info of dladdr(3)."""

    _fields_ = (
        ("file", ctypes.c_char_p),
        ("base", ctypes.c_void_p),
        ("symbol", ctypes.c_char_p),
        ("address", ctypes.c_void_p),
    )


_code_of = ctypes.pythonapi.PyCFunction_GetFunction
_code_of.restype, _code_of.argtypes = ctypes.c_void_p, [ctypes.py_object]
_dladdr = ctypes.CDLL(None).dladdr
_dladdr.argtypes = [ctypes.c_void_p, ctypes.POINTER(_Address)]
_known: dict[int, str] = {}


def library_of(function: BuiltinFunctionType) -> str:
    """Path of the shared object that has the machine code of a function; empty if it cannot be told."""
    return _library_at(_code_of(function))


def _library_at(code: int) -> str:
    if code not in _known:
        found = _Address()
        there = _dladdr(code, ctypes.byref(found)) and found.file
        _known[code] = os.path.realpath(os.fsdecode(found.file)) if there else ""
    return _known[code]


def count_ctypes(
    roots: tuple[str, ...], called: Callable[[str, float], None], foreign: Callable[[str, float], None]
) -> None:
    """From now on tell, by name and seconds, of calls of functions that ctypes loads.

    Args:
        called: is told of those out of libraries below `roots`.
        foreign: is told of all others, as `library:function`.

    ctypes' functions are no builtins, so that Python's own profiler does not see them.
    """

    def item(library: Any, name: Any) -> Any:
        own = os.path.realpath(str(library._name)).startswith(roots)
        plain: Any = library._FuncPtr

        class Counted(plain):  # type: ignore[misc]
            _flags_, _restype_ = plain._flags_, plain._restype_

            def __call__(self, *given: Any) -> Any:
                started = time.perf_counter()
                try:
                    return super().__call__(*given)
                finally:
                    tell(told, time.perf_counter() - started)

        function = Counted((name, library))
        place = _library_at(ctypes.cast(function, ctypes.c_void_p).value or 0)
        tell, told = (called, str(name)) if own else (foreign, f"{Path(place).name}:{name}")
        return function

    ctypes.CDLL.__getitem__ = item  # type: ignore[method-assign]

"""The functions of the CUDA driver that load a cubin and launch a kernel."""

from __future__ import annotations

import ctypes
import struct
from collections.abc import Sequence
from functools import cache

_MAX_DYNAMIC_SHARED = 8  # CU_FUNC_ATTRIBUTE_MAX_DYNAMIC_SHARED_SIZE_BYTES
_COOPERATIVE = 2  # CU_LAUNCH_ATTRIBUTE_COOPERATIVE
_DEFAULT_SHARED = 48 * 1024


class LaunchError(RuntimeError):
    """The driver refused to load or launch a kernel."""


@cache
def _library() -> ctypes.CDLL:
    try:
        return ctypes.CDLL("libcuda.so.1")
    except OSError as error:
        raise LaunchError("no CUDA driver is installed: libcuda.so.1 is missing") from error


class _Attribute(ctypes.Structure):
    """CUlaunchAttribute: which, and a value that fits into 64 bytes."""

    _fields_ = (("id", ctypes.c_uint), ("padding", ctypes.c_uint), ("value", ctypes.c_uint * 16))


class Launch:
    """One thread's CUlaunchConfig and arguments, as `cuLaunchKernelEx` reads them: four pointers to convert a call.

    Eleven arguments of the older `cuLaunchKernel` cost twice the time in ctypes.
    """

    _EXTENTS = struct.Struct("=7I4xQ")

    def __init__(self, arguments: int, slot: int, cooperative: bool):
        self.buffer = (ctypes.c_char * max(slot * arguments, 1))()
        start = ctypes.addressof(self.buffer)
        self._pointers = (ctypes.c_void_p * max(arguments, 1))(*(start + slot * i for i in range(arguments)))
        self._attribute = _Attribute(_COOPERATIVE, 0, (1,))
        self._config = (ctypes.c_char * 56)()
        attributes = ctypes.addressof(self._attribute) if cooperative else 0
        struct.pack_into("=QI", self._config, 40, attributes, int(cooperative))
        self._function = _library().cuLaunchKernelEx
        self._function.argtypes = [ctypes.c_void_p] * 4

    def __call__(self, handle: int, extents: Sequence[int], shared: int, stream: int) -> int:
        """Launch with what `buffer` holds: grid and block (six numbers), bytes of shared memory; returns a status."""
        self._EXTENTS.pack_into(self._config, 0, *extents, shared, stream)
        return int(self._function(self._config, handle, self._pointers, None))


def bind(device: int) -> None:
    """Make PyTorch's context of that device the calling thread's, where it has none: a new thread has not.

    Raises:
        LaunchError: the driver refused.
    """
    library, context, handle = _library(), ctypes.c_void_p(), ctypes.c_int()
    check(library.cuCtxGetCurrent(ctypes.byref(context)), "ask for the current context")
    if context.value is None:
        check(library.cuDeviceGet(ctypes.byref(handle), device), f"open device {device}")
        check(library.cuDevicePrimaryCtxRetain(ctypes.byref(context), handle), f"open device {device}")
        check(library.cuCtxSetCurrent(context), f"use device {device}")


def load(cubin: bytes, function: str) -> int:
    """Handle of a function of a cubin, loaded into the current context; it stays as long as the process.

    Raises:
        LaunchError: the driver refused, for instance because the cubin is for another GPU.
    """
    library, module, handle = _library(), ctypes.c_void_p(), ctypes.c_void_p()
    check(library.cuModuleLoadData(ctypes.byref(module), cubin), f"load kernel {function}")
    check(library.cuModuleGetFunction(ctypes.byref(handle), module, function.encode()), f"find kernel {function}")
    return handle.value or 0


def allow_shared(handle: int, size: int) -> None:
    """Let a function use that many bytes of dynamic shared memory a block; up to 48 KiB need no leave."""
    if size > _DEFAULT_SHARED:
        status = _library().cuFuncSetAttribute(ctypes.c_void_p(handle), _MAX_DYNAMIC_SHARED, size)
        check(status, f"use {size} bytes of shared memory")


def check(status: int, what: str) -> None:
    """Raise LaunchError unless the driver's status is success."""
    if status:
        text = ctypes.c_char_p()
        _library().cuGetErrorString(status, ctypes.byref(text))
        raise LaunchError(f"CUDA error {status}: cannot {what}: {(text.value or b'unknown error').decode()}")

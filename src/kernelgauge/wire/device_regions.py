"""Regions in the memory of a GPU, shared between processes by CUDA IPC.

The memory comes from the driver (`cuMemAlloc`), not from PyTorch's allocator: a handle opens a whole allocation, and
the worker must see this region and nothing beside it. It belongs to the parent, so it outlives a worker whose context
is lost.
"""

from __future__ import annotations

import ctypes
from collections import defaultdict
from dataclasses import dataclass
from functools import cache
from typing import Any

import torch

from kernelgauge.errors import MachineError, OutOfDeviceMemory
from kernelgauge.hardware.environment import device_index
from kernelgauge.wire.regions import Region

_OUT_OF_MEMORY = 2
_LAZY_PEER_ACCESS = 1
_ANY_CONTEXT = 1
# The driver packs smaller allocations into blocks of this size, and a handle opens the whole block: a worker would
# see its neighbours, expected outputs among them.
_GRANULE = 2**21


class _Handle(ctypes.Structure):
    _fields_ = (("reserved", ctypes.c_char * 64),)


@cache
def _driver() -> Any:
    library = ctypes.CDLL("libcuda.so.1")
    library.cuMemAlloc_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), ctypes.c_size_t]
    library.cuMemFree_v2.argtypes = [ctypes.c_uint64]
    library.cuIpcGetMemHandle.argtypes = [ctypes.POINTER(_Handle), ctypes.c_uint64]
    library.cuIpcOpenMemHandle_v2.argtypes = [ctypes.POINTER(ctypes.c_uint64), _Handle, ctypes.c_uint]
    library.cuIpcCloseMemHandle.argtypes = [ctypes.c_uint64]
    library.cuMemHostRegister_v2.argtypes = [ctypes.c_void_p, ctypes.c_size_t, ctypes.c_uint]
    library.cuMemHostUnregister.argtypes = [ctypes.c_void_p]
    return library


def _called(name: str, *arguments: Any) -> None:
    status = getattr(_driver(), name)(*arguments)
    if status == _OUT_OF_MEMORY:
        raise OutOfDeviceMemory(f"{name}: out of memory on the GPU")
    if status:
        raise MachineError(f"{name} failed on the GPU with CUDA error {status}")


def _enter_context(device: str) -> None:
    """Make the device's context the calling thread's own: the driver's calls below act on that."""
    torch.cuda.set_device(device_index(device))
    torch.cuda.current_stream().synchronize()


@dataclass
class Account:
    """Bytes in regions that this process owns on one device: now, and the most since somebody set that back."""

    now: int = 0
    most: int = 0

    def add(self, size: int) -> None:
        """Note memory taken, or below zero given back."""
        self.now += size
        self.most = max(self.most, self.now)


_ACCOUNTS: defaultdict[int, Account] = defaultdict(Account)


def account(device: str) -> Account:
    """The account of a device; only who has leased that device writes to it."""
    return _ACCOUNTS[device_index(device)]


def allocate(size: int, device: str) -> int:
    """The address of so many new bytes, a multiple of 2 MiB.

    Raises:
        OutOfDeviceMemory: the GPU has no room for them.
        MachineError: the driver failed otherwise.
    """
    _enter_context(device)
    pointer = ctypes.c_uint64()
    try:
        _called("cuMemAlloc_v2", ctypes.byref(pointer), size)
    except OutOfDeviceMemory:
        free, _ = torch.cuda.mem_get_info(device_index(device))
        wanted = f"{size / 2**30:.2f} GB wanted, {free / 2**30:.2f} free"
        raise OutOfDeviceMemory(f"no room in the memory of {device}: {wanted}") from None
    return pointer.value


def release(pointer: int, device: str) -> None:
    """Give back what `allocate` gave."""
    _enter_context(device)
    _called("cuMemFree_v2", ctypes.c_uint64(pointer))


def pin(address: int, size: int, device: str) -> bool:
    """Whether the driver of a device has pinned these whole pages of host memory: copies then need no stop between.

    Not through the runtime: what fails there is remembered, and raised by the next kernel.
    """
    _enter_context(device)
    return not _driver().cuMemHostRegister_v2(ctypes.c_void_p(address), size, _ANY_CONTEXT)


def unpin(address: int, device: str) -> None:
    """Let go what `pin` has pinned, before its memory is given back."""
    _enter_context(device)
    _called("cuMemHostUnregister", ctypes.c_void_p(address))


class _Memory:
    """Device memory in the form in which `torch.as_tensor` takes it without a copy."""

    def __init__(self, pointer: int, size: int):
        self.__cuda_array_interface__ = {
            "shape": (size,),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
        }


class DeviceRegion(Region):
    """Device memory that this process owns (`create`) or has opened (`opened`)."""

    def __init__(self, pointer: int, size: int, device: str, owned: bool):
        self.size = size
        self._pointer = pointer
        self._device = device
        self._owned = owned
        self.bytes = torch.as_tensor(_Memory(pointer, size), device=device)

    @classmethod
    def create(cls, size: int, device: str) -> DeviceRegion:
        """A new region of `size` bytes.

        Raises:
            OutOfDeviceMemory: the GPU has no room for it.
            MachineError: the driver failed otherwise.
        """
        size = -(-size // _GRANULE) * _GRANULE
        region = cls(allocate(size, device), size, device, owned=True)
        region.bytes.zero_()  # what this process had there before, answers perhaps, is not for whoever opens it
        torch.cuda.synchronize(device)
        account(device).add(size)
        return region

    @classmethod
    def opened(cls, handle: str, size: int, device: str) -> DeviceRegion:
        """The region behind a memory handle of another process; raises MachineError if the driver refuses."""
        _enter_context(device)
        pointer = ctypes.c_uint64()
        raw = _Handle.from_buffer_copy(bytes.fromhex(handle))
        _called("cuIpcOpenMemHandle_v2", ctypes.byref(pointer), raw, _LAZY_PEER_ACCESS)
        return cls(pointer.value, size, device, owned=False)

    def memory_handle(self) -> tuple[dict[str, Any], list[int]]:
        _enter_context(self._device)
        handle = _Handle()
        _called("cuIpcGetMemHandle", ctypes.byref(handle), self._pointer)
        return {"size": self.size, "handle": bytes(handle).hex()}, []

    def close(self) -> None:
        """Free or unmap the memory; whoever has opened it must be gone."""
        if self._pointer:
            pointer, self._pointer = self._pointer, 0
            del self.bytes
            if self._owned:
                release(pointer, self._device)
                account(self._device).add(-self.size)
            else:
                _enter_context(self._device)
                _called("cuIpcCloseMemHandle", pointer)

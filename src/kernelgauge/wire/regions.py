"""Memory the parent owns and shares with one worker: views of it as tensors, and the handle that lets a worker in.

On a CPU a region is a sealed anonymous file; on a GPU a stretch of device memory that travels by CUDA IPC
(`device_regions`). Offsets are multiples of 512 bytes, as PyTorch's own allocator gives on a GPU.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections.abc import Sequence
from typing import Any, Self

import torch

from kernelgauge.wire.messages import TensorSpec

_ALIGNMENT = 512


def dtype_name(dtype: torch.dtype) -> str:
    return str(dtype).removeprefix("torch.")


def dtype_of(name: str) -> torch.dtype:
    """The torch dtype of that name; raises ValueError if there is none."""
    found = getattr(torch, name, None)
    if not isinstance(found, torch.dtype):
        raise ValueError(f"{name!r} is not a tensor type")
    return found


def nbytes(spec: TensorSpec) -> int:
    return math.prod(spec.shape) * dtype_of(spec.dtype).itemsize


def aligned(size: int) -> int:
    """The next multiple of the alignment of offsets."""
    return -(-size // _ALIGNMENT) * _ALIGNMENT


def as_words(content: torch.Tensor) -> torch.Tensor:
    """Bytes eight at a time where their number allows: a GPU compares element by element."""
    return content.view(torch.int64) if content.numel() % 8 == 0 else content


def views(content: torch.Tensor, specs: Sequence[TensorSpec]) -> list[torch.Tensor]:
    """Views of bytes as these tensors; raises ValueError if one lies outside."""
    return [_view(content, spec) for spec in specs]


def _view(content: torch.Tensor, spec: TensorSpec) -> torch.Tensor:
    length = nbytes(spec)
    if spec.offset + length > content.numel():
        raise ValueError(f"tensor {spec} does not fit a region of {content.numel()} bytes")
    if length == 0:
        return torch.empty(spec.shape, dtype=dtype_of(spec.dtype), device=content.device)
    piece = content[spec.offset : spec.offset + length]
    return piece.view(dtype_of(spec.dtype)).view(spec.shape)


def lay_out(shapes: Sequence[tuple[Sequence[int], str]]) -> list[TensorSpec]:
    """Specs with offsets for tensors of these shapes and dtypes, one after the other."""
    specs, offset = [], 0
    for shape, dtype in shapes:
        spec = TensorSpec(shape=tuple(shape), dtype=dtype, offset=offset)
        specs.append(spec)
        offset += aligned(nbytes(spec))
    return specs


def size_of(specs: Sequence[TensorSpec]) -> int:
    """Bytes a region needs for these specs, at least one page."""
    return max([mmap.PAGESIZE, *(spec.offset + nbytes(spec) for spec in specs)])


class Region:
    """A shared stretch of memory; `tensors` are views of it, without a copy."""

    bytes: torch.Tensor
    """All of it as uint8, on its device."""
    size: int

    def tensors(self, specs: Sequence[TensorSpec]) -> list[torch.Tensor]:
        """Views of the region as these tensors; raises ValueError if one lies outside."""
        return views(self.bytes, specs)

    def memory_handle(self) -> tuple[dict[str, Any], list[int]]:
        """What another process needs to open it: a message, and descriptors beside it."""
        raise NotImplementedError

    def close(self) -> None:
        """Give the region back; views of it must not be used any more."""
        raise NotImplementedError

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()


class HostRegion(Region):
    """A sealed anonymous file.

    The size is sealed before the descriptor is handed out: a worker that could shrink the file would make the
    parent's next read a bus error.
    """

    def __init__(self, descriptor: int, size: int):
        self.descriptor = descriptor
        self.size = size
        # Populated at once, so that page faults fall here and not into the first timed call.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        self._map = mmap.mmap(descriptor, size, flags)
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    @classmethod
    def create(cls, size: int) -> Self:
        """A new region of `size` bytes; raises OSError if there is no memory for it."""
        descriptor = os.memfd_create("kernelgauge", os.MFD_CLOEXEC | os.MFD_ALLOW_SEALING)
        size = -(-size // mmap.PAGESIZE) * mmap.PAGESIZE
        try:
            os.posix_fallocate(descriptor, 0, size)
            seals = fcntl.F_SEAL_SHRINK | fcntl.F_SEAL_GROW | fcntl.F_SEAL_SEAL
            fcntl.fcntl(descriptor, fcntl.F_ADD_SEALS, seals)
        except OSError:
            os.close(descriptor)
            raise
        return cls(descriptor, size)

    def memory_handle(self) -> tuple[dict[str, Any], list[int]]:
        return {"size": self.size}, [self.descriptor]

    def close(self) -> None:
        """Forget the descriptor; the memory goes when the last view does."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

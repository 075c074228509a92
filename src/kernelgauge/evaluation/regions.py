"""Memory shared by the parent and one worker: sealed anonymous files that hold the bytes of tensors.

The size is sealed before the descriptor is handed out: a worker that could shrink the file would make the parent's
next read a bus error. Offsets are multiples of 64 bytes, one cache line.
"""

from __future__ import annotations

import fcntl
import math
import mmap
import os
from collections.abc import Sequence
from typing import Any

import torch

from kernelgauge.evaluation.channel import TensorSpec

_ALIGNMENT = 64


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


def lay_out(shapes: Sequence[tuple[Sequence[int], str]]) -> list[TensorSpec]:
    """Specs with offsets for tensors of these shapes and dtypes, one after the other."""
    specs, offset = [], 0
    for shape, dtype in shapes:
        spec = TensorSpec(shape=tuple(shape), dtype=dtype, offset=offset)
        specs.append(spec)
        offset += -(-nbytes(spec) // _ALIGNMENT) * _ALIGNMENT
    return specs


def size_of(specs: Sequence[TensorSpec]) -> int:
    """Bytes a region needs for these specs, at least one page."""
    return max([mmap.PAGESIZE, *(spec.offset + nbytes(spec) for spec in specs)])


class Region:
    """A shared stretch of memory; `tensors` are views of it, without a copy."""

    def __init__(self, descriptor: int, size: int):
        self.descriptor = descriptor
        self.size = size
        # Populated at once, so that page faults fall here and not into the first timed call.
        flags = mmap.MAP_SHARED | getattr(mmap, "MAP_POPULATE", 0)
        self._map = mmap.mmap(descriptor, size, flags)
        self.bytes = torch.frombuffer(self._map, dtype=torch.uint8)

    @classmethod
    def create(cls, size: int) -> Region:
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

    def tensors(self, specs: Sequence[TensorSpec]) -> list[torch.Tensor]:
        """Views of the region as these tensors; raises ValueError if one lies outside."""
        return [self._view(spec) for spec in specs]

    def _view(self, spec: TensorSpec) -> torch.Tensor:
        length = nbytes(spec)
        if spec.offset + length > self.size:
            raise ValueError(f"tensor {spec} does not fit a region of {self.size} bytes")
        if length == 0:
            return torch.empty(spec.shape, dtype=dtype_of(spec.dtype))
        piece = self.bytes[spec.offset : spec.offset + length]
        return piece.view(dtype_of(spec.dtype)).view(spec.shape)

    def close(self) -> None:
        """Forget the descriptor; the memory goes when the last view does."""
        if self.descriptor >= 0:
            os.close(self.descriptor)
            self.descriptor = -1

    def __enter__(self) -> Region:
        return self

    def __exit__(self, *_: Any) -> None:
        self.close()

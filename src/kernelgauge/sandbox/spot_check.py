"""What a worker has computed when it says so: elements of its outputs, read out of its memory while it is stopped.

Its copy of the outputs comes later and is not counted. Without this, whoever computes while it copies, straight into
the region, needs no more time than the copy alone. The elements are drawn at random after the worker was stopped, and
must be in the region afterwards, bit for bit.
"""

from __future__ import annotations

import ctypes
import errno
import os
import random
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from kernelgauge.wire.messages import Place, TensorSpec
from kernelgauge.wire.outputs import folded
from kernelgauge.wire.regions import Region, dtype_of, nbytes

# Of one call, over all outputs: the kernel takes 1024 pieces at most. Work on a part of the elements that is left to
# the copy goes unnoticed in (1 - part) ** 512 of the calls.
_ELEMENTS = 512

_libc = ctypes.CDLL(None, use_errno=True)
_random = random.SystemRandom()


class _Piece(ctypes.Structure):
    _fields_ = (("base", ctypes.c_void_p), ("length", ctypes.c_size_t))


@dataclass(frozen=True)
class OutputSample:
    """Some bytes of a worker's outputs, and where the same bytes lie in the region that it copies them to."""

    offsets: tuple[int, ...]
    lengths: tuple[int, ...]
    found: bytes

    def agrees_with(self, region: Region) -> bool:
        """Whether the region now holds these very bytes."""
        spans = zip(self.offsets, self.lengths, strict=True)
        indices = [at for start, length in spans for at in range(start, start + length)]
        return bytes(region.bytes[torch.tensor(indices, dtype=torch.int64)].tolist()) == self.found


def readable(pid: int) -> bool:
    """Whether this process may read the memory of that one: some machines forbid it."""
    _read(pid, [(1, 1)])
    return ctypes.get_errno() == errno.EFAULT  # nothing lies there, and we were told so


def sample_outputs(pid: int, places: Sequence[Place], expected: Sequence[TensorSpec]) -> OutputSample | None:
    """Random elements of the outputs that a stopped worker says lie at these places; None if they do not lie there.

    Args:
        pid: the worker.
        expected: shape and dtype of each output, and its offset in the region.
    """
    if len(places) != len(expected):
        return None
    pieces, offsets = [], []
    for index, element in _drawn(expected):
        spec, place = expected[index], places[index]
        if len(place.strides) != len(spec.shape) or folded(spec.shape, place.strides):
            return None
        size = dtype_of(spec.dtype).itemsize
        address = place.address + size * _distance(element, spec.shape, place.strides)
        if not 0 < address < 2**63:
            return None
        pieces.append((address, size))
        offsets.append(spec.offset + size * element)
    found = _read(pid, pieces)
    return None if found is None else OutputSample(tuple(offsets), tuple(size for _, size in pieces), found)


def lie_in(pid: int, places: Sequence[Place], expected: Sequence[TensorSpec], descriptor: int) -> bool:
    """Whether any output of a stopped worker lies in a mapping of this file, wherever the worker has mapped it.

    Two mappings of one file have other addresses and the same memory. False where the mappings cannot be read.
    """
    file = os.fstat(descriptor)
    named = [f"{os.major(file.st_dev):02x}:{os.minor(file.st_dev):02x}", str(file.st_ino)]
    try:
        lines = Path(f"/proc/{pid}/maps").read_text(errors="replace").splitlines()
    except OSError:
        return False
    # address range, rights, offset, device, inode, path
    mapped = [line.split(maxsplit=5) for line in lines if named[1] in line]
    ranges = [tuple(int(end, 16) for end in each[0].split("-")) for each in mapped if each[3:5] == named]
    reach = [
        (place.address, place.address + _reach(place, spec)) for place, spec in zip(places, expected, strict=True)
    ]
    return any(start < end and first < last for start, last in reach for first, end in ranges)


def _reach(place: Place, spec: TensorSpec) -> int:
    """Bytes from the first element of an output to the end of its last."""
    size = dtype_of(spec.dtype).itemsize
    steps = zip(spec.shape, place.strides, strict=True)
    return size * (1 + sum((count - 1) * stride for count, stride in steps)) if nbytes(spec) else 0


def _drawn(expected: Sequence[TensorSpec]) -> list[tuple[int, int]]:
    """Random elements, as index of an output and flat index in it: at least one of each output that has any."""
    elements = [nbytes(spec) // dtype_of(spec.dtype).itemsize for spec in expected]
    filled = [index for index, count in enumerate(elements) if count][:_ELEMENTS]
    if not filled:
        return []
    more = _random.choices(filled, [elements[index] for index in filled], k=_ELEMENTS - len(filled))
    return [(index, _random.randrange(elements[index])) for index in (*filled, *more)]


def _distance(element: int, shape: Sequence[int], strides: Sequence[int]) -> int:
    """How far from the first element one lies, in elements."""
    distance = 0
    for size, stride in zip(reversed(shape), reversed(strides), strict=True):
        element, at = divmod(element, size)
        distance += at * stride
    return distance


def _read(pid: int, pieces: Sequence[tuple[int, int]]) -> bytes | None:
    """The bytes at these addresses of a process, one piece after the other; None if any cannot be read."""
    total = sum(length for _, length in pieces)
    buffer = ctypes.create_string_buffer(total or 1)
    own = _Piece(ctypes.addressof(buffer), total)
    theirs = (_Piece * len(pieces))(*(_Piece(*piece) for piece in pieces))
    got = _libc.process_vm_readv(pid, ctypes.byref(own), 1, theirs, len(pieces), 0)
    return buffer.raw[:total] if got == total else None

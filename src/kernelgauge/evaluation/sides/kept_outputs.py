"""Where the outputs of a call are copied to inside its clock, when memory is scarce: both sides copy the same bytes
in the same pieces, and only the candidate's are there afterwards.

The reference's are read where its worker has written them, which no candidate can reach.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import torch

from kernelgauge.checks.host_copies import copy_over, to_host
from kernelgauge.errors import OutOfDeviceMemory
from kernelgauge.wire.messages import TensorSpec
from kernelgauge.wire.regions import Region, views

# Bytes: several times what a cache of the device holds, so that a copy goes through its memory.
_PIECE = 1 << 28


class CopiedOutputs:
    """A way to copy a region of outputs; `tensors` are the outputs as they were copied last.

    Raises (from the constructor):
        OutOfDeviceMemory: there is no memory for it.
    """

    tensors: list[torch.Tensor]

    def __init__(self, region: Region, size: int, piece: int):
        self._region, self._piece = region, piece
        try:
            self._buffer = torch.empty(size, dtype=torch.uint8, device=region.bytes.device)
        except torch.OutOfMemoryError as error:
            raise OutOfDeviceMemory(str(error).splitlines()[0]) from error

    def take(self) -> None:
        """Copy what the worker has written; on a GPU, the copy is only queued."""
        for place, piece in self._pieces():
            place.copy_(piece)

    def _pieces(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        raise NotImplementedError


class StayingOutputs(CopiedOutputs):
    """Out of the worker's reach, until the next are taken; they can be put aside when the oracle needs the room."""

    def __init__(self, region: Region, expected: Sequence[TensorSpec], piece: int = _PIECE):
        super().__init__(region, region.size, piece)
        self.tensors = views(self._buffer, expected)
        self._aside: torch.Tensor | None = None
        self._there = True

    def _pieces(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        return zip(self._buffer.split(self._piece), self._region.bytes.split(self._piece), strict=True)

    def put_aside(self, keep: bool) -> None:
        """Give their memory back; until `put_back`, nobody may look at `tensors`.

        Args:
            keep: what is in them, in host memory.
        """
        if self._there:
            self._aside = to_host(self._buffer) if keep else None
            self._buffer.untyped_storage().resize_(0)
            self._there = False

    def put_back(self) -> None:
        """Take memory again, and put back what was kept; raises OutOfDeviceMemory where there is none."""
        if self._there:
            return
        try:
            self._buffer.untyped_storage().resize_(self._buffer.numel())
        except torch.OutOfMemoryError as error:
            raise OutOfDeviceMemory(str(error).splitlines()[0]) from error
        self._there = True
        if self._aside is not None:
            copy_over(self._buffer, self._aside)
            self._aside = None


class PassingOutputs(CopiedOutputs):
    """Copied as those that stay are, and overwritten by the next piece: it is part of a call's clock."""

    def __init__(self, region: Region, expected: Sequence[TensorSpec], piece: int = _PIECE):
        super().__init__(region, min(piece, region.size), piece)
        self.tensors = region.tensors(expected)

    def _pieces(self) -> Iterator[tuple[torch.Tensor, torch.Tensor]]:
        for piece in self._region.bytes.split(self._piece):
            yield self._buffer[: piece.numel()], piece

"""What the parent shares with one side: the inputs of its next call, the outputs of its last; all the parent's."""

from __future__ import annotations

import secrets
from collections.abc import Sequence

import torch

from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.errors import OutOfDeviceMemory
from kernelgauge.evaluation.sides.kept_outputs import CopiedOutputs, PassingOutputs, StayingOutputs
from kernelgauge.hardware.environment import device_index
from kernelgauge.wire.messages import TensorSpec
from kernelgauge.wire.regions import Region, as_words, size_of
from kernelgauge.wire.shared_memory import create

# Bytes compared at a time: a multiple of eight.
_COMPARED = 1 << 30
# Bytes that a device hands out at a time.
_BLOCK = 1 << 21
# Of them, the largest gap: where memory lies costs one side of a pair of processes up to 2.5 %, and what was given
# back is given out again. After a gap of random size the next pair has its memory elsewhere (decision 45).
_MOST_APART = 16


class SharedBuffers:
    """The regions of one side, and what the parent does with them.

    Args:
        device: where they lie: `cpu`, or `cuda:0` and so on.
        trusted: whether the side runs the problem's own text: on a CPU its outputs may then stay within its reach.
        plan: how memory is shared out.
    """

    def __init__(self, device: str, trusted: bool, plan: MemoryPlan = USUAL):
        self._device = device
        self._trusted, self._plan = trusted, plan
        self._copied: CopiedOutputs | None = None
        self._in_place = trusted and device == "cpu"
        self.inputs: Region | None = None
        self.outputs: Region | None = None
        self._further: list[Region] = []
        self.expected: list[TensorSpec] = []
        self.views: list[torch.Tensor] = []
        self.kept: list[torch.Tensor] = []
        """The outputs as the last snapshot found them."""
        self._fence: torch.Tensor | None = None

    def make_inputs(self, size: int) -> Region:
        """A region of so many bytes for inputs.

        Raises (as do the others that make one):
            OSError, OutOfDeviceMemory: there is no memory for it.
        """
        if self._device != "cpu" and not self._plan.tight:
            self.make_further((1 + secrets.randbelow(_MOST_APART)) * _BLOCK)
        self.inputs = create(size, self._device)
        return self.inputs

    def make_outputs(self, expected: Sequence[TensorSpec]) -> Region:
        """A region for these outputs, and memory of the parent's own to keep them in."""
        self.expected = list(expected)
        self.outputs = create(size_of(self.expected), self._device)
        self.views = self.outputs.tensors(self.expected)
        if self._plan.tight and not self._in_place:
            kind = PassingOutputs if self._trusted else StayingOutputs
            self._copied = kind(self.outputs, self.expected)
            self.kept = self._copied.tensors
            return self.outputs
        try:
            self.kept = self.views if self._in_place else [torch.empty_like(view) for view in self.views]
        except torch.OutOfMemoryError as error:
            raise OutOfDeviceMemory(str(error).splitlines()[0]) from error
        return self.outputs

    def make_further(self, size: int) -> Region:
        """One more region of so many bytes."""
        region = create(size, self._device)
        self._further.append(region)
        return region

    def fill(self, master: Region) -> None:
        """Put the inputs in place, and spoil what the outputs of the last call were."""
        assert self.inputs is not None
        self.inputs.bytes.copy_(master.bytes[: self.inputs.size])
        if self.outputs is not None:
            self.outputs.bytes.view(torch.int64).fill_(secrets.randbits(62))
        self.wait()

    def snapshot(self) -> list[torch.Tensor]:
        """A copy of the outputs the worker has written, out of its reach; the next snapshot overwrites it.

        On a GPU of the reference's too: it is part of a call's clock, and both sides must do the same.
        """
        if self._copied is not None:
            self._copied.take()
            self.wait()
        elif self.kept is not self.views:
            for kept, view in zip(self.kept, self.views, strict=True):
                kept.copy_(view)
            self.wait()
        return self.kept

    def inputs_equal(self, master: Region) -> bool:
        """Whether the inputs still are what was staged; in pieces, since comparing takes memory too."""
        assert self.inputs is not None
        size = min(self.inputs.size, master.size)
        pairs = zip(self.inputs.bytes[:size].split(_COMPARED), master.bytes[:size].split(_COMPARED), strict=True)
        return all(torch.equal(as_words(mine), as_words(due)) for mine, due in pairs)

    def close_inputs(self) -> None:
        """Give back the region of inputs, which the worker has closed already."""
        if self.inputs is not None:
            self.inputs.close()
            self.inputs = None

    def put_aside(self, keep: bool) -> None:
        """Give back the memory of outputs out of the worker's reach, until `put_back`; nothing where memory is not
        scarce.

        Args:
            keep: their values.
        """
        if isinstance(self._copied, StayingOutputs):
            self._copied.put_aside(keep)

    def put_back(self) -> None:
        """End what `put_aside` has begun; raises OutOfDeviceMemory where there is no memory for it."""
        if isinstance(self._copied, StayingOutputs):
            self._copied.put_back()

    def wait(self) -> None:
        """Wait until the device has done what the parent asked of it."""
        if self._device != "cpu":
            torch.cuda.synchronize(device_index(self._device))

    def reach_device(self) -> None:
        """Have the device do the least there is for the parent: behind the work of another process that it is at."""
        if self._fence is None:
            self._fence = torch.zeros((), device=self._device)
        self._fence.add_(1)
        self.wait()

    def let_go(self) -> None:
        """Give back device memory that the parent's own arithmetic has used: workers need the room."""
        if self._device != "cpu" and torch.cuda.is_initialized():
            torch.cuda.empty_cache()

    def close(self) -> None:
        """Give back all of it."""
        self.views, self.kept, self._copied = [], [], None
        for region in (self.inputs, self.outputs, *self._further):
            if region is not None:
                region.close()
        self.inputs = self.outputs = None
        self._further.clear()
        self.let_go()

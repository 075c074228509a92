"""Many calls between two looks at the parent's clock: what a worker could keep to itself in each of them, adds up.

A message about a call takes some tenths of a millisecond, and a worker's word on the call may be short of the truth
by as much as that scatters. In a batch a worker computes the answers to several inputs that all lie there, and says
so once: the parent's clock is then off by the scatter of one message, shared by all calls. Nothing is flushed and
nobody waits between two calls, so none of them takes longer than one by itself, and who claims far less has not told
all. A call by itself may take longer, though: whoever computes several at once saves what that saves. The reference
computes the same row, so what both take is a second word on the ratio, in which no worker has a say.

What messages and copies cost is what a batch of the reference's worker takes in which nothing is computed, before
the candidate's has heard of any. Inputs and outputs are compared like those of timed calls.
"""

from __future__ import annotations

import secrets
import time
from collections.abc import Callable
from typing import Any

import torch

from kernelgauge.evaluation.correctness import verdicts
from kernelgauge.evaluation.failures import Failure, claimed_failure, explain_end
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.hardware.environment import device_index
from kernelgauge.sandbox.worker_errors import WORKER_FAILURES
from kernelgauge.schema import Outcome
from kernelgauge.wire.candidate_commands import RunBatch, StageBatch
from kernelgauge.wire.messages import TensorSpec
from kernelgauge.wire.regions import aligned, as_words, size_of, views

MOST_CALLS = 32
# In all calls together: the order for more would not fit a message.
_MOST_TENSORS = 240
# Rows without computing; a disturbed one takes longer.
_IDLE_ROWS = 3
# Of the free memory: both workers need room for what they compute, too.
_SHARE_OF_MEMORY = 0.4

Verified = Callable[[str, list[torch.Tensor], list[torch.Tensor], str], None]
"""Given the kind of inputs, the candidate's answers, the reference's, and which call it was: raises Failure where
they disagree."""


def affordable(reference: Reference, calls: int) -> int:
    """How many calls of at most that many fit a message, and the device beside all else."""
    calls = min(calls, MOST_CALLS, _MOST_TENSORS // (len(reference.arguments) + len(reference.expected)))
    if reference.device == "cpu":
        return calls
    each = 3 * reference.master.size + 4 * size_of(reference.expected)
    free, _ = torch.cuda.mem_get_info(device_index(reference.device))
    return min(calls, int(free * _SHARE_OF_MEMORY) // each)


class _Room:
    """Room on one side for the inputs and outputs of several calls."""

    def __init__(self, reference: Reference, side: Side, calls: int):
        self.side = side
        self._calls = calls
        self._due = reference.expected
        self._in_bytes = aligned(reference.master.size)
        self._out_bytes = aligned(size_of(self._due))
        self._inputs = side.share("batch inputs", calls * self._in_bytes)
        self._outputs = side.share("batch outputs", calls * self._out_bytes)
        self._kept = torch.empty_like(self._outputs.bytes)
        self._seeds: list[int] = []

    def stage(self, arguments: list[list[Any]], seeds: list[int], inputs: list[torch.Tensor]) -> None:
        """Tell the worker what the calls look like, stop it, and put their inputs in place."""
        side = self.side
        side.check_still()
        side.process.thaw()
        self._seeds = seeds
        calls = [[_moved(each, call * self._in_bytes) for each in its] for call, its in enumerate(arguments)]
        due = [[spec.model_dump() for spec in self._specs(call)] for call in range(len(calls))]
        side.ask(StageBatch(calls, due), side.limits.call_seconds)
        side.process.freeze()
        for call, content in enumerate(inputs):
            self._input(call, content).copy_(content)
        self._outputs.bytes.view(torch.int64).fill_(secrets.randbits(62))
        side.buffers.wait()
        side.check_still()

    def run(self, compute: bool = True) -> int:
        """Nanoseconds from the order until all outputs are out of the worker's reach.

        Raises:
            Failure: a call went wrong; values are not looked at here.
        """
        side, process = self.side, self.side.process
        limit = side.limits.call_seconds * self._calls
        try:
            start = time.perf_counter_ns()
            process.tell(RunBatch(compute, self._seeds))
            process.thaw()
            said = process.receive_raw(limit, spin=True)
            self._kept.copy_(self._outputs.bytes)
            side.buffers.wait()
            done = time.perf_counter_ns()
            claim = process.parse(said, RunBatch.answer)
        except WORKER_FAILURES as error:
            raise explain_end("forward", limit, error, process.log()) from error
        if claim.event == "failed":
            raise claimed_failure("forward", claim)
        process.freeze()
        if not claim.copied:
            raise Failure(Outcome.WRONG_SHAPE, "forward: other outputs in a batch of calls than in one by itself")
        return done - start

    def answers(self, call: int) -> list[torch.Tensor]:
        """What the worker has answered to that call."""
        return views(self._kept, self._specs(call))

    def kept(self, call: int, content: torch.Tensor) -> bool:
        """Whether the inputs of that call still are what was staged."""
        return torch.equal(as_words(self._input(call, content)), as_words(content))

    def _input(self, call: int, content: torch.Tensor) -> torch.Tensor:
        return self._inputs.bytes[call * self._in_bytes :][: content.numel()]

    def _specs(self, call: int) -> list[TensorSpec]:
        shift = call * self._out_bytes
        return [spec.model_copy(update={"offset": spec.offset + shift}) for spec in self._due]


def _moved(argument: dict[str, Any], shift: int) -> dict[str, Any]:
    """An argument as the oracle describes it, that many bytes further on in its region."""
    if "tensor" not in argument:
        return argument
    return {"tensor": argument["tensor"] | {"offset": argument["tensor"].get("offset", 0) + shift}}


class Batch:
    """Room for a batch of calls on both sides; used as often as wanted.

    Args:
        deal: what kind of inputs the next call gets.

    Attributes:
        idle_ns: of a row in which nothing is computed.

    Raises (from the constructor):
        Failure: the candidate's worker cannot open it.
        OutOfDeviceMemory, torch.OutOfMemoryError, ReferenceTooLarge: there is none.
    """

    def __init__(self, reference: Reference, candidate: Side, calls: int, deal: Callable[[], str]):
        self.calls = calls
        self.reference = reference
        self._deal = deal
        self._variants: list[str] = []
        self._arguments: list[list[Any]] = []
        self._seeds: list[int] = []
        self._inputs: list[torch.Tensor] = []
        with reference.blamed(reference.side):
            self._own = _Room(reference, reference.side, calls)
            self._draw()
            self._own.stage(self._arguments, self._seeds, self._inputs)
            self.idle_ns = min(self._own.run(compute=False) for _ in range(_IDLE_ROWS))
        self._other = _Room(reference, candidate, calls)

    def take(self, verified: Verified) -> tuple[int, int]:
        """Nanoseconds of the reference's and of the candidate's row on the same new inputs.

        Args:
            verified: is given each call's answers while `reference` holds the inputs of that call.

        Raises:
            Failure: a call of the candidate's went wrong, its answer was, or it changed its inputs.
            torch.OutOfMemoryError, ReferenceTooLarge: there is not the memory to judge that.
        """
        own, other = self._own, self._other
        if self.reference.clearing.cold:  # as before a timed call
            self.reference.clearing.cold = False
            self._both()
        own_taken, taken = self._both()
        other.side.check_still()
        calls = [(f"call {call + 1} of a row", inputs) for call, inputs in enumerate(self._inputs)]
        for call, (where, inputs) in enumerate(calls):
            verdicts.inputs_kept(other.kept(call, inputs) or not own.kept(call, inputs), where)
        for call, (where, inputs) in enumerate(calls):
            self.reference.recall(inputs, self._seeds[call])
            verified(self._variants[call], other.answers(call), own.answers(call), where)
        return own_taken, taken

    def _both(self) -> tuple[int, int]:
        """Nanoseconds of both rows on the same new inputs."""
        self._draw()
        with self.reference.blamed(self._own.side):
            self._own.stage(self._arguments, self._seeds, self._inputs)
            own_taken = self._own.run()
        self._other.stage(self._arguments, self._seeds, self._inputs)
        return own_taken, self._other.run()

    def _draw(self) -> None:
        """New inputs for all calls; `Reference.recall` can bring them back one by one.

        Where other kinds of inputs vary a number too, all are the problem's own.
        """
        try:
            self._draw_each([self._deal() for _ in range(self.calls)])
        except Uneven:
            self._draw_each(["own"] * self.calls)
        self.reference.rest()

    def _draw_each(self, variants: list[str]) -> None:
        reference = self.reference
        self._variants, self._arguments, self._seeds, self._inputs = variants, [], [], []
        for variant in variants:
            reference.draw(variant)
            if self._arguments and reference.arguments != self._arguments[0]:
                raise Uneven("its inputs differ in more than their values from draw to draw")
            self._arguments.append(reference.arguments)
            self._seeds.append(reference.call_seed)
            self._inputs.append(reference.master.bytes.clone())


class Uneven(Exception):
    """A problem whose draws differ in shapes or numbers: the oracle knows the last one only."""

"""Leaving the oracle the memory that nobody needs while it computes, where a plan says that memory is scarce.

Both sides give back what their allocators keep for later calls, the reference its region of inputs, the parent its
copy of the candidate's outputs. All but the first is there again afterwards; what the allocators had, a timed call
must find ready, so both sides are called once more before the next that counts (`Measurement`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.sides.problem_process import reserved
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.schema import Outcome

if TYPE_CHECKING:
    from kernelgauge.evaluation.sides.reference import Reference


class Clearing:
    """What is given back and taken again beside one reference; without effect where memory is not scarce."""

    def __init__(self, reference: Reference):
        self._reference = reference
        self._beside: Side | None = None
        self._open = self._without_inputs = False
        self.changed_inputs: bool | None = None
        """Whether the reference's side had changed the inputs of its last call, where the region that would show it
        has been given back since; else None."""
        self.cold = False
        """Whether sides have given back memory that a timed call is to find ready."""

    def judge(self, candidate: Side) -> None:
        """Have this candidate's side give back memory as well; its regions are there."""
        self._beside = candidate

    def trim(self) -> bool:
        """Have the sides give back what their allocators keep, if the reference's has run; False if that is of no
        use.

        Where memory is not scarce the candidate's is not asked: it may be in the middle of a call.
        """
        reference = self._reference
        if self._open or reference.side.buffers.inputs is None:
            return False
        with reference.blamed(reference.side):
            reference.side.trim()
        if reference.plan.tight:
            self.cold = True
            if self._beside is not None:
                self._beside.trim_between_calls()
        return True

    @contextmanager
    def cleared(self, keep: bool) -> Iterator[None]:
        """Leave the memory to the oracle while open.

        Args:
            keep: the values of the candidate's outputs, which nobody may look at meanwhile.

        Raises:
            ReferenceTooLarge: there was no room for what must be there again; now it is, and what the oracle has
                answered is gone.
            Failure: the candidate's worker does not do what it is asked, or beside it there is no such room.
        """
        if not self._reference.plan.tight or self._open:
            yield
            return
        self._open = True
        try:
            self._clear(keep)
            yield
        finally:
            self._open = False
            self._refill()

    def _clear(self, keep: bool) -> None:
        reference, side = self._reference, self._reference.side
        self.cold = True
        if side.buffers.inputs is not None:
            if self.changed_inputs is None:  # what is there the second time nobody has filled
                self.changed_inputs = not side.buffers.inputs_equal(reference.master)
            self._without_inputs = True
            with reference.blamed(side):
                side.trim()
                side.give_back_inputs()
        if self._beside is not None:
            self._beside.buffers.put_aside(keep)
            self._beside.trim_between_calls()
        side.buffers.let_go()

    def _refill(self) -> None:
        """Where the oracle has left something in the way of that, nobody comes to look at it."""
        reference = self._reference
        try:
            reserved(reference.problem, self._put_back)
        except ReferenceTooLarge:
            reference.forget_shortcuts()
            try:
                reserved(reference.problem, self._put_back)
            except ReferenceTooLarge as error:
                if self._beside is None:
                    raise
                reason = f"beside this candidate, the memory does not suffice for the reference: {error}"
                raise Failure(Outcome.OUT_OF_MEMORY, reason) from error
            raise

    def _put_back(self) -> None:
        reference = self._reference
        if self._beside is not None:
            self._beside.buffers.put_back()
        if self._without_inputs:
            reference.side.buffers.close_inputs()  # of a try that the worker had no room for
            with reference.blamed(reference.side):
                reference.side.attach_inputs(reference.master.size)
            self._without_inputs = False

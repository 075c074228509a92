"""Which answer is right: float64's, unless that computed something else; then eager's own stands in."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import torch

from kernelgauge.checks.host_copies import to_host
from kernelgauge.checks.numerics import all_finite, distances
from kernelgauge.evaluation.sides.problem_process import ReferenceRaised
from kernelgauge.wire.math_modes import roundoff

if TYPE_CHECKING:
    from kernelgauge.evaluation.sides.reference import Reference

# Above this, the float64 run computed something else (other random draws), not the same thing more exactly.
_SAME_COMPUTATION = 1e-2
_SAME_IN_ROUNDOFFS = 32
# What any two right ways to compute the inputs could differ by.
_LAST_PLACES = 4
# Elements at a time.
_MOVED = 1 << 26
# Bytes of one call's inputs and outputs up to which the GPU has room for eager and the oracle at the same time.
_SIDE_BY_SIDE = 2**31

Answers = tuple[list[torch.Tensor], list[torch.Tensor]]
"""What eager answers, and what is right; the same where eager itself stands in for the oracle."""


def in_domain(variant: str, answer: Sequence[torch.Tensor]) -> bool:
    """Whether a problem has an answer for a variant of its inputs; its own need not even be finite."""
    return variant == "own" or all(all_finite(tensor) for tensor in answer if tensor.is_floating_point())


class RightAnswers:
    """Answers to a problem's inputs in both precisions, for one pair of processes.

    Args:
        reference: whose oracle and own worker answer.
    """

    def __init__(self, reference: Reference):
        self._reference = reference
        self.unused: Answers | None = None
        """Answers to the inputs drawn last, the problem's own, which nobody has seen yet."""
        # On a CPU they would take turns at its cores.
        self.room_for_both = reference.device != "cpu" and not reference.plan.tight
        """Whether eager and the oracle may answer at the same time."""

    def hold_against_float64(self) -> None:
        """Answer the inputs just drawn in both precisions; where they are far apart, eager is to stand in."""
        outputs, truth = self._answers("own")
        same = max(_SAME_COMPUTATION, _SAME_IN_ROUNDOFFS * roundoff(self._reference.math))
        if not any(found.rms > same for found in distances(outputs, truth)):
            self.unused = outputs, truth
            return
        self._reference.rounding_decides = self._moved_by_rounding(outputs) > same
        drew = "the float64 run draws other random numbers"
        self._reference.without_float64("rounding decides the answer" if self._reference.rounding_decides else drew)

    def _moved_by_rounding(self, before: list[torch.Tensor]) -> float:
        """How far eager's own answer moves, relative to its scale, where each input is changed in its last places."""
        before = [to_host(tensor) if self._reference.plan.tight else tensor.clone() for tensor in before]
        for tensor in self._reference.given():
            if tensor.is_floating_point():
                most = _LAST_PLACES * torch.finfo(tensor.dtype).eps
                for piece in tensor.view(-1).split(_MOVED):
                    piece.mul_(torch.empty_like(piece).uniform_(1 - most, 1 + most))
        return max(found.rms for found in distances(self._reference.answer(), before))

    def to(self, variant: str) -> Answers:
        """Draw inputs, and answer them in working precision and in float64; see `Reference.answer` and `truth`.

        The first that are the problem's own have been drawn when it was opened, and nobody has seen them. Where a
        variant leaves the problem's domain, eager's answer stands for both.
        """
        if variant == "own" and self.unused is not None:
            answers, self.unused = self.unused, None
            return answers
        self._reference.draw(variant)
        return self._answers(variant)

    def _answers(self, variant: str) -> Answers:
        reference = self._reference
        if reference.precise and self.room_for_both and reference.bytes_per_call <= _SIDE_BY_SIDE:
            return self._answers_side_by_side(variant)
        answer = reference.answer()
        exact = reference.precise and in_domain(variant, answer)
        return answer, reference.truth(keep=False) if exact else answer

    def _answers_side_by_side(self, variant: str) -> Answers:
        own: list[torch.Tensor] = []
        try:
            truth = self._reference.truth(beside=lambda: own.extend(self._reference.answer()))
        except ReferenceRaised:
            if not own or in_domain(variant, own):
                raise
            return own, own
        self.room_for_both = bool(own)
        return own or self._reference.answer(), truth  # what had no room beside the other may have it now

"""Whether the outputs of timed calls are right: nearly always decided by eager's, which are there already."""

from __future__ import annotations

from dataclasses import dataclass

import torch

from kernelgauge.checks.numerics import Distance
from kernelgauge.evaluation.correctness import verdicts
from kernelgauge.evaluation.correctness.conditioning import tells
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.wire.messages import Claim


@dataclass(frozen=True)
class Inputs:
    """The inputs of a timed call."""

    variant: str
    """Their kind; see `checks.inputs.vary`."""
    eager: list[Distance]
    """Eager's own distance from the oracle on such inputs, as the checked trials found it, for each output."""


def verify(reference: Reference, candidate: Side, inputs: Inputs, claims: tuple[Claim, Claim], where: str) -> None:
    """The outputs of the calls just timed, compared with eager's on the same inputs, and what the calls did beside.

    Args:
        claims: what the reference's worker and the candidate's said of their calls.

    Raises:
        Failure: `wrong_value` and the like, or `rejected`.
    """
    own, claim = claims
    verdicts.side_effects(claim, reference.inputs_kept_by(candidate), own, where)
    agree(reference, inputs, candidate.buffers.kept, reference.side.buffers.kept, where)


def agree(
    reference: Reference,
    inputs: Inputs,
    outputs: list[torch.Tensor],
    due: list[torch.Tensor],
    where: str,
) -> None:
    """Outputs for the inputs that the reference holds, compared with eager's, and if need be with the oracle's.

    Another draw or other weights may be harder on eager too than those of the checked trials.
    """
    tolerance = reference.protocol.tolerance
    slack = inputs.eager
    if tolerance.rule == "oracle":
        more, most = (1 + 1 / multiple for multiple in tolerance.multiples)
        slack = [Distance(own.rms * more, own.worst * most) for own in slack]
    trial, found = verdicts.compare(tolerance, inputs.variant, outputs, due, slack)
    if not trial.agreed and reference.precise:
        truth = reference.truth()
        own = reference.eager_distances(due, truth)
        if not tells(reference, inputs.variant, due, own):
            return
        trial, found = verdicts.compare(tolerance, inputs.variant, outputs, truth, own, reference.honest)
        if not trial.agreed:
            raise verdicts.disagreement(trial, found, tolerance, where, outputs, truth, reference.honest)
    if not trial.agreed:
        raise verdicts.disagreement(trial, found, tolerance, where)

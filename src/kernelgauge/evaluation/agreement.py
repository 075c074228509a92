"""Whether the outputs of timed calls are right: nearly always decided by eager's, which are there already."""

from __future__ import annotations

import torch

from kernelgauge.checks.numerics import Distance
from kernelgauge.evaluation import judge
from kernelgauge.evaluation.reference import Reference
from kernelgauge.evaluation.side import Side


def verify(reference: Reference, candidate: Side, eager: list[Distance], where: str) -> None:
    """The outputs of the calls just timed, compared with eager's on the same inputs.

    A worker can tell a timed call from a checked one, so its inputs are looked at too.
    """
    judge.inputs_kept(reference.inputs_kept_by(candidate), where)
    agree(reference, eager, candidate.staging.kept, reference.side.staging.kept, where)


def agree(
    reference: Reference,
    eager: list[Distance],
    outputs: list[torch.Tensor],
    due: list[torch.Tensor],
    where: str,
) -> None:
    """Outputs for the inputs that the reference holds, compared with eager's, and if need be with the oracle's.

    Another draw or other weights may be harder on eager too than those of the checked trials.
    """
    agreement = reference.protocol.agreement
    slack = eager
    if agreement.rule == "oracle":
        more, most = (1 + 1 / multiple for multiple in agreement.multiples)
        slack = [Distance(own.rms * more, own.worst * most) for own in eager]
    trial, found = judge.compare(agreement, "own", outputs, due, slack)
    if not trial.agreed and reference.precise:
        truth = reference.truth()
        own = reference.eager_distances(due, truth)
        trial, found = judge.compare(agreement, "own", outputs, truth, own, reference.honest)
        if not trial.agreed:
            raise judge.disagreement(trial, found, agreement, where, outputs, truth, reference.honest)
    if not trial.agreed:
        raise judge.disagreement(trial, found, agreement, where)

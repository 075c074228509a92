"""What the facts of a call mean. Pure functions: no process, no clock, no file."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Protocol

import torch

from kernelgauge.checks.numerics import Allowance, Distance, allowance, closeness, distances
from kernelgauge.config import Tolerance
from kernelgauge.evaluation.failures import Failure
from kernelgauge.schema import Outcome, Trial
from kernelgauge.wire.messages import Claim, TensorSpec

# Up to here an error may be arithmetic in too few bits (bfloat16 keeps 8: 2**-8 = 0.004 per operation).
_SIXTEEN_BIT = 2e-2
# Larger ones are no arithmetic's.
_EXPLAINED = 1.0


class Honest(Protocol):
    """Knows what honest float32 arithmetic makes of the inputs drawn last; see `honest_errors.HonestErrors`."""

    def widen(
        self, variant: str, found: Sequence[Distance], usual: Sequence[Allowance]
    ) -> tuple[list[Allowance], list[float | None]]:
        """What is allowed, and the error found in each output; None where nobody asked."""

    def explain(self, found: Distance, outputs: Sequence[torch.Tensor], truth: Sequence[torch.Tensor]) -> str:
        """What makes an error of that size."""


def shapes(claim: Claim, expected: Sequence[TensorSpec]) -> None:
    """Compare number, shapes and dtypes of the outputs with what the reference returned.

    Raises:
        Failure: `wrong_shape`, or `wrong_precision` where only a dtype differs.
    """
    got = claim.tensors
    if len(got) != len(expected):
        raise Failure(Outcome.WRONG_SHAPE, f"returned {len(got)} tensors where {len(expected)} are due")
    for index, (mine, due) in enumerate(zip(got, expected, strict=True)):
        which = f"output {index} " if len(expected) > 1 else ""
        if mine.shape != due.shape:
            reason = f"{which}has shape {list(mine.shape)} where {list(due.shape)} is due"
            raise Failure(Outcome.WRONG_SHAPE, reason)
        if mine.dtype != due.dtype:
            reason = f"{which}has dtype {mine.dtype} where {due.dtype} is due"
            raise Failure(Outcome.WRONG_PRECISION, reason)
    if not claim.copied:
        raise Failure(Outcome.REJECTED, "said its outputs fit but did not copy them out", "forged_message")


def inputs_kept(kept: bool, where: str = "forward") -> None:
    """Refuse writing to the inputs; see `Reference.inputs_kept_by`.

    Raises:
        Failure: `rejected`, rule `input_mutated`.
    """
    if not kept:
        raise Failure(Outcome.REJECTED, f"{where}: changed its inputs; the reference does not", "input_mutated")


def side_effects(claim: Claim, kept: bool, reference: Claim, where: str = "forward") -> None:
    """Refuse what the reference does not do itself: writing to inputs, returning views of them, one buffer for ever.

    Raises:
        Failure: `rejected`, with the rule.
    """
    inputs_kept(kept, where)
    if claim.aliases_input and not reference.aliases_input:
        reason = f"{where}: the output shares memory with an input; the reference returns memory of its own"
        raise Failure(Outcome.REJECTED, reason, "output_aliases_input")
    if claim.reuses_output and not reference.reuses_output:
        reason = f"{where}: returned memory that an earlier call had returned, and overwrote what that had given"
        raise Failure(Outcome.REJECTED, reason, "output_reused")


def compare(
    tolerance: Tolerance,
    variant: str,
    outputs: Sequence[torch.Tensor],
    truth: Sequence[torch.Tensor],
    eager: Sequence[Distance],
    honest: Honest | None = None,
) -> tuple[Trial, Distance]:
    """One trial: every output against the truth, under the protocol's rule; the record shows the worst of them.

    Args:
        honest: asked where the usual bound refuses an output, if the oracle knows the truth.
    """
    typical: list[float | None] = [None] * len(outputs)
    if tolerance.rule == "allclose":
        found = closeness(outputs, truth, tolerance)
        allowed = [Allowance(1.0, 1.0) for _ in found]
    else:
        found = distances(outputs, truth)
        allowed = [allowance(tolerance, own, variant) for own in eager]
        refused = not all(limit.accepts(error) for limit, error in zip(allowed, found, strict=True))
        if refused and honest is not None and tolerance.honest_multiple:
            allowed, typical = honest.widen(variant, found, allowed)
    worst = max(range(len(found)), key=lambda index: allowed[index].used(found[index]))
    trial = Trial(
        variant=variant,
        error=found[worst].rms,
        worst=found[worst].worst,
        allowed=allowed[worst].rms,
        reference_error=eager[worst].rms,
        reference_worst=eager[worst].worst,
        honest_error=typical[worst],
        agreed=all(limit.accepts(error) for limit, error in zip(allowed, found, strict=True)),
    )
    return trial, found[worst]


def disagreement(
    trial: Trial,
    found: Distance,
    tolerance: Tolerance,
    where: str,
    outputs: Sequence[torch.Tensor] = (),
    truth: Sequence[torch.Tensor] = (),
    honest: Honest | None = None,
) -> Failure:
    """Why a trial that did not agree failed: a wrong value, or the right one in too few bits.

    Args:
        honest: asked, where the oracle knows the `truth`, what makes an error of that size of these inputs.
    """
    if not math.isfinite(found.rms):
        return Failure(Outcome.WRONG_VALUE, f"{where}: {found.where}")
    if tolerance.rule == "allclose":
        reason = f"{where}: {found.where}; {found.rms:.3g} times the tolerance"
        return Failure(Outcome.WRONG_VALUE, reason)
    size = f"relative error {found.rms:.2g} (worst element {found.worst:.2g}) where {trial.allowed:.2g} is allowed"
    if trial.honest_error is not None:
        size += f"; float32 sums in the worst usual order make about {trial.honest_error:.1g} of these inputs"
    why = honest.explain(found, outputs, truth) if honest is not None and found.rms <= _EXPLAINED else ""
    if why:
        size += f"; {why}"
    if found.rms <= _SIXTEEN_BIT and found.worst <= 10 * _SIXTEEN_BIT:
        return Failure(Outcome.WRONG_PRECISION, f"{where}: {size}")
    return Failure(Outcome.WRONG_VALUE, f"{where}: {size}; {found.where}")

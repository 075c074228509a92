"""Whether a problem has a right answer for the inputs just drawn, near enough to eager's to judge others by."""

from __future__ import annotations

from collections.abc import Sequence

import torch

from kernelgauge.checks.numerics import Distance
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.right_answers import in_domain
from kernelgauge.wire.math_modes import roundoff

# An eager result further from the oracle than this says that the problem is ill-conditioned here, not what rounding
# may cost: a multiple of it would let anything pass.
_LARGEST_EAGER_ERROR = 1e-3
_LARGEST_IN_ROUNDOFFS = 8
# Of the coarse floor.
_WELL_CONDITIONED = 0.1


def sound(reference: Reference, eager: Sequence[Distance]) -> bool:
    """Whether eager and the oracle differ by no more than rounding."""
    largest = max(_LARGEST_EAGER_ERROR, _LARGEST_IN_ROUNDOFFS * roundoff(reference.math))
    return all(own.rms <= largest for own in eager)


def well_conditioned(reference: Reference, eager: Sequence[Distance]) -> bool:
    """Whether eager's own error leaves a candidate room below the coarse floor; nobody knows without an oracle."""
    coarse = reference.protocol.tolerance.coarse
    return reference.precise and all(own.rms <= _WELL_CONDITIONED * coarse for own in eager)


def tells(reference: Reference, variant: str, answer: Sequence[torch.Tensor], eager: Sequence[Distance]) -> bool:
    """Whether a disagreement on such inputs says something of a candidate. The problem's own always do.

    Args:
        answer: eager's, in the working precision.
        eager: how far that is from the oracle's.
    """
    if variant == "own":
        return True
    conditioned = variant != "large" or well_conditioned(reference, eager)
    return conditioned and in_domain(variant, answer) and sound(reference, eager)

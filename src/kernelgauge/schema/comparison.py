"""How much faster a candidate is than PyTorch in one of its modes, from a baseline that was measured before."""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import datetime
from typing import Literal, get_args

from pydantic import model_validator

from kernelgauge.schema.base import Record

Mode = Literal["eager", "compile", "compile-reduce-overhead", "compile-max-autotune"]
"""How PyTorch itself runs a reference: as it stands, or through `torch.compile` in one of its modes."""

MODES: tuple[Mode, ...] = get_args(Mode)


class BaselineSpeedup(Record):
    """Speedup over PyTorch in one mode: the candidate's over eager, divided by the mode's over eager."""

    mode: Mode
    strongest: bool
    """Whether this is the fastest of the modes that were measured."""
    speedup: float
    interval: tuple[float, float]
    """Of the evaluation's confidence; holds the uncertainty of both ratios."""
    measured: datetime | None
    """When the mode was measured; None for eager, which every evaluation times itself."""

    @model_validator(mode="after")
    def _consistent(self) -> BaselineSpeedup:
        low, high = self.interval
        if not (0 < low <= self.speedup <= high < math.inf):
            raise ValueError(f"speedup {self.speedup} over {self.mode} is not inside its interval ({low}, {high})")
        if (self.measured is None) != (self.mode == "eager"):
            raise ValueError("a mode other than eager was measured before, and eager is measured with the candidate")
        return self


def check_modes(speedups: Sequence[BaselineSpeedup]) -> None:
    """Refuse what one record cannot say at once; raises ValueError."""
    modes = [each.mode for each in speedups]
    if len(set(modes)) < len(modes):
        raise ValueError("a speedup over one mode is named twice")
    if speedups and sum(each.strongest for each in speedups) != 1:
        raise ValueError("exactly one of the modes is the strongest")

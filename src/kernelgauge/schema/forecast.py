"""Forecasts of speed: what is asked of a pair of programs, what was measured, and what somebody foresaw.

A speedup is the anchor's time over the candidate's, on one GPU. Classes are powers of two, with a tie in the middle.
"""

from __future__ import annotations

import math
from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernelgauge.schema.base import FORMAT, Record
from kernelgauge.schema.bound import Work
from kernelgauge.schema.evaluation import Outcome
from kernelgauge.schema.problem import Sizes
from kernelgauge.schema.timing import tells

EDGES = (0.25, 0.5, 0.707, 1.0, 1.414, 2.0, 4.0)
"""Between which speedups the classes lie: the eight bins of GPU Forecasters (arXiv 2605.31464)."""

CLASSES = ("<0.25", "0.25-0.5", "0.5-0.707", "0.707-1", "tie", "1-1.414", "1.414-2", "2-4", ">4")
"""Their bins in order, and between those below and above 1 one for what is neither: an interval that holds 1."""

TIE = CLASSES.index("tie")

CENTRES = (-2.5, -1.5, -0.75, -0.25, 0.0, 0.25, 0.75, 1.5, 2.5)
"""log2 of the speedup that stands for each class: the middle of its bin, and half an octave beyond the open ends."""

Chance = Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)]
_ROUNDING = 1e-6


def class_of(speedup: float, interval: tuple[float, float]) -> int:
    """Place in `CLASSES` of a speedup that was measured; an edge belongs to the class below it."""
    if interval[0] <= 1 <= interval[1]:
        return TIE
    return bin_of(speedup)


def bin_of(speedup: float) -> int:
    """The same of a speedup without an interval, which is a tie at 1 alone."""
    if speedup == 1:
        return TIE
    below = sum(speedup > edge for edge in EDGES)
    return below if speedup < 1 else below + 1


class Side(Record):
    """One program of a pair."""

    contestant: str
    """Who wrote it; `reference` for the problem's own text."""
    backend: str
    digest: str
    source: str


class Question(Record):
    """What a forecast is asked: everything that is known before the candidate has run."""

    format: int = FORMAT
    id: str
    kind: Literal["reference", "pair"]
    """Against the problem's reference, or against another candidate of the same problem."""
    problem: str
    problem_name: str
    problem_digest: str
    level: int | None
    sizes: Sizes
    math: str | None
    protocol: str
    gpu: str
    """The device by the name that it gives itself."""
    anchor: Side
    candidate: Side
    anchor_ms: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """Measured time of one call of the anchor."""
    work: Work | None = None
    """What one call of the problem has to do; None where that is not known."""
    bound_ms: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The least time that the device allows for it."""

    @property
    def contestants(self) -> tuple[str, str]:
        return self.anchor.contestant, self.candidate.contestant


class Comparison(Question):
    """A question with its answer: one row of a data set."""

    outcome: Outcome
    """The candidate's; in a pair both have passed."""
    speedup: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """None where the candidate did not pass, or was not timed well enough to tell."""
    interval: tuple[float, float] | None = None
    """Of the speedup, 95 %."""

    @model_validator(mode="after")
    def _consistent(self) -> Comparison:
        if (self.speedup is None) != (self.interval is None):
            raise ValueError("a speedup comes with its interval")
        if self.speedup is not None and self.interval is not None:
            if self.outcome is not Outcome.PASSED:
                raise ValueError(f"a candidate that is {self.outcome} has no speedup")
            if not self.interval[0] <= self.speedup <= self.interval[1]:
                raise ValueError(f"the speedup {self.speedup} is not inside its interval {self.interval}")
            if not tells(self.interval):
                raise ValueError(f"the interval {self.interval} is too wide to tell anything")
        if self.kind == "pair" and self.speedup is None:
            raise ValueError("a pair compares two candidates that were timed")
        return self

    @property
    def question(self) -> Question:
        """The row without its answer."""
        return Question.model_validate(self.model_dump(include=set(Question.model_fields)))

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    @property
    def label(self) -> int | None:
        """Place in `CLASSES`; None where there is no speedup."""
        return None if self.speedup is None or self.interval is None else class_of(self.speedup, self.interval)

    @property
    def octaves(self) -> float | None:
        """log2 of the speedup, and 0 for a tie: what is inside the noise is no difference."""
        if self.speedup is None:
            return None
        return 0.0 if self.label == TIE else math.log2(self.speedup)


class ForecastHeader(Record):
    """The first line of a file of forecasts: what they are forecasts of, and whose."""

    format: int = FORMAT
    split: str
    """What was unseen."""
    predictor: str | None = None
    """Who foresaw; null if it was a model."""
    model: str | None = None
    examples: int = Field(default=0, ge=0)
    """Rows with answers that a model was shown."""
    data: str
    """Digest of the data set's rows."""


class Forecast(Record):
    """What somebody foresees of one question."""

    format: int = FORMAT
    id: str
    """Of the question."""
    probabilities: tuple[Chance, ...] | None = None
    """Of each of `CLASSES`."""
    speedup: float | None = Field(default=None, gt=0, allow_inf_nan=False)
    """The best single guess; None: that which follows from the probabilities."""
    right: Chance | None = None
    """Chance that the candidate is right; None where nothing is said about it."""
    abstains: bool = False
    """Says nothing about the speed."""
    reason: str = ""

    @model_validator(mode="after")
    def _consistent(self) -> Forecast:
        if self.abstains:
            if self.probabilities is not None or self.speedup is not None:
                raise ValueError("who abstains foresees no speed")
            return self
        if self.probabilities is None:
            raise ValueError("a forecast has a probability for each class, or abstains")
        if len(self.probabilities) != len(CLASSES):
            raise ValueError(f"there are {len(CLASSES)} classes, and {len(self.probabilities)} probabilities")
        if abs(sum(self.probabilities) - 1) > _ROUNDING:
            raise ValueError(f"the probabilities add up to {sum(self.probabilities)}, not to 1")
        return self

    @property
    def octaves(self) -> float:
        """log2 of the best single guess; 0 for who abstains."""
        if self.speedup is not None:
            return math.log2(self.speedup)
        return sum(p * centre for p, centre in zip(self.probabilities or (), CENTRES, strict=False))

    @property
    def label(self) -> int | None:
        """The most likely class, of equals the one nearest to a tie; None for who abstains."""
        if self.probabilities is None:
            return None
        places = range(len(CLASSES))
        return max(places, key=lambda place: (self.probabilities[place], -abs(place - TIE)))  # type: ignore[index]

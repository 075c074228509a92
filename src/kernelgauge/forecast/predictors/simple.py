"""Predictors that read next to nothing: always 1x, the frequencies, the length of the text, bytes and FLOPs."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence

import numpy as np

from kernelgauge.forecast.features import length_ratio
from kernelgauge.forecast.predictors.predictor import (
    Calibrated,
    labels,
    normalised,
    octaves,
    right_share,
    shares,
    surely,
    timed,
)
from kernelgauge.schema.forecast import Comparison, Forecast, Question

_FEWEST = 3


class AlwaysOne:
    """Says 1x of everything, and is sure of it; that every candidate is right, too."""

    def fit(self, rows: Sequence[Comparison]) -> None:
        """Learns nothing."""

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        return [Forecast(id=each.id, probabilities=surely(), speedup=1.0, right=1.0) for each in questions]


class Frequencies:
    """Says of everything how often each class was: what a forecast of probabilities must beat.

    The climatology of weather forecasts; against references and in pairs apart.
    """

    def fit(self, rows: Sequence[Comparison]) -> None:
        known = timed(rows)
        overall = shares(labels(known))
        kinds = {kind: [row for row in known if row.kind == kind] for kind in ("reference", "pair")}
        self._shares = {kind: shares(labels(found), overall) for kind, found in kinds.items()}
        self._right = right_share(rows)

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        return [
            Forecast(id=each.id, probabilities=normalised(self._shares[each.kind]), right=self._right)
            for each in questions
        ]


class _Line:
    """`log2 speedup = a + b x` by least squares, x known before the candidate runs; references and pairs apart."""

    def __init__(self, known: Callable[[Question], float | None]):
        self._known = known

    def fit(self, rows: Sequence[Comparison]) -> None:
        self._lines: dict[str, tuple[float, float]] = {}
        self._calibrated: dict[str, Calibrated] = {}
        self._right = right_share(rows)
        for kind in ("reference", "pair"):
            found = [row for row in timed(rows) if row.kind == kind]
            values = np.array([_number(self._known(row)) for row in found])
            usable = np.isfinite(values)
            if usable.sum() >= _FEWEST and np.ptp(values[usable]) > 0:
                slope, start = np.polyfit(values[usable], octaves(found)[usable], 1)
                self._lines[kind] = (float(start), float(slope))
            self._calibrated[kind] = Calibrated(found, self._guesses(kind, values))

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        found = []
        for each in questions:
            guess = float(self._guesses(each.kind, np.array([_number(self._known(each))]))[0])
            known = guess if math.isfinite(guess) else None
            found.append(self._calibrated[each.kind].forecast(each, known, self._right))
        return found

    def _guesses(self, kind: str, values: np.ndarray) -> np.ndarray:
        start, slope = self._lines.get(kind, (math.nan, math.nan))
        return start + slope * values


class CodeLength(_Line):
    """By the length of the candidate's text over the anchor's: longer programs have more work in them."""

    def __init__(self) -> None:
        super().__init__(length_ratio)


class Bytes(_Line):
    """By bytes and FLOPs over the peaks of the device: how far the anchor is from the least time there is.

    `x = log2(anchor_ms / bound_ms)`, the anchor's headroom (docs/explanation/bound.md). Nothing of the candidate is
    read. It needs the measured time of the anchor, which a search has before it asks for candidates.
    """

    def __init__(self) -> None:
        super().__init__(headroom)


def headroom(question: Question) -> float | None:
    """log2 of the anchor's time over the bound; None where either is not known."""
    if question.anchor_ms is None or question.bound_ms is None:
        return None
    return math.log2(question.anchor_ms / question.bound_ms)


def _number(value: float | None) -> float:
    return math.nan if value is None else value

"""The contract of a predictor, and how a single guess becomes probabilities of classes."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Protocol

import numpy as np
from numpy.typing import NDArray

from kernelgauge.schema.forecast import CLASSES, TIE, Comparison, Forecast, Question

NEIGHBOURS = 25
"""Rows to learn from whose guesses are the nearest to a new one: how they came out is the forecast."""


class Predictor(Protocol):
    """Foresees how much faster a candidate is than its anchor. It is fitted before it is asked, and may be again."""

    def fit(self, rows: Sequence[Comparison]) -> None:
        """Learn from rows that were measured; what was learnt before is forgotten."""

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        """One forecast a question, in their order."""


Shares = NDArray[np.float64]
"""Probabilities of `CLASSES`, float64, (9,), which add up to 1."""


def timed(rows: Sequence[Comparison]) -> list[Comparison]:
    """The rows that have a speedup."""
    return [row for row in rows if row.speedup is not None]


def labels(rows: Sequence[Comparison]) -> NDArray[np.int64]:
    """Places in `CLASSES` of rows that have a speedup, int64, (n,)."""
    return np.array([row.label for row in rows], dtype=np.int64)


def octaves(rows: Sequence[Comparison]) -> NDArray[np.float64]:
    """log2 of their speedups, float64, (n,); 0 for a tie."""
    return np.array([row.octaves for row in rows], dtype=np.float64)


def shares(of: NDArray[np.int64], prior: Shares | None = None) -> Shares:
    """How often each class is among these; one more row is distributed as the prior is, by default evenly.

    So no class has the probability 0, and of no rows at all the prior is left.
    """
    before = np.full(len(CLASSES), 1 / len(CLASSES)) if prior is None else prior
    return (np.bincount(of, minlength=len(CLASSES)) + before) / (len(of) + 1)


def right_share(rows: Sequence[Comparison]) -> float:
    """How often a candidate is right, of those held against a reference, with a row more that is half right.

    That is the prior of Jeffreys; Laplace's rule of succession would add two rows.
    """
    judged = [row for row in rows if row.kind == "reference"]
    return (sum(row.passed for row in judged) + 0.5) / (len(judged) + 1)


class Calibrated:
    """Makes forecasts of guesses: the classes of those rows whose guesses were the nearest.

    A guess alone has no probabilities, and its errors are not normal: many kernels tie, some are a hundred times
    slower. The frequencies among the nearest rows are a forecast without either assumption.
    """

    def __init__(self, rows: Sequence[Comparison], guesses: NDArray[np.float64]):
        """Args:
        guesses: log2 of the speedup guessed for each of these rows, float64, (n,); not finite where there is none.
        """
        known = np.isfinite(guesses)
        order = np.argsort(guesses[known], kind="stable")
        self._labels = labels(rows)
        self._guesses = guesses[known][order]
        self._of_guess = self._labels[known][order]
        self._prior = shares(self._labels)
        self._right = right_share(rows)

    def forecast(self, question: Question, guess: float | None, right: float | None = None) -> Forecast:
        """The forecast for a guess, log2 of the speedup; without one, how often each class is at all."""
        found = self._prior if guess is None or not len(self._guesses) else shares(self._near(guess), self._prior)
        return Forecast(
            id=question.id,
            probabilities=normalised(found),
            speedup=None if guess is None else 2.0 ** float(np.clip(guess, -20, 20)),
            right=right,
        )

    def _near(self, guess: float) -> NDArray[np.int64]:
        count = min(NEIGHBOURS, len(self._guesses))
        nearest = np.argsort(np.abs(self._guesses - guess), kind="stable")[:count]
        # Equal guesses cannot be told apart: all of them count, not the first of them.
        reach = np.abs(self._guesses - guess)[nearest[-1]]
        near: NDArray[np.int64] = self._of_guess[np.abs(self._guesses - guess) <= reach]
        return near


def normalised(found: Shares) -> tuple[float, ...]:
    """Probabilities as a record holds them."""
    return tuple(float(each) for each in found / found.sum())


def surely(place: int = TIE) -> tuple[float, ...]:
    """Certainty of one class."""
    return tuple(float(each == place) for each in range(len(CLASSES)))

"""A Python function as a predictor: it is asked one question at a time and says what it foresees."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from pydantic import ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import UsageError
from kernelgauge.forecast.predictors.predictor import Calibrated, right_share, timed
from kernelgauge.schema.forecast import Comparison, Forecast, Question

Answer = Forecast | float | Sequence[float] | None
"""What a function may say: a whole forecast, a speedup, a probability for each of `CLASSES`, or nothing at all."""


class Function:
    """Asks `function(question)`.

    Of a speedup the probabilities are made from the rows to learn from: how those came out for which the function
    says about the same. Of None it abstains.

    Raises:
        UsageError: the function says something else, or fails; the sentence names the question.
    """

    def __init__(self, function: Callable[[Question], Answer], name: str = ""):
        self._function = function
        self._name = name or getattr(function, "__name__", "the function")
        self._answers: dict[str, Answer] = {}  # every fold asks again, and an answer may be dear

    def fit(self, rows: Sequence[Comparison]) -> None:
        known = timed(rows)
        said = [self._said(row.question) for row in known]
        guesses = np.array([_guess(each) for each in said], dtype=np.float64)
        self._calibrated = Calibrated(known, guesses)
        self._right = right_share(rows)

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        return [self._forecast(Question.model_validate(each, from_attributes=True)) for each in questions]

    def _forecast(self, question: Question) -> Forecast:
        said = self._said(question)
        if isinstance(said, Forecast):
            return said
        if said is None:
            return Forecast(id=question.id, abstains=True, right=self._right)
        if isinstance(said, float):
            return self._calibrated.forecast(question, _guess(said), self._right)
        made: Forecast = self._rightly(
            question, lambda: Forecast(id=question.id, probabilities=tuple(said), right=self._right)
        )
        return made

    def _said(self, question: Question) -> Answer:
        if question.id not in self._answers:
            self._answers[question.id] = self._asked(question)
        return self._answers[question.id]

    def _asked(self, question: Question) -> Answer:
        said: Any = self._rightly(question, lambda: self._function(question))
        if said is None:
            return None
        if isinstance(said, Forecast):
            return said
        if isinstance(said, int | float):
            if not 0 < said < float("inf"):
                raise UsageError(f"{self._name} foresees a speedup of {said} for {_of(question)}: it must be above 0")
            return float(said)
        if isinstance(said, list | tuple) or hasattr(said, "tolist"):
            return [float(each) for each in said]
        raise UsageError(f"{self._name} says {type(said).__name__} of {_of(question)}: a forecast, a speedup or None")

    def _rightly(self, question: Question, call: Callable[[], Any]) -> Any:
        try:
            return call()
        except ValidationError as error:
            raise UsageError(f"{self._name} on {_of(question)}: {first_complaint(error)}") from None
        except UsageError:
            raise
        except Exception as error:  # boundary: somebody else's code
            raise UsageError(f"{self._name} failed on {_of(question)}: {type(error).__name__}: {error}") from error


def _of(question: Question) -> str:
    return f"question {question.id} ({question.problem}, {question.candidate.contestant})"


def _guess(said: Answer) -> float:
    return math.log2(said) if isinstance(said, float) else math.nan

"""Gradient-boosted trees on static features, by scikit-learn (extra `forecast`)."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from kernelgauge.errors import UsageError
from kernelgauge.forecast.features import features
from kernelgauge.forecast.predictors.predictor import labels, octaves, right_share, shares, timed
from kernelgauge.forecast.predictors.simple import headroom
from kernelgauge.schema.forecast import CENTRES, Comparison, Forecast, Question

# Few rows and many columns: shallow trees, leaves that hold several rows, and no more of them than that needs.
_TREES: dict[str, Any] = {
    "max_iter": 60,
    "learning_rate": 0.06,
    "max_depth": 4,
    "min_samples_leaf": 10,
    "l2_regularization": 1.0,
    "early_stopping": False,
    "random_state": 0,
}


class Trees:
    """Classes by a classifier, the best single guess by a regression of log2, and rightness by a second classifier.

    J. H. Friedman, Greedy function approximation: a gradient boosting machine, Annals of Statistics 29, 2001, with
    features in histograms. The frequencies of the classes are mixed in as one row among those of a leaf, so that
    none has the probability 0.

    Raises:
        UsageError: scikit-learn is not installed.
    """

    def __init__(self, columns: str = "static"):
        """Args:
        columns: `static`: what both texts and the problem say; `timed`: the anchor's measured headroom too.
        """
        try:
            from sklearn import ensemble
            from threadpoolctl import threadpool_limits
        except ImportError:
            raise UsageError("the predictor trees needs scikit-learn: pip install 'kernelgauge[forecast]'") from None
        self._ensemble = ensemble
        # A thousand rows are too few for threads: where cores are busy, they wait for each other.
        self._alone = lambda: threadpool_limits(1)
        self._timed = columns == "timed"

    def fit(self, rows: Sequence[Comparison]) -> None:
        known = timed(rows)
        self._prior = shares(labels(known))
        self._classes = self._fitted(self._columns(known), labels(known))
        self._guess = None
        if len(known) > 1:
            self._guess = self._ensemble.HistGradientBoostingRegressor(**_TREES)
            with self._alone():
                self._guess.fit(self._columns(known), octaves(known))
        judged = [row for row in rows if row.kind == "reference"]
        self._right_share = right_share(rows)
        self._right = self._fitted(self._columns(judged), np.array([int(row.passed) for row in judged]))

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        if not questions:
            return []
        columns = self._columns(questions)
        found = np.tile(self._prior, (len(questions), 1))
        if self._classes is not None:
            weight = 1 / (_TREES["min_samples_leaf"] + 1)
            found *= weight
            found[:, self._classes.classes_] += (1 - weight) * self._classes.predict_proba(columns)
        guesses = self._guess.predict(columns) if self._guess is not None else found @ np.array(CENTRES)
        right = np.full(len(questions), self._right_share)
        if self._right is not None:
            right = self._right.predict_proba(columns)[:, list(self._right.classes_).index(1)]
        return [
            Forecast(
                id=question.id,
                probabilities=tuple(float(p) for p in found[place] / found[place].sum()),
                speedup=float(2.0 ** guesses[place]),
                right=float(right[place]),
            )
            for place, question in enumerate(questions)
        ]

    def _columns(self, questions: Sequence[Question]) -> NDArray[np.float64]:
        found = features(questions)
        if not self._timed:
            return found
        known = [headroom(question) for question in questions]
        return np.column_stack([found, [np.nan if each is None else each for each in known]])

    def _fitted(self, columns: NDArray[np.float64], classes: NDArray[np.int64]) -> Any | None:
        """A classifier; None where there are not two classes to tell apart."""
        if len(set(classes.tolist())) < 2:
            return None
        with self._alone():
            return self._ensemble.HistGradientBoostingClassifier(**_TREES).fit(columns, classes)


class TimedTrees(Trees):
    """The same with the anchor's measured headroom beside the static features."""

    def __init__(self) -> None:
        super().__init__("timed")

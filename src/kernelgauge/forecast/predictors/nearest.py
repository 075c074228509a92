"""The nearest neighbour: what became of those programs that were the most alike."""

from __future__ import annotations

import re
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import csr_array

from kernelgauge.forecast.predictors.predictor import labels, normalised, octaves, right_share, shares, timed
from kernelgauge.schema.forecast import Comparison, Forecast, Question

NEIGHBOURS = 5
_SHINGLE = 3
_WORD = re.compile(r"[A-Za-z_]\w*|\d+|[^\s\w]")


class NearestNeighbour:
    """The classes of the five most similar rows, each as heavy as it is similar, and the prior as one more.

    Similar are two rows by Jaccard's index of their candidates' texts, as sets of three tokens in a row (A. Z.
    Broder, On the resemblance and containment of documents, 1997), times the root of that of their anchors' texts. A
    row of another kind (a pair, a reference) is no neighbour.
    """

    def fit(self, rows: Sequence[Comparison]) -> None:
        self._timed = timed(rows)
        self._judged = [row for row in rows if row.kind == "reference"]
        self._prior = shares(labels(self._timed))
        self._right = right_share(rows)

    def predict(self, questions: Sequence[Question]) -> list[Forecast]:
        if not questions:
            return []
        speeds, rights = likeness(questions, self._timed), likeness(questions, self._judged)
        known, measured = labels(self._timed), octaves(self._timed)
        passed = np.array([row.passed for row in self._judged], dtype=np.float64)
        found = []
        for place, question in enumerate(questions):
            near, judged = _nearest(speeds[place]), _nearest(rights[place])
            alike, alike_judged = speeds[place, near], rights[place, judged]
            weights = self._prior + NEIGHBOURS * np.bincount(known[near], alike, len(self._prior))
            right = (alike_judged @ passed[judged] + self._right) / (alike_judged.sum() + 1)
            guess = float(alike @ measured[near] / alike.sum()) if len(near) else None
            found.append(
                Forecast(
                    id=question.id,
                    probabilities=normalised(weights),
                    speedup=None if guess is None else 2.0**guess,
                    right=float(right),
                )
            )
        return found


def likeness(questions: Sequence[Question], rows: Sequence[Question]) -> NDArray[np.float64]:
    """From 0, nothing in common or another kind, to 1, the same two texts; float64, (len(questions), len(rows))."""
    asked, known = (np.array([each.kind for each in those], dtype=np.str_) for those in (questions, rows))
    candidates = jaccard([each.candidate.source for each in questions], [each.candidate.source for each in rows])
    anchors = jaccard([each.anchor.source for each in questions], [each.anchor.source for each in rows])
    alike: NDArray[np.float64] = (asked[:, None] == known[None, :]) * candidates * np.sqrt(anchors)
    return alike


def jaccard(ones: Sequence[str], others: Sequence[str]) -> NDArray[np.float64]:
    """Jaccard's index of each two texts, float64, (len(ones), len(others))."""
    texts = {text: place for place, text in enumerate(dict.fromkeys([*ones, *others]))}
    words: dict[int, int] = {}
    columns = [[words.setdefault(each, len(words)) for each in shingles(text)] for text in texts]
    sizes = np.array([len(each) for each in columns])
    place = np.concatenate([[0], np.cumsum(sizes)])
    flat = np.concatenate(columns) if columns else np.zeros(0)
    sets = csr_array((np.ones(len(flat)), flat, place), shape=(len(texts), len(words)))
    left, right = [texts[text] for text in ones], [texts[text] for text in others]
    rows, columns_of = sorted(set(left)), sorted(set(right))
    common = (sets[rows] @ sets[columns_of].T).toarray()
    index: NDArray[np.float64] = common / (sizes[rows][:, None] + sizes[columns_of][None, :] - common)
    found: NDArray[np.float64] = index[np.searchsorted(rows, left)][:, np.searchsorted(columns_of, right)]
    return found


@lru_cache(maxsize=20_000)
def shingles(source: str) -> frozenset[int]:
    """The tokens of a text, three in a row, as hashes."""
    words = _WORD.findall(source)
    return frozenset(hash(tuple(words[at : at + _SHINGLE])) for at in range(max(1, len(words) - _SHINGLE + 1)))


def _nearest(alike: NDArray[np.float64]) -> NDArray[np.int64]:
    """Places of the most similar rows that have anything in common, the most similar first."""
    order = np.argsort(-alike, kind="stable")[:NEIGHBOURS]
    return order[alike[order] > 0]

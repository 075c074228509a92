"""Static features of a question: what can be told of both texts and of the problem without running anything."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np
from numpy.typing import NDArray

from kernelgauge.checks.source.traits import COUNTED, Traits, operators, traits
from kernelgauge.schema.forecast import Question

BACKENDS = ("torch", "triton", "cuda", "cpp", "tilelang", "cute", "thunderkittens", "hip")

NAMES = (
    *("level", "operators", "log2_flops", "log2_bytes", "log2_intensity", "log2_bound_ms", "pair"),
    *(f"candidate_{name}" for name in ("backend", *COUNTED)),
    *(f"anchor_{name}" for name in ("backend", *COUNTED)),
    "log2_length_ratio",
)
"""What each column is; counts and sizes are `log2(1 + n)`."""


def features(questions: Sequence[Question]) -> NDArray[np.float64]:
    """One row a question, float64, (len(questions), len(NAMES)); NaN where something is not known."""
    return np.array([_row(question) for question in questions], dtype=np.float64).reshape(-1, len(NAMES))


def length_ratio(question: Question) -> float:
    """log2 of the candidate's length over the anchor's, in characters."""
    return math.log2(max(1, len(question.candidate.source)) / max(1, len(question.anchor.source)))


@lru_cache(maxsize=50_000)
def traits_of(source: str) -> Traits:
    """The traits of a text, read once: many rows share one."""
    return traits(source)


@lru_cache(maxsize=5_000)
def _operators(source: str) -> int:
    return operators(source)


def _row(question: Question) -> list[float]:
    work = question.work
    return [
        math.nan if question.level is None else question.level,
        _log(_operators(question.anchor.source)) if question.kind == "reference" else math.nan,
        _log(work.flops or 0) if work else math.nan,
        _log(work.bytes) if work else math.nan,
        _log(work.intensity or 0) if work else math.nan,
        math.log2(question.bound_ms) if question.bound_ms else math.nan,
        float(question.kind == "pair"),
        *_side(question.candidate.backend, question.candidate.source),
        *_side(question.anchor.backend, question.anchor.source),
        length_ratio(question),
    ]


def _side(backend: str, source: str) -> list[float]:
    place = BACKENDS.index(backend) if backend in BACKENDS else len(BACKENDS)
    return [float(place), *(_log(count) for count in traits_of(source).counts.values())]


def _log(count: float) -> float:
    return math.log2(1 + count)

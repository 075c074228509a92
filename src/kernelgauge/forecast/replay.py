"""What a forecast would have saved: stored candidates in the order of a forecast, until the best has been judged.

A pool is all that was judged of one problem on one device under one protocol. A search that had all of them written
could have sent them to the GPU in any order; how many does it judge until it holds one that is as good as the best?
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import groupby

from kernelgauge.forecast.score import Told, pools
from kernelgauge.schema import FORMAT, Record
from kernelgauge.schema.forecast import Comparison, Forecast


class Pool(Record):
    """The candidates of one problem on one device."""

    problem: str
    gpu: str
    candidates: int
    as_good: int
    """Of them, those whose interval reaches that of the fastest one."""
    by_forecast: float
    """Evaluations until the first of these, in the order of the forecast; equals in random order, so a mean."""
    as_stored: int
    """The same in the order of the records."""
    at_random: float
    """The same in random order, the mean: `(n + 1) / (m + 1)` of n candidates with m as good."""


class Saved(Record):
    """Evaluations up to an equal result, over all pools."""

    format: int = FORMAT
    predictor: str
    split: str
    pools: int
    candidates: int
    by_forecast: float
    as_stored: int
    at_random: float
    over_random: float | None
    """Share of the evaluations in random order that the forecast saved."""
    over_stored: float | None
    each: tuple[Pool, ...]


def replay(name: str, split: str, told: Sequence[Told]) -> Saved:
    """Evaluations saved by a forecast at equal result.

    Args:
        told: rows with the forecasts of a predictor that has not learnt from them. Pools of one candidate, and those
            in which none was timed, leave nothing to choose.
    """
    each = tuple(_pool(pool) for pool in pools(told) if len(pool) > 1 and any(row.speedup for row, _ in pool))
    forecast = sum(pool.by_forecast for pool in each)
    stored = sum(pool.as_stored for pool in each)
    random = sum(pool.at_random for pool in each)
    return Saved(
        predictor=name,
        split=split,
        pools=len(each),
        candidates=sum(pool.candidates for pool in each),
        by_forecast=forecast,
        as_stored=stored,
        at_random=random,
        over_random=1 - forecast / random if each else None,
        over_stored=1 - forecast / stored if each else None,
        each=each,
    )


def promise(forecast: Forecast) -> float:
    """What a candidate is ordered by: log2 of the speedup foreseen, and of the chance that it is right at all."""
    return forecast.octaves + math.log2(max(forecast.right if forecast.right is not None else 1.0, 1e-9))


def _pool(pool: Sequence[Told]) -> Pool:
    fastest = max((row for row, _ in pool if row.speedup), key=lambda row: row.speedup or 0.0)
    good = [_as_good(row, fastest) for row, _ in pool]
    ordered = sorted(((promise(forecast), hit) for (_, forecast), hit in zip(pool, good, strict=True)), reverse=True)
    return Pool(
        problem=fastest.problem,
        gpu=fastest.gpu,
        candidates=len(pool),
        as_good=sum(good),
        by_forecast=_until_first(ordered),
        as_stored=good.index(True) + 1,
        at_random=(len(pool) + 1) / (sum(good) + 1),
    )


def _as_good(row: Comparison, fastest: Comparison) -> bool:
    assert fastest.interval is not None
    return row.interval is not None and row.interval[1] >= fastest.interval[0]


def _until_first(ordered: Sequence[tuple[float, bool]]) -> float:
    """Mean number taken until the first hit; equals are in random order, and so is the first hit among them."""
    before = 0
    for _, group in groupby(ordered, key=lambda each: each[0]):
        hits = [hit for _, hit in group]
        if any(hits):
            return before + (len(hits) + 1) / (sum(hits) + 1)
        before += len(hits)
    raise ValueError("none of them is as good as the best")

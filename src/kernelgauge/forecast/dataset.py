"""A data set of forecasts: rows from judged kernels, and the file that holds them, one JSON object a line.

A kernel against its problem's reference is one row, whatever became of it. Two kernels of one problem that both
passed, on one device under one protocol, make a row more: which is faster, and how much?
"""

from __future__ import annotations

import lzma
import math
from collections import defaultdict
from collections.abc import Iterable, Sequence
from itertools import combinations
from pathlib import Path
from typing import TypeVar

from kernelgauge.errors import StoreError
from kernelgauge.forecast.kernels import Kernel, References, Surroundings, bound_ms
from kernelgauge.schema import Record, digest, tells
from kernelgauge.schema.forecast import Comparison, Side
from kernelgauge.store import codec
from kernelgauge.store.disk import write_whole
from kernelgauge.store.journal import Journal

R = TypeVar("R", bound=Record)

MOST_PAIRS = 20
"""Of one problem on one device; of more, those are taken whose digests come first, which favours nobody."""

_PACKED = ".xz"


def rows_of(kernels: Sequence[Kernel], references: References, most_pairs: int = MOST_PAIRS) -> list[Comparison]:
    """All rows that these kernels make. A candidate that was judged several times in one place counts once."""
    around = Surroundings(kernels)
    distinct = list({(*kernel.place, kernel.side.digest): kernel for kernel in kernels if not kernel.copy}.values())
    rows = [row for kernel in distinct if (row := against_reference(kernel, references, around))]
    places: dict[tuple[str | None, ...], list[Kernel]] = defaultdict(list)
    for kernel in distinct:
        if kernel.speedup is not None:
            places[kernel.place].append(kernel)
    for there in places.values():
        found = (pair(one, other, around) for one, other in combinations(there, 2))
        rows += sorted((row for row in found if row), key=lambda row: row.id)[:most_pairs]
    return rows


def against_reference(kernel: Kernel, references: References, around: Surroundings) -> Comparison | None:
    """A kernel against the reference of its problem; None where that has another text by now."""
    text = references.source(kernel.problem, kernel.problem_digest, kernel.sizes)
    if text is None:
        return None
    anchor = Side(contestant="reference", backend="torch", digest=kernel.problem_digest, source=text)
    return _row(kernel, anchor, around.reference_ms(kernel), kernel.speedup, kernel.interval, around)


def pair(one: Kernel, other: Kernel, around: Surroundings) -> Comparison | None:
    """Two kernels of one place against each other; None if they are one text, or the interval tells nothing.

    Which of them is the anchor follows from their digests alone.
    """
    if one.side.digest == other.side.digest:
        return None
    anchor, candidate = sorted((one, other), key=lambda k: digest(k.side.digest + k.problem))
    assert anchor.speedup and anchor.interval and candidate.speedup and candidate.interval
    speedup = candidate.speedup / anchor.speedup
    interval = ratio_interval(candidate.speedup, candidate.interval, anchor.speedup, anchor.interval)
    if not tells(interval):
        return None
    return _row(candidate, anchor.side, anchor.candidate_ms, speedup, interval, around, pair=True)


def ratio_interval(
    above: float, above_interval: tuple[float, float], below: float, below_interval: tuple[float, float]
) -> tuple[float, float]:
    """The interval of `above / below`, both positive and measured apart, each with an interval of its own.

    MOVER on logarithms: `log(a / b) - sqrt((log a - log a_low)^2 + (log b_high - log b)^2)` is the lower end, and the
    upper one alike (G. Y. Zou, A. Donner, Construction of confidence limits about effect measures, Statistics in
    Medicine 27, 2008). Both speedups are over references that ran beside them, so a drift of the machine between the
    two measurements is in neither.
    """
    down = math.hypot(math.log(above / above_interval[0]), math.log(below_interval[1] / below))
    up = math.hypot(math.log(above_interval[1] / above), math.log(below / below_interval[0]))
    ratio = above / below
    return ratio * math.exp(-down), ratio * math.exp(up)


def write(path: Path, rows: Iterable[Record]) -> None:
    """Write rows, a JSON object a line; packed where the name ends in `.xz`. Raises StoreError."""
    text = "".join(f"{row.model_dump_json()}\n" for row in rows).encode()
    write_whole(path, lzma.compress(text, preset=9) if path.suffix == _PACKED else text)


def read(path: Path, kind: type[R]) -> list[R]:
    """The rows of a file. Raises StoreError naming the line that is malformed, or the file if it holds none."""
    rows = [codec.decode(line, kind, f"{path}, line {number}") for number, line in Journal(path).lines()]
    if not rows:
        raise StoreError(f"{path} is missing or holds no rows")
    return rows


def _row(
    kernel: Kernel,
    anchor: Side,
    anchor_ms: float | None,
    speedup: float | None,
    interval: tuple[float, float] | None,
    around: Surroundings,
    pair: bool = False,
) -> Comparison:
    work = around.work(kernel)
    names = "|".join(str(part) for part in (*kernel.place, anchor.digest, kernel.side.digest))
    return Comparison(
        id=digest(names),
        kind="pair" if pair else "reference",
        problem=kernel.problem,
        problem_name=kernel.problem_name,
        problem_digest=kernel.problem_digest,
        level=kernel.level,
        sizes=kernel.sizes,
        math=kernel.math,
        protocol=kernel.protocol,
        gpu=kernel.gpu,
        anchor=anchor,
        candidate=kernel.side,
        anchor_ms=anchor_ms,
        work=work,
        bound_ms=bound_ms(kernel, work),
        outcome=kernel.outcome,
        speedup=speedup,
        interval=interval,
    )

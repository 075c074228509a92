"""Splits of a data set in which what is tested has not been seen: by problem, by contestant, by GPU.

Data sets of measured kernels are small, so a split is a set of folds: every row is tested in exactly one of them.
"""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from typing import Literal, NamedTuple, get_args

from kernelgauge.errors import UsageError
from kernelgauge.schema.forecast import Comparison

SplitBy = Literal["problem", "contestant", "gpu", "same-kernels"]
SPLITS: tuple[SplitBy, ...] = get_args(SplitBy)

FOLDS = 5
"""Of the split by problem."""

_NEEDED = {
    "problem": "problems that are not in one fold",
    "contestant": "contestants",
    "gpu": "GPUs",
    "same-kernels": "GPUs on which the same kernels were measured",
}


class Fold(NamedTuple):
    """Rows to learn from, and rows to be tested on."""

    held_out: str
    """What the rows to learn from do not have."""
    train: list[Comparison]
    test: list[Comparison]


def folds(rows: Sequence[Comparison], by: SplitBy) -> list[Fold]:
    """The folds of a split; those without a row to test, or to learn from, are left out.

    - `problem`: five folds. All sizes and GPUs of a problem are in one, by its name alone, so that a data set that
      grows keeps its folds.
    - `contestant`: one for each. Rows to learn from have it on neither side, nor a text that is tested.
    - `gpu`: one for each. The rows to learn from may hold the same kernels, measured on another GPU.
    - `same-kernels`: the same, tested on those rows alone whose two programs were measured on several GPUs.

    Raises:
        UsageError: the rows have one contestant or one GPU alone, so that nothing is left to learn from; or no
            program was measured on two GPUs.
    """
    if by == "problem":
        made = [_fold(rows, f"problems {number + 1} of {FOLDS}", number) for number in range(FOLDS)]
    elif by == "contestant":
        made = [_unseen(rows, name) for name in sorted({row.candidate.contestant for row in rows})]
    else:
        tested = rows if by == "gpu" else on_both(rows)
        made = [
            Fold(gpu, [row for row in rows if row.gpu != gpu], [row for row in tested if row.gpu == gpu])
            for gpu in sorted({row.gpu for row in rows})
        ]
    kept = [fold for fold in made if fold.train and fold.test]
    if not kept:
        raise UsageError(f"this data set has not enough rows for the split {by!r}: it needs two {_NEEDED[by]}")
    return kept


def on_both(rows: Sequence[Comparison]) -> list[Comparison]:
    """The rows whose two programs were timed on more than one GPU: the same kernels, another machine."""
    seen: dict[tuple[str, ...], set[str]] = {}
    timed = [row for row in rows if row.speedup is not None]
    for row in timed:
        seen.setdefault(programs(row), set()).add(row.gpu)
    return [row for row in timed if len(seen[programs(row)]) > 1]


def programs(row: Comparison) -> tuple[str, ...]:
    """What two rows have in common that ask about the same programs at the same sizes."""
    return row.problem, row.problem_digest, row.anchor.digest, row.candidate.digest


def fold_of(problem: str) -> int:
    """In which of `FOLDS` a problem is tested."""
    return int(hashlib.sha256(problem.encode()).hexdigest(), 16) % FOLDS


def _fold(rows: Sequence[Comparison], name: str, number: int) -> Fold:
    return Fold(
        name,
        [row for row in rows if fold_of(row.problem) != number],
        [row for row in rows if fold_of(row.problem) == number],
    )


def _unseen(rows: Sequence[Comparison], contestant: str) -> Fold:
    """Two contestants may have handed in one text, whose speed would be known."""
    test = [row for row in rows if row.candidate.contestant == contestant]
    texts = {row.candidate.digest for row in test}
    train = [
        row
        for row in rows
        if contestant not in row.contestants and not texts & {row.anchor.digest, row.candidate.digest}
    ]
    return Fold(contestant, train, test)

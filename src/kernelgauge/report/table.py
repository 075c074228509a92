"""Tidy tables: what a run holds as rows of plain values, one kind of thing a table, for other people's tools."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from datetime import datetime
from pathlib import Path
from typing import Any, Literal, NamedTuple, Protocol

from kernelgauge.schema import AttemptRecord, Evaluation, Judgement, NoCandidate, RunHeader, Spent, TooLarge

Kind = Literal["text", "integer", "number", "truth", "time", "texts"]
"""What a column holds: `number` is a float, `truth` a boolean, `time` a moment in UTC, `texts` a list of text."""

Value = str | int | float | bool | datetime | tuple[str, ...] | None


class Records(Protocol):
    """Whatever holds the records of a run: a run folder, or a log of Inspect."""

    path: Path
    header: RunHeader
    torn: str | None

    def evaluations(self) -> list[Evaluation]: ...

    def skips(self) -> list[NoCandidate]: ...

    def too_large(self) -> list[TooLarge]: ...

    def attempts(self) -> list[AttemptRecord]: ...

    def judgements(self) -> list[Judgement]: ...

    def spent(self) -> Spent: ...

    def source(self, digest: str) -> str: ...


class Column(NamedTuple):
    """One column, with what it means for a reader, and how it is taken from what a row is about."""

    name: str
    kind: Kind
    about: str
    take: Callable[[Any], Value]


class Table(NamedTuple):
    """A kind of rows: what each is about, its columns, and where they come from."""

    name: str
    about: str
    columns: tuple[Column, ...]
    items: Callable[[Records], Iterable[Any]]

    def rows(self, runs: Sequence[Records]) -> Iterable[tuple[Value, ...]]:
        """The rows of these runs, one after the other; the first value of each names its run."""
        for run in runs:
            for item in self.items(run):
                yield (str(run.path), *(column.take(item) for column in self.columns[1:]))


def run_column() -> Column:
    """The first column of every table. Its value is filled in by `Table.rows`."""
    return Column("run", "text", "path of the run folder or log, as it was given", lambda item: None)

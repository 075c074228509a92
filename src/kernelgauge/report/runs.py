"""A run with its tables, whatever holds its records."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable
from typing import TYPE_CHECKING

from kernelgauge.report.table import Records
from kernelgauge.schema import AttemptRecord, Baseline, Evaluation, Judgement, NoCandidate, Spent, TooLarge
from kernelgauge.store.run import Run, latest
from kernelgauge.timing.baselines import compared

if TYPE_CHECKING:
    import pandas


class StoredRun(Records):
    """What tables add to records: a data frame of each."""

    def latest(self) -> list[Evaluation]:
        """`evaluations` without those that a later record of the same problem and sample replaced."""
        return latest(self.evaluations())

    def to_pandas(self, table: str = "evaluations") -> pandas.DataFrame:
        """A tidy table as a data frame: `evaluations`, `samples`, `trials`, ...; see docs/reference/tables.md.

        Raises UsageError if there is no such table, or pandas is not installed.
        """
        from kernelgauge.report.tables.frames import to_pandas

        return to_pandas([self], table)


class FolderRun(Run, StoredRun):
    """A run folder, with its tables."""


class ComparedRun(StoredRun):
    """A run whose records are seen against these baselines, measured before it or since."""

    def __init__(self, run: Records, baselines: Iterable[Baseline]):
        self.path, self.header, self.torn = run.path, run.header, run.torn
        self._run = run
        self._baselines: defaultdict[str, list[Baseline]] = defaultdict(list)
        for each in baselines:
            self._baselines[each.problem_digest].append(each)

    def evaluations(self) -> list[Evaluation]:
        """Its records: with speedups over these baselines, or a note, where they are of a record's conditions."""
        return [compared(each, self._baselines[each.problem_digest]) for each in self._run.evaluations()]

    def skips(self) -> list[NoCandidate]:
        return self._run.skips()

    def too_large(self) -> list[TooLarge]:
        return self._run.too_large()

    def attempts(self) -> list[AttemptRecord]:
        return self._run.attempts()

    def judgements(self) -> list[Judgement]:
        return self._run.judgements()

    def spent(self) -> Spent:
        return self._run.spent()

    def source(self, digest: str) -> str:
        return self._run.source(digest)

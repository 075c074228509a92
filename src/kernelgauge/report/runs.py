"""A run with its tables, whatever holds its records."""

from __future__ import annotations

from typing import TYPE_CHECKING

from kernelgauge.report.table import Records
from kernelgauge.schema import Evaluation
from kernelgauge.store.run import Run, latest

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

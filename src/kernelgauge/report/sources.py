"""Where records are read from: run folders and logs of Inspect, told apart by what is there."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from kernelgauge.report.table import Records
from kernelgauge.schema import Evaluation
from kernelgauge.store.run import Run, latest

if TYPE_CHECKING:
    import pandas

LOGS = (".eval", ".json")
"""Endings of Inspect's logs."""


class Tabled(Records):
    """What tables add to records: a data frame of each."""

    def latest(self) -> list[Evaluation]:
        """`evaluations` without those that a later record of the same problem and sample replaced."""
        return latest(self.evaluations())

    def to_pandas(self, table: str = "evaluations") -> pandas.DataFrame:
        """A tidy table as a data frame: `evaluations`, `samples`, `trials`, ...; see docs/reports.md.

        Raises UsageError if there is no such table, or pandas is not installed.
        """
        from kernelgauge.report.tables.frames import to_pandas

        return to_pandas([self], table)


class FolderRun(Run, Tabled):
    """A run folder, with its tables."""


def load(run: str | Path) -> Tabled:
    """A run folder or a log of Inspect, for reading.

    Raises StoreError if it is neither, and UsageError if it is a log and Inspect is not installed.
    """
    path = Path(run)
    if path.is_file() and path.suffix in LOGS:
        from kernelgauge.models.logs.logs import LoggedRun

        return LoggedRun.read(path)
    return FolderRun.read(path)

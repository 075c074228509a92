"""Where runs are read from: run folders and logs of Inspect, told apart by what is there."""

from __future__ import annotations

from pathlib import Path

from kernelgauge.report.runs import FolderRun, StoredRun

LOGS = (".eval", ".json")
"""Endings of Inspect's logs."""


def load(run: str | Path) -> StoredRun:
    """A run folder or a log of Inspect, for reading.

    Raises StoreError if it is neither, and UsageError if it is a log and Inspect is not installed.
    """
    path = Path(run)
    if path.is_file() and path.suffix in LOGS:
        from kernelgauge.models.logs.logs import LoggedRun

        return LoggedRun.read(path)
    return FolderRun.read(path)

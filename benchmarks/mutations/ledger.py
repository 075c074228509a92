"""What was found, line by line in a file that only grows: a run that was stopped goes on where it was."""

from __future__ import annotations

import json
import threading
from pathlib import Path
from typing import Any


class Ledger:
    """Rows of JSON by their `id`; the last row of an id counts. Threads may add rows at the same time."""

    def __init__(self, path: Path):
        self._path = path
        self._lock = threading.Lock()
        self.rows: dict[str, dict[str, Any]] = {}
        path.parent.mkdir(parents=True, exist_ok=True)
        if path.exists():
            whole, _, cut = path.read_text().rpartition("\n")
            if cut:  # stopped in the middle of a line
                path.write_text(whole + "\n" * bool(whole))
            for line in whole.splitlines():
                row = json.loads(line)
                self.rows[row["id"]] = row

    def __contains__(self, row_id: str) -> bool:
        """Whether there is a row that need not be made again: not where the machine failed."""
        row = self.rows.get(row_id)
        parts = row.values() if row else ()
        return bool(row) and not any(isinstance(each, dict) and each.get("outcome") == "failed" for each in parts)

    def add(self, row: dict[str, Any]) -> None:
        """Append one row."""
        with self._lock, self._path.open("a") as file:
            file.write(json.dumps(row) + "\n")
            self.rows[row["id"]] = row

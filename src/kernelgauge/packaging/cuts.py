"""The cuts of a model on disk. Another cut of the same model takes other times, and so other problems: a call that
goes on uses the first."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path
from typing import Any

from kernelgauge import __version__
from kernelgauge.store.disk import guarded, make_folder, write_whole


class StoredCuts:
    """What was found for a model and a request, if that was kept.

    Args:
        source: the model's text.

    Raises:
        StoreError: the file cannot be read.
    """

    def __init__(self, path: Path, source: str, asked: dict[str, Any]) -> None:
        self._path = path
        text = json.dumps([__version__, source, {k: v for k, v in asked.items() if k != "path"}], sort_keys=True)
        self._digest = hashlib.sha256(text.encode()).hexdigest()
        self.found: dict[str, Any] | None = self._read()

    def keep(self, found: dict[str, Any]) -> None:
        """Write them for the next call. Raises StoreError."""
        make_folder(self._path.parent)
        write_whole(self._path, json.dumps({"of": self._digest, "found": found}, indent=1).encode() + b"\n")

    def _read(self) -> dict[str, Any] | None:
        if not self._path.exists():
            return None
        with guarded(self._path):
            text = self._path.read_text()
        try:
            kept = json.loads(text)
        except ValueError:
            return None
        if not isinstance(kept, dict) or kept.get("of") != self._digest:
            return None
        found: dict[str, Any] = kept["found"]
        return found

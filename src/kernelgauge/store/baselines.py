"""Baselines on disk: one record a line; in the cache folder one file for each problem's text."""

from __future__ import annotations

import fcntl
import re
from collections.abc import Iterable
from pathlib import Path

from kernelgauge.errors import StoreError
from kernelgauge.schema import Baseline
from kernelgauge.store import codec
from kernelgauge.store.disk import guarded, make_folder, write_whole
from kernelgauge.store.journal import Journal

FILE = "baselines.jsonl"
"""The file that holds the baselines of a run folder."""


def read(path: Path) -> list[Baseline]:
    """The baselines of a file, or of the file of that name in a folder. Raises StoreError."""
    file = path / FILE if path.is_dir() else path
    if not file.is_file():
        raise StoreError(f"there are no baselines at {file}")
    return _decoded(Journal(file))


def write(path: Path, baselines: Iterable[Baseline]) -> None:
    """Write a file of baselines in one piece. Raises StoreError."""
    write_whole(path, "".join(f"{codec.encode(each)}\n" for each in baselines).encode())


class Baselines:
    """The baselines known on this machine; several processes may add at once."""

    def __init__(self, root: Path):
        self._root = root

    def of(self, problem_digest: str) -> list[Baseline]:
        """Every baseline of this problem's text, oldest first. Raises StoreError on a malformed line."""
        return _decoded(Journal(self._file(problem_digest)))

    def all(self) -> list[Baseline]:
        """Every baseline. Raises StoreError."""
        return [each for file in sorted(self._root.glob("*.jsonl")) for each in _decoded(Journal(file))]

    def add(self, baselines: Iterable[Baseline]) -> int:
        """Keep those that are not here yet, and say how many that were. Raises StoreError."""
        by_problem: dict[str, list[Baseline]] = {}
        for each in baselines:
            by_problem.setdefault(each.problem_digest, []).append(each)
        return sum(self._add(problem_digest, some) for problem_digest, some in by_problem.items())

    def _add(self, problem_digest: str, baselines: list[Baseline]) -> int:
        make_folder(self._root)
        lock = self._root / "lock"
        with guarded(lock), lock.open("a") as handle:
            fcntl.flock(handle, fcntl.LOCK_EX)
            journal = Journal(self._file(problem_digest))
            journal.mend()
            known = _decoded(journal)
            new = [each for each in baselines if each not in known]
            for each in new:
                journal.append(codec.encode(each))
            journal.close()
        return len(new)

    def _file(self, problem_digest: str) -> Path:
        # A record may come from a stranger's file: its digest must not name one elsewhere.
        if not re.fullmatch(r"[0-9a-f]{1,64}", problem_digest):
            raise StoreError(f"{problem_digest!r} is not the digest of a problem")
        return self._root / f"{problem_digest}.jsonl"


def _decoded(journal: Journal) -> list[Baseline]:
    return [codec.decode(text, Baseline, f"{journal.path}, line {number}") for number, text in journal.lines()]

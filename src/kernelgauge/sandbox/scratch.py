"""The folders in which workers may write: those of one session together, swept by the next one if it was killed."""

from __future__ import annotations

import fcntl
import os
import tempfile
import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelgauge.deletion import delete


class ScratchFolders:
    """Makes scratch folders below one of this session's own, which is there from the first of them until `close`.

    The session's folder is locked as long as its process lives. A process that was killed leaves its folder without
    a lock, and whoever comes next deletes it: a candidate may have filled it with gigabytes.
    """

    def __init__(self, root: Path):
        self._root = root
        self._own: Path | None = None
        self._lock = -1
        self._threads = threading.Lock()

    def make(self, purpose: str) -> Path:
        """A new empty folder; `purpose` is the start of its name. Raises OSError if it cannot be made."""
        with self._threads:
            if self._own is None:
                self._open()
            return Path(tempfile.mkdtemp(prefix=f"{purpose}-", dir=self._own))

    def close(self) -> None:
        """Delete the session's folder and all in it."""
        with self._threads:
            if self._own is not None:
                delete(self._own)
                os.close(self._lock)
                self._own = None

    def _open(self) -> None:
        self._root.mkdir(parents=True, exist_ok=True)
        # Nobody sweeps between the making of a folder and its lock.
        with _locked(self._root):
            for folder in self._root.iterdir():
                with suppress(OSError):  # whatever it is, others must be able to work
                    _delete_if_abandoned(folder)
            self._own = Path(tempfile.mkdtemp(prefix="session-", dir=self._root))
            self._lock = os.open(self._own, os.O_RDONLY | os.O_DIRECTORY)
            fcntl.flock(self._lock, fcntl.LOCK_EX)


@contextmanager
def _locked(folder: Path) -> Iterator[None]:
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX)
        yield
    finally:
        os.close(descriptor)


def _delete_if_abandoned(folder: Path) -> None:
    """Raises OSError if it is not: somebody else's lock is on it, or it is no folder."""
    descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW)
    try:
        fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        delete(folder)
    finally:
        os.close(descriptor)

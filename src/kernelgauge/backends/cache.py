"""The build cache: finished builds by content, made once, never half-made.

A build happens in a staging folder under a lock of its key and is renamed into place when it is whole, so a killed
build leaves nothing under its key and two equal builds at once become one build and one wait.
"""

from __future__ import annotations

import fcntl
import hashlib
import json
import os
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelgauge.backends.base import Backend
from kernelgauge.deletion import delete
from kernelgauge.schema import Candidate

# The manifest lies beside the folder the candidate's build can write to: what it wrote there is never opened by us.
_MANIFEST = "manifest.json"
_ARTIFACT = "artifact"


def build_key(candidate: Candidate, backend: Backend, call: str = "") -> str:
    """Content name of a build: source, backend, compilers; 24 hex digits.

    Args:
        call: what of the call decides what is built: of a rehearsal all of it, else perhaps its arithmetic.
    """
    abi = sys.implementation.cache_tag
    parts = [
        backend.name,
        candidate.source,
        abi,
        os.environ.get("CXX"),
        backend.fingerprint(),
        *([call] if call else []),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:24]


@contextmanager
def locked(path: Path) -> Iterator[None]:
    """Hold an exclusive lock on the file `path`, made if missing; the kernel lets go of it when we die."""
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("a") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


class BuildCache:
    """Folders of finished builds below `root`, named by their content."""

    def __init__(self, root: Path):
        self.root = root
        self._staging = root / "staging"

    def get(self, key: str) -> Path | None:
        """The folder of a finished build; None if there is none."""
        folder = self.root / key
        return folder / _ARTIFACT if (folder / _MANIFEST).is_file() else None

    def build(self, key: str, make: Callable[[Path], None]) -> tuple[Path, bool]:
        """The folder of that build, made by `make(folder)` unless it exists; True if it was made now.

        Whatever `make` raises comes through, and nothing is kept.
        """
        with locked(self.root / "locks" / key):
            found = self.get(key)
            if found is not None:
                return found, False
            self._clear_left_overs(key)
            staging = self._staging / f"{key}-{os.getpid()}-{time.monotonic_ns()}"
            (staging / _ARTIFACT).mkdir(parents=True)
            try:
                make(staging / _ARTIFACT)
                (staging / _MANIFEST).write_text(json.dumps({"key": key, "built": time.time()}))
                target = self.root / key
                delete(target)  # a folder without manifest: an older, broken one
                staging.rename(target)
            finally:
                delete(staging)
            return target / _ARTIFACT, True

    def _clear_left_overs(self, key: str) -> None:
        """Remove what a killed build of this key left; we hold its lock, so nobody is at work there."""
        for left_over in self._staging.glob(f"{key}-*"):
            delete(left_over)

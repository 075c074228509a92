"""Which candidate a device judges next: those of one problem one after the other, since they share its reference."""

from __future__ import annotations

import threading
import time
from collections.abc import Sequence
from concurrent.futures import Future
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress

if TYPE_CHECKING:
    from kernelgauge.execution.local import Done, Task


# Others may come without end.
_LONGEST_SECONDS = 30.0


@dataclass(frozen=True)
class Prepared:
    """A task whose candidate waits for a device to be judged on."""

    task: Task
    job: Job
    progress: Progress


@dataclass(frozen=True, eq=False)
class Waiting:
    """One that waits, and where its result goes."""

    prepared: Prepared
    done: Future[Done]
    since: float = field(default_factory=time.monotonic)


class Ready:
    """Candidates that are ready to be judged, in the order in which they came. Any thread may add and take.

    One that has failed already waits for the others: whether its problem counts is mostly learnt beside one of them.
    """

    def __init__(self) -> None:
        self._waiting: list[Waiting] = []
        self._lock = threading.Lock()

    def add(self, prepared: Prepared) -> Future[Done]:
        """Let one wait; returns where its result will be."""
        entry = Waiting(prepared, Future())
        with self._lock:
            self._waiting.append(entry)
        return entry.done

    def take(self) -> Waiting | None:
        """The one that has waited longest; None if nobody waits."""
        with self._lock:
            return self._first(self._waiting)

    def take_like(self, other: Waiting) -> Waiting | None:
        """The one of the same problem, under the same protocol, that has waited longest; None if there is none."""
        asked = other.prepared.job
        with self._lock:
            jobs = ((entry, entry.prepared.job) for entry in self._waiting)
            return self._first(
                [entry for entry, job in jobs if (job.problem, job.protocol) == (asked.problem, asked.protocol)]
            )

    def _first(self, entries: Sequence[Waiting]) -> Waiting | None:
        now = time.monotonic()

        def later(entry: Waiting) -> bool:
            return entry.prepared.progress.failure is not None and now - entry.since < _LONGEST_SECONDS

        found = min(entries, key=later, default=None)
        if found is not None:
            self._waiting.remove(found)
        return found

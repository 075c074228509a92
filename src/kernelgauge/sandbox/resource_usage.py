"""How much of the machine's memory and disk a worker and all it has started may hold, and whether they hold more.

An order says what is counted, `held N` or `stored N`, and from how many bytes on nobody needs to know better. Where a
process namespace tells which processes those are, the holder of the namespace carries it out; elsewhere the parent
does, for the worker alone.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterable, Sequence
from pathlib import Path

from kernelgauge.sandbox.host_disk import stored
from kernelgauge.sandbox.host_memory import held
from kernelgauge.sandbox.worker_errors import DiskFilled, WorkerTooLarge

# Counting files takes longer than asking for memory.
_DISK_SECONDS = 0.25


def count(order: bytes, pids: Iterable[int], folders: Sequence[Path], own_namespaces: bool = False) -> int:
    """The bytes that these processes hold, as an order asks; see `host_memory.held` and `host_disk.stored`."""
    what, limit = order.split()
    return held(pids, int(limit), own_namespaces) if what == b"held" else stored(pids, int(limit), folders)


class ResourceUsage:
    """The limits of one worker.

    Args:
        most_bytes: of memory.
        most_stored: bytes on disk.
    """

    def __init__(self, most_bytes: int, most_stored: int):
        self._most_bytes, self._most_stored = most_bytes, most_stored
        self._disk_seen = -math.inf
        self._stored = 0
        self.lent_bytes = 0
        """The machine's memory that the worker has mapped and the parent owns: regions."""
        self.wrote_at = -math.inf
        """When it was last seen, on the monotonic clock, that files had come or gone: a compiler may be at work."""

    def look(self, carried_out: Callable[[bytes], int]) -> None:
        """Have counted what the worker holds; the disk not at every look.

        Args:
            carried_out: what comes of an order.

        Raises:
            WorkerTooLarge, DiskFilled: it is more than allowed.
        """
        limit = self._most_bytes + self.lent_bytes
        if (found := carried_out(b"held %d" % limit)) > limit:
            raise WorkerTooLarge(found, limit)
        if time.monotonic() - self._disk_seen >= _DISK_SECONDS:
            if (now := carried_out(b"stored %d" % self._most_stored)) > self._most_stored:
                raise DiskFilled(self._most_stored)
            self._disk_seen = time.monotonic()
            if now != self._stored:
                self._stored, self.wrote_at = now, self._disk_seen

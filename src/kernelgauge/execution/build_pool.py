"""Builds over all cores, but never more at once than fit into memory.

Sixteen candidates that include `torch/extension.h` take 50 GB of compilers; sixteen raw kernels take almost nothing.
"""

from __future__ import annotations

import os
import re
import threading
from collections import deque
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

# What is free may be wanted by others too: workers, oracles, somebody else's jobs.
_SHARE = 0.75


def free_gigabytes() -> float:
    """Memory this process could take now: what the machine calls available, or less if a cgroup says so."""
    fields = dict(line.split(":", 1) for line in Path("/proc/meminfo").read_text().splitlines())
    available = float(fields["MemAvailable"].split()[0]) * 1024
    return min([available, *_left_in_cgroups()]) / 1e9


def _left_in_cgroups() -> Iterator[float]:
    """Bytes left below each memory limit of the cgroups (version 2) this process is in, cached files not counted."""
    try:
        own = Path("/proc/self/cgroup").read_text().rpartition("::")[2].strip()
    except OSError:
        return
    folder = Path("/sys/fs/cgroup", own.lstrip("/"))
    for place in (folder, *folder.parents):
        try:
            limit, used = ((place / name).read_text().strip() for name in ("memory.max", "memory.current"))
            cached = re.findall(r"^(?:in)?active_file (\d+)$", (place / "memory.stat").read_text(), re.MULTILINE)
        except OSError:
            continue
        if limit != "max":
            yield float(limit) - float(used) + sum(map(float, cached))


class BuildPool:
    """A semaphore with weights: gigabytes of memory, and one of `cores` places for each build.

    Who came first goes first, so that many small builds do not keep a large one waiting for ever. A build that is
    larger than the pool waits until it is alone.

    Args:
        cores: builds at once; default the cores this process may use.
        free: asked for the memory that is free, in gigabytes. The most it says since the pool was last empty is
            shared out; what it says last, the next build must fit into.
    """

    def __init__(self, cores: int | None = None, free: Callable[[], float] = free_gigabytes):
        self._cores = cores or len(os.sched_getaffinity(0))
        self._free = free
        self._capacity = 0.0
        self._held: list[float] = []
        self._waiting: deque[object] = deque()
        self._changed = threading.Condition()

    @contextmanager
    def slot(self, gigabytes: float) -> Iterator[None]:
        """Hold that much memory and a core; waits for both."""
        self._take(gigabytes)
        try:
            yield
        finally:
            with self._changed:
                self._held.remove(gigabytes)
                self._changed.notify_all()

    def _take(self, gigabytes: float) -> None:
        ticket = object()
        with self._changed:
            self._waiting.append(ticket)
            try:
                self._changed.wait_for(lambda: self._waiting[0] is ticket and self._fits(gigabytes))
                self._held.append(gigabytes)
            finally:
                self._waiting.remove(ticket)
                self._changed.notify_all()

    def _fits(self, gigabytes: float) -> bool:
        free = self._free()
        # What the builds that run have taken already is not free: the most there was is what they share.
        self._capacity = max(free * _SHARE, self._capacity if self._held else 0.0)
        if not self._held:
            return True
        within = sum(self._held) + gigabytes <= self._capacity
        return within and len(self._held) < self._cores and gigabytes <= free

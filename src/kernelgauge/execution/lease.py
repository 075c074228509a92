"""Who may use a device now: many to build and check, one alone to time.

On a CPU a kernel timed while others compiled has read up to 236 times off. Leases are advisory locks on files, so
they hold between threads, between runs and between users of one cache folder, and the kernel takes back those of a
process that dies.

Who waits to be alone lets nobody else begin: where compiles follow each other without a gap, it would wait for ever.
So who holds a lease must not ask for another one of the same device.
"""

from __future__ import annotations

import fcntl
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelgauge.hardware.environment import visible_devices


class Leases:
    """Shared and exclusive leases of devices, by lock files below `root`."""

    def __init__(self, root: Path):
        self._root = root

    @contextmanager
    def shared(self, device: str) -> Iterator[None]:
        """Hold the device together with others: builds and checks."""
        with self._hold(device, fcntl.LOCK_SH):
            yield

    @contextmanager
    def exclusive(self, device: str) -> Iterator[None]:
        """Hold the device alone: waits until every shared lease is given back."""
        with self._hold(device, fcntl.LOCK_EX):
            yield

    @contextmanager
    def _hold(self, device: str, kind: int) -> Iterator[None]:
        self._root.mkdir(parents=True, exist_ok=True)
        # By the name that holds in every process, whatever part of the GPUs it sees.
        name = "cpu" if device == "cpu" else f"cuda-{visible_devices(device)}"
        with (self._root / f"device-{name}").open("a") as handle:
            with (self._root / f"next-{name}").open("a") as turn:
                fcntl.flock(turn, fcntl.LOCK_EX)
                fcntl.flock(handle, kind)
            yield

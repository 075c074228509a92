"""What the parent knows of a worker by its reaper: which process it is, and how it ended.

The reaper waits for the worker and reports on a pipe that the worker cannot write to; see `zygote`.
"""

from __future__ import annotations

import contextlib
import json
import os
import select
import signal
import threading
import time

from kernelgauge.errors import MachineError

_KILLED_SECONDS = 30.0


def is_readable(descriptor: int, seconds: float) -> bool:
    """Whether there is something to read (an end counts) within that time; any descriptor number."""
    poll = select.poll()
    poll.register(descriptor, select.POLLIN)
    return bool(poll.poll(seconds * 1000))


class Reaper:
    """The parent's end of one reaper's pipe.

    Attributes:
        reporting: the other end, for the zygote; closed here by `handed_over`.
        pid: the worker, as this process and the driver see it; 0 before its birth is reported.
        holder: process 1 of its namespace; 0 if it has none of its own.
    """

    def __init__(self) -> None:
        self._reports, self.reporting = os.pipe()
        self.pid = self.holder = 0
        self._status: int | None = None
        self._killed = False
        self._reading = threading.Lock()

    def handed_over(self) -> None:
        """With the other end open here too, a zygote that ends before it forks would not be noticed."""
        os.close(self.reporting)

    def await_birth(self, seconds: float) -> None:
        """Raises TimeoutError if the reaper says nothing, MachineError if it is gone."""
        self._await_report(seconds)
        born = self._report()
        self.pid, self.holder = born["pid"], born["holder"]

    def status(self) -> int | None:
        """How the worker ended, as in `os.waitstatus_to_exitcode`; None if it has not."""
        if self._status is None and self._reports >= 0 and is_readable(self._reports, 0):
            self.wait(0.1)
        return self._status

    def reports_within(self, seconds: float) -> bool:
        """Whether the worker ends within that time, or has ended."""
        return self._status is not None or is_readable(self._reports, seconds)

    def wait(self, seconds: float) -> int:
        """How the worker ended, waiting for it that long and then killing it.

        Raises:
            MachineError: the reaper was killed.
        """
        if self._status is not None:
            return self._status
        try:
            return self._end(seconds)
        except TimeoutError:
            if not self._killed:
                self._killed = True
                with contextlib.suppress(ProcessLookupError):
                    os.killpg(self.pid, signal.SIGKILL)
            return self._end(_KILLED_SECONDS)
        except MachineError:
            self._status = -signal.SIGKILL
            raise

    def await_end(self) -> None:
        """Wait until the worker is gone, which somebody must have asked for."""
        deadline = time.monotonic() + _KILLED_SECONDS
        while self.pid and self._status is None and time.monotonic() < deadline:
            with contextlib.suppress(MachineError, TimeoutError):
                self.wait(1.0)

    def signal(self, number: int) -> None:
        """To the worker's process group, if it has not ended: until the reaper says so, the pid is still its own."""
        if self.pid and self.status() is None:
            with contextlib.suppress(ProcessLookupError):
                os.killpg(self.pid, number)

    def kill(self) -> None:
        """End the worker now; inside a process namespace all it started ends with it."""
        self._killed = True
        self.signal(signal.SIGKILL)
        if self.holder and self._status is None:
            with contextlib.suppress(ProcessLookupError):
                os.kill(self.holder, signal.SIGKILL)

    def close(self) -> None:
        """Give back the pipe; a second time does nothing."""
        if self._reports >= 0:
            os.close(self._reports)
            self._reports = -1

    def _end(self, seconds: float) -> int:
        """Several threads may wait for it: one of them reads, the others are told."""
        self._await_report(seconds)
        with self._reading:
            if self._status is None:
                self._status = self._report()["status"]
            return self._status

    def _await_report(self, seconds: float) -> None:
        if not is_readable(self._reports, seconds):
            raise TimeoutError("no word from the reaper")

    def _report(self) -> dict[str, int]:
        line = bytearray()
        while not line.endswith(b"\n"):
            byte = os.read(self._reports, 1)
            if not byte:
                raise MachineError("a worker's reaper was killed from outside")
            line += byte
        return dict(json.loads(line))

"""Every way in which a worker can fail to answer; `failures` says what that means for a candidate."""

from __future__ import annotations


class WorkerEnded(Exception):
    """The worker ended before it answered; `status` as in `os.waitstatus_to_exitcode` (negative: a signal)."""

    def __init__(self, status: int):
        super().__init__(f"worker ended with status {status}")
        self.status = status


class WorkerTimedOut(Exception):
    """The worker did not answer in time and was killed; `seconds` says which of two limits that was."""

    def __init__(self, seconds: float | None = None):
        super().__init__(seconds)
        self.seconds = seconds


class ChannelClosed(Exception):
    """The worker is alive but has closed its channel; it was killed."""


class ProtocolBroken(Exception):
    """The worker sent something that is not a well-formed claim of the expected kind, and was killed."""


class WorkerTooLarge(Exception):
    """The worker and what it has started held more of the machine's memory than they may, and were killed."""

    def __init__(self, held: int, limit: int):
        super().__init__(f"{held / 2**30:.2f} GB of the machine's memory held, where {limit / 2**30:.2f} are allowed")


class DiskFilled(Exception):
    """The worker and what it has started held more of the machine's disk than they may, and were killed."""

    def __init__(self, limit: int):
        allowed = f"the {limit / 2**30:.2f} GB that are allowed"
        super().__init__(f"wrote more to the disk than {allowed}, or folders deeper than a path can name")


WORKER_FAILURES = (WorkerEnded, WorkerTimedOut, ChannelClosed, ProtocolBroken, WorkerTooLarge, DiskFilled)
"""Every way in which a worker can fail to answer."""

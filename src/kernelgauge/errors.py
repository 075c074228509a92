"""Every exception kernelgauge raises on purpose.

    KernelgaugeError
    ├── UsageError            the caller asked for something that cannot be (exit code 2)
    │   ├── ProblemError      unknown or malformed problem
    │   │   └── ReferenceTooLarge   judging it does not fit the device's memory
    │   ├── CandidateError    a candidate file that cannot be read at all
    │   ├── BackendMissing    the backend cannot run on this machine
    │   ├── DeviceMissing     this machine has no such device
    │   └── StoreError        a run folder that cannot be read or written
    │       └── DiskFull      no space for it (exit code 3: the machine, not the request)
    └── MachineError          our machine failed, not the candidate (exit code 3); retried, never scored
        └── OutOfDeviceMemory the GPU has no room for what the parent itself needs

What a candidate does wrong is never an exception: it is an outcome on the record (`schema.Outcome`).
"""

import traceback
from typing import TypeVar


class KernelgaugeError(Exception):
    """Base of all errors raised on purpose; its text is one sentence a user can act on."""

    exit_code = 3


class UsageError(KernelgaugeError):
    """The request itself is wrong: a flag, a name, a file."""

    exit_code = 2


class ProblemError(UsageError):
    """A problem is unknown, or its file is not a usable reference."""


class ReferenceTooLarge(ProblemError):
    """What judging takes, the reference with its float64 oracle and a copy of it, does not fit the device's memory.

    Args:
        needed_gb: what it takes at the least, where shapes say so.
        available_gb: what there is.
    """

    def __init__(self, message: str, needed_gb: float | None = None, available_gb: float | None = None):
        super().__init__(message)
        self.needed_gb, self.available_gb = needed_gb, available_gb


class CandidateError(UsageError):
    """A candidate file is missing, unreadable, or not text."""


class BackendMissing(UsageError):
    """The backend cannot run here; the message says why and what would change that."""


class DeviceMissing(UsageError):
    """There is no such device here."""


class StoreError(UsageError):
    """A run folder is locked, malformed, of another format, or cannot be written."""


class DiskFull(StoreError):
    """No space, no quota, or no larger file allowed, where something was to be kept."""

    exit_code = 3


class MachineError(KernelgaugeError):
    """The machine failed (a worker killed from outside, no memory for ourselves): retry, do not score."""


class OutOfDeviceMemory(MachineError):
    """The GPU has no room for what the parent itself needs; says how much was wanted and how much was free."""


def permanent(error: BaseException) -> bool:
    """Whether the same request would fail again: it is wrong itself, or asks for what is not here."""
    return isinstance(error, UsageError) and not isinstance(error, DiskFull)


E = TypeVar("E", bound=BaseException)


def without_locals(error: E) -> E:
    """The error, to be kept: what the functions it passed through held, tensors of gigabytes perhaps, is let go."""
    each: BaseException | None = error
    while each is not None:
        traceback.clear_frames(each.__traceback__)
        each = each.__cause__ or each.__context__
    return error

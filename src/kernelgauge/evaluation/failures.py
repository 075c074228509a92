"""What went wrong on a side, in the words of a record: from a worker's end, its silence, or what it raised."""

from __future__ import annotations

import re
import signal

from kernelgauge.errors import MachineError
from kernelgauge.sandbox.worker_errors import ChannelClosed, DiskFilled, WorkerEnded, WorkerTimedOut, WorkerTooLarge
from kernelgauge.schema import Outcome
from kernelgauge.wire.error_text import compiler_error, last_line, out_of_memory
from kernelgauge.wire.messages import Claim

_DEVICE_FAULT = re.compile(r"(?:CUDA error|Triton Error \[CUDA\]): (.+)")
_ILLEGAL_ACCESS = ("illegal memory access", "misaligned address", "address space")
_MEMORY_VIOLATIONS = {int(signal.SIGSEGV): "segmentation fault", int(signal.SIGBUS): "bus error"}


class Failure(Exception):
    """What a side did wrong: an outcome, one sentence, and what was printed where that says more."""

    def __init__(self, outcome: Outcome, reason: str, rule: str | None = None, log: str = ""):
        super().__init__(outcome, reason, rule, log)  # what it is made of again in another process
        self.outcome, self.reason, self.rule, self.log = outcome, reason, rule, log
        self.layers: tuple[str, ...] = ()
        """Those around the process that failed, where the record would not have them otherwise: in a build."""

    def __str__(self) -> str:
        return self.reason


class WorkerKilled(MachineError):
    """A worker got SIGKILL from somebody else; at a second time, nothing says that it was not its own doing."""


def _ended(stage: str, status: int, log: str) -> Failure:
    if status >= 0:
        return Failure(Outcome.RUNTIME_ERROR, f"{stage}: the process ended by itself with exit status {status}")
    number = -status
    if number in _MEMORY_VIOLATIONS:
        return Failure(Outcome.RUNTIME_ERROR, f"{stage}: memory violation ({_MEMORY_VIOLATIONS[number]})")
    if number == signal.SIGKILL:
        raise WorkerKilled(f"a worker was killed from outside during {stage}")
    if number == signal.SIGABRT and "bad_alloc" in log:
        return Failure(Outcome.OUT_OF_MEMORY, f"{stage}: out of memory (std::bad_alloc)")
    # Most real-time signals have a number and no name.
    name = signal.Signals(number).name if number in set(signal.Signals) else f"signal {number}"
    return Failure(Outcome.RUNTIME_ERROR, f"{stage}: the process was ended by {name}")


def explain_end(stage: str, seconds: float, error: Exception, log: str) -> Failure:
    """The failure behind a worker that gave no answer; raises WorkerKilled if somebody else killed it."""
    if isinstance(error, ChannelClosed):
        return Failure(Outcome.RUNTIME_ERROR, f"{stage}: closed its channel to the parent")
    if isinstance(error, WorkerTimedOut):
        return Failure(Outcome.TIMED_OUT, f"{stage}: no answer within {error.seconds or seconds:g} s")
    if isinstance(error, WorkerTooLarge):
        return Failure(Outcome.OUT_OF_MEMORY, f"{stage}: {error}")
    if isinstance(error, DiskFilled):
        return Failure(Outcome.RUNTIME_ERROR, f"{stage}: {error}")
    if isinstance(error, WorkerEnded):
        return _ended(stage, error.status, log)
    return Failure(Outcome.REJECTED, f"{stage}: forged message: {error}", "forged_message")


def claimed_failure(stage: str, claim: Claim) -> Failure:
    """The failure behind an exception that a worker told."""
    text = compiler_error(claim.message) or last_line(claim.message)  # many a language compiles in its first call
    if fault := _DEVICE_FAULT.search(claim.message):  # the lines after it are advice
        illegal = any(mark in fault[1] for mark in _ILLEGAL_ACCESS)
        text = f"memory violation on the GPU ({fault[1]})" if illegal else fault[0]
    if claim.kind == "OutOfMemory":
        return Failure(Outcome.OUT_OF_MEMORY, f"{stage}: {out_of_memory(text)}", log=claim.message)
    outcome = Outcome.LOAD_FAILED if stage in ("load", "construct") else Outcome.RUNTIME_ERROR
    return Failure(outcome, f"{stage}: {text}", log=claim.message)

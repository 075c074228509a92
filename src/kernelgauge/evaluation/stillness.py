"""Stopping all that a worker has started, and seeing that it stayed so.

SIGSTOP alone does not hold: a process may have set timers that send it SIGCONT. So the holder of the process
namespace (its first process, in which no candidate code runs) also tells how much processor time all others have
used; while they are stopped, that must not grow.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path

# From <linux/posix-timers.h>: the processor clock of another process, by its id.
_CPUCLOCK_SCHED = 2
# On a busy machine a thread may have to wait for a core even to stop.
_SETTLE_SECONDS = 2.0
# Processor time of those that are stopped: they have none, but on a busy machine a thread may take some to stop.
_RAN_MS = 0.2
# In which the clock learns of a thread that runs: at every tick of the kernel, which are 10 ms apart at the most.
_TICKS_SECONDS = 0.05
# Of /proc/PID/stat: stopped, traced, ended. All others go on, or will: who waits for the disk stops only after that.
_STILL = (b"T", b"t", b"Z", b"X", b"x")


@dataclass(frozen=True)
class Running:
    """What the processes of a namespace do: how many there are beside the first, how many of their threads are awake,
    and the processor time in ns that they have used so far. All -1 where nobody can tell."""

    processes: int = -1
    awake: int = -1
    used_ns: int = -1

    def encode(self) -> bytes:
        """As a message; see `decode`."""
        return f"{self.processes} {self.awake} {self.used_ns}".encode()

    @classmethod
    def decode(cls, message: bytes) -> Running:
        """Raises ValueError for what is no such message."""
        processes, awake, used_ns = map(int, message.split())
        return cls(processes, awake, used_ns)


def running() -> Running:
    """What all other processes of this one's namespace do; unknown where /proc is not the namespace's own."""
    if Path("/proc/self").readlink().name != str(os.getpid()):
        return Running()
    processes = awake = used_ns = 0
    for pid in others():
        with contextlib.suppress(OSError):  # ended since
            # The clock knows only what was counted at the last tick or switch, so states are looked at first.
            awake += sum(state not in _STILL for state in _states(pid))
            used_ns += time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)
            processes += 1
    return Running(processes, awake, used_ns)


def stop_others() -> Running:
    """Stop every other process of the namespace, as its first process, and tell what they do once that is done."""
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGSTOP)
    deadline = time.monotonic() + _SETTLE_SECONDS
    before, found = Running(), running()
    while (found.awake > 0 or found != before) and time.monotonic() < deadline:
        before, found = found, running()
    _await_cores()
    return running()


def ran_since(still: Running, look: Callable[[], Running]) -> str:
    """In words, if anything has run since all was as `still` says; empty if nothing has.

    A thread that is awake need not run: on a busy machine it may still wait for a core to stop on. Whether it does is
    seen by the clock.

    Args:
        look: what they do now.
    """
    deadline = time.monotonic() + _TICKS_SECONDS
    while True:
        now = look()
        used = max(now.used_ns - still.used_ns, 0) / 1e6
        if used > _RAN_MS:
            return f"{used:.3g} ms of processor time, {now.awake} threads awake"
        if now.awake <= 0 or time.monotonic() > deadline:
            return ""
        time.sleep(_TICKS_SECONDS / 10)


def others() -> Iterator[int]:
    """Numbers of all other processes of this one's namespace."""
    for entry in os.listdir("/proc"):  # noqa: PTH208  # a path object per entry takes longer than all the rest
        if entry.isdigit() and int(entry) != os.getpid():
            yield int(entry)


def _await_cores() -> None:
    """Wait until every stopped thread has given up its core.

    It counts as stopped a little before, and until then its clock leaves out all since the last tick: where the
    hypervisor takes the core away just in between, milliseconds are added afterwards. In which system call a stopped
    thread is, the kernel tells only once it is off its core. Where it does not tell us, nothing is waited for.
    """
    for pid in others():
        with contextlib.suppress(OSError):  # ended since
            for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
                with contextlib.suppress(OSError):  # ended since, or not for us to know
                    Path(f"/proc/{pid}/task/{thread}/syscall").read_bytes()


def _states(pid: int) -> Iterator[bytes]:
    """The state of each thread, as a letter."""
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
        stat = Path(f"/proc/{pid}/task/{thread}/stat").read_bytes()
        yield stat[stat.rindex(b")") + 2 :][:1]  # after the name, which may hold anything

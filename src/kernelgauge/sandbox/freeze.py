"""Stopping all that a worker has started, and seeing that it stayed so.

SIGSTOP alone does not hold: a process may have set timers that send it SIGCONT. So the holder of the process
namespace (its first process, in which no candidate code runs) sends it again and again until all are still, and tells
how much processor time all others have used; while they are stopped, that must not grow. Nor can anything begin or
end then: the time of what has ended is in no sum.
"""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Callable, Iterator
from dataclasses import astuple, dataclass, replace

# From <linux/posix-timers.h>: the processor clock of another process, by its id.
_CPUCLOCK_SCHED = 2
# On a busy machine a thread may have to wait for a core even to stop.
_SETTLE_SECONDS = 5.0
# Who waits in the kernel and cannot be interrupted (for a disk; for a child that was stopped before it could exec)
# stops only after that. Once nothing else happens in so much time, nobody waits for him.
_UNINTERRUPTIBLE_SECONDS = 0.05
_PATIENCE_SECONDS = 0.005
# Processor time of those that are stopped: they have none, but on a busy machine a thread may take some to stop.
_RAN_MS = 0.2
# In which the clock learns of a thread that runs: at every tick of the kernel, which are 10 ms apart at the most.
_TICKS_SECONDS = 0.05
# Of /proc/PID/stat: stopped, traced, ended. All others go on, or will.
_STILL = (b"T", b"t", b"Z", b"X", b"x")
_UNINTERRUPTIBLE = b"D"


@dataclass(frozen=True)
class Running:
    """What the processes of a namespace do. All -1 where nobody can tell."""

    processes: int = -1
    """How many there are beside the first."""
    awake: int = -1
    """How many of their threads are not stopped."""
    able: int = -1
    """How many of those could run now: they do not wait where nothing can interrupt them."""
    used_ns: int = -1
    """Processor time that they have used so far."""
    born: int = -1
    """The number that the kernel gave out last: another one says that a process or a thread has begun since."""
    at_ns: int = -1
    """When this was seen to be so, on `time.perf_counter_ns`: not before it had become so, where all are still."""
    late_ns: int = 0
    """After an order to stop: processor time used from the first look until all were still."""

    def encode(self) -> bytes:
        """As a message; see `decode`."""
        return " ".join(map(str, astuple(self))).encode()

    @classmethod
    def decode(cls, message: bytes) -> Running:
        """Raises ValueError for what is no such message."""
        processes, awake, able, used_ns, born, at_ns, late_ns = map(int, message.split())
        return cls(processes, awake, able, used_ns, born, at_ns, late_ns)

    def same_as(self, other: Running) -> bool:
        """Whether nothing has happened between these two looks."""
        return replace(self, at_ns=0, late_ns=0) == replace(other, at_ns=0, late_ns=0)

    def same_family(self, other: Running) -> bool:
        """Whether the same processes and threads are there, and none has come and gone in between."""
        return 0 <= self.processes == other.processes and self.born == other.born


def clock(pid: int) -> int:
    """Processor time in ns of a process, with that of its ended threads; -1 if there is no such process.

    What a thread that runs at this moment has used since the kernel's last tick is not in it yet.
    """
    try:
        return time.clock_gettime_ns((~pid << 3) | _CPUCLOCK_SCHED)
    except OSError:
        return -1


class Pursuit:
    """Looks at the clock of a process that has been told to stop, to find out when it did.

    Whoever runs at some moment has used time that comes to its clock only later. So it has not run since the first
    look at which its clock was what it is in the end.
    """

    def __init__(self, pid: int):
        self._pid = pid
        self._first_ns = self._last_ns = clock(pid)
        self._since_ns = time.perf_counter_ns()

    def look(self) -> None:
        """Look again."""
        now_ns = clock(self._pid)
        if now_ns != self._last_ns:
            self._last_ns, self._since_ns = now_ns, time.perf_counter_ns()

    def ran_ns(self, began_ns: int) -> tuple[int, int]:
        """Once it is still: for how long it can have run since `began_ns` of `time.perf_counter_ns`; its clock."""
        self.look()
        return max(min(self._since_ns - began_ns, self._last_ns - self._first_ns), 0), self._last_ns


def running() -> Running:
    """What all other processes of this one's namespace do; unknown where /proc is not the namespace's own."""
    if os.readlink("/proc/self") != str(os.getpid()):  # noqa: PTH115
        return Running()
    processes = awake = able = used_ns = 0
    for pid in others():
        with contextlib.suppress(OSError):  # ended since
            # The clock knows only what was counted at the last tick or switch, so states are looked at first.
            states = list(_states(pid))
            used_ns += max(clock(pid), 0)
            up = [state for state in states if state not in _STILL]
            awake += len(up)
            able += sum(state != _UNINTERRUPTIBLE for state in up)
            processes += states[:1] not in ([], [b"X"], [b"x"])
    return Running(processes, awake, able, used_ns, _born(), time.perf_counter_ns())


def stop_others() -> Running:
    """Stop every other process of the namespace, as its first process, and tell what they do once that is done.

    `at_ns` is then the end of the first look that found all as they are now, and not that of the last.
    """
    _send_stop()
    first = settled = running()
    deadline = time.monotonic() + _SETTLE_SECONDS
    since, found = time.monotonic(), first
    while time.monotonic() < deadline:
        if found.able <= 0 and (found.awake <= 0 or time.monotonic() - since > _UNINTERRUPTIBLE_SECONDS):
            _await_cores()
            last = running()
            if last.same_as(settled):
                break
            found = last
        else:
            if time.monotonic() - since > _PATIENCE_SECONDS:
                time.sleep(_PATIENCE_SECONDS / 10)  # who waits for a core may wait for this one
            _send_stop()
            found = running()
        if not found.same_as(settled):
            settled, since = found, time.monotonic()
    return replace(settled, late_ns=max(settled.used_ns - first.used_ns, 0))


def ran_since(still: Running, look: Callable[[], Running]) -> str:
    """In words, if anything has run since all was as `still` says, or did not stop then; empty if nothing has.

    A thread that is awake need not run: on a busy machine it may still wait for a core to stop on. Whether it does is
    seen by the clock.

    Args:
        look: what they do now.
    """
    if still.able > 0 and still.late_ns / 1e6 > _RAN_MS:
        return f"{still.able} threads went on for {_SETTLE_SECONDS:g} s, told to stop again and again"
    deadline = time.monotonic() + _TICKS_SECONDS
    while True:
        now = look()
        used = max(now.used_ns - still.used_ns, 0) / 1e6
        if used > _RAN_MS:
            return f"{used:.3g} ms of processor time, {now.awake} threads awake"
        if now.processes >= 0 and now.born != still.born:
            return "a process or a thread was started"
        if 0 <= now.processes < still.processes:
            return f"{still.processes - now.processes} of {still.processes} processes have ended"
        if now.awake <= 0 or time.monotonic() > deadline:
            return ""
        time.sleep(_TICKS_SECONDS / 10)


def others() -> Iterator[int]:
    """Numbers of all other processes of this one's namespace."""
    for entry in os.listdir("/proc"):  # noqa: PTH208  # a path object per entry takes longer than all the rest
        if entry.isdigit() and int(entry) != os.getpid():
            yield int(entry)


def _send_stop() -> None:
    with contextlib.suppress(ProcessLookupError):
        os.kill(-1, signal.SIGSTOP)


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
                    _read(f"/proc/{pid}/task/{thread}/syscall")


def _states(pid: int) -> Iterator[bytes]:
    """The state of each thread, as a letter."""
    for thread in os.listdir(f"/proc/{pid}/task"):  # noqa: PTH208
        stat = _read(f"/proc/{pid}/task/{thread}/stat")
        yield stat[stat.rindex(b")") + 2 :][:1]  # after the name, which may hold anything


def _born() -> int:
    """The number of the process or thread of this namespace that was begun last."""
    return int(_read("/proc/loadavg").rpartition(b" ")[2])


def _read(path: str) -> bytes:
    """A short file of /proc: while it is read, somebody may be waiting for all to be still."""
    descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return os.read(descriptor, 4096)
    finally:
        os.close(descriptor)

"""Which cores processes and their threads run on: one launches kernels for both sides, and nobody else's meanwhile.

Two processes of one text launch at speeds that differ by up to a tenth, depending on the cores they happen to run on;
a call that is bound by launches then shows that difference. As only one side runs at a time, both can have one core.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelgauge.hardware.environment import gpu_count, host_gpus, host_index

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
# Niceness of what makes way for others.
_LAST = 10
# With fewer, a core kept free is one taken from the parent.
_ENOUGH = 4


def launch_core(device: str) -> int | None:
    """The core that launches for a GPU such as `cuda:1`; None on a small machine.

    The last cores, one after the other in the order of the machine's GPUs: two processes that see one GPU each, by
    CUDA_VISIBLE_DEVICES, would launch on the same core if they counted what they see.
    """
    return _core_of(host_index(device))


def _core_of(number: int) -> int | None:
    cores = sorted(os.sched_getaffinity(0))
    own = [core for core in reversed(cores) if core == min(_siblings(core))] or cores
    return own[number % len(own)] if len(cores) >= _ENOUGH else None


def launch_cores() -> list[int]:
    """The cores that launch for the GPUs seen here; and for all others of the machine, which may be another
    process's, where that leaves half of the cores."""
    own = {core for number in range(gpu_count()) if (core := launch_core(f"cuda:{number}")) is not None}
    others = {core for number in range(len(host_gpus())) if (core := _core_of(number)) is not None}
    cores = os.sched_getaffinity(0)
    left = cores.difference(*map(_siblings, own | others))
    return sorted(own | others if 2 * len(left) >= len(cores) else own)


def off(cores: Iterable[int]) -> set[int]:
    """The cores of the calling thread but these and their hardware threads; all of them where that leaves none."""
    before = os.sched_getaffinity(0)
    return before.difference(*map(_siblings, cores)) or before


def step_back(pid: int) -> None:
    """Have a process leave the cores that launch kernels, and go last on the others: somebody is timed meanwhile."""
    leave_launch_cores(pid)
    with suppress(OSError):
        os.setpriority(os.PRIO_PROCESS, pid, _LAST)


def leave_launch_cores(pid: int) -> None:
    """Keep a process's main thread, and threads it starts from now on, off the cores that launch kernels."""
    with suppress(OSError):
        os.sched_setaffinity(pid, off(launch_cores()))


@contextmanager
def off_launch_cores(pid: int) -> Iterator[None]:
    """While open, a process's main thread is kept off the cores that launch kernels."""
    before = os.sched_getaffinity(pid)
    leave_launch_cores(pid)
    try:
        yield
    finally:
        with suppress(OSError):
            os.sched_setaffinity(pid, before)


def pin(pid: int, core: int) -> None:
    """Keep its main thread on this core, and threads it starts from now on; those it has stay where they are."""
    with suppress(OSError):
        os.sched_setaffinity(pid, {core})


def spread_threads(pid: int) -> None:
    """Give each thread beside the main one a core of its own, where there are enough cores.

    Woken together, two threads often share a core until the next balancing, and a call takes twice as long. The main
    thread stays free, and so do threads it starts from now on.
    """
    cores = sorted(os.sched_getaffinity(0))
    with suppress(OSError):
        others = [int(task.name) for task in Path(f"/proc/{pid}/task").iterdir()]
        others = sorted(thread for thread in others if thread != pid)
        if len(others) < len(cores):
            for thread, core in zip(others, cores[1:], strict=False):
                os.sched_setaffinity(thread, {core})


def _siblings(core: int) -> set[int]:
    """All hardware threads of a core, itself included."""
    try:
        listed = Path(_TOPOLOGY.format(core)).read_text().strip()
    except OSError:
        return {core}
    found: set[int] = set()
    for part in listed.split(","):
        first, _, last = part.partition("-")
        found.update(range(int(first), int(last or first) + 1))
    return found


@contextmanager
def keeping_off(cores: Iterable[int]) -> Iterator[None]:
    """While open, the calling thread runs on any core but these and their hardware threads."""
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, off(cores))
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

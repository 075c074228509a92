"""Which processor core launches kernels: the same one for both sides, and nobody else's meanwhile.

Two processes of one text launch at speeds that differ by up to a tenth, depending on the cores they happen to run on;
a call that is bound by launches then shows that difference. As only one side runs at a time, both can have one core.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path

_TOPOLOGY = "/sys/devices/system/cpu/cpu{}/topology/thread_siblings_list"
# With fewer, a core kept free is one taken from the parent.
_ENOUGH = 4


def launch_core(number: int) -> int | None:
    """The core that launches for device `number`: the last ones, one after the other; None on a small machine."""
    cores = sorted(os.sched_getaffinity(0))
    own = [core for core in reversed(cores) if core == min(_siblings(core))] or cores
    return own[number % len(own)] if len(cores) >= _ENOUGH else None


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
    others = before.difference(*map(_siblings, cores))
    if others and others != before:
        os.sched_setaffinity(0, others)
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)

"""The candidate that a search begins with: a compiler's, one of a folder, or the best of a run."""

from __future__ import annotations

import os
from collections import defaultdict
from pathlib import Path

import anyio

from kernelgauge.config import MathMode, load_settings
from kernelgauge.execution.lease import Leases
from kernelgauge.generation.contestant import Contestant, on_device, under
from kernelgauge.generation.contestants import contestant_named
from kernelgauge.generation.stored import BestOf
from kernelgauge.schema import Attempt, Candidate, NoCandidate, Problem
from kernelgauge.store.run import Run

_RUN = "run:"


class Start:
    """Where candidates to begin with come from. Each problem has one, which all samples of it share.

    Args:
        given: `inductor`, `folder:DIR`, `run:DIR`, or another contestant by its name.
        suite: what the files of a folder answer.

    Raises:
        UsageError: there is no such contestant, or the folder cannot be used.
        StoreError: the run cannot be read.
    """

    def __init__(self, given: str, suite: str | None = None):
        self._contestant = _contestant(given, suite)
        self.name = _whole_name(given)
        """The same in every folder that a command is given in."""
        # A compile takes one core or more, and some of the device's memory.
        self._limiter = anyio.CapacityLimiter(len(os.sched_getaffinity(0)))
        self._found: dict[str, Candidate | NoCandidate] = {}
        self._locks: defaultdict[str, anyio.Lock] = defaultdict(anyio.Lock)

    async def attempt(self, problem: Problem, device: str, math: MathMode) -> Attempt | str:
        """The candidate as the attempt that nobody was asked for; or in a sentence why there is none."""
        async with self._locks[problem.digest]:
            if problem.digest not in self._found:
                made = await anyio.to_thread.run_sync(self._made, problem, device, math, limiter=self._limiter)
                self._found[problem.digest] = made
        found = self._found[problem.digest]
        if isinstance(found, NoCandidate):
            return found.reason
        whose = f"{self.name} ({found.contestant})" if self.name.startswith(_RUN) else found.origin or self.name
        return Attempt(given=whose, answer=f"```python\n{found.source}\n```", source=found.source)

    def _made(self, problem: Problem, device: str, math: MathMode) -> Candidate | NoCandidate:
        who = under(self._contestant, math)
        samples = who.samples(problem.key)
        if not samples:
            why = f"{self.name} has no candidate for {problem.key}"
            return NoCandidate(problem=problem.key, contestant=who.name, reason=why)
        if not on_device(who):
            return who.complete(problem, samples[0], device)
        with Leases(load_settings().cache / "locks").shared(device):
            return who.complete(problem, samples[0], device)


def _contestant(given: str, suite: str | None) -> Contestant:
    if given.startswith(_RUN):
        return BestOf(Run.read(_folder(given)))
    return contestant_named(given, suite=suite)


def _whole_name(given: str) -> str:
    kind, colon, _ = given.partition(":")
    return f"{kind}:{_folder(given).resolve()}" if colon and kind in ("run", "folder") else given


def _folder(given: str) -> Path:
    return Path(given.partition(":")[2]).expanduser()

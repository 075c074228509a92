"""Who writes candidates: the contract of a contestant.

A contestant answers a problem with source text, or says why it has none. What it cannot do is data, like
every other outcome: `NoCandidate` goes on the record, the run goes on.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Protocol

from kernelgauge.config import MathMode
from kernelgauge.schema import Candidate, NoCandidate, Problem


class Contestant(Protocol):
    """A compiler, a language model, a folder of files: whatever turns a problem into candidates.

    Implementations raise `MachineError` if their own machine failed, and `UsageError` if they were asked for
    something that cannot be; everything else they cannot do comes back as `NoCandidate`.
    """

    @property
    def name(self) -> str:
        """Short name, as stored in `Candidate.contestant`."""

    def samples(self, problem: str) -> Sequence[int]:
        """The sample numbers it has for the problem with this key; empty if it does not answer it at all."""

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """Answers `problem` for `device` (`cpu`, `cuda`, or one GPU of several: `cuda:1`)."""


def on_device(contestant: Contestant) -> bool:
    """Whether its `complete`, or a build of its candidates, computes on the device: its attribute `on_device`.

    Nothing is timed there meanwhile, and its candidates are trusted with the device while others build there.
    """
    return bool(getattr(contestant, "on_device", False))


def knows_its_texts(contestant: Contestant) -> bool:
    """Whether its candidates are there before it is asked: it has a method `digest`."""
    return hasattr(contestant, "digest")


def digest_of(contestant: Contestant, problem: str, sample: int) -> str | None:
    """Digest of the candidate that it would give; None where only asking tells, or where it would have none."""
    tell: Callable[[str, int], str | None] = getattr(contestant, "digest", lambda *_: None)
    return tell(problem, sample)


def under(contestant: Contestant, math: MathMode) -> Contestant:
    """The contestant that answers under an arithmetic: what its method `under` returns, where it has one.

    It needs one where a text is right for one type alone: what a model is cast to decides what a compiler writes.
    """
    tell: Callable[[MathMode], Contestant] = getattr(contestant, "under", lambda _: contestant)
    return tell(math)


def abandon(contestant: Contestant) -> None:
    """End what it has under way in other processes: its method `abandon`, where it has one."""
    getattr(contestant, "abandon", lambda: None)()

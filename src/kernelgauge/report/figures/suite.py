"""What the suite knows about the problems of a run: tags, and how weak each is at the published inputs."""

from __future__ import annotations

from kernelgauge.problems import catalogue
from kernelgauge.schema import Record, Weakness


class KnownWeak(Record):
    """A problem of a run that accepts work-skipping answers under the published rules."""

    problem: str
    weakness: Weakness
    scored: bool
    """Whether it is in the figures all the same: under the run's protocol no such answer passes, or all count."""


def tags_of(problem: str) -> tuple[str, ...]:
    """The tags of a problem; none for a file of the user's own, or one this installation does not know."""
    entry = catalogue.known(problem)
    return entry.tags if entry else ()


def weakness_of(problem: str) -> Weakness | None:
    """Why a problem is weak at the published inputs, if it is."""
    entry = catalogue.known(problem)
    return entry.weakness if entry else None

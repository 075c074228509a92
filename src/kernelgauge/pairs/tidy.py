"""The compiler as a contestant of pairs: its text without what it names for nothing."""

from __future__ import annotations

from collections.abc import Sequence

from kernelgauge.generation.inductor import Inductor
from kernelgauge.pairs.readable import readable
from kernelgauge.schema import Candidate, NoCandidate, Problem


class Tidy:
    """The compiler, whose texts lose what they name for nothing. It can be pickled."""

    on_device = True

    def __init__(self, math: str, threads: int | None) -> None:
        self._inductor = Inductor(threads=threads, math=math)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return self._inductor.name

    def samples(self, problem: str) -> Sequence[int]:
        return (0,)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """As `Inductor.complete`."""
        found = self._inductor.complete(problem, sample, device)
        if isinstance(found, NoCandidate):
            return found
        return found.model_copy(update={"source": readable(found.source)})

    def abandon(self) -> None:
        self._inductor.abandon()

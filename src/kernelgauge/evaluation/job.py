"""What is to be judged, by which rules and where: frozen, so that it can travel to another process."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.checks.stand_alone import lent
from kernelgauge.config import Protocol
from kernelgauge.evaluation.rehearsal import Call
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.schema import Candidate, Environment, Problem


@dataclass(frozen=True)
class Job:
    """One evaluation to be made."""

    problem: Problem
    candidate: Candidate
    protocol: Protocol
    device: str
    environment: Environment
    attribute: str = "ModelNew"
    """The class in the candidate's text."""
    alone: bool = False
    """Whether the device's memory is for its two sides: nothing else is learnt beside them."""
    plan: MemoryPlan = USUAL
    """How memory is shared out; the supervisor decides it."""

    def source(self, build_dir: Path | None) -> Source:
        """What the candidate's side runs, with the build in this folder if there is one."""
        return Source(self.candidate.source, self.attribute, self.candidate.backend, build_dir, self.lent)

    @property
    def call(self) -> Call:
        """What a build may rehearse."""
        return Call(self.problem, self.protocol.tolerance.math, self.attribute, self.environment.gpu)

    @cached_property
    def lent(self) -> tuple[str, ...]:
        """Import statements of the reference's that the candidate's namespace begins with, by the protocol."""
        if self.protocol.imports == "own":
            return ()
        return lent(self.candidate.source, self.problem.source)

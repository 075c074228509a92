"""One evaluation under way, and the record it ends in."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Literal

from kernelgauge.checks.rules import Read
from kernelgauge.checks.stand_alone import lent
from kernelgauge.config import Protocol
from kernelgauge.evaluation.correctness.trials import Checked
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.resources.memory_use import MemoryUse
from kernelgauge.evaluation.sides.side import Source
from kernelgauge.sandbox.zygote_client import worker_device
from kernelgauge.schema import (
    Bound,
    Candidate,
    Environment,
    Evaluation,
    Finding,
    GpuMemory,
    NotVaried,
    Outcome,
    Problem,
    Ran,
    Timing,
)

LONGEST_LOG = 16_000
"""Characters of a job's log that are kept, from its end."""


@dataclass
class Job:
    """One evaluation under way: what is judged, by which rules, and what is known so far."""

    problem: Problem
    candidate: Candidate
    protocol: Protocol
    device: str
    environment: Environment
    build_dir: Path | None = None
    built: bool = False
    checked: Checked | None = None
    timing: Timing | None = None
    bound: Bound | None = None
    attribute: str = "ModelNew"
    """The class in the candidate's text."""
    alone: bool = False
    """Whether the device's memory is for its two sides: nothing else is learnt beside them."""
    memory_use: MemoryUse | None = None
    gpu_memory: GpuMemory | None = None
    failure: Failure | None = None
    read: Read = field(default_factory=Read)
    findings: tuple[Finding, ...] = ()
    ran: Ran | None = None
    first_call_s: float | None = None
    """Seconds of the longest first call of a process."""
    route: Literal["seed", "state_dict"] = "seed"
    not_varied: NotVaried | None = None
    trivial: tuple[str, ...] | None = None
    """Answers without the work that would pass; None until that is known."""
    walls: tuple[str, ...] = ()
    notes: list[str] = field(default_factory=list)
    seconds: dict[str, float] = field(default_factory=dict)
    log: str = ""

    @contextlib.contextmanager
    def stage(self, name: str) -> Iterator[None]:
        """Add the time spent inside to the stage's account."""
        started = time.monotonic()
        try:
            yield
        finally:
            self.seconds[name] = round(self.seconds.get(name, 0.0) + time.monotonic() - started, 3)

    @contextlib.contextmanager
    def watched(self, name: str) -> Iterator[None]:
        """A stage in which the device's memory is watched too, where there is one."""
        with self.stage(name), self.memory_use.watching() if self.memory_use else contextlib.nullcontext():
            yield

    @property
    def source(self) -> Source:
        return Source(self.candidate.source, self.attribute, self.candidate.backend, self.build_dir, self.lent)

    @cached_property
    def lent(self) -> tuple[str, ...]:
        """Import statements of the reference's that the candidate's namespace begins with, by the protocol."""
        if self.protocol.imports == "own":
            return ()
        return lent(self.candidate.source, self.problem.source)

    def record(self) -> Evaluation:
        """The record of a job that has gone through `prepare` and `time`."""
        problem, candidate, failure = self.problem, self.candidate, self.failure
        checked = self.checked or Checked()
        trivial = tuple(dict.fromkeys([*(self.trivial or ()), *checked.blind]))
        return Evaluation(
            problem=problem.key,
            level=problem.level,
            problem_name=problem.name,
            problem_digest=problem.digest,
            sizes=problem.sizes,
            contestant=candidate.contestant,
            sample=candidate.sample,
            backend=candidate.backend,
            candidate_digest=candidate.digest,
            protocol=self.protocol.name,
            protocol_digest=self.protocol.digest,
            math=self.protocol.agreement.math,
            rules=self.protocol.rules,
            findings=self.findings,
            ran=self.ran,
            device=worker_device(self.device),
            environment=self.environment,
            isolation=self.walls,
            outcome=failure.outcome if failure else Outcome.PASSED,
            reason=failure.reason if failure else "",
            rule=failure.rule if failure else None,
            route=self.route,
            trials=tuple(checked.trials),
            not_varied=self.not_varied,
            trivial=trivial,
            counts=not trivial or self.protocol.score.weak_problems == "counted",
            timing=None if failure else self.timing,
            bound=None if failure else self.bound,
            gpu_memory=self.gpu_memory,
            elsewhere=candidate.elsewhere,
            notes=(*self.notes, *(f"the file relies on the reference's `{each}`" for each in self.lent)),
            first_call_s=self.first_call_s,
            seconds=self.seconds,
            log=self.log,
        )

"""How far an evaluation has come, and the record it ends in."""

from __future__ import annotations

import contextlib
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.evaluation.build import Built
from kernelgauge.evaluation.correctness.trials import Checked
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.kernel_rules import Kernels
from kernelgauge.evaluation.resources.memory_use import MemoryUse
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.sandbox.zygote_client import worker_device
from kernelgauge.schema import Bound, Evaluation, GpuMemory, NotVaried, Outcome, Timing

_LONGEST_LOG = 16_000


@dataclass
class Account:
    """What processes leave behind whatever comes of them: time, remarks, what they printed."""

    seconds: dict[str, float] = field(default_factory=dict)
    """By stage."""
    notes: list[str] = field(default_factory=list)
    log: str = ""
    """The end of what compilers and workers printed."""
    layers: tuple[str, ...] = ()
    """Those around the candidate's last process."""
    first_call_s: float | None = None
    """Seconds of the longest first call of a process."""
    memory_use: MemoryUse | None = None
    """Watches the memory of a GPU that is leased for this evaluation."""

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

    def printed(self, text: str, apart: str = "") -> None:
        """Add to the log, of which the end is kept."""
        self.log = apart.join(part for part in (self.log, text) if part)[-_LONGEST_LOG:]

    def called(self, seconds: float | None) -> None:
        """Note how long the first call of a process took, if there was one."""
        if seconds is not None:
            self.first_call_s = max(self.first_call_s or 0.0, round(seconds, 3))

    def ended_for_memory(self, candidate: Side) -> None:
        """End a candidate that ran out of memory, and note what that gives back."""
        if self.memory_use is not None:
            self.memory_use.end(candidate)


@dataclass
class Progress:
    """What the steps of a job have returned so far. The supervisor alone writes to it.

    It goes to the process that judges, but never comes back from there: the record does.
    """

    account: Account = field(default_factory=Account)
    kernels: Kernels = field(default_factory=Kernels)
    built: Built | None = None
    """None until it is built: a build may need the device."""
    checked: Checked | None = None
    trivial_answers: tuple[str, ...] | None = None
    """Answers without the work that would pass; None until that is known."""
    not_varied: NotVaried | None = None
    """Arguments that were the same in every call; None where nothing was drawn."""
    timing: Timing | None = None
    bound: Bound | None = None
    plan: MemoryPlan = USUAL
    """How memory was shared out at last."""
    gpu_memory: GpuMemory | None = None
    failure: Failure | None = None
    """What ended it, if the candidate did something wrong."""

    @property
    def build_dir(self) -> Path | None:
        """Where the candidate's build is; None where its backend has nothing to build."""
        return self.built.folder if self.built else None

    @property
    def ran_out_of_memory(self) -> bool:
        """Whether the candidate failed for want of memory."""
        return self.failure is not None and self.failure.outcome is Outcome.OUT_OF_MEMORY


def recorded(job: Job, progress: Progress) -> Evaluation:
    """The record of a job that has come to its end."""
    problem, candidate, account, failure = job.problem, job.candidate, progress.account, progress.failure
    checked = progress.checked or Checked()
    trivial_answers = tuple(dict.fromkeys([*(progress.trivial_answers or ()), *checked.blind]))
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
        protocol=job.protocol.name,
        protocol_digest=job.protocol.digest,
        math=job.protocol.tolerance.math,
        kernel_policy=job.protocol.kernel_policy,
        findings=progress.kernels.findings,
        executed=progress.kernels.executed,
        device=worker_device(job.device),
        environment=job.environment,
        isolation=account.layers,
        outcome=failure.outcome if failure else Outcome.PASSED,
        reason=failure.reason if failure else "",
        rule=failure.rule if failure else None,
        weight_sync=checked.weight_sync,
        trials=tuple(checked.trials),
        not_varied=progress.not_varied,
        trivial_answers=trivial_answers,
        scored=not trivial_answers or job.protocol.score.weak_problems == "counted",
        timing=None if failure else progress.timing,
        bound=None if failure else progress.bound,
        gpu_memory=progress.gpu_memory,
        elsewhere=candidate.elsewhere,
        notes=(*account.notes, *(f"the file relies on the reference's `{each}`" for each in job.lent)),
        first_call_s=account.first_call_s,
        seconds=account.seconds,
        log=account.log,
    )

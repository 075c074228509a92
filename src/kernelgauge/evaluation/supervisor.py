"""One candidate, from source to record: build, check, time, judge.

The trusted parent. It never executes problem or candidate code itself; it forks processes for both, moves bytes,
compares, keeps the clock, and writes the record.
"""

from __future__ import annotations

import contextlib
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal

import torch

from kernelgauge.backends.cache import BuildCache, build_key
from kernelgauge.backends.registry import backend_named
from kernelgauge.checks.numerics import Distance
from kernelgauge.config import Protocol
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.admission import Admissions
from kernelgauge.evaluation.build import build_candidate
from kernelgauge.evaluation.check import Checked, check
from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.measure import Measurement
from kernelgauge.evaluation.reference import Reference
from kernelgauge.evaluation.side import Failure, Side, Source, WorkerKilled
from kernelgauge.schema import Candidate, Environment, Evaluation, Outcome, Problem, Timing

_ATTEMPTS = 2
# Of weights and inputs, until they tell the work from an answer without it.
_DRAWS = 3
# What a candidate that constructs in another order can look like under the seed route.
_OTHER_WEIGHTS = (Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION)


@dataclass
class Job:
    """One evaluation under way: what is judged, by which rules, and what is known so far."""

    problem: Problem
    candidate: Candidate
    protocol: Protocol
    device: str
    environment: Environment
    build_dir: Path | None = None
    checked: Checked | None = None
    timing: Timing | None = None
    failure: Failure | None = None
    route: Literal["seed", "state_dict"] = "seed"
    trivial: tuple[str, ...] = ()
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

    @property
    def source(self) -> Source:
        return Source(self.candidate.source, "ModelNew", self.candidate.backend, self.build_dir)


@dataclass(frozen=True)
class Built:
    """A finished build: its folder (None where the backend has nothing to build), whether it was made just now."""

    folder: Path | None
    made: bool
    log: str


class Supervisor:
    """Judges candidates on this machine; every method leaves no process and no file of a candidate behind."""

    def __init__(self, zygote: Zygote, builds: BuildCache, admissions: Admissions):
        self._zygote = zygote
        self._builds = builds
        self._admissions = admissions

    def abandon(self) -> None:
        """End every process of evaluations under way; they fail with MachineError."""
        self._zygote.close()

    def prepare(self, job: Job) -> None:
        """Admit, build and check; may run beside others. What the candidate does wrong ends up in `job.failure`.

        Raises:
            ProblemError: the reference itself fails.
            MachineError: the machine failed twice.
        """
        with job.stage("admit"), one_thread():
            _retried(lambda: self._admit(job))
        try:
            with job.stage("build"):
                _retried(lambda: self._build(job))
            with job.stage("check"), one_thread():
                _retried(lambda: self._check(job))
        except Failure as failure:
            job.failure = failure
            job.log = failure.log or job.log

    def time(self, job: Job) -> None:
        """Time a candidate that passed its checks; must run alone on its device."""
        if job.failure is not None:
            return
        try:
            with job.stage("time"), one_thread():
                _retried(lambda: self._time(job))
        except Failure as failure:
            job.failure = failure

    def trivial(self, problem: Problem, protocol: Protocol, device: str, environment: Environment) -> tuple[str, ...]:
        """Work-skipping answers this protocol would accept on this problem; see `Admissions`.

        Where such a problem is left out, so is one that is known to accept a cut corner.
        """
        found = self._admissions.trivial(problem, protocol, device, environment)
        known = problem.shortcuts.get(protocol.name, ()) if protocol.score.weak_problems == "excluded" else ()
        return tuple(dict.fromkeys([*found, *known]))

    def _admit(self, job: Job) -> None:
        job.trivial = self.trivial(job.problem, job.protocol, job.device, job.environment)

    def build(self, candidate: Candidate, device: str) -> Built:
        """Compile a candidate into the cache, or find it there.

        Raises:
            Failure: the candidate does not build.
            MachineError: the build process was killed from outside.
        """
        backend = backend_named(candidate.backend)
        if not backend.compiles:
            return Built(None, False, "")
        log = ""

        def make(staging: Path) -> None:
            nonlocal log
            log = build_candidate(self._zygote, candidate, device, staging)

        folder, made = self._builds.build(build_key(candidate, backend), make)
        return Built(folder, made, log)

    def _build(self, job: Job) -> None:
        built = self.build(job.candidate, job.device)
        job.build_dir, job.log = built.folder, built.log

    @contextlib.contextmanager
    def _both_sides(self, job: Job) -> Iterator[tuple[Reference, Side]]:
        candidate = Side(self._zygote, job.source, job.device)
        with Reference(self._zygote, job.problem, job.protocol, job.device) as reference:
            try:
                state = reference.state() if job.route == "state_dict" else None
                candidate.open(reference.init, reference.weight_seed, reference.randomise, reference.ieee, state)
                job.walls = candidate.process.walls
                candidate.attach(reference.master.size, reference.expected)
                yield reference, candidate
            finally:
                if hasattr(candidate, "process"):
                    job.log = (job.log + candidate.process.log())[-16_000:]
                candidate.close()
                job.notes = list(dict.fromkeys([*job.notes, *reference.notes]))

    def _check(self, job: Job) -> None:
        for _ in range(_DRAWS):
            checked = self._check_by_either(job)
            if not checked.blind:
                break
        job.checked = checked
        if checked.failure is not None:
            raise checked.failure

    def _check_by_either(self, job: Job) -> Checked:
        """Equal parameters by the seed, or else by state dict: some constructors draw in another order."""
        job.route = "seed"
        by_seed = self._check_by_route(job)
        if by_seed.failure is None or by_seed.failure.outcome not in _OTHER_WEIGHTS:
            return by_seed
        job.route = "state_dict"
        with contextlib.suppress(Failure):  # names or shapes differ: this route says nothing about the candidate
            by_state = self._check_by_route(job)
            if by_state.failure is None:
                return by_state
        job.route = "seed"
        return by_seed

    def _check_by_route(self, job: Job) -> Checked:
        probe = job.protocol.score.weak_problems == "excluded" and not job.trivial
        with self._both_sides(job) as (reference, candidate):
            return check(reference, candidate, probe)

    def _time(self, job: Job) -> None:
        assert job.checked is not None
        eager = [
            Distance(max(own.rms for own in each), max(own.worst for own in each))
            for each in zip(*job.checked.eager, strict=True)
        ]
        measurement = Measurement(job.protocol.timing, job.device, eager)
        for number in range(1, job.protocol.timing.processes + 1):
            with self._both_sides(job) as (reference, candidate):
                measurement.round(reference, candidate, number)
        job.timing = measurement.result()

    @staticmethod
    def record(job: Job) -> Evaluation:
        """The record of a job that has gone through `prepare` and `time`."""
        problem, candidate, failure = job.problem, job.candidate, job.failure
        checked = job.checked or Checked()
        trivial = tuple(dict.fromkeys([*job.trivial, *checked.blind]))
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
            device=job.device,
            environment=job.environment,
            isolation=job.walls,
            outcome=failure.outcome if failure else Outcome.PASSED,
            reason=failure.reason if failure else "",
            rule=failure.rule if failure else None,
            route=job.route,
            trials=tuple(checked.trials),
            trivial=trivial,
            counts=not trivial or job.protocol.score.weak_problems == "counted",
            timing=None if failure else job.timing,
            notes=tuple(job.notes),
            seconds=job.seconds,
            log=job.log,
        )


@contextlib.contextmanager
def one_thread() -> Iterator[None]:
    """Keep the parent's own arithmetic on one core: a second thread would wait for the workers' idle ones to yield.

    Restored afterwards, since this is the caller's process.
    """
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    try:
        yield
    finally:
        torch.set_num_threads(before)


def _retried(attempt: Callable[[], None]) -> None:
    """Run once more after a machine failure.

    Raises:
        Failure: the worker was killed a second time. A candidate can do that to itself; were it an error of the
            machine, it could keep itself out of every score.
        MachineError: anything else of ours went wrong twice.
    """
    for left in reversed(range(_ATTEMPTS)):
        try:
            return attempt()
        except WorkerKilled as error:
            if not left:
                reason = f"{error}, and again when it was repeated"
                raise Failure(Outcome.RUNTIME_ERROR, reason) from error
        except MachineError:
            if not left:
                raise
        except (OSError, MemoryError) as error:
            if not left:
                raise MachineError(f"this machine failed twice: {error}") from error

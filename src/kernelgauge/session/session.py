"""The wiring: settings, zygote, build cache, supervisor and executor put together."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from pathlib import Path
from typing import Any

from kernelgauge.backends.registry import detect, require_backend
from kernelgauge.config import Limits, MathMode, Protocol, load_settings
from kernelgauge.errors import (
    CandidateError,
    KernelgaugeError,
    StoreError,
    UsageError,
)
from kernelgauge.evaluation.correctness.screening import Screened, screen
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.profiling import Profiler
from kernelgauge.evaluation.resources import description
from kernelgauge.evaluation.retries import one_thread
from kernelgauge.execution.assembly import assembled
from kernelgauge.execution.evaluation_queue import EvaluationQueue, Load
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.local import Done, devices_of
from kernelgauge.execution.machines import Executor, ExecutorSetting, Machines, ThisMachine
from kernelgauge.hardware import peaks
from kernelgauge.hardware.environment import environment, require_device
from kernelgauge.judging import protocol_under, running_device, sizes_of
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.sandbox.zygote_client import worker_device
from kernelgauge.schema import (
    LARGEST_CANDIDATE_MB,
    Candidate,
    Evaluation,
    KernelPolicyName,
    NoCandidate,
    Peaks,
    Problem,
    Profile,
    Sizes,
    Work,
)
from kernelgauge.store.baselines import Baselines
from kernelgauge.timing.baselines import compared


class Session:
    """Everything needed to evaluate candidates on this machine; close it to end its processes.

    Args:
        device: where candidates run if nothing else is said; default: the GPU where there is one, else the CPU.
        threads: CPU threads per worker; default all cores this process may use.
        limits: what a worker may use before it is stopped.
        machines: where executors judge; default: this machine. They are closed after the session, by who made them.
        builds: folder of the build cache; default below that of this installation.
    """

    def __init__(
        self,
        threads: int | None = None,
        limits: Limits | None = None,
        builds: Path | None = None,
        device: str | None = None,
        machines: Machines | None = None,
    ):
        self._device, self._threads = device, threads
        self.machines = machines or ThisMachine()
        self.settings = load_settings(threads, limits, builds)
        self.environment = environment(self.settings.threads)
        self.supervisor = assembled(self.settings)
        self._zygote, self.bounds = self.supervisor.zygote, self.supervisor.bounds
        self.memory = self.supervisor.memory
        self.leases = Leases(self.settings.cache / "locks")
        self.baselines = Baselines(self.settings.cache / "baselines")

    def _where(self, device: str | None) -> str:
        return running_device(device or self._device)

    def job(self, problem: Problem, candidate: Candidate, protocol: Protocol, device: str) -> Job:
        """An evaluation about to start.

        Raises:
            BackendMissing: the candidate's backend cannot run on this device here.
        """
        require_backend(problem.key, candidate.backend, worker_device(device))
        return Job(problem, candidate, protocol, device, self.environment)

    def evaluate(
        self,
        problem: Problem | str | Path,
        source: str,
        *,
        backend: str | None = None,
        sizes: Sizes | None = None,
        protocol: str | Protocol = "strict",
        device: str | None = None,
        math: MathMode | None = None,
        timer: str | None = None,
        timed: bool = True,
        kernel_policy: KernelPolicyName | None = None,
    ) -> Evaluation:
        """Judge one candidate; never raises for anything the candidate does wrong.

        Args:
            problem: a problem, its name in the suite (`"1/23"`), or the path of a reference file.
            source: text that defines `ModelNew`.
            backend: kernel language; default: recognised from the text.
            sizes: of a problem that is named; default: full on a GPU, medium on a CPU.
            device: `cpu`, `cuda`, `cuda:1`; default: the session's.
            math: arithmetic of both sides; default: the protocol's.
            timer: how calls are timed; default: the protocol's.
            timed: whether to time a candidate that passed; without, the record has no speedup.
            kernel_policy: what counts as a kernel; default: what the protocol says.

        Raises:
            UsageError: unknown or malformed problem, unknown protocol, a source that is not text or too large, or
                the backend cannot run here.
            DeviceMissing: this machine has no such device.
            MachineError: the machine failed twice.
        """
        device = self._where(device)
        problem = _loaded(problem, sizes, device)
        judged = protocol_under(protocol, device, math, timer, kernel_policy)
        job = self.job(problem, _candidate(problem, source, backend), judged, device)
        self.memory.check(problem, judged, device, self.environment)
        with self.leases.shared(device) if device == "cpu" else nullcontext():
            progress = self.supervisor.prepare(job)
        with self.leases.exclusive(device) if timed or device != "cpu" else nullcontext():
            record = self.supervisor.judge(job, progress, timed)
        return self.compared(record)

    def profile(
        self,
        problem: Problem | str | Path,
        source: str | None = None,
        *,
        backend: str | None = None,
        sizes: Sizes | None = None,
        device: str | None = None,
        math: MathMode = "ieee",
        counters: bool = True,
        sealed: bool = True,
    ) -> Profile:
        """Where the time of a candidate's forward goes, or without `source` the reference's.

        Args:
            math: the arithmetic both are told to compute in.
            counters: whether to read the GPU's hardware counters too, where ncu is (rocprofv3 on AMD's GPUs).
            sealed: whether the candidate stays in its seal under that. Without it only a source that is trusted.

        Raises:
            UsageError, MachineError: as `evaluate`; what the candidate does wrong is in the record.
        """
        device = self._where(device)
        problem = _loaded(problem, sizes, device)
        candidate = None if source is None else _candidate(problem, source, backend)
        require_backend(problem.key, candidate.backend if candidate else "torch", worker_device(device))
        profiler = Profiler(self._zygote, self.supervisor.build, device, self.environment, counters, sealed, math)
        with self.leases.exclusive(device), self.memory.capped(device):
            started = time.monotonic()
            found = profiler.profile(problem, candidate)
            return found.model_copy(update={"seconds": time.monotonic() - started})

    def describe(self, problem: Problem, math: MathMode = "ieee") -> dict[str, Any]:
        """Names, shapes, FLOPs and bytes of a problem, without its memory. Raises ProblemError if its code fails."""
        return description.described(self._zygote, problem, math, preload=description.DESCRIBED_WITH)

    def work(self, problem: Problem, math: MathMode = "ieee") -> Work | None:
        """FLOPs and bytes of one call at the least, kept on disk; None where they cannot be told without its memory.

        Raises ProblemError if its code fails.
        """
        return self.bounds.work(problem, math, self.environment)

    def measure(self, device: str) -> Peaks:
        """Measure what a device can do, alone on it, and keep that for the bounds of all evaluations from now on.

        Raises:
            DeviceMissing: it is not here.
            MachineError: it cannot be measured.
        """
        require_device(device)
        with self.leases.exclusive(device):
            return peaks.measure(self.settings.cache, self.environment, device)

    def try_out(self, problem: Problem) -> dict[str, Any]:
        """What one forward of a problem gives on the CPU. Raises ProblemError if its code fails."""
        return description.ran(self._zygote, problem)

    def screen(
        self, problem: Problem, protocol: Protocol, parameters: Sequence[str], draws: tuple[int, int] = (1, 1)
    ) -> Screened:
        """Answers without the work, and cut corners, that a protocol would accept, on the CPU; see
        `screening.screen`.

        Raises:
            ProblemError: the reference itself fails.
        """
        with one_thread():
            return screen(self._zygote, problem, protocol, "cpu", parameters, draws)

    def queue(
        self, device: str, jobs: int, places: int, *, timed: bool = True, changed: Callable[[Load], None]
    ) -> EvaluationQueue:
        """A queue for candidates that come one by one; see `EvaluationQueue`. Close it before the session."""
        return EvaluationQueue(self.executor(device, jobs, timed), places, changed)

    def executor(
        self,
        device: str,
        jobs: int,
        timed: bool = True,
        hardware: str = "",
        tell: Callable[[str], None] = lambda _: None,
    ) -> Executor:
        """For all devices of that name; see `ExecutorSetting`."""
        own = (self.settings, self.supervisor, self.leases, self._threads)
        return self.machines.executor(ExecutorSetting(device, jobs, timed, *own, hardware, tell))

    def verdict(self, done: Done) -> Evaluation | NoCandidate:
        """What a task of an executor has come to.

        Raises:
            ReferenceTooLarge: the problem does not fit the device, whoever answers it.
            KernelgaugeError: the machine failed, or the problem's own code: there is no verdict.
        """
        if isinstance(done.result, KernelgaugeError):
            raise done.result
        return self.compared(done.result) if isinstance(done.result, Evaluation) else done.result

    def compared(self, record: Evaluation) -> Evaluation:
        """A record with its speedups over the baselines measured on this machine."""
        try:
            return compared(record, self.baselines.of(record.problem_digest))
        except StoreError as error:  # a verdict of minutes must not be lost to it
            return record.model_copy(update={"notes": (*record.notes, f"not compared with baselines: {error}")})

    def counted(self, skip: NoCandidate, sizes: Sizes, device: str, protocol: Protocol) -> NoCandidate:
        """With what is known of the problem: a weak one does not count for those without an answer either.

        Where that must be learnt first, it waits until nobody is timed on the device, and takes seconds. Other
        machines have learnt it before they answer.
        """
        if not self.machines.here:
            return skip
        problem = load_problem(skip.problem, sizes=sizes_within(skip.problem, sizes))
        trivial_answers = self.supervisor.screen.known(problem, protocol, device, self.environment)
        if trivial_answers is None:
            (where, *_) = devices_of(device)
            lease = self.leases.shared if device == "cpu" else self.leases.exclusive
            with lease(where):
                trivial_answers = self.supervisor.screen.trivial_answers(problem, protocol, where, self.environment)
        return skip.model_copy(update={"scored": not trivial_answers or protocol.score.weak_problems == "counted"})

    def close(self) -> None:
        """End the zygote and every process forked from it."""
        self.supervisor.close()
        self._zygote.close()

    def __enter__(self) -> Session:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _loaded(problem: Problem | str | Path, sizes: Sizes | None, device: str) -> Problem:
    if not isinstance(problem, Problem):
        return load_problem(problem, sizes=sizes_of(sizes, device, problem))
    if sizes not in (None, problem.sizes):
        raise UsageError(f"problem {problem.key} is here at {problem.sizes} sizes: name it to have {sizes} ones")
    return problem


def _candidate(problem: Problem, source: str, backend: str | None) -> Candidate:
    """A source as a candidate; raises CandidateError if it is not text or too large."""
    try:
        size = len(source.encode())
    except UnicodeEncodeError as error:
        raise CandidateError(f"problem {problem.key}: the candidate is not text: {error}") from error
    if size > LARGEST_CANDIDATE_MB << 20:
        raise CandidateError(f"problem {problem.key}: the candidate is larger than {LARGEST_CANDIDATE_MB} MB")
    return Candidate(problem=problem.key, source=source, backend=backend or detect(source))

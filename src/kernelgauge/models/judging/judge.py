"""One judge a process and setting: it knows the session, the queue in front of it, and what has been judged.

Solvers and scorers of thousands of samples share it. Each candidate is judged once, by its content: a second sample
with the same text, a strategy that looks at verdicts before the scorer does, and a task that goes on after it was
stopped all get the verdict that is there.
"""

from __future__ import annotations

import atexit
import threading
from collections.abc import Iterator
from concurrent.futures import Future
from contextlib import contextmanager
from functools import partial
from typing import TYPE_CHECKING

from kernelgauge.config import Limits
from kernelgauge.errors import (
    BackendMissing,
    CandidateError,
    KernelgaugeError,
    MachineError,
    OutOfDeviceMemory,
    ReferenceTooLarge,
)
from kernelgauge.models.budget.ledger import Ledger
from kernelgauge.models.generation_context import GenerationContext
from kernelgauge.models.judging.pending import PendingEvaluation, Verdict, key_of, of_sample, unfit
from kernelgauge.models.setting import TaskSetting
from kernelgauge.schema import Attempt, Candidate, Evaluation, NoCandidate, Problem, RunHeader, TooLarge

if TYPE_CHECKING:
    from kernelgauge.execution.evaluation_queue import EvaluationQueue, Load
    from kernelgauge.execution.local import Done
    from kernelgauge.session.contest import Watch
    from kernelgauge.session.session import Session
    from kernelgauge.store.run import Run

PLACES = 64
"""Candidates that may wait for the devices; beyond them, samples hold their answers back."""

_judges: dict[TaskSetting, TaskJudge] = {}
_making = threading.Lock()


def judge_of(setting: TaskSetting) -> TaskJudge:
    """The judge of this process for a setting; made on first use, closed when the interpreter ends."""
    with _making:
        if setting not in _judges:
            _judges[setting] = TaskJudge(setting)
        return _judges[setting]


class TaskJudge:
    """Judges candidates under one setting. Threads may share it; `open` takes seconds, all else is quick."""

    def __init__(self, setting: TaskSetting):
        self.setting = setting
        self.protocol = setting.chosen_protocol()
        self.watch: Watch | None = None
        self.generation_context = GenerationContext()
        """What the header of the run folder says besides the task's own."""
        self.ledger = Ledger(setting.budget_tokens, setting.budget_usd)
        self._header: RunHeader | None = None
        self._run: Run | None = None
        self._session: Session | None = None
        self._own = False
        self._queue: EvaluationQueue | None = None
        self._futures: dict[tuple[str, str], Future[Done]] = {}
        self._waiting: dict[tuple[str, str], int] = {}
        self._known: dict[tuple[str, str], Evaluation] = {}
        self._answered: dict[tuple[str, int], Verdict] = {}
        self._asking = 0
        self._lock = threading.RLock()

    def expect(self, header: RunHeader) -> None:
        """What the run folder's header is to say, the contestant left open until somebody answers."""
        self._header = header
        if self._run is None:
            self.ledger = Ledger(self.setting.budget_tokens, self.setting.budget_usd)

    def open(self, contestant: str) -> None:
        """Start the session, and create or resume the run folder if there is to be one.

        Raises:
            StoreError: the folder holds another run, is in use, or cannot be written.
        """
        with self._lock:
            if self.setting.out is not None and self._header is not None:
                header = self.generation_context.completed(self._header, contestant)
                if self._run is None:
                    self._run = self._opened(header)
                elif header != self._run.header:
                    self._run.extend(header)
            if self._queue is None:
                from kernelgauge.session.default import default_session
                from kernelgauge.session.session import Session

                self._own = bool(self.setting.build_dir or self.setting.gpu_memory_gb)
                limits = Limits(gpu_memory_gb=self.setting.gpu_memory_gb)
                shared = None if self._own else default_session()
                self._session = shared or Session(limits=limits, builds=self.setting.build_dir)
                self._queue = self._session.queue(
                    self.setting.device,
                    self.setting.usual_jobs,
                    PLACES,
                    timed=self.setting.measure_performance,
                    changed=self._show,
                )
                atexit.register(self.close)

    def kept(self, problem: Problem, sample: int) -> dict[int, Attempt]:
        """The attempts that are known from before, as `Ledger.kept`; unjudged where their verdict says too little."""
        known = self.ledger.kept(problem, sample)
        return {
            number: attempt.model_copy(update={"evaluation": None}) if self._untimed(attempt.evaluation) else attempt
            for number, attempt in known.items()
        }

    def answered(self, problem: str, sample: int) -> tuple[str | None, Verdict] | None:
        """What the run folder holds for this sample of a problem: source, if there is one, and verdict."""
        verdict = self._answered.get((problem, sample))
        if verdict is None or self._run is None:
            return None
        return (self._run.source(verdict.candidate_digest) if isinstance(verdict, Evaluation) else None), verdict

    def misfit(self, problem: Problem, final: bool = True) -> TooLarge | None:
        """Why a problem does not fit the device, whoever answers it: better known before somebody is asked.

        Args:
            final: whether that is what becomes of a sample, and goes into the run folder.
        """
        assert self._session is not None
        try:
            session = self._session
            session.memory.check(problem, self.protocol, self.setting.device, session.environment)
        except ReferenceTooLarge as error:
            return self._left_out(problem, error, final)
        return None

    def submit(
        self, problem: Problem, candidate: Candidate, final: bool = True, fresh: bool = False
    ) -> PendingEvaluation | Verdict:
        """Hand in a candidate; the verdict itself if it is known already, else a pending one for `settle`.

        Args:
            final: whether it is its sample's answer, and its verdict goes into the run folder.
            fresh: whether it is to be judged anew: it was chosen for a verdict, which luck has its part in.
        """
        if reason := unfit(candidate):
            return self.skip(problem, candidate.contestant, candidate.sample, reason, final)
        key = key_of(problem, candidate, fresh)
        with self._lock:
            before = self._answered.get((problem.key, candidate.sample))
            if isinstance(before, Evaluation) and before.candidate_digest == candidate.digest:
                return before
            if known := self._known.get(key):
                return self._kept(known, candidate, final)
            self._waiting[key] = self._waiting.get(key, 0) + 1
            if key not in self._futures:
                self._futures[key] = self._queued(problem, candidate)
            return PendingEvaluation(problem, candidate, self._futures[key], final, key)

    def withdraw(self, pending: PendingEvaluation) -> None:
        """Nobody waits for this evaluation any more."""
        key = pending.key
        with self._lock:
            self._waiting[key] -= 1
            if self._waiting[key] == 0 and self._queue is not None:
                self._futures.pop(key, None)
                self._queue.withdraw(pending.future)

    def settle(self, pending: PendingEvaluation) -> Verdict:
        """The verdict of a pending evaluation whose future is done, recorded in the run folder if there is one.

        Raises:
            KernelgaugeError: the machine failed, or the problem's own code; nothing is recorded.
        """
        assert self._session is not None
        key = pending.key
        with self._lock:
            self._waiting[key] -= 1
        try:
            found = self._session.verdict(pending.future.result(0))
        except BackendMissing as error:
            who, sample = pending.candidate.contestant, pending.candidate.sample
            return self.skip(pending.problem, who, sample, str(error), pending.final)
        except ReferenceTooLarge as error:
            return self._left_out(pending.problem, error, pending.final)
        except KernelgaugeError:
            with self._lock:
                self._futures.pop(key, None)
            raise
        assert not isinstance(found, NoCandidate), "a pending is of a candidate"
        with self._lock:
            self._known.setdefault(key, found)
            self._futures.pop(key, None)
            record = self._known[key]
        return self._kept(record, pending.candidate, pending.final)

    def skip(self, problem: Problem, contestant: str, sample: int, reason: str, final: bool = True) -> NoCandidate:
        """Record that a contestant had no candidate. Raises KernelgaugeError as `settle` does."""
        assert self._session is not None
        before = self._answered.get((problem.key, sample))
        if isinstance(before, NoCandidate):
            return before
        said = NoCandidate(
            problem=problem.key, level=problem.level, contestant=contestant, sample=sample, reason=reason
        )
        skip = self._session.counted(said, self.setting.sizes, self.setting.device, self.protocol)
        if final and self._run is not None:
            self._run.append_skip(skip)
            self._answered[problem.key, sample] = skip
        if final and self.watch is not None:
            self.watch.skipped(skip)
        return skip

    def profile(self, problem: Problem, source: str | None, turn: int) -> tuple[str, float]:
        """Where a candidate's time goes, as text, or why that cannot be said; and the seconds it took, waiting aside.

        Args:
            source: None for the reference itself.
            turn: which of several devices, in turn.

        Raises:
            KernelgaugeError: the machine failed, or the problem's own code.
        """
        from kernelgauge.execution.local import devices_of
        from kernelgauge.profiling.profile_text import render

        assert self._session is not None
        devices = devices_of(self.setting.device)
        try:
            math = self.protocol.tolerance.math
            found = self._session.profile(problem, source, device=devices[turn % len(devices)], math=math)
        except (CandidateError, BackendMissing, ReferenceTooLarge, OutOfDeviceMemory) as error:
            return f"no profile: {error}", 0.0  # it would be the same the next time
        return render(found), found.seconds

    @contextmanager
    def asking(self) -> Iterator[None]:
        """While a contestant is being asked; for the progress display."""
        with self._lock:
            self._asking += 1
        self._show(self.load)
        try:
            yield
        finally:
            with self._lock:
                self._asking -= 1
            self._show(self.load)

    @property
    def load(self) -> Load:
        """How full the queue is."""
        from kernelgauge.execution.evaluation_queue import Load

        return self._queue.load if self._queue is not None else Load()

    def close(self) -> None:
        """End the queue and give the run folder back; evaluations under way are lost."""
        with self._lock:
            queue, run, session = self._queue, self._run, self._session
            self._queue = self._run = self._session = None
            self._futures.clear()
        if queue is not None:
            queue.close()
        if session is not None and self._own:
            session.close()
        self.ledger.detach()
        if run is not None:
            run.close()

    def _opened(self, header: RunHeader) -> Run:
        from kernelgauge.store.run import Run

        assert self.setting.out is not None
        run = Run.create_or_resume(self.setting.out, header)
        for skip in run.skips():
            self._answered[skip.problem, skip.sample] = skip
        for record in run.evaluations():
            if self._untimed(record):
                continue
            self._answered[record.problem, record.sample] = record
            self._known[record.problem_digest, record.candidate_digest] = record
        self.ledger.attach(run)
        for kept in run.attempts():
            verdict = kept.attempt.evaluation
            if verdict and verdict.protocol_digest == self.protocol.digest and not self._untimed(verdict):
                self._known.setdefault((verdict.problem_digest, verdict.candidate_digest), verdict)
        return run

    def _untimed(self, verdict: Evaluation | None) -> bool:
        """Whether it is from a task that timed nothing, and says too little now that it matters how fast it is."""
        timed = self.setting.measure_performance
        return timed and verdict is not None and verdict.passed and verdict.timing is None

    def _queued(self, problem: Problem, candidate: Candidate) -> Future[Done]:
        from kernelgauge.execution.local import Task

        session, queue = self._session, self._queue
        if session is None or queue is None:
            raise MachineError("the judge was closed")
        start = partial(session.job, problem, candidate, self.protocol)
        return queue.submit(Task(problem.key, candidate.sample, start))

    def _left_out(self, problem: Problem, error: ReferenceTooLarge, final: bool) -> TooLarge:
        from kernelgauge.session.contest import too_large_of

        found = too_large_of(problem, error)
        if final and self._run is not None:
            self._run.append_too_large(found)
        if final and self.watch is not None:
            self.watch.too_large(found)
        return found

    def _kept(self, known: Evaluation, candidate: Candidate, final: bool) -> Evaluation:
        """The verdict as this candidate's own."""
        record = of_sample(known, candidate)
        if final and self._run is not None:
            self._run.append(record, candidate)
            self._answered[record.problem, record.sample] = record
        if final and self.watch is not None:
            self.watch.judged(record)
        return record

    def _show(self, load: Load) -> None:
        if self.watch is not None:
            doing = f": {load.stage}" if load.stage else ""
            self.watch.stage(f"{self._asking} asked, {load.waiting} waiting, {load.judging} being judged{doing}")

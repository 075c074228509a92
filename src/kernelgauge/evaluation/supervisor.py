"""One candidate, from source to record: build, open, screen, check, time, bound, record.

The trusted parent. It never executes problem or candidate code itself; it forks processes for both, moves bytes,
compares, keeps the clock, and writes the record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import replace
from functools import partial

from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.registry import backend_named
from kernelgauge.checks.memory_plan import MemoryPlan
from kernelgauge.errors import ReferenceTooLarge, without_locals
from kernelgauge.evaluation.build import Builder, Built, NeedsDevice, Slot, unlimited
from kernelgauge.evaluation.checking import Checker
from kernelgauge.evaluation.correctness.screening import Screening
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.kernel_rules import Kernels, Rules, Watchable
from kernelgauge.evaluation.pair import KeptReference
from kernelgauge.evaluation.progress import Progress, recorded
from kernelgauge.evaluation.rehearsal import Call
from kernelgauge.evaluation.resources.bound import Bounds
from kernelgauge.evaluation.resources.memory_fit import MemoryFit
from kernelgauge.evaluation.resources.memory_use import MemoryUse
from kernelgauge.evaluation.retries import one_thread, recording, retried
from kernelgauge.evaluation.rounds import Rounds
from kernelgauge.evaluation.screen import Screen
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Bound, Candidate, Evaluation, Outcome


class Supervisor:
    """Judges candidates on this machine; every method leaves no process and no file of a candidate behind."""

    def __init__(
        self,
        zygote: Zygote,
        builds: BuildCache,
        screening: Screening,
        bounds: Bounds,
        memory: MemoryFit,
        slot: Slot = unlimited,
    ):
        self.zygote, self.bounds, self.memory = zygote, bounds, memory
        self.screen = Screen(screening, memory)
        self._builder = Builder(zygote, builds, slot)
        self._prefork_pool = PreforkPool(zygote)
        self._checker = Checker(zygote, self._prefork_pool, self.screen)
        self._rules = Rules(zygote, self._prefork_pool)
        self._kept: dict[str, KeptReference] = {}
        """By device, for the next candidate of the same problem."""
        self._in_use_before: dict[str, int] = {}

    def abandon(self) -> None:
        """End every process of evaluations under way; they fail with MachineError, and nothing is repeated."""
        self.zygote.stop()
        self._prefork_pool.close()

    def resume(self) -> None:
        """Evaluate again after `abandon`."""
        self.zygote.resume()

    def close(self) -> None:
        """End the processes that were started for evaluations to come."""
        for kept in self._kept.values():
            kept.close()
        self._prefork_pool.close()

    def prepare(self, job: Job, on_device: bool = False) -> Progress:
        """What may be done beside others: read, build where that needs no GPU, and on a CPU check and screen.

        Args:
            on_device: nothing is timed on the GPU meanwhile, and the candidate is no stranger's: it may build there.

        Raises:
            ProblemError: the reference itself fails.
            MachineError: the machine failed twice.
        """
        progress, on_cpu, job = Progress(), job.device == "cpu", self._planned(job)
        self.zygote.begin()  # beside what is read and built
        with recording(job, progress):
            progress.kernels = self._read(job, progress)
            progress.kernels.allowed()
            if on_cpu or on_device or backend_named(job.candidate.backend).builds_on_host:
                with contextlib.suppress(NeedsDevice):
                    progress.built = self._build_beside_others(job, progress, hidden=not (on_cpu or on_device))
            with progress.account.stage("bound"):
                self.bounds.foresee(job.problem, job.protocol.tolerance.math, job.device, job.environment)
            if on_cpu:
                progress.checked = retried(lambda: self._checker.check(job, progress))
                progress.kernels = retried(lambda: self._watch(job, progress))
                progress.kernels.allowed()
        if on_cpu:
            progress.trivial_answers = self._screened(job, progress)
        return progress

    def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
        """What is left after `prepare`, alone on the device: on a CPU to time, on a GPU to check as well.

        On a GPU a candidate that did not build comes here too, unless `conclude` knows whether its problem counts.

        Args:
            progress: what `prepare` has returned for this job, on whichever device of the kind.
            keep: another candidate of the same problem comes to this device next, under the same lease: on a GPU its
                reference may stay.

        Raises:
            ReferenceTooLarge: a copy of the reference would not have had the memory either.
            ProblemError, MachineError: see `prepare`.
        """
        job = self._planned(job)
        if job.device == "cpu":
            if progress.failure is None and timed:
                with contextlib.closing(KeptReference(progress.account)) as kept:
                    self._finish(job, progress, timed, kept)
            return recorded(job, progress)
        notes, failure = list(progress.account.notes), progress.failure
        while True:
            try:
                return self._judged_alone(job, progress, timed, keep)
            except ReferenceTooLarge as error:
                tighter = self._planned(job)
                if tighter.plan == job.plan:
                    raise
                without_locals(error)
                job = tighter
                progress.failure = failure
                progress.checked = progress.timing = progress.bound = progress.not_varied = None
                progress.account.notes = list(notes)

    def _planned(self, job: Job) -> Job:
        """The job with the way to share out memory that is the next to try, for every candidate alike."""
        return replace(job, plan=self.memory.plan(job.problem, job.protocol, job.device, job.environment))

    def _judged_alone(self, job: Job, progress: Progress, timed: bool, keep: bool) -> Evaluation:
        with self._reference_for(job, progress, keep) as kept, self._memory_of(job, progress):
            if progress.failure is None:
                self._finish(job, progress, timed, kept)
                if progress.ran_out_of_memory:
                    kept.close()
                    self._blame(job, progress, timed)
            if self._known(job, progress) is None:
                kept.close()
            progress.trivial_answers = self._screened(job, progress)
        return recorded(job, progress)

    def conclude(self, job: Job, progress: Progress) -> Evaluation | None:
        """The record of a candidate that has failed already; None where a device is needed to say if its problem
        counts."""
        if progress.failure is None or self._known(job, progress) is None:
            return None
        progress.trivial_answers = self._known(job, progress)
        return recorded(job, progress)

    def _known(self, job: Job, progress: Progress) -> tuple[str, ...] | None:
        if progress.trivial_answers is not None:
            return progress.trivial_answers
        return self.screen.known(job.problem, job.protocol, job.device, job.environment)

    @contextlib.contextmanager
    def _reference_for(self, job: Job, progress: Progress, keep: bool) -> Iterator[KeptReference]:
        """What the evaluation before has kept on this device, if it serves; kept further, or ended at the end."""
        kept = self._kept.setdefault(job.device, KeptReference(progress.account))
        if not kept.begin(job, progress.account):
            self._in_use_before.pop(job.device, None)
        # What is kept would not count under a cap, and where memory is scarce nothing is.
        kept.more = keep and self.memory.cap_gb is None and not job.plan.tight
        try:
            yield kept
        except BaseException:
            kept.close()
            raise
        if not kept.more:
            kept.close()

    def _finish(self, job: Job, progress: Progress, timed: bool, kept: KeptReference) -> None:
        """Every step that has not been taken: build, check, time, watch, bound."""
        with recording(job, progress):
            if progress.built is None:
                progress.built = retried(lambda: self._build(job, progress))
            progress.timing = retried(lambda: self._checker.check_and_time(job, progress, timed, kept))
            if job.device != "cpu":
                if self._rules.needs_run(job, progress.kernels):
                    kept.leave_room()
                progress.kernels = retried(lambda: self._watch(job, progress))
                progress.kernels.allowed()
            progress.bound = self._bound(job, progress)

    def _read(self, job: Job, progress: Progress) -> Kernels:
        with progress.account.stage("rules"):
            return self._rules.read(job)

    def build(self, candidate: Candidate, device: str, call: Call | None = None) -> Built:
        """Compile a candidate into the cache, or find it there; see `Builder.build`."""
        return self._builder.build(candidate, device, call=call)

    def _build(self, job: Job, progress: Progress, hidden: bool = False) -> Built:
        with progress.account.stage("build"):
            try:
                built = self._builder.build(job.candidate, job.device, hidden, job.lent, job.call)
            except Failure as failure:
                progress.account.layers = failure.layers
                raise
        progress.account.log = built.log
        return built

    def _build_beside_others(self, job: Job, progress: Progress, hidden: bool) -> Built | None:
        try:
            return retried(lambda: self._build(job, progress, hidden))
        except Failure as failure:
            if failure.outcome is not Outcome.OUT_OF_MEMORY or job.device == "cpu" or hidden:
                raise
            return None  # alone on the GPU it may fit: it is built when it is judged

    def _watch(self, job: Job, progress: Progress) -> Kernels:
        assert progress.checked is not None
        candidate_ms = progress.timing.candidate_ms if progress.timing else None
        known = Watchable(progress.kernels, progress.build_dir, progress.checked.weight_sync, candidate_ms)
        with progress.account.stage("rules"):
            return self._rules.watch(job, known)

    def _bound(self, job: Job, progress: Progress) -> Bound | None:
        timing = progress.timing
        if timing is None:
            return None
        asked = (job.problem, job.protocol.tolerance.math, job.device, job.environment)
        with progress.account.stage("bound"):
            return retried(lambda: self.bounds.judged(*asked, timing))

    def _screened(self, job: Job, progress: Progress) -> tuple[str, ...]:
        """Whether the problem counts, learnt now if no check of this candidate has got so far."""
        if progress.trivial_answers is not None:
            return progress.trivial_answers
        asked = (job.problem, job.protocol, job.device, job.environment)
        with progress.account.stage("admit"), one_thread():
            try:
                return retried(lambda: self.screen.trivial_answers(*asked))
            except ReferenceTooLarge:
                if job.device == "cpu":
                    raise
                with self._prefork_pool.none(job.device):
                    return retried(lambda: self.screen.trivial_answers(*asked))

    @contextlib.contextmanager
    def _memory_of(self, job: Job, progress: Progress) -> Iterator[None]:
        """The memory that a job may take of its GPU, and what is learnt of it."""
        asked = (job.problem, job.protocol, job.device, job.environment)
        ahead = self._prefork_pool.none(job.device) if job.plan.tight else contextlib.nullcontext()
        progress.plan = job.plan
        with self.memory.capped(job.device), ahead:
            used = MemoryUse(job.device, self._in_use_before.get(job.device))
            progress.account.memory_use, self._in_use_before[job.device] = used, used.before
            try:
                yield
            except ReferenceTooLarge as error:
                if self.memory.tighten(*asked, job.plan):
                    raise
                raise self.memory.explained(*asked, error) from error
            progress.gpu_memory = self.memory.record(used, *asked, progress.plan)

    def _blame(self, job: Job, progress: Progress, timed: bool) -> None:
        """Is it this candidate that ran out of memory? Judged once more with the device for itself; then a copy is,
        and if that has room, the candidate with as little memory for all else as there can be.

        Raises:
            ReferenceTooLarge: a copy of the reference runs out too: nothing can be said of any candidate here.
        """
        account = progress.account
        with self._prefork_pool.none(job.device):
            self._finish_again(job, progress, timed)
            if not progress.ran_out_of_memory:
                return
            with account.stage("room"):
                tried = partial(self._has_room_for_a_copy, job, timed)
                if not self.memory.has_room(job.problem, job.protocol, job.device, job.plan, tried):
                    raise ReferenceTooLarge("a copy of the reference has no room beside it either")
            sparing = self.memory.sparing(job.problem, job.protocol, job.environment, job.plan)
            if sparing is not None:
                self._spare(job, sparing, progress, timed)
                if not progress.ran_out_of_memory:
                    return
        assert progress.failure is not None and account.memory_use is not None
        progress.failure.reason += account.memory_use.blame()

    def _spare(self, job: Job, sparing: MemoryPlan, progress: Progress, timed: bool) -> None:
        """Judge a candidate that takes more than a copy by a plan that leaves it more; what happens there does not
        decide whether the problem fits."""
        before = progress.failure, progress.checked
        progress.account.notes = [note for note in progress.account.notes if note != job.plan.note]
        progress.plan = sparing
        try:
            self._finish_again(replace(job, plan=sparing), progress, timed)
        except ReferenceTooLarge as error:
            without_locals(error)
            progress.failure, progress.checked = before

    def _finish_again(self, job: Job, progress: Progress, timed: bool) -> None:
        """Check and time once more, with the device's memory for the two sides."""
        progress.failure = progress.checked = None
        with contextlib.closing(KeptReference(progress.account)) as kept:
            self._finish(replace(job, alone=True), progress, timed, kept)

    def _has_room_for_a_copy(self, job: Job, timed: bool) -> bool:
        same = Candidate(problem=job.problem.key, source=job.problem.source, backend="torch")
        copy, progress = replace(job, candidate=same, attribute="Model", alone=True), Progress()
        rounds = Rounds(copy, progress.account) if timed else None  # what timing takes, though nothing is timed
        try:
            with one_thread(), contextlib.closing(KeptReference(progress.account)) as kept:
                # Where memory is scarce, timed calls may be what takes most of it.
                taken = rounds if job.plan.tight else None
                failure = self._checker.once(copy, progress, "seed", taken, kept).failure
        except ReferenceTooLarge:
            return False
        except Failure as raised:
            failure = raised
        del rounds
        return failure is None or failure.outcome is not Outcome.OUT_OF_MEMORY

    def remember(self, job: Job, error: ReferenceTooLarge) -> None:
        """A problem was found not to fit, perhaps by another process: it is not tried again here."""
        self.memory.remember(job.problem, job.protocol, job.device, error)

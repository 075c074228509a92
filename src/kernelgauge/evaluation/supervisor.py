"""One candidate, from source to record: build, check, time, judge.

The trusted parent. It never executes problem or candidate code itself; it forks processes for both, moves bytes,
compares, keeps the clock, and writes the record.
"""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from functools import partial

import torch

from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import NARROW, MathMode, Protocol
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.build import Builder, Built, NeedsDevice, Slot, unlimited
from kernelgauge.evaluation.correctness.screening import PRECISIONS, Admissions, Weighing, precisions
from kernelgauge.evaluation.correctness.trials import Checked, check
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.kernel_rules import Rules
from kernelgauge.evaluation.pair import Sides
from kernelgauge.evaluation.resources.bound import Bounds
from kernelgauge.evaluation.resources.memory_fit import MemoryFit
from kernelgauge.evaluation.resources.memory_use import MemoryUse
from kernelgauge.evaluation.retries import one_thread, recording, retried
from kernelgauge.evaluation.rounds import Rounds
from kernelgauge.evaluation.sides.prefork import Spares
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.hardware.environment import device_index
from kernelgauge.sandbox.zygote_client import Zygote
from kernelgauge.schema import Candidate, Environment, Outcome, Problem

# So many times the bytes of one call must be free for admission to be learnt beside a candidate: what it keeps of
# other answers, in float64 too, must not be what a candidate lacks. On a CPU nobody tells what is free for us.
_TO_WEIGH = 5
_LARGE_ON_A_CPU = 2**32
# Of weights and inputs, until they tell the work from an answer without it.
_DRAWS = 3
# What a candidate that constructs in another order can look like under the seed route.
_OTHER_WEIGHTS = (Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION)


class Supervisor:
    """Judges candidates on this machine; every method leaves no process and no file of a candidate behind."""

    def __init__(
        self,
        zygote: Zygote,
        builds: BuildCache,
        admissions: Admissions,
        bounds: Bounds,
        memory: MemoryFit,
        slot: Slot = unlimited,
    ):
        self.zygote, self.bounds, self.memory = zygote, bounds, memory
        self._builder = Builder(zygote, builds, slot)
        self._admissions = admissions
        self._spares = Spares(zygote)
        self._sides = Sides(zygote, self._spares)
        self._rules = Rules(zygote, self._spares)

    def abandon(self) -> None:
        """End every process of evaluations under way; they fail with MachineError, and nothing is repeated."""
        self.zygote.stop()
        self._spares.close()

    def resume(self) -> None:
        """Evaluate again after `abandon`."""
        self.zygote.resume()

    def close(self) -> None:
        """End the processes that were started for evaluations to come."""
        self._spares.close()

    def prepare(self, job: Job, on_device: bool = False) -> None:
        """What may run beside others: build, where that needs no GPU, and on a CPU admit and check.

        What the candidate does wrong ends up in `job.failure`.

        Args:
            on_device: nothing is timed on the GPU meanwhile, and the candidate is no stranger's: it may build there.

        Raises:
            ProblemError: the reference itself fails.
            MachineError: the machine failed twice.
        """
        on_gpu = job.device != "cpu"
        with recording(job):
            self._rules.read(job)
            if not on_gpu or on_device or backend_named(job.candidate.backend).builds_on_host:
                with contextlib.suppress(NeedsDevice):
                    self._build_beside_others(job, hidden=on_gpu and not on_device)
            with job.stage("bound"):
                self.bounds.foresee(*_asked(job))
            if not on_gpu:
                retried(lambda: self._check(job))
                retried(lambda: self._rules.watch(job))
        if not on_gpu:
            self._admit(job)

    def judge(self, job: Job, timed: bool = True) -> None:
        """What must be alone on its device: time a candidate that passed its checks, and on a GPU check it first.

        On a GPU, so must a build that needs it. There a candidate that did not build comes here too: whether its
        problem counts is still to be seen.

        Raises:
            ReferenceTooLarge: a copy of the reference would not have had the memory either.
            ProblemError, MachineError: see `prepare`.
        """
        if job.device == "cpu":
            if job.failure is None and timed:
                self._judge_and_bound(job, timed)
            return
        with self._memory_of(job):
            if job.failure is None:
                self._judge_and_bound(job, timed)
                if _ran_out(job):
                    self._blame(job, timed)
            self._admit(job)

    def _judge_and_bound(self, job: Job, timed: bool) -> None:
        with recording(job):
            if not job.built:
                retried(lambda: self._build(job))
            retried(lambda: self._judge(job, timed))
            if job.device != "cpu":
                retried(lambda: self._rules.watch(job))
            if job.timing is not None:
                with job.stage("bound"):
                    retried(lambda: self._bound(job))

    @contextlib.contextmanager
    def _memory_of(self, job: Job) -> Iterator[None]:
        """The memory that a job may take of its GPU, and what is learnt of it."""
        asked = (job.problem, job.protocol, job.device, job.environment)
        with self.memory.capped(job.device):
            job.memory_use = MemoryUse(job.device)
            try:
                yield
            except ReferenceTooLarge as error:
                raise self.memory.explained(*asked, error) from error
            job.gpu_memory = self.memory.record(job.memory_use, *asked)

    def _blame(self, job: Job, timed: bool) -> None:
        """Is it this candidate that ran out of memory? Judged once more with the device for itself; then a copy is.

        Raises:
            ReferenceTooLarge: a copy of the reference runs out too: nothing can be said of any candidate here.
        """
        with self._spares.none(job.device):
            job.failure, job.checked, job.alone = None, None, True
            self._judge_and_bound(job, timed)
            if not _ran_out(job):
                return
            with job.stage("room"):
                tried = partial(self._has_room_for_a_copy, job, timed)
                if not self.memory.has_room(job.problem, job.protocol, job.device, tried):
                    raise ReferenceTooLarge("a copy of the reference has no room beside it either")
        assert job.failure is not None and job.memory_use is not None
        if (held := job.memory_use.held_by_candidate()) is not None:
            job.failure.reason += f"; when it ended, its process held {held:.2f} GB"
        job.failure.reason += "; a copy of the reference has room enough"

    def _has_room_for_a_copy(self, job: Job, timed: bool) -> bool:
        same = Candidate(problem=job.problem.key, source=job.problem.source, backend="torch")
        copy = Job(job.problem, same, job.protocol, job.device, job.environment, attribute="Model", alone=True)
        rounds = Rounds(copy) if timed else None  # what timing takes of the memory, though nothing is timed
        try:
            with one_thread():
                failure = self._check_by_route(copy, None).failure
        except ReferenceTooLarge:
            return False
        except Failure as raised:
            failure = raised
        del rounds
        return failure is None or failure.outcome is not Outcome.OUT_OF_MEMORY

    def remember(self, job: Job, error: ReferenceTooLarge) -> None:
        """A problem was found not to fit, perhaps by another process: it is not tried again here."""
        self.memory.remember(job.problem, job.protocol, job.device, error)

    def trivial(self, problem: Problem, protocol: Protocol, device: str, environment: Environment) -> tuple[str, ...]:
        """Work-skipping answers this protocol would accept on this problem; see `Admissions`."""
        with self.memory.capped(device):
            found = self._admissions.trivial(problem, protocol, device, environment)
        return _with_recorded(problem, protocol, found)

    def trivial_known(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment
    ) -> tuple[str, ...] | None:
        """What `trivial` says where that is remembered, and no device is needed; else None."""
        found = self._admissions.known(problem, protocol, device, environment)
        return None if found is None else _with_recorded(problem, protocol, found)

    def _admit(self, job: Job) -> None:
        """Learn whether the problem counts, where no check of this candidate has got so far."""
        if job.trivial is not None:
            return

        def admit() -> None:
            job.trivial = self.trivial(job.problem, job.protocol, job.device, job.environment)

        with job.stage("admit"), one_thread():
            try:
                retried(admit)
            except ReferenceTooLarge:
                if job.device == "cpu":
                    raise
                with self._spares.none(job.device):
                    retried(admit)

    def build(self, candidate: Candidate, device: str) -> Built:
        """Compile a candidate into the cache, or find it there; see `Builder.build`."""
        return self._builder.build(candidate, device)

    def _build(self, job: Job, hidden: bool = False) -> None:
        with job.stage("build"):
            try:
                built = self._builder.build(job.candidate, job.device, hidden, job.lent)
            except Failure as failure:
                job.walls = failure.walls
                raise
        job.build_dir, job.log, job.built = built.folder, built.log, True

    def _build_beside_others(self, job: Job, hidden: bool) -> None:
        try:
            retried(lambda: self._build(job, hidden))
        except Failure as failure:
            if failure.outcome is not Outcome.OUT_OF_MEMORY or job.device == "cpu" or hidden:
                raise
            # Alone on the GPU it may fit: it is built when it is judged.

    def _judge(self, job: Job, timed: bool) -> None:
        """Check what has not been checked yet, and time: the processes of the last check take the first round."""
        rounds = Rounds(job) if timed else None
        if job.checked is None:
            self._check(job, rounds)
        while rounds is not None and rounds.left:
            with self._sides.opened(job) as (reference, candidate):
                self._settle(job)
                rounds.take(reference, candidate)
        if rounds is not None:
            job.timing = rounds.measurement.result()

    def _check(self, job: Job, rounds: Rounds | None = None) -> None:
        for _ in range(_DRAWS):
            checked = self._check_by_either(job, rounds)
            if not checked.blind:
                break
        job.checked = checked
        if checked.failure is not None:
            raise checked.failure

    def _check_by_either(self, job: Job, rounds: Rounds | None) -> Checked:
        """Equal parameters by the seed, or else by state dict: some constructors draw in another order."""
        job.route = "seed"
        by_seed = self._check_by_route(job, rounds)
        if by_seed.failure is None or by_seed.failure.outcome not in _OTHER_WEIGHTS:
            return by_seed
        job.route = "state_dict"
        try:
            by_state = self._check_by_route(job, rounds)
            if by_state.failure is None:
                return by_state
        except Failure:
            if job.checked is not None:  # it was right, and went wrong while it was timed
                raise
            # else names or shapes differ: this route says nothing about the candidate
        job.route = "seed"
        return by_seed

    def _check_by_route(self, job: Job, rounds: Rounds | None) -> Checked:
        asked = (job.problem, job.protocol, job.device, job.environment)
        known = self._admissions.known(*asked)
        with self._sides.opened(job) as (reference, candidate):
            job.not_varied = reference.not_varied
            weigh = known is None and not job.alone and _has_room_to_weigh(reference)
            weighing = Weighing(reference, precisions(job.protocol)) if weigh else None
            excluded = job.protocol.score.weak_problems == "excluded"
            with job.watched("check"):
                checked = check(reference, candidate, excluded and not known, weighing)
                candidate.staging.let_go()
            if checked.failure is not None and checked.failure.outcome is Outcome.OUT_OF_MEMORY and job.memory_use:
                job.memory_use.end(candidate)
            if weighing is not None and not weighing.gave_up:
                known = self._admissions.keep(weighing, *asked)
            reference.forget_shortcuts()
            if known is not None:
                job.trivial = _with_recorded(job.problem, job.protocol, known)
            if job.trivial:
                checked.blind = ()  # the problem does not count anyway: other draws would not change that
            if rounds is not None and checked.failure is None and not checked.blind:
                job.checked = checked
                self._settle(job)
                rounds.take(reference, candidate)
            return checked

    def _settle(self, job: Job) -> None:
        with job.stage("open"):  # of the next evaluation, in truth: they are as many
            self._spares.settle(job.device)

    def _bound(self, job: Job) -> None:
        assert job.timing is not None
        job.bound = self.bounds.judged(*_asked(job), job.timing)


def _has_room_to_weigh(reference: Reference) -> bool:
    """Whether admission may be learnt beside a candidate."""
    if reference.device == "cpu":
        return reference.bytes_per_call <= _LARGE_ON_A_CPU
    free, _ = torch.cuda.mem_get_info(device_index(reference.device))
    return bool(_TO_WEIGH * reference.bytes_per_call <= free)


def _ran_out(job: Job) -> bool:
    return job.failure is not None and job.failure.outcome is Outcome.OUT_OF_MEMORY


def _asked(job: Job) -> tuple[Problem, MathMode, str, Environment]:
    """What the bound of a job depends on, beside its timing."""
    return job.problem, job.protocol.agreement.math, job.device, job.environment


def _with_recorded(problem: Problem, protocol: Protocol, found: tuple[str, ...]) -> tuple[str, ...]:
    """What admission found; where a weak problem is left out, also what is on record as a cut corner it accepts."""
    if protocol.score.weak_problems != "excluded":
        return found
    recorded = problem.shortcuts.get(protocol.name, ())
    if protocol.agreement.math in NARROW:  # that record was made without TF32, which is no cut corner there
        recorded = tuple(name for name in recorded if name not in PRECISIONS)
    return tuple(dict.fromkeys([*found, *recorded]))

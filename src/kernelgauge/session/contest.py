"""A contestant on a part of the suite: every answer judged, every record kept as soon as it is final."""

from __future__ import annotations

from collections.abc import Generator, Iterable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor, as_completed
from contextlib import closing
from functools import partial

from kernelgauge.config import Protocol
from kernelgauge.errors import KernelgaugeError, ProblemError, ReferenceTooLarge, UsageError
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Done, Task
from kernelgauge.execution.machines import hardware_of
from kernelgauge.execution.order import Order
from kernelgauge.generation.contestant import Contestant, abandon, digest_of, knows_its_texts, on_device
from kernelgauge.hardware.environment import require_device
from kernelgauge.problems.catalogue import split
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.schema import Evaluation, NoCandidate, Problem, TooLarge
from kernelgauge.session.session import Session
from kernelgauge.store.run import Answer, Run
from kernelgauge.store.since import Since, since


class Watch:
    """What a run tells while it goes on; this one stays silent."""

    def changed(self, found: Since) -> None:
        """Some answers that were judged before have another text now, or none; told before `begin`."""

    def begin(self, total: int) -> None:
        """So many candidates are still to be judged."""

    def stage(self, name: str) -> None:
        """What goes on from now: `build and check` or `time` in waves on a CPU, all at once on a GPU."""

    def judged(self, record: Evaluation) -> None:
        """A record was stored."""

    def skipped(self, skip: NoCandidate) -> None:
        """The contestant had no answer."""

    def too_large(self, found: TooLarge) -> None:
        """A problem does not fit the device's memory: it is left out, whoever answers it."""

    def failed(self, done: Done) -> None:
        """A task ended in an error that is not the candidate's."""

    def noticed(self, sentence: str) -> None:
        """Something happened to the machines of a cluster: one came, was lost, or is refused."""


def judge_all(
    session: Session,
    contestant: Contestant,
    run: Run,
    keys: Sequence[str],
    *,
    protocol: Protocol,
    jobs: int = 1,
    again: bool = False,
    watch: Watch | None = None,
) -> list[Done]:
    """Judge a contestant's candidates on these problems and append every record to `run` as it is final.

    What the run already holds is skipped, unless `again`. A record is about the text that was judged: an answer whose
    text has changed since, where the contestant can tell, is judged anew. Device and sizes are those of the run's
    header.

    A problem that does not fit the device's memory is recorded as such, and tried again in the next call.

    Returns:
        The tasks that ended in another error of ours or of the problem's: nothing is recorded for those, so the
        same call tries them again.

    Raises:
        DeviceMissing: the run's device is not here; nobody was asked for an answer.
        UsageError: a problem that the run holds records of has another text by now.
    """
    if session.machines.here:
        require_device(run.header.device)
    _check_same_texts(run)
    watch = watch or Watch()
    answers = [(key, sample) for key in keys for sample in contestant.samples(key)]
    tasks = [
        Task(
            key,
            sample,
            partial(_start, session, contestant, run, protocol, key, sample),
            on_device(contestant),
            partial(_order, contestant, run, protocol, key, sample),
        )
        for key, sample in (answers if again else _left(contestant, run, answers, watch))
    ]
    if on_device(contestant):  # larger models take longer to compile: the last one should not be what all wait for
        tasks.sort(key=lambda task: -_level(task.problem))
    watch.begin(len(tasks))
    device = run.header.device
    known = () if session.machines.here else run.latest()
    hardware = next((hardware_of(record.environment, device) for record in known), "")
    with closing(session.executor(device, jobs, hardware=hardware, tell=watch.noticed)) as executor:
        results = executor.run(tasks, watch.stage, partial(abandon, contestant))
        return _collected(session, results, run, protocol, watch)


def _left(contestant: Contestant, run: Run, answers: Sequence[Answer], watch: Watch) -> Sequence[Answer]:
    """Those of these answers that have no record of the text they have now."""
    found = since(run, answers, partial(digest_of, contestant), knows_its_texts(contestant))
    for record in found.back:
        run.restore(record)
    if found.changed or found.gone:
        watch.changed(found)
    return found.left


def too_large_of(problem: Problem, error: ReferenceTooLarge) -> TooLarge:
    """The record of a problem that does not fit the memory of the device."""
    return TooLarge(
        problem=problem.key,
        level=problem.level,
        sizes=problem.sizes,
        needed_gb=error.needed_gb,
        available_gb=error.available_gb,
        reason=str(error),
    )


def _level(key: str) -> int:
    """Of a problem by its key; 0 for those without one."""
    place = split(key)[1].partition("/")[0]
    return int(place) if place.isdecimal() else 0


def _start(
    session: Session, contestant: Contestant, run: Run, protocol: Protocol, key: str, sample: int, device: str
) -> Job | NoCandidate:
    problem = load_problem(key, sizes=sizes_within(key, run.header.sizes))
    session.memory.check(problem, protocol, device, session.environment)  # an answer may cost money
    answer = contestant.complete(problem, sample, device)
    if isinstance(answer, NoCandidate):
        return answer.model_copy(update={"level": problem.level})
    return session.job(problem, answer, protocol, device)


def _order(contestant: Contestant, run: Run, protocol: Protocol, key: str, sample: int) -> Order:
    """The same for other machines. What has its texts is asked here, beside them."""
    problem = load_problem(key, sizes=sizes_within(key, run.header.sizes))
    if on_device(contestant):
        return Order(problem, protocol, contestant, sample)
    answer = contestant.complete(problem, sample, run.header.device)
    if isinstance(answer, NoCandidate):
        answer = answer.model_copy(update={"level": problem.level})
    return Order(problem, protocol, answer, sample)


def _collected(
    session: Session, results: Generator[Done, None, None], run: Run, protocol: Protocol, watch: Watch
) -> list[Done]:
    """Store every result in the run as it comes; returns those that there is nothing to store of."""
    header = run.header
    failed = []
    screened: dict[Future[NoCandidate], Task] = {}

    def settle(ended: Iterable[Future[NoCandidate]]) -> None:
        for future in ended:
            task = screened.pop(future)
            if isinstance(error := future.exception(), KernelgaugeError):
                failed.append(Done(task, error))
                watch.failed(failed[-1])
            else:
                skip = future.result()
                run.append_skip(skip)
                watch.skipped(skip)

    # A problem nobody has answered yet must be screened, which waits for its turn on the device: nothing waits for
    # it. Where a record cannot be stored, the executor ends first: it may hold the device that the screening waits
    # for.
    with ThreadPoolExecutor(1, thread_name_prefix="kernelgauge-screen") as screener, closing(results):
        for done in results:
            try:
                verdict = session.verdict(done)
            except ReferenceTooLarge as error:
                problem = load_problem(done.task.problem, sizes=sizes_within(done.task.problem, header.sizes))
                too_large = too_large_of(problem, error)
                run.append_too_large(too_large)
                watch.too_large(too_large)
            except KernelgaugeError:
                failed.append(done)
                watch.failed(done)
            else:
                if isinstance(verdict, NoCandidate):
                    counted = partial(session.counted, verdict, header.sizes, header.device, protocol)
                    screened[screener.submit(counted)] = done.task
                else:
                    assert done.job is not None
                    run.append(verdict, done.job.candidate)
                    watch.judged(verdict)
            settle([future for future in screened if future.done()])
        settle(as_completed(screened))
    return failed


def _check_same_texts(run: Run) -> None:
    """One score must not mix what a suite was with what it has been replaced by."""
    for record in run.latest():
        try:
            now = load_problem(record.problem, sizes=record.sizes)
        except ProblemError:  # a user's own file or suite that has gone since
            continue
        if now.digest != record.problem_digest:
            raise UsageError(
                f"{run.path} holds a record of {record.problem} from when its text was another: choose a new folder"
            )

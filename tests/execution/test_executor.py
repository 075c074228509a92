"""The executor where a GPU judges: the next candidates are built meanwhile, as far ahead as it may, and no further.

Supervisors here only say what goes on; leases, threads and their end are the real ones.
"""

from __future__ import annotations

import threading
import time
import weakref
from collections.abc import Iterator
from contextlib import AbstractContextManager
from pathlib import Path

import pytest
from factories import make_environment
from waiting import comes_true

from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress, recorded
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.local import Done, LocalExecutor, Task
from kernelgauge.generation.turns import Turns
from kernelgauge.schema import Candidate, Evaluation, Outcome
from kernelgauge.selftest.specimens import problem

JOBS = 2
MOST_UNDER_WAY = 4 * JOBS + 1


class Watched:
    """A supervisor that notes what it is asked for; it judges when it is told to."""

    def __init__(self) -> None:
        self.prepared: list[str] = []
        self.judged: list[str] = []
        self.on_device = 0
        self.may_judge = threading.Event()
        self.abandoned = threading.Event()

    def resume(self) -> None:
        self.abandoned.clear()

    def abandon(self) -> None:
        self.abandoned.set()
        self.may_judge.set()

    def prepare(self, job: Job, on_device: bool = False) -> Progress:
        self.prepared.append(job.problem.key)
        if on_device:
            self.on_device += 1
            assert len(self.judged) % (4 * JOBS) == 0, "nothing is timed while others compute on the device"
        return Progress()

    def conclude(self, job: Job, progress: Progress) -> Evaluation | None:
        return None

    def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
        self.may_judge.wait(120)
        if self.abandoned.is_set():
            raise MachineError("evaluations were stopped")
        self.judged.append(job.device)
        progress.failure = Failure(Outcome.RUNTIME_ERROR, "nothing was run")
        return recorded(job, progress)


def tasks(count: int, on_device: bool = False) -> list[Task]:
    def start(number: int) -> Job:
        named = problem().model_copy(update={"key": f"9/{number}"})
        candidate = Candidate(problem=named.key, source="", backend="cuda")
        return Job(named, candidate, load_protocol("strict"), "cuda", make_environment())

    return [Task(f"9/{n}", 0, lambda device, n=n: start(n), on_device) for n in range(count)]  # type: ignore[misc]


def executor(supervisor: Watched, folder: Path, devices: int = 1) -> LocalExecutor:
    names = [f"cuda:{index}" for index in range(devices)]
    return LocalExecutor(supervisor, Leases(folder), names, JOBS)  # type: ignore[arg-type]


def in_background(results: Iterator[Done]) -> tuple[threading.Thread, list[Done]]:
    found: list[Done] = []
    thread = threading.Thread(target=lambda: found.extend(results), daemon=True)
    thread.start()
    return thread, found


def test_the_next_candidates_are_built_while_one_is_judged(tmp_path: Path) -> None:
    supervisor = Watched()
    thread, found = in_background(executor(supervisor, tmp_path).run(tasks(30)))
    assert comes_true(lambda: len(supervisor.prepared) == MOST_UNDER_WAY)
    time.sleep(0.2)
    assert len(supervisor.prepared) == MOST_UNDER_WAY, "and no further ahead"
    assert not found
    supervisor.may_judge.set()
    thread.join(60)
    assert sorted(done.task.problem for done in found) == sorted(task.problem for task in tasks(30))
    assert all(isinstance(done.result, Evaluation) for done in found)


def test_every_device_judges(tmp_path: Path) -> None:
    supervisor = Watched()
    supervisor.may_judge.set()
    assert len(list(executor(supervisor, tmp_path, devices=2).run(tasks(20)))) == 20
    assert set(supervisor.judged) == {"cuda:0", "cuda:1"}


def test_what_computes_on_the_device_waits_for_it(tmp_path: Path) -> None:
    supervisor = Watched()
    supervisor.may_judge.set()
    with Leases(tmp_path).exclusive("cuda:0"):
        waiting, _ = in_background(executor(supervisor, tmp_path).run(tasks(1, on_device=True)))
        going_on, _ = in_background(executor(supervisor, tmp_path).run(tasks(1)))
        assert comes_true(lambda: len(supervisor.prepared) == 1)
        time.sleep(0.2)
        assert len(supervisor.prepared) == 1
    for thread in (waiting, going_on):
        thread.join(60)
    assert len(supervisor.prepared) == 2


def test_of_several_devices_one_computes_what_the_others_judge_until_all_is_built(tmp_path: Path) -> None:
    class Mixed(Watched):
        def prepare(self, job: Job, on_device: bool = False) -> Progress:
            assert on_device
            if job.problem.key == "9/39":
                assert comes_true(lambda: len(self.judged) == 39), "the others wait for nobody"
                assert set(self.judged) == {"cuda:0", "cuda:1"}
            self.prepared.append(job.problem.key)
            return Progress()

    supervisor = Mixed()
    supervisor.may_judge.set()
    given: list[str] = []

    def on(task: Task) -> Task:
        def start(device: str) -> Job:
            given.append(device)
            return task.start(device)  # type: ignore[return-value]

        return Task(task.problem, task.sample, start, on_device=True)

    found = list(executor(supervisor, tmp_path, devices=3).run([on(task) for task in tasks(40)]))
    assert not [done.result for done in found if not isinstance(done.result, Evaluation)]
    assert len(found) == 40 and set(given) == {"cuda:2"}


def test_who_lent_its_device_judges_in_the_end(tmp_path: Path) -> None:
    class Entered(Watched):
        def prepare(self, job: Job, on_device: bool = False) -> Progress:
            return Progress()

        def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
            entered.add(job.device)
            return super().judge(job, progress, timed)

    entered: set[str] = set()
    supervisor = Entered()
    thread, found = in_background(executor(supervisor, tmp_path, devices=2).run(tasks(4, on_device=True)))
    assert comes_true(lambda: entered == {"cuda:0", "cuda:1"})
    supervisor.may_judge.set()
    thread.join(60)
    assert len(found) == 4


def test_who_computes_on_the_device_does_so_in_waves(tmp_path: Path) -> None:
    supervisor = Watched()
    supervisor.may_judge.set()
    found = list(executor(supervisor, tmp_path).run(tasks(20, on_device=True)))
    assert len(found) == supervisor.on_device == 20
    assert not [done.result for done in found if isinstance(done.result, Exception)]


def test_a_caller_that_stops_early_ends_all_of_it(tmp_path: Path) -> None:
    supervisor = Watched()
    supervisor.may_judge.set()
    results = executor(supervisor, tmp_path).run(tasks(100))
    next(results)
    results.close()  # type: ignore[attr-defined]
    assert supervisor.abandoned.is_set()
    before = len(supervisor.prepared)
    assert before < 100
    time.sleep(0.1)
    assert len(supervisor.prepared) == before


def test_who_was_stopped_works_when_it_is_run_again(tmp_path: Path) -> None:
    supervisor = Watched()
    supervisor.may_judge.set()
    stopped = executor(supervisor, tmp_path)
    results = stopped.run(tasks(20))
    next(results)
    results.close()  # type: ignore[attr-defined]
    supervisor.judged.clear()
    assert len(list(stopped.run(tasks(3)))) == len(supervisor.judged) == 3


@pytest.mark.processes
def test_of_one_problem_the_reference_stays_for_the_next(tmp_path: Path) -> None:
    class Keeping(Watched):
        def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
            order.append((job.problem.key, keep))
            return super().judge(job, progress, timed)

    order: list[tuple[str, bool]] = []
    supervisor = Keeping()
    one, other, third, last = tasks(4)
    mixed = [one, other, Task("9/0", 1, one.start), third, Task("9/0", 2, one.start), last]
    thread, found = in_background(executor(supervisor, tmp_path).run(mixed))
    assert comes_true(lambda: len(supervisor.prepared) == 6)
    time.sleep(1)  # what is prepared takes a moment to be ready
    supervisor.may_judge.set()
    thread.join(60)
    assert len(found) == 6
    turns: list[list[int]] = [[]]  # places in the order; with the last of a turn the reference goes
    for place, (key, keep) in enumerate(order):
        if key == "9/0":
            turns[-1].append(place)
            turns += [] if keep else [[]]
    assert turns.pop() == [], order
    assert len(turns) <= 2, "the first may have been judged before the others were ready"
    assert all(turn[-1] - turn[0] == len(turn) - 1 for turn in turns), order


def test_what_failed_needs_no_device_where_all_is_known(tmp_path: Path) -> None:
    class Knowing(Watched):
        def conclude(self, job: Job, progress: Progress) -> Evaluation | None:
            progress.failure = Failure(Outcome.BUILD_FAILED, "does not build")
            return recorded(job, progress)

    supervisor = Knowing()
    found = list(executor(supervisor, tmp_path).run(tasks(5)))
    assert len(found) == 5 and not supervisor.judged
    assert all(isinstance(done.result, Evaluation) for done in found)


@pytest.mark.processes
def test_a_lease_that_cannot_be_had_ends_the_run(tmp_path: Path) -> None:
    class Full(Leases):
        def exclusive(self, device: str) -> AbstractContextManager[None]:  # type: ignore[override]
            raise OSError(28, "No space left on device")

    supervisor = Watched()
    supervisor.may_judge.set()
    without_room = LocalExecutor(supervisor, Full(tmp_path), ["cuda:0"], JOBS)  # type: ignore[arg-type]
    with pytest.raises(OSError, match="No space left"):
        list(without_room.run(tasks(3)))


@pytest.mark.processes
def test_what_became_known_while_it_waited_is_not_asked_again(tmp_path: Path) -> None:
    class Learning(Watched):
        def conclude(self, job: Job, progress: Progress) -> Evaluation | None:
            if not self.judged:
                return None
            progress.failure = Failure(Outcome.BUILD_FAILED, "does not build")
            return recorded(job, progress)

    supervisor = Learning()
    thread, found = in_background(executor(supervisor, tmp_path).run(tasks(6)))
    assert comes_true(lambda: len(supervisor.prepared) == 6)
    time.sleep(1)
    supervisor.may_judge.set()
    thread.join(60)
    assert len(found) == 6 and len(supervisor.judged) == 1


def test_an_error_of_one_task_does_not_stop_the_others(tmp_path: Path) -> None:
    supervisor = Watched()
    supervisor.may_judge.set()

    def fail(_: str) -> Job:
        raise MachineError("no such problem")

    found = list(executor(supervisor, tmp_path).run([*tasks(2), Task("9/9", 0, fail), *tasks(2)]))
    assert len(found) == 5
    assert [done.task.problem for done in found if isinstance(done.result, MachineError)] == ["9/9"]


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_a_fault_of_ours_comes_through(tmp_path: Path, error: type[BaseException]) -> None:
    supervisor = Watched()

    def fail(_: str) -> Job:
        raise error

    with pytest.raises(error):
        list(executor(supervisor, tmp_path).run([Task("9/9", 0, fail), *tasks(3)]))
    assert supervisor.abandoned.is_set()


def test_a_kept_error_holds_nothing_of_where_it_was_raised(tmp_path: Path) -> None:
    """Regions and tensors of an evaluation that failed would fill the GPU's memory until the run ends."""

    class Large:
        pass

    held: list[weakref.ref[Large]] = []

    def fail(_: str) -> Job:
        large = Large()
        held.append(weakref.ref(large))
        try:
            raise ValueError("inside")
        except ValueError as error:
            raise MachineError("no such problem") from error

    (found,) = executor(Watched(), tmp_path).run([Task("9/9", 0, fail)])
    assert isinstance(found.result, MachineError) and isinstance(found.result.__cause__, ValueError)
    assert held[0]() is None


def test_who_must_be_alone_waits_for_others_and_keeps_new_ones_waiting() -> None:
    turns, order = Turns(), list[str]()
    begun, may_end = threading.Event(), threading.Event()

    def beside() -> None:
        with turns.together():
            begun.set()
            may_end.wait(60)
            order.append("beside")

    def alone() -> None:
        with turns.alone():
            order.append("alone")

    def late() -> None:
        with turns.together():
            order.append("late")

    first, second, third = (threading.Thread(target=work, daemon=True) for work in (beside, alone, late))
    first.start()
    assert begun.wait(60)
    second.start()
    assert comes_true(lambda: turns._alone == 1)
    third.start()
    time.sleep(0.1)
    assert order == []
    may_end.set()
    for thread in (first, second, third):
        thread.join(60)
    assert order == ["beside", "alone", "late"]


def test_builds_get_ahead_of_who_judges_where_a_device_was_lent_for_them(tmp_path: Path) -> None:
    supervisor = Watched()
    thread, found = in_background(executor(supervisor, tmp_path, devices=2).run(tasks(50, on_device=True)))
    assert comes_true(lambda: len(supervisor.prepared) == 50), "the device that builds is wanted back"
    supervisor.may_judge.set()
    thread.join(60)
    assert len(found) == 50 and len(supervisor.judged) == 50


def test_who_stops_early_ends_what_the_tasks_have_begun(tmp_path: Path) -> None:
    ended = threading.Event()

    def endless(device: str) -> Job:
        ended.wait(120)
        raise MachineError("it was ended")

    supervisor = Watched()
    supervisor.may_judge.set()
    some = [*tasks(1), Task("9/9", 0, endless)]
    results = executor(supervisor, tmp_path).run(some, abandon_starts=ended.set)
    next(results)
    started = time.monotonic()
    results.close()  # type: ignore[attr-defined]
    assert ended.is_set() and time.monotonic() - started < 60

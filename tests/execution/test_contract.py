"""What every executor promises, whichever machines it works on: one test over this machine and over a Ray cluster."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from clusters import JUDGE, ray_cluster
from factories import REFERENCE, make_header
from waiting import comes_true

from kernelgauge.config import Protocol, load_protocol
from kernelgauge.errors import MachineError, ProblemError
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Done, Task
from kernelgauge.execution.machines import Executor, Machines, ThisMachine, machines_named
from kernelgauge.execution.order import Order
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Outcome
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.processes

RIGHT = REFERENCE.replace("class Model(", "class ModelNew(")
WRONG = RIGHT.replace("* 2 + 1", "* 2 + 3")
BROKEN = "import torch\n\nthis is no Python\n"
SLOW = "import time\n\ntime.sleep(600)\n" + RIGHT


@pytest.fixture(
    scope="module", params=["local", pytest.param("ray", marks=pytest.mark.proof("execution", "cluster", unit="ray"))]
)
def machines(request: pytest.FixtureRequest, cache_folder: Path) -> Iterator[Machines]:
    if request.param == "local":
        yield ThisMachine()
        return
    with ray_cluster(JUDGE) as cluster, closing(machines_named(f"ray:{cluster.address}")) as made:
        yield made


@pytest.fixture(scope="module")
def session(machines: Machines) -> Iterator[Session]:
    with Session(machines=machines) as made:
        yield made


@pytest.fixture(scope="module")
def executor(session: Session) -> Iterator[Executor]:
    with closing(session.executor("cpu", 2)) as made:
        yield made


@pytest.fixture
def protocol(quick: str) -> Protocol:
    return load_protocol(quick)


def task(session: Session, protocol: Protocol, source: str | None, number: int = 0) -> Task:
    """Of a problem of its own that takes no time; without a text, a contestant that had no answer."""
    problem = load_problem("1/19", sizes="small").model_copy(update={"source": REFERENCE + f"# {number}\n"})
    skip = NoCandidate(problem=problem.key, contestant="person", reason="no idea", level=1)
    answer = Candidate(problem=problem.key, source=source, backend="torch", sample=number) if source else skip

    def start(device: str) -> Job | NoCandidate:
        time.sleep(0.5 if source == SLOW else 0)  # it must not get ahead of the others
        return session.job(problem, answer, protocol, device) if isinstance(answer, Candidate) else answer

    def order() -> Order:
        time.sleep(0.5 if source == SLOW else 0)
        return Order(problem, protocol, answer, number)

    return Task(problem.key, number, start, order=order)


def unknown(number: int) -> Task:
    def fail(*_: str) -> Job:
        raise ProblemError("there is no such problem")

    return Task("9/9", number, fail, order=fail)  # type: ignore[arg-type]


def test_every_task_ends_once_as_what_it_is(
    session: Session, executor: Executor, protocol: Protocol, tmp_path: Path
) -> None:
    asked = [task(session, protocol, text, n) for n, text in enumerate((RIGHT, WRONG, BROKEN, None))]
    found = {done.task.sample: done for done in executor.run([*asked, unknown(4)])}
    assert len(found) == 5
    outcomes = [found[n].result.outcome for n in range(3) if isinstance(found[n].result, Evaluation)]
    assert outcomes == [Outcome.PASSED, Outcome.WRONG_VALUE, Outcome.LOAD_FAILED]
    assert isinstance(found[4].result, ProblemError)
    skip = session.verdict(found[3])
    assert isinstance(skip, NoCandidate)
    assert session.counted(skip, "small", "cpu", protocol).scored
    header = make_header(problems=("1/19",), sizes="small", device="cpu", protocol_digest=protocol.digest)
    with Run.create(tmp_path / "run", header) as run:
        for number in range(3):
            record, job = session.verdict(found[number]), found[number].job
            assert isinstance(record, Evaluation) and job is not None
            assert (record.timing is not None) is record.passed
            assert record.environment.digest and "files" in record.isolation and record.device == "cpu"
            run.append(record, job.candidate)


def test_what_comes_while_others_are_under_way_is_taken(
    session: Session, executor: Executor, protocol: Protocol
) -> None:
    late = threading.Event()

    def arriving() -> Iterator[Task]:
        yield task(session, protocol, RIGHT, 0)
        yield task(session, protocol, WRONG, 1)

    class Arriving(Iterator[Task]):
        given = arriving()

        def __next__(self) -> Task:
            if late.is_set():
                late.clear()
                return task(session, protocol, BROKEN, 2)
            return next(self.given)

    numbers = []
    for done in executor.run(Arriving()):
        numbers.append(done.task.sample)
        if len(numbers) == 1:
            late.set()
    assert sorted(numbers) == [0, 1, 2]


def test_who_stops_early_is_not_kept_waiting_and_can_go_on(
    session: Session, executor: Executor, protocol: Protocol
) -> None:
    results = executor.run([task(session, protocol, text, n) for n, text in enumerate((WRONG, SLOW, SLOW))])
    assert next(results).task.sample == 0
    began = time.monotonic()
    results.close()
    assert time.monotonic() - began < 30
    (done,) = executor.run([task(session, protocol, WRONG, 2)])
    assert isinstance(done.result, Evaluation)


def test_what_is_abandoned_ends_in_errors_of_the_machine(
    session: Session, executor: Executor, protocol: Protocol
) -> None:
    found: list[Done] = []
    tasks = [task(session, protocol, WRONG, 0), task(session, protocol, SLOW, 1)]
    thread = threading.Thread(target=lambda: found.extend(executor.run(tasks)), daemon=True)
    thread.start()
    time.sleep(2)
    executor.abandon()
    assert comes_true(lambda: not thread.is_alive(), 60)
    executor.resume()
    assert {done.task.sample for done in found} == {0, 1}
    assert [type(done.result) for done in found if done.task.sample == 1] == [MachineError]

"""The process that judges for a device: what goes to it comes back judged, whatever becomes of it meanwhile."""

from __future__ import annotations

import os
import signal
import subprocess
import threading
import time
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest
from factories import make_environment
from waiting import comes_true

from kernelgauge.config import Protocol, Settings, load_protocol, load_settings
from kernelgauge.errors import MachineError, ReferenceTooLarge
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.execution.judge_process import JudgeProcess
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.local import LocalExecutor, Task
from kernelgauge.schema import Candidate, Evaluation, Outcome
from kernelgauge.selftest.specimens import problem
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

RIGHT = "class ModelNew(Model): pass"
HANGS = "import time\nwhile True: time.sleep(1)"


@pytest.fixture
def settings(cache_folder: Path) -> Settings:
    return load_settings()


@pytest.fixture
def judge(settings: Settings) -> Iterator[JudgeProcess]:
    made = JudgeProcess(settings)
    yield made
    made.close()


def to_judge(session: Session, source: str, protocol: Protocol) -> Job:
    return session.job(problem(), Candidate(problem="specimens", source=source, backend="torch"), protocol, "cpu")


def prepared(session: Session, source: str, protocol: Protocol) -> tuple[Job, Progress]:
    job = to_judge(session, source, protocol)
    return job, session.supervisor.prepare(job)


def right() -> str:
    return problem().source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")


def shortened(**fields: float) -> Protocol:
    strict = load_protocol("strict")
    timing = strict.timing.model_copy(update={"min_samples": 4, "processes": 2, **fields})
    return strict.model_copy(update={"name": "few", "timing": timing})


@pytest.fixture
def quick() -> Protocol:
    return shortened(budget_seconds=0.5)


def test_a_job_comes_back_timed(session: Session, judge: JudgeProcess, quick: Protocol) -> None:
    job, progress = prepared(session, right(), quick)
    assert progress.failure is None, progress.failure
    assert progress.checked is not None
    record = judge.judge(job, progress)
    assert record.outcome is Outcome.PASSED
    assert record.timing is not None and record.timing.reference_samples_ms
    assert record.trials == tuple(progress.checked.trials)
    assert progress.timing is None, "it was judged elsewhere"


def test_a_failure_comes_back_as_it_was(session: Session, judge: JudgeProcess, quick: Protocol) -> None:
    job, progress = prepared(session, "class ModelNew: pass", quick)
    assert isinstance(progress.failure, Failure)
    record = judge.judge(job, progress)
    assert (record.outcome, record.log) == (Outcome.LOAD_FAILED, progress.account.log)
    assert record.reason == progress.failure.reason == str(progress.failure)


@pytest.mark.proof
def test_a_process_that_died_is_replaced(session: Session, judge: JudgeProcess, quick: Protocol) -> None:
    assert judge.judge(*prepared(session, right(), quick)).timing is not None
    os.kill(judge._process.pid, signal.SIGKILL)
    assert judge.judge(*prepared(session, right(), quick)).timing is not None


def test_one_that_dies_again_and_again_is_an_error_of_ours(
    session: Session, judge: JudgeProcess, quick: Protocol
) -> None:
    job, progress = prepared(session, right(), quick)
    ending = threading.Event()

    def kill() -> None:
        while not ending.wait(0.05):
            judge._process.kill()

    killer = threading.Thread(target=kill)
    killer.start()
    try:
        with pytest.raises(
            MachineError, match=r"specimens: the process that judges on cpu ended with status -9, and"
        ):
            judge.judge(job, progress)
    finally:
        ending.set()
        killer.join()


@pytest.mark.proof
def test_none_of_it_stays_after_its_end(settings: Settings, session: Session, quick: Protocol) -> None:
    judge = JudgeProcess(settings)
    assert judge.judge(*prepared(session, right(), quick)).timing is not None
    below = subprocess.run(["pgrep", "-P", str(judge._process.pid)], capture_output=True, text=True).stdout.split()
    assert below, "its zygote"
    judge.close()
    assert comes_true(lambda: not any(Path("/proc", pid).exists() for pid in below))


@pytest.mark.proof
def test_ctrl_c_ends_what_it_is_at(session: Session, settings: Settings, quick: Protocol, tmp_path: Path) -> None:
    """The executor is left while its judge is busy: it does not wait for the verdict."""
    protocol = shortened(budget_seconds=60.0, half_width=1e-9, resolution=1e-9, max_samples=10**6)
    judge = JudgeProcess(settings)
    device = "cuda:0"  # only the way there: the job itself is of a CPU

    class Elsewhere(JudgeProcess):
        def __init__(self) -> None:
            pass

        def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
            return judge.judge(replace(job, device="cpu"), progress, timed)

        def abandon(self) -> None:
            judge.abandon()

    executor = LocalExecutor(session.supervisor, Leases(tmp_path), [device], 1, judge=Elsewhere)
    fast, slow = (to_judge(session, right(), each) for each in (quick, protocol))
    tasks = [Task(str(n), 0, lambda device, job=job: job) for n, job in enumerate((fast, slow))]  # type: ignore[misc]
    results = executor.run(tasks)
    next(results)
    time.sleep(1)
    started = time.monotonic()
    with pytest.raises(KeyboardInterrupt):
        results.throw(KeyboardInterrupt)  # type: ignore[attr-defined]
    assert time.monotonic() - started < 50
    assert judge._process.wait(60) is not None
    session.supervisor.resume()


def test_a_refusal_reaches_the_session(session: Session, tmp_path: Path) -> None:
    """What does not fit there is not tried again for the next sample."""

    class Refuses(JudgeProcess):
        def __init__(self) -> None:
            pass

        def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
            raise ReferenceTooLarge("problem 9/1 does not fit", 12.0, 10.0)

    named = problem().model_copy(update={"key": "9/1", "source": problem().source + "# 9/1\n"})
    job = Job(
        named,
        Candidate(problem="9/1", source="", backend="torch"),
        load_protocol("strict"),
        "cuda",
        make_environment(),
    )
    executor = LocalExecutor(session.supervisor, Leases(tmp_path), ["cuda:0"], 1, judge=Refuses)
    (done,) = executor.run([Task("9/1", 0, lambda device: job)])
    assert isinstance(done.result, ReferenceTooLarge)
    with pytest.raises(ReferenceTooLarge, match="9/1 does not fit") as again:
        session.memory.check(named, job.protocol, "cuda", job.environment)
    assert again.value.needed_gb == 12.0

"""What was timed beside builds and came out much less sure than was asked for is judged again, once."""

from __future__ import annotations

import threading
import time
from collections import Counter
from pathlib import Path

import pytest
from factories import make_environment, make_evaluation

from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.execution.lease import Leases
from kernelgauge.execution.local import Done, LocalExecutor, Task
from kernelgauge.schema import Candidate, Evaluation
from kernelgauge.selftest.specimens import problem
from kernelgauge.timing.stopping import restless

STRICT = load_protocol("strict")


class Beside:
    """A supervisor: judges `9/0` while `9/1` is still built, with an interval as wide as is said."""

    def __init__(self, wide: float, fails_again: bool = False, seconds: float = 2.0) -> None:
        self.wide, self.fails_again, self.seconds = wide, fails_again, seconds
        self.judged: Counter[str] = Counter()
        self.first_is_judged = threading.Event()

    def resume(self) -> None: ...

    def abandon(self) -> None:
        self.first_is_judged.set()

    def prepare(self, job: Job, on_device: bool = False) -> Progress:
        if job.problem.key == "9/1":
            assert self.first_is_judged.wait(60)
        return Progress()

    def conclude(self, job: Job, progress: Progress) -> Evaluation | None:
        return None

    def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
        key = job.problem.key
        self.judged[key] += 1
        if self.judged[key] == 2:
            assert self.judged["9/1"] == 1, "everything is built and judged once"
            if self.fails_again:
                raise MachineError("the driver is gone")
        spread = self.wide if key == "9/0" and self.judged[key] == 1 else 0.01
        record = make_evaluation(key, speedup=1.2, spread=spread, seconds={"time": self.seconds})
        assert record.timing is not None
        stopped = "budget" if spread > 0.02 else "precise"
        self.first_is_judged.set()
        return record.model_copy(update={"timing": record.timing.model_copy(update={"stopped": stopped})})


def task(key: str) -> Task:
    named = problem().model_copy(update={"key": key})
    candidate = Candidate(problem=key, source="", backend="cuda")
    return Task(key, 0, lambda device: Job(named, candidate, STRICT, "cuda", make_environment()))


def judged(supervisor: Beside, folder: Path, endless: bool = False) -> dict[str, Done]:
    executor = LocalExecutor(supervisor, Leases(folder), ["cuda:0"], 2)  # type: ignore[arg-type]
    given = [task("9/0"), task("9/1")]
    return {done.task.problem: done for done in executor.run(iter(given) if endless else given)}


def test_what_builds_have_disturbed_is_judged_again_once_nothing_is_built(tmp_path: Path) -> None:
    supervisor = Beside(wide=0.4)
    found = judged(supervisor, tmp_path)
    assert supervisor.judged == {"9/0": 2, "9/1": 1}, "the second was judged when nothing was built any more"
    record = found["9/0"].result
    assert isinstance(record, Evaluation) and record.timing is not None
    assert record.timing.interval == pytest.approx((1.188, 1.212), abs=0.01)
    assert record.notes == ("judged again once nothing was built: beside builds the interval was 0.72 to 1.68",)


@pytest.mark.parametrize("wide", [0.01, 0.025], ids=["precise", "nearly"])
def test_what_came_out_as_asked_for_is_not(tmp_path: Path, wide: float) -> None:
    supervisor = Beside(wide=wide)
    found = judged(supervisor, tmp_path)
    assert supervisor.judged == {"9/0": 1, "9/1": 1}
    assert found["9/0"].result.notes == ()  # type: ignore[union-attr]


def test_what_was_timed_after_the_last_build_is_not(tmp_path: Path) -> None:
    class After(Beside):
        def prepare(self, job: Job, on_device: bool = False) -> Progress:
            return Progress()

        def judge(self, job: Job, progress: Progress, timed: bool = True, keep: bool = False) -> Evaluation:
            time.sleep(1.0)  # longer than both builds
            return super().judge(job, progress, timed, keep)

    supervisor = After(wide=0.4, seconds=0.2)
    assert len(judged(supervisor, tmp_path)) == 2
    assert supervisor.judged == {"9/0": 1, "9/1": 1}


def test_where_the_machine_fails_the_second_time_the_first_verdict_stands(tmp_path: Path) -> None:
    supervisor = Beside(wide=0.4, fails_again=True)
    record = judged(supervisor, tmp_path)["9/0"].result
    assert supervisor.judged["9/0"] == 2
    assert isinstance(record, Evaluation) and record.timing is not None and record.timing.stopped == "budget"


def test_who_asks_for_more_and_more_does_not_wait(tmp_path: Path) -> None:
    supervisor = Beside(wide=0.4)
    assert len(judged(supervisor, tmp_path, endless=True)) == 2
    assert supervisor.judged == {"9/0": 1, "9/1": 1}


def test_only_what_time_has_cut_off_is_restless() -> None:
    plan = STRICT.timing_on("cuda")
    assert restless((0.8, 1.2), "budget", plan)
    assert not restless((0.8, 1.2), "precise", plan) and not restless((0.8, 1.2), "fixed", plan)
    assert restless((0.95, 1.05), "budget", plan) and not restless((0.975, 1.025), "budget", plan)

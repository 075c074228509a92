"""Candidates that come one by one: judged beside who brings them, bounded, and ended with nobody left waiting."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path

import pytest

from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError, UsageError
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.evaluation_queue import EvaluationQueue, Load
from kernelgauge.execution.local import Task
from kernelgauge.schema import Candidate, Evaluation
from kernelgauge.selftest.specimens import problem, specimens
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

STRICT = load_protocol("strict")
HONEST = next(s for s in specimens() if s.name == "same_operations")
WRONG = next(s for s in specimens() if s.name == "wrong_value")


def task(session: Session, source: str, sample: int = 0) -> Task:
    candidate = Candidate(problem="specimens", source=source, backend="torch", sample=sample)
    return Task("specimens", sample, partial(session.job, problem(), candidate, STRICT))


def failing(_: str) -> Job:
    raise UsageError("no such problem")


def queue(
    session: Session, places: int = 8, changed: Callable[[Load], None] = lambda _: None, jobs: int = 2
) -> EvaluationQueue:
    return session.queue("cpu", jobs, places, timed=False, changed=changed)


def test_each_candidate_gets_its_own_verdict(session: Session) -> None:
    loads: list[Load] = []
    judging = queue(session, changed=loads.append)
    sources = [HONEST, WRONG, HONEST]
    futures = [judging.submit(task(session, s.source, number)) for number, s in enumerate(sources)]
    broken = judging.submit(Task("specimens", 9, failing))
    for future, specimen in zip(futures, sources, strict=True):
        record = future.result(120).result
        assert isinstance(record, Evaluation)
        assert record.outcome is specimen.outcome
        assert record.timing is None
    assert isinstance(broken.result(120).result, UsageError)
    judging.close()
    assert judging.load == Load(judged=4)
    assert max(load.judging for load in loads) >= 1
    assert {load.stage for load in loads} >= {"", "build and check"}


def test_a_full_queue_holds_back_who_submits(session: Session) -> None:
    judging = queue(session, places=1, jobs=1)
    with session.leases.exclusive("cpu"):  # nothing can be judged meanwhile
        judging.submit(task(session, HONEST.source))
        while judging.load.waiting:
            time.sleep(0.01)
        judging.submit(task(session, HONEST.source, 1))
        late = threading.Thread(target=lambda: judging.submit(task(session, HONEST.source, 2)))
        late.start()
        late.join(0.5)
        assert late.is_alive()
        assert judging.load == Load(waiting=1, judging=1, stage="build and check")
    late.join(60)
    assert not late.is_alive()
    judging.close()


def test_a_candidate_that_hangs_keeps_no_other_from_its_verdict(session: Session, tmp_path: Path) -> None:
    wait = f"import os, time\nwhile not os.path.exists({str(tmp_path / 'gate')!r}):\n    time.sleep(0.05)\n"
    judging = queue(session)
    hanging = judging.submit(task(session, wait + HONEST.source))
    while not judging.load.judging:
        time.sleep(0.01)
    quicker = judging.submit(task(session, HONEST.source, 1))
    result = quicker.result(session.settings.limits.load_seconds).result
    assert isinstance(result, Evaluation) and result.passed
    assert not hanging.done()
    judging.close()


def test_closing_early_leaves_nobody_waiting(session: Session) -> None:
    endless = next(s for s in specimens() if s.name == "endless_loop")
    judging = queue(session, places=20)
    futures = [judging.submit(task(session, endless.source, number)) for number in range(12)]
    while not judging.load.judging:
        time.sleep(0.01)
    time.sleep(0.5)
    began = time.monotonic()
    judging.close()
    assert time.monotonic() - began < 30
    assert all(future.done() for future in futures)
    errors = [future.exception() or future.result().result for future in futures]
    assert all(isinstance(error, MachineError) for error in errors), errors
    with pytest.raises(MachineError, match="closed"):
        judging.submit(task(session, HONEST.source))
    assert session.evaluate(problem(), HONEST.source, timed=False).passed


def test_a_wave_that_nobody_waits_for_is_ended(session: Session) -> None:
    endless = next(s for s in specimens() if s.name == "endless_loop")
    judging = queue(session)
    first, second = (judging.submit(task(session, endless.source, number)) for number in range(2))
    while not judging.load.judging:
        time.sleep(0.01)
    time.sleep(0.5)
    third = judging.submit(task(session, HONEST.source, 2))
    judging.withdraw(first)
    began = time.monotonic()
    judging.withdraw(second)
    result = third.result(60).result
    assert isinstance(result, Evaluation) and result.passed
    assert time.monotonic() - began < session.settings.limits.call_seconds / 2, "it waited for the endless ones"
    judging.close()

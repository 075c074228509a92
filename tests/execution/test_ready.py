"""Which candidate a device judges next."""

from __future__ import annotations

import time

import pytest
from factories import make_environment

from kernelgauge.config import load_protocol
from kernelgauge.evaluation.failures import Failure
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.execution.local import Task
from kernelgauge.execution.ready import Prepared, Ready, Waiting
from kernelgauge.schema import Candidate, Outcome
from kernelgauge.selftest.specimens import problem


def prepared(key: str, sample: int, failed: bool = False) -> Prepared:
    named = problem().model_copy(update={"key": key})
    candidate = Candidate(problem=key, source="", backend="cuda", sample=sample)
    job = Job(named, candidate, load_protocol("strict"), "cuda", make_environment())
    progress = Progress(failure=Failure(Outcome.BUILD_FAILED, "does not build") if failed else None)
    return Prepared(Task(key, sample, lambda device: job), job, progress)


def which(found: Waiting | None) -> tuple[str, int]:
    assert found is not None
    return found.prepared.task.problem, found.prepared.task.sample


def test_those_of_one_problem_follow_each_other_and_the_first_come_begins() -> None:
    ready = Ready()
    for key, sample in (("9/1", 0), ("9/2", 0), ("9/1", 1)):
        ready.add(prepared(key, sample))
    first = ready.take()
    assert which(first) == ("9/1", 0)
    assert first is not None
    assert which(ready.take_like(first)) == ("9/1", 1)
    assert ready.take_like(first) is None
    assert which(ready.take()) == ("9/2", 0)
    assert ready.take() is None


def test_what_has_failed_waits_for_what_may_be_right() -> None:
    ready = Ready()
    for sample, failed in ((0, True), (1, False), (2, True)):
        ready.add(prepared("9/1", sample, failed))
    first = ready.take()
    assert first is not None and which(first) == ("9/1", 1)
    assert [which(ready.take_like(first))[1] for _ in range(2)] == [0, 2]


def test_another_protocol_is_another_judgement() -> None:
    ready = Ready()
    ready.add(prepared("9/1", 0))
    first = ready.take()
    assert first is not None
    other = prepared("9/1", 1)
    quick = Job(other.job.problem, other.job.candidate, load_protocol("quick"), "cuda", make_environment())
    ready.add(Prepared(other.task, quick, other.progress))
    assert ready.take_like(first) is None


def test_what_has_failed_does_not_wait_for_ever(monkeypatch: pytest.MonkeyPatch) -> None:
    ready = Ready()
    for sample, failed in ((0, True), (1, False)):
        ready.add(prepared("9/1", sample, failed))
    now = time.monotonic()
    monkeypatch.setattr("kernelgauge.execution.ready.time.monotonic", lambda: now + 60)
    assert which(ready.take()) == ("9/1", 0)

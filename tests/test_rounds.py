"""How many pairs of processes a ratio takes: more where the first say faster or slower by little."""

from __future__ import annotations

import random
from pathlib import Path
from unittest.mock import Mock

import pytest

from kernelgauge.config import Protocol, load_protocol
from kernelgauge.evaluation import measure
from kernelgauge.evaluation.samples import Sample, Samples
from kernelgauge.schema import Outcome
from kernelgauge.session import Session

PROBLEM = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.tanh(x)


def get_inputs():
    return [torch.rand(2048, 1024)]


def get_init_inputs():
    return []
"""
# Ten times the work: no tie on any machine.
SLOW = PROBLEM.replace("class Model(", "class ModelNew(").replace(
    "return", "for _ in range(9):\n            torch.tanh(x)\n        return", 1
)


def rules(doubt: float) -> Protocol:
    """Rules under which one pair of processes is enough where there is no doubt."""
    strict = load_protocol("strict")
    changed = {
        "processes": 1,
        "processes_in_doubt": 3,
        "doubt": doubt,
        "min_samples": 6,
        "max_samples": 12,
        "budget_seconds": 20.0,
    }
    return strict.model_copy(update={"timing": strict.timing.model_copy(update=changed)})


@pytest.mark.parametrize(
    ("doubt", "rounds"),
    [
        pytest.param(100.0, 3, id="a difference that may be the processes'"),
        pytest.param(0.05, 1, id="a difference beyond doubt"),
    ],
)
def test_processes(session: Session, tmp_path: Path, doubt: float, rounds: int) -> None:
    problem = tmp_path / "tanh.py"
    problem.write_text(PROBLEM)
    record = session.evaluate(problem, SLOW, protocol=rules(doubt))
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.timing is not None
    assert len(record.timing.rounds) == rounds
    assert sum(record.timing.rounds) == len(record.timing.reference_samples_ms)
    assert min(record.timing.rounds) >= 6  # who is asked again says as much as who was asked first


def test_who_is_asked_again_is_sampled_like_the_first(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whatever the others have said: one more call would not change the interval of theirs."""
    draw = random.Random(3)

    def call() -> Sample:
        return Sample(round(5e6 * draw.gauss(1, 0.05)) + 100_000 + draw.randint(0, 5000), 1000, 5_000_000)

    def pair(_reference: Mock, _candidate: Mock, samples: Samples) -> None:
        samples.reference.append(call())
        samples.candidate.append(call())

    monkeypatch.setattr(measure, "spread_threads", lambda pid: None)
    monkeypatch.setattr(measure, "verify", lambda *_: None)
    measurement = measure.Measurement(rules(100.0).timing.model_copy(update={"max_samples": 400}), "cpu")
    monkeypatch.setattr(measurement, "_pair", pair)
    for number in (1, 2, 3):
        measurement.round(Mock(), Mock(), number, [])
    result = measurement.result()
    assert result.stopped == "precise"
    assert min(result.rounds) > 20 and max(result.rounds) < 200, result.rounds


def test_what_strict_does_on_a_gpu() -> None:
    timing = load_protocol("strict").timing_on("cuda")
    assert timing.doubt > 2 * timing.resolution
    assert timing.processes_in_doubt > timing.processes

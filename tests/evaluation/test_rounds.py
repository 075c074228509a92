"""How many pairs of processes a ratio takes: more where the first are off 1 by little."""

from __future__ import annotations

import random
from collections.abc import Callable
from functools import partial
from pathlib import Path
from unittest.mock import Mock

import pytest

from kernelgauge.config import Protocol, load_protocol, protocols
from kernelgauge.evaluation.measurement import measure
from kernelgauge.evaluation.measurement.samples import Sample, Samples
from kernelgauge.evaluation.progress import Account
from kernelgauge.evaluation.rounds import Rounds
from kernelgauge.schema import Outcome, Timing
from kernelgauge.session.session import Session

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


def rules(recheck_band: float) -> Protocol:
    """Rules under which one pair of processes is enough where there is no doubt."""
    strict = load_protocol("strict")
    changed = {
        "processes": 1,
        "recheck_processes": 3,
        "recheck_band": recheck_band,
        "min_samples": 6,
        "max_samples": 12,
        "budget_seconds": 20.0,
    }
    return strict.model_copy(update={"timing": strict.timing.model_copy(update=changed)})


@pytest.mark.proof
@pytest.mark.parametrize(
    ("recheck_band", "rounds"),
    [
        pytest.param(100.0, 3, id="a difference that may be the processes'"),
        pytest.param(0.05, 1, id="a difference beyond doubt"),
    ],
)
def test_processes(session: Session, tmp_path: Path, recheck_band: float, rounds: int) -> None:
    problem = tmp_path / "tanh.py"
    problem.write_text(PROBLEM)
    record = session.evaluate(problem, SLOW, protocol=rules(recheck_band))
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.timing is not None
    assert len(record.timing.rounds) == rounds
    assert sum(record.timing.rounds) == len(record.timing.reference_samples_ms)
    assert min(record.timing.rounds) >= 6  # who is asked again says as much as who was asked first


Simulated = Callable[[list[float], dict[str, object]], Timing]


@pytest.fixture
def simulated(monkeypatch: pytest.MonkeyPatch) -> Simulated:
    """A measurement of calls of 5 ms, given their scatter in each round of processes, and what the rules change."""
    monkeypatch.setattr(measure, "spread_threads", lambda pid: None)

    def run(scatters: list[float], changed: dict[str, object]) -> Timing:
        draw = random.Random(3)
        measurement = measure.Measurement(rules(100.0).timing.model_copy(update=changed), "cpu")

        def pair(scatter: float, _reference: Mock, _candidate: Mock, samples: Samples, _where: str) -> None:
            for taken in (samples.reference, samples.candidate):
                nanoseconds = 5e6 * draw.gauss(1, scatter) + 100_000 + draw.randint(0, 5000)
                taken.append(Sample(round(nanoseconds), 1000, 5_000_000))

        for number, scatter in enumerate(scatters, 1):
            monkeypatch.setattr(measurement, "_pair", partial(pair, scatter))
            measurement.round(Mock(), Mock(), number, {"own": []})
        return measurement.result()

    return run


def test_who_is_asked_again_is_sampled_like_the_first(simulated: Simulated) -> None:
    """Whatever the others have said: one more call would not change the interval of theirs."""
    result = simulated([0.05] * 3, {"max_samples": 400})
    assert result.stopped == "precise"
    assert min(result.rounds) > 20 and max(result.rounds) < 200, result.rounds


@pytest.mark.parametrize("restless", [0, 1, 2])
def test_time_that_was_up_in_any_of_them_is_not_forgotten(simulated: Simulated, restless: int) -> None:
    scatters = [0.02] * 3
    scatters[restless] = 0.5
    result = simulated(scatters, {"max_samples": 60})
    assert result.stopped == "budget"
    assert result.rounds[restless] == 60 and min(result.rounds) < 60, result.rounds


def test_each_of_several_has_its_share_of_samples_and_so_has_who_is_asked_again(simulated: Simulated) -> None:
    result = simulated([0.5] * 5, {"processes": 3, "recheck_processes": 5, "max_samples": 60})
    assert result.rounds == (20,) * 5


def test_quiet_processes_need_no_more_than_their_part_of_the_fewest_samples(simulated: Simulated) -> None:
    result = simulated([0.001] * 3, {"processes": 3, "min_samples": 18, "max_samples": 600})
    assert result.rounds == (6,) * 3 and result.stopped == "precise"


def test_what_strict_does_on_a_gpu() -> None:
    timing = load_protocol("strict").timing_on("cuda")
    assert timing.recheck_band > 2 * timing.resolution
    assert timing.recheck_processes > timing.processes


@pytest.mark.parametrize("device", ["cpu", "cuda"])
@pytest.mark.parametrize("name", protocols())
def test_no_shipped_protocol_ends_before_work_after_the_clock_is_refused(name: str, device: str) -> None:
    assert load_protocol(name).timing_on(device).min_samples >= measure._FEWEST_CALLS


@pytest.mark.parametrize(
    ("doubtful", "open_after", "rounds"),
    [
        pytest.param(False, (), 1, id="beyond doubt"),
        pytest.param(True, (), 3, id="clear after three"),
        pytest.param(True, (3,), 5, id="clear after five"),
        pytest.param(True, (3, 5, 7), 7, id="never clear"),
    ],
)
def test_how_often_others_are_asked(doubtful: bool, open_after: tuple[int, ...], rounds: int) -> None:
    job = Mock(protocol=rules(recheck_band=0.05), device="cpu")
    asked = Rounds(job, Account())
    taken = 0
    asked.measurement = Mock(needs_recheck=lambda: doubtful, needs_further_recheck=lambda: taken in open_after)
    while asked.left:
        taken += 1
        asked.take(Mock(), Mock(), Mock(eager={}))
    assert taken == rounds

"""Records refuse contradictions; protocols are data that refuse nonsense; messages are typed and bounded."""

from __future__ import annotations

import json
import math
import random
from pathlib import Path
from typing import Any

import pytest
from factories import make_evaluation, make_timing
from pydantic import ValidationError

from kernelgauge.cli.verdict import show
from kernelgauge.config import load_protocol, protocols
from kernelgauge.errors import UsageError
from kernelgauge.schema import Evaluation, Timing, Trial
from kernelgauge.wire.arguments import decode, encode
from kernelgauge.wire.messages import LARGEST_MESSAGE, parse_claim


@pytest.mark.parametrize(
    ("outcome", "changes", "complaint"),
    [
        ("wrong_value", {"timing": make_timing(2.0)}, "cannot have a time"),
        ("passed", {"trials": ()}, "at least one checked trial"),
        (
            "passed",
            {"trials": (Trial(variant="own", error=1, allowed=0.1, reference_error=0, agreed=False),)},
            "every trial to agree",
        ),
        ("rejected", {"rule": None}, "names its rule"),
        ("passed", {"rule": "input_mutated"}, "names its rule"),
        ("timed_out", {"reason": ""}, "needs a reason"),
        ("passed", {"scored": False}, "only because of a trivial answer"),
        ("passed", {"speed": 3}, "speed"),
    ],
)
def test_contradicting_evaluations_cannot_be_constructed(
    outcome: str, changes: dict[str, Any], complaint: str
) -> None:
    with pytest.raises(ValidationError, match=complaint):
        make_evaluation(outcome=outcome, **changes)


def test_a_timing_holds_its_estimate_and_its_samples() -> None:
    good = make_timing(2.0).model_dump()
    for broken in (
        {"interval": (2.1, 2.2)},
        {"reference_samples_ms": ()},
        {"candidate_ms": 0.0},
        {"candidate_samples_ms": (1.0, -1.0)},
        {"interval": (1.0, math.inf)},
    ):
        with pytest.raises(ValidationError):
            Timing(**{**good, **broken})


def test_what_was_measured_besides_samples_is_told_with_the_verdict(capsys: pytest.CaptureFixture[str]) -> None:
    gpu = {"sm_mhz": (1700, 1980, 1980), "memory_mhz": 3201, "power_watts": 143.7, "temperature": 41}
    rows = {"batch_calls": 8, "batched_speedup": 1.02, "underreported_ms": 0.05}
    device = {"device_reference_ms": 1.1, "device_candidate_ms": 0.9, "launch_bound": True}
    timing = Timing.model_validate(make_timing(1.1).model_dump() | rows | device | {"gpu": gpu | {"power_capped": 3}})
    show(make_evaluation(timing=timing))
    said = " ".join(capsys.readouterr().out.split())
    assert (
        "batched 1.02x over 8 calls in one bracket of the parent's clock; 0.05 ms of a call were not reported" in said
    )
    assert "on the device 1.22x, 1.1 and 0.9 ms without launches; launch-bound" in said
    assert "timed in one process" not in said
    clocks = "GPU 1980 MHz (1700 to 1980), memory 3201 MHz, 144 W, 41 °C at most"
    assert f"{clocks}, 3 measurements under its power limit" in said
    pairs = len(timing.candidate_samples_ms)
    published = {"clock": "worker", "rounds": (pairs,)}
    told = Timing.model_validate(timing.model_dump() | published).facts["on the device"]
    assert told.endswith("launch-bound, timed in one process: the next may differ by more than the interval")
    several = Timing.model_validate(timing.model_dump() | published | {"rounds": (1, pairs - 1)})
    assert several.facts["on the device"].endswith("launch-bound")
    with pytest.raises(ValueError, match="needs calls in a batch"):
        Timing.model_validate(make_timing(1.1).model_dump() | {"batched_speedup": 1.02})


def test_a_trial_without_a_finite_error_cannot_agree() -> None:
    with pytest.raises(ValidationError):
        Trial(variant="own", error=math.inf, allowed=1.0, reference_error=0.0, agreed=True)


def test_an_evaluation_survives_json_with_infinite_errors() -> None:
    record = make_evaluation(outcome="wrong_value")
    assert math.isinf(record.trials[0].error)
    assert Evaluation.model_validate_json(record.model_dump_json()) == record


def test_the_summary_is_plain_json() -> None:
    text = json.dumps(make_evaluation(outcome="wrong_value").summary(), allow_nan=False)
    needed = "problem backend protocol sizes device outcome reason speedup speedup_interval reference_ms"
    assert {*needed.split(), "candidate_ms", "rules"} <= set(json.loads(text))


@pytest.mark.parametrize(
    ("interval", "standing", "above_one"),
    [
        ((1.01, 1.2), "faster", True),
        ((0.9, 1.2), "tie", False),
        ((0.8, 1.2), "tie", False),
        ((0.79, 1.2), "unclear", False),
        ((1.0, 1.5), "tie", False),
        ((0.37, 1.0), "unclear", False),
        ((0.5, 0.99), "slower", False),
        ((1.5, 6.0), "faster", True),
        ((1.5, 6.1), "unclear", False),
        ((0.5, 2.5), "unclear", False),
        ((0.1, 0.5), "unclear", False),
        ((3.9, 16.0), "unclear", False),
        ((4.0, 400.0), "faster", True),
        ((0.002, 0.25), "slower", False),
    ],
)
def test_standing_goes_by_the_whole_interval(interval: tuple[float, float], standing: str, above_one: bool) -> None:
    timing = make_timing(sum(interval) / 2).model_copy(update={"interval": interval})
    record = make_evaluation(timing=timing)
    assert record.standing == standing
    assert record.faster_than(1) is above_one
    assert record.faster_than(0)


def test_shipped_protocols_load_and_differ() -> None:
    assert protocols() == ["strict", "quick", "v0.1"]
    assert len({load_protocol(name).digest for name in protocols()}) == 3


def test_quick_differs_from_strict_in_how_much_it_asks_and_in_nothing_else() -> None:
    strict, quick = load_protocol("strict"), load_protocol("quick")
    assert set(quick.inputs.variants) < set(strict.inputs.variants)
    same = {"name": "", "summary": "", "inputs": quick.inputs, "timing": quick.timing, "gpu_timing": {}}
    assert quick.model_copy(update=same) == strict.model_copy(update=same)
    assert quick.inputs.seeds == strict.inputs.seeds
    for device in ("cpu", "cuda"):
        ours, theirs = quick.timing_on(device), strict.timing_on(device)
        same = {"interleaved": True, "confidence": 0.95, "fresh_inputs": True, "timer": theirs.timer}
        assert ours.model_copy(update=same) == ours and theirs.model_copy(update=same) == theirs
        assert ours.half_width > theirs.half_width and ours.resolution >= theirs.resolution


@pytest.mark.parametrize(
    "edit",
    [
        ('rule = "oracle"', 'rule = "looks right"'),
        ("multiple = 16.0", "multiple = 0.0"),
        ("coarse = 1e-3", "coarse = 0.0"),
        ("min_samples = 25", "min_samples = 1200"),
        ("[score]", "[skore]"),
        ("confidence = 0.95", "confidence = 95"),
        ("[inputs]", "[inputs"),
    ],
)
def test_malformed_protocols_are_refused(edit: tuple[str, str], tmp_path: Path) -> None:
    from importlib import resources

    text = resources.files("kernelgauge.protocols").joinpath("strict.toml").read_text()
    assert edit[0] in text
    path = tmp_path / "mine.toml"
    path.write_text(text)
    assert load_protocol(str(path)) == load_protocol("strict")
    path.write_text(text.replace(*edit))
    with pytest.raises(UsageError, match="malformed"):
        load_protocol(str(path))


def test_unknown_protocols_are_refused(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"strict, quick, v0\.1"):
        load_protocol("lenient")
    with pytest.raises(UsageError, match="does not exist"):
        load_protocol(str(tmp_path / "none.toml"))


def test_random_bytes_are_never_a_claim() -> None:
    draw = random.Random(5)
    for _ in range(2000):
        with pytest.raises(ValueError):
            parse_claim(draw.randbytes(draw.randrange(200)))


@pytest.mark.parametrize(
    "claim",
    [
        {"event": "passed"},
        {"event": "done", "speedup": 5},
        {"event": "done", "tensors": [{"shape": [-1], "dtype": "float32"}]},
        {"event": "done", "tensors": [{"shape": [1] * 17, "dtype": "float32"}]},
        {"event": "done", "tensors": [{"shape": [1], "dtype": "float32"}] * 300},
        {"event": "done", "forward_ns": -5},
        {"event": "failed", "message": "x" * LARGEST_MESSAGE},
    ],
)
def test_ill_formed_claims_are_refused(claim: dict[str, Any]) -> None:
    with pytest.raises(ValueError):
        parse_claim(json.dumps(claim).encode())


def test_arguments_keep_tuples_apart_from_lists() -> None:
    value = [1, 2.5, None, True, "s", (1, (2, [3])), {"k": (4,)}]
    assert decode(json.loads(json.dumps(encode(value)))) == value
    with pytest.raises(TypeError):
        encode(object())

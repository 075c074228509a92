"""Baselines as records: what they refuse, what later evaluations make of them, how they are kept and shown."""

from __future__ import annotations

import io
import json
import math
from datetime import UTC, datetime
from pathlib import Path

import pytest
from browser import texts_in
from factories import make_answer, make_baseline, make_environment, make_evaluation, make_header
from pydantic import ValidationError
from rich.console import Console
from typer.testing import CliRunner

from kernelgauge.cli.main import app
from kernelgauge.errors import StoreError
from kernelgauge.generation.torch_modes import baseline
from kernelgauge.report.figures.baselines import boards, changes, render
from kernelgauge.report.figures.scores import score
from kernelgauge.report.terminal import show
from kernelgauge.schema import BaselineSpeedup, Evaluation, Measured, conditions
from kernelgauge.store.baselines import FILE, Baselines, read, write
from kernelgauge.store.run import Run
from kernelgauge.timing.baselines import compared, eager_interval, moved, quotient, strongest, typical_interval
from kernelgauge.timing.ratio import Ratio

LATER = datetime(2026, 11, 21, tzinfo=UTC)


# Records


@pytest.mark.parametrize(
    "changes",
    [
        {"measured": None},
        {"outcome": "wrong_value", "reason": "trial 1"},
        {"reason": "it passed, and yet"},
        {"mode": "compile-harder"},
    ],
)
def test_a_baseline_refuses_to_contradict_itself(changes: dict) -> None:
    with pytest.raises(ValidationError):
        make_baseline(**changes)


@pytest.mark.parametrize(
    "changes",
    [
        {"interval": (1.3, 1.4)},
        {"eager_interval_ms": (2.1, 2.2)},
        {"milliseconds": 0.0},
        {"eager_ms": math.inf, "eager_interval_ms": (2.0, math.inf)},
        {"confidence": 95.0},
    ],
)
def test_a_measurement_refuses_to_contradict_itself(changes: dict) -> None:
    found = make_baseline().measured
    assert found is not None
    with pytest.raises(ValidationError):
        Measured(**{**found.model_dump(), **changes})


def over(mode: str = "compile", is_strongest: bool = True, **changes: object) -> BaselineSpeedup:
    values = {"mode": mode, "strongest": is_strongest, "speedup": 1.2, "interval": (1.1, 1.3), "measured": LATER}
    return BaselineSpeedup(**{**values, **changes})


def test_a_speedup_over_a_baseline_refuses_to_contradict_itself() -> None:
    for wrong in ({"interval": (1.25, 1.3)}, {"measured": None}, {"mode": "eager"}):
        with pytest.raises(ValidationError):
            over(**wrong)  # type: ignore[arg-type]
    record = make_evaluation()
    for together in ((over(), over()), (over(is_strongest=False),), (over(), over("compile-max-autotune"))):
        with pytest.raises(ValidationError):
            Evaluation(**{**dict(record), "baseline_speedups": together})
    with pytest.raises(ValidationError, match="needs a time"):
        Evaluation(**{**dict(make_evaluation(speedup=None)), "baseline_speedups": (over(),)})


@pytest.mark.parametrize(
    ("changes", "same"),
    [
        ({"kernelgauge": "0.2.0", "platform": "Linux-6.12-x86_64", "memory_gb": 256.0}, True),
        ({"gpu": "NVIDIA H100"}, False),
        ({"driver": "590.1"}, False),
        ({"torch": "2.12.0+cu130"}, False),
        ({"triton": "3.7.0"}, False),
        ({"cuda": "13.1"}, False),
        ({"cores": 64, "threads": 64}, True),
    ],
)
def test_conditions_name_what_decides_a_time(changes: dict, same: bool) -> None:
    other = make_baseline(environment=make_environment(**changes))
    assert (other.conditions == make_baseline().conditions) == same


@pytest.mark.parametrize("changes", [{"cores": 64}, {"threads": 64}])
def test_on_a_cpu_its_cores_decide_a_time(changes: dict) -> None:
    other = make_baseline(device="cpu", environment=make_environment(**changes))
    assert other.conditions != make_baseline(device="cpu").conditions


def test_conditions_hold_problem_sizes_device_and_protocol() -> None:
    here = make_baseline()
    assert here.conditions == conditions(make_evaluation())
    for field, value in (
        ("problem_digest", "0" * 16),
        ("sizes", "medium"),
        ("device", "cpu"),
        ("protocol_digest", "0" * 16),
    ):
        assert make_baseline(**{field: value}).conditions != here.conditions


# What a baseline says of an evaluation


def test_the_strongest_is_the_fastest_that_is_surely_faster_than_eager() -> None:
    assert strongest([]) == "eager"
    slow = make_baseline(mode="compile", speedup=0.9)
    perhaps = make_baseline(mode="compile-max-autotune", speedup=1.2, spread=0.3)
    assert strongest([slow, perhaps, make_baseline(mode="eager", speedup=1.5)]) == "eager"
    sure = make_baseline(mode="compile-reduce-overhead", speedup=1.1)
    assert strongest([slow, perhaps, sure, make_baseline(speedup=None)]) == "compile-reduce-overhead"
    surer = make_baseline(mode="compile-max-autotune", speedup=1.2)
    assert strongest([surer, sure]) == "compile-max-autotune"


def test_errors_of_a_quotient_add_in_quadrature() -> None:
    ratio = quotient(Ratio(2.0, 2.0 / 1.03, 2.0 * 1.03), Ratio(1.25, 1.25 / 1.04, 1.25 * 1.04))
    assert ratio.estimate == pytest.approx(1.6)
    width = math.exp(math.hypot(math.log(1.03), math.log(1.04)))
    assert (ratio.low, ratio.high) == pytest.approx((1.6 / width, 1.6 * width))
    one_sided = quotient(Ratio(2.0, 2.0, 2.2), Ratio(1.0, 1.0, 1.5))
    assert one_sided.low == pytest.approx(2.0 / 1.5), "an uncertain divisor pulls down, where it may be larger"
    assert one_sided.high == pytest.approx(2.2)


def test_quadrature_covers_as_often_as_it_says() -> None:
    """Simulated: log ratios with normal errors, each with its 95 % interval."""
    import numpy as np

    draw = np.random.default_rng(1)
    z, sigma = 1.96, (0.02, 0.05)
    inside = 0
    for _ in range(4000):
        a, b = (math.exp(draw.normal(0.0, s)) for s in sigma)
        ratio = quotient(
            *(Ratio(x, x * math.exp(-z * s), x * math.exp(z * s)) for x, s in zip((a, b), sigma, strict=True))
        )
        inside += ratio.low <= 1.0 <= ratio.high
    assert 0.94 < inside / 4000 < 0.96


def test_the_interval_of_a_typical_time_covers_processes_that_differ() -> None:
    narrow = typical_interval([2.0, 2.01, 1.99, 2.0], [], 0.95)
    rounds = typical_interval([2.0, 2.0, 2.2, 2.2, 2.1, 2.1], [2, 2, 2], 0.95)
    assert narrow[0] < 1 < narrow[1] < 1.02
    assert rounds[1] > 1.1, "within each process the samples agree, between them they do not"


def test_eager_has_moved_only_beyond_both_intervals_and_five_percent() -> None:
    before = make_baseline().measured  # eager between 1.99 and 2.01 ms
    assert before is not None
    assert not moved((2.10, 2.20), before)
    assert moved((2.12, 2.20), before)
    assert not moved((1.80, 1.90), before)
    assert moved((1.80, 1.89), before)


def test_an_evaluation_is_compared_with_every_mode_that_passed() -> None:
    modes = [
        make_baseline(mode="eager", speedup=1.001),
        make_baseline(mode="compile", speedup=1.25),
        make_baseline(mode="compile-reduce-overhead", speedup=None),
        make_baseline(mode="compile-max-autotune", speedup=2.0),
    ]
    record = compared(make_evaluation(speedup=1.5), modes)
    assert {each.mode: each.speedup for each in record.baseline_speedups} == pytest.approx(
        {"eager": 1.5, "compile": 1.2, "compile-max-autotune": 0.75}
    )
    best = record.speedup_over_strongest
    assert best is not None and best.mode == "compile-max-autotune"
    assert best.interval[1] < 1
    assert Evaluation.model_validate_json(record.model_dump_json()) == record
    summary = record.summary()
    assert (summary["strongest_baseline"], summary["speedup_over_strongest"]) == ("compile-max-autotune", 0.75)


def test_eager_alone_is_no_strongest() -> None:
    record = make_evaluation()
    assert compared(record, [make_baseline(mode="eager")]) == record


def test_where_no_mode_passed_eager_is_the_strongest() -> None:
    record = compared(make_evaluation(speedup=1.5), [make_baseline(speedup=None)])
    assert [(each.mode, each.strongest, each.speedup) for each in record.baseline_speedups] == [("eager", True, 1.5)]


def test_the_newest_baseline_of_a_mode_counts_whatever_the_order() -> None:
    new, old = make_baseline(speedup=3.0, created=LATER), make_baseline(speedup=1.25)
    for order in ([new, old], [old, new]):
        best = compared(make_evaluation(speedup=1.5), order).speedup_over_strongest
        assert best is not None and best.speedup == pytest.approx(0.5)


@pytest.mark.parametrize(
    "changes", [{"environment": make_environment(gpu="NVIDIA H100")}, {"sizes": "medium"}, {"protocol_digest": "0"}]
)
def test_a_baseline_of_other_conditions_says_nothing(changes: dict) -> None:
    record = make_evaluation()
    assert compared(record, [make_baseline(**changes)]) == record


def test_without_a_time_there_is_nothing_to_compare() -> None:
    for record in (make_evaluation(outcome="wrong_value"), make_evaluation(speedup=None)):
        assert compared(record, [make_baseline()]) == record


def test_a_baseline_is_out_of_date_when_eager_takes_another_time() -> None:
    """Eager at 2 ms now, within about 1 %; 2.3 ms when the mode was measured."""
    fresh = make_baseline().measured
    assert fresh is not None
    old = fresh.model_copy(update={"eager_ms": 2.3, "eager_interval_ms": (2.28, 2.32)})
    record = compared(make_evaluation(), [make_baseline(mode="eager"), make_baseline(measured=old)])
    assert record.baseline_speedups == ()
    assert len(record.notes) == 1
    assert "eager takes 2 ms, and took 2.3 ms when compile was measured on 2026-11-20" in record.notes[0]
    assert "--recheck" in record.notes[0]
    own = compared(make_evaluation(), [make_baseline(mode="eager", measured=old), make_baseline()])
    assert own.speedup_over_strongest is not None, "eager over eager needs no stored time"
    noisy = old.model_copy(update={"eager_interval_ms": (1.9, 2.8)})
    assert compared(make_evaluation(), [make_baseline(measured=noisy)]).speedup_over_strongest is not None


def test_a_baseline_keeps_what_the_record_says() -> None:
    record = make_evaluation(sample=3)
    found = baseline(record)
    assert found.mode == "compile-max-autotune" and found.conditions == conditions(record)
    assert found.measured is not None and record.timing is not None
    assert found.measured.eager_interval_ms == eager_interval(record.timing)
    assert found.measured.speedup == record.timing.speedup
    with pytest.raises(ValidationError):
        baseline(make_evaluation(speedup=None))


# The store


def test_baselines_are_kept_once_and_by_problem(tmp_path: Path) -> None:
    store = Baselines(tmp_path / "baselines")
    assert store.of("fedcba9876543210") == []
    first, other = make_baseline(), make_baseline("1/2", problem_digest="0123456789abcdef")
    assert store.add([first, other]) == 2
    assert store.add([first, other, make_baseline(created=LATER)]) == 1
    assert store.of("fedcba9876543210") == [first, make_baseline(created=LATER)]
    assert len(store.all()) == 3


def test_a_torn_line_loses_only_itself(tmp_path: Path) -> None:
    store = Baselines(tmp_path)
    store.add([make_baseline()])
    with (tmp_path / "fedcba9876543210.jsonl").open("a") as file:
        file.write('{"format":1,"created')
    assert store.of("fedcba9876543210") == [make_baseline()]
    store.add([make_baseline(created=LATER)])
    assert len(store.of("fedcba9876543210")) == 2


def test_files_of_strangers_are_refused_in_a_sentence(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there are no baselines at"):
        read(tmp_path)
    (tmp_path / FILE).write_text('{"format": 1}\n')
    with pytest.raises(StoreError, match=r"baselines\.jsonl, line 1 is not a valid Baseline"):
        read(tmp_path)
    with pytest.raises(StoreError, match="not the digest of a problem"):
        Baselines(tmp_path / "cache").add([make_baseline(problem_digest="../../evil")])
    write(tmp_path / FILE, [make_baseline()])
    assert read(tmp_path) == read(tmp_path / FILE) == [make_baseline()]


# Figures


def test_a_board_has_the_strongest_and_geometric_means() -> None:
    found = boards(
        [
            make_baseline("1/1", "eager", 1.0, problem_digest="a1"),
            make_baseline("1/1", "compile", 2.0, problem_digest="a1"),
            make_baseline("1/2", "compile", 0.5, problem_digest="a2"),
            make_baseline("1/10", "compile", None, problem_digest="a3"),
            make_baseline("2/1", "compile", 4.0, problem_digest="a4"),
            make_baseline("2/1", "compile", 8.0, problem_digest="a4", created=LATER),
            make_baseline("2/1", "compile", 3.0, problem_digest="a4", device="cpu"),
        ]
    )
    assert [board.device for board in found] == ["cpu", "cuda"] or [board.device for board in found] == [
        "cuda",
        "cpu",
    ]
    board = next(board for board in found if board.device == "cuda")
    assert [(row.problem, row.strongest) for row in board.rows] == [
        ("1/1", "compile"),
        ("1/2", "eager"),
        ("1/10", "eager"),
        ("2/1", "compile"),
    ]
    assert board.means["1"]["compile"].speedup == pytest.approx(1.0)
    assert board.means["1"]["compile"].problems == 2
    assert board.means["1"]["strongest"].speedup == pytest.approx(math.sqrt(2))
    assert board.means["all"]["compile"].speedup == pytest.approx(2.0)
    console = Console(width=200, record=True, file=io.StringIO())
    console.print(render(board))
    text = console.export_text()
    assert "NVIDIA H200" in text and "8.00x" in text and "build_failed" in text
    assert "1/10 compile: build: InductorError" in text


def test_a_replaced_problem_leaves_the_board() -> None:
    (board,) = boards([make_baseline(), make_baseline(mode="eager", problem_digest="0" * 16, created=LATER)])
    assert list(board.rows[0].modes) == ["eager"]


def test_a_second_measurement_says_whether_it_agrees() -> None:
    first = make_baseline(speedup=1.25)
    (same,) = changes([first], [make_baseline(speedup=1.26, created=LATER)])
    (other,) = changes([first], [make_baseline(speedup=1.5, created=LATER)])
    assert "1/1 compile agrees: 1.26x, was 1.25x on 2026-11-20" in same
    assert "has changed" in other
    assert changes([], [first]) == changes([first], [make_baseline(speedup=None, created=LATER)]) == []


def test_fast_p_over_the_strongest_is_a_second_table(capsys: pytest.CaptureFixture[str]) -> None:
    records = [
        make_evaluation("1/1", 1.5, baseline_speedups=(over(speedup=1.2, interval=(1.1, 1.3)), eager(1.5))),
        make_evaluation("1/2", 1.5, baseline_speedups=(over(speedup=0.8, interval=(0.7, 0.9)), eager(1.5))),
        make_evaluation("1/3", outcome="wrong_value"),
        make_evaluation("1/4", 1.5),
    ]
    found = score(records)
    assert found.overall.fast_p["1"] == pytest.approx(3 / 4)
    against = found.against
    assert against is not None and against.baseline == "strongest"
    assert against.left_out == ("1/4",)
    assert against.overall.problems == 3
    assert against.overall.fast_p["0"] == pytest.approx(2 / 3)
    assert against.overall.fast_p["1"] == against.levels["1"].fast_p["1"] == pytest.approx(1 / 3)
    assert against.overall.standing == {"faster": 1, "tie": 0, "slower": 1, "unclear": 0}
    over_eager = score(records, baseline="eager").against
    assert over_eager is not None and over_eager.overall.fast_p["1"] == pytest.approx(2 / 3)
    show(found)
    printed = " ".join(capsys.readouterr().out.split())
    assert "over the fastest mode of PyTorch above p" in printed
    assert "no up-to-date baseline, so not in the figures over strongest: 1/4" in printed
    assert score([make_evaluation()]).against is None


def test_a_report_compares_with_what_was_measured_since(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", make_header(problems=("1/1",)))
    run.append(*make_answer("1/1", speedup=1.5))
    measured = tmp_path / "measured"
    measured.mkdir()
    asked = ["report", str(run.path), "--json", "--baselines", str(measured)]
    assert "there are no baselines at" in str(CliRunner().invoke(app, asked).exception)

    write(measured / FILE, [make_baseline("1/1", speedup=1.25), make_baseline("1/1", mode="eager", speedup=1.0)])
    against = json.loads(CliRunner().invoke(app, asked).stdout)["against"]
    assert against["overall"]["geomean_speedup"] == pytest.approx(1.5 / 1.25), "over compile, the fastest mode"
    assert json.loads(CliRunner().invoke(app, asked[:3]).stdout)["against"] is None, "the run is as it was"
    assert Run.read(run.path).latest()[0].baseline_speedups == ()
    page = tmp_path / "report.html"
    for more, modes in ((asked[3:], ["eager", "compile"]), ([], [])):
        assert CliRunner().invoke(app, [*asked[:2], *more, "--html", str(page)]).exit_code == 0
        (details,) = texts_in(page, "details")
        assert [each["mode"] for each in details["baseline_speedups"]] == modes

    write(measured / FILE, [make_baseline("1/1", environment=make_environment(gpu="NVIDIA H100"))])
    assert "can be compared with" in str(CliRunner().invoke(app, asked).exception)
    assert "--study compares" in str(CliRunner().invoke(app, [*asked, "--study"]).exception)


def eager(speedup: float) -> BaselineSpeedup:
    return over("eager", False, speedup=speedup, interval=(speedup * 0.99, speedup * 1.01), measured=None)

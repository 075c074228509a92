"""What is left to gain: who holds a problem, over which mode of PyTorch, and where nobody can win."""

from __future__ import annotations

import json
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from factories import BOUND, make_candidate, make_environment, make_evaluation, make_header, make_timing
from typer.testing import CliRunner

from kernelgauge.cli.main import app
from kernelgauge.errors import UsageError
from kernelgauge.report.figures.headroom import headrooms
from kernelgauge.schema import MODES, BaselineSpeedup, Evaluation, Peaks, Work
from kernelgauge.store.run import Run


def bounded(problem: str, speedup: float, bound_ms: float = 0.5, **changes: Any) -> Evaluation:
    """With eager at 2 ms."""
    bound = BOUND.model_copy(
        update={"bound_ms": bound_ms, "bytes_ms": bound_ms, "flops_ms": 0.0, "headroom": 2.0 / bound_ms}
    )
    return make_evaluation(problem, speedup, bound=bound, **changes)


def over(mode: Any, speedup: float) -> tuple[BaselineSpeedup, ...]:
    measured = None if mode == "eager" else datetime(2026, 11, 20, tzinfo=UTC)
    interval = (speedup * 0.99, speedup * 1.01)
    return (BaselineSpeedup(mode=mode, strongest=True, speedup=speedup, interval=interval, measured=measured),)


def test_the_fastest_kernel_holds_a_problem_unless_pytorch_is_no_slower() -> None:
    records = [
        bounded("1/2", 1.5, contestant="inductor"),
        bounded("1/2", 2.5, contestant="expert"),
        bounded("1/2", 3.0, contestant="lucky", timing=make_timing(3.0).model_copy(update={"interval": (0.9, 9.0)})),
        bounded("1/10", 1.2, contestant="expert", baseline_speedups=over("compile", 0.8)),
        bounded("1/3", 1.25, contestant="pytorch", sample=MODES.index("compile-max-autotune")),
        make_evaluation("1/4", 9.0),  # no bound
        make_evaluation("1/2", outcome="wrong_value"),
    ]
    two, three, ten = headrooms(records)
    assert (two.problem, two.best_by, two.strongest) == ("1/2", "expert", "eager")
    assert two.best_ms == pytest.approx(0.8) and two.left == pytest.approx(1.6) and two.to_win == pytest.approx(4.0)
    assert (three.best_by, three.strongest) == ("PyTorch, compile-max-autotune", "compile-max-autotune")
    assert three.best_ms == three.strongest_ms == pytest.approx(1.6)
    assert (ten.best_by, ten.strongest) == ("PyTorch, compile", "compile"), "compile is 1.5 times as fast as eager"
    assert ten.strongest_ms == pytest.approx(2.0 / 1.5)


def test_a_problem_that_nobody_can_win_says_so() -> None:
    near, beaten = headrooms([bounded("1/1", 1.0, bound_ms=1.95), bounded("1/2", 2.0, bound_ms=1.95)])
    assert not near.winnable
    assert beaten.winnable and beaten.left < 1, "a kernel that beats the bound has shown that it can be won"


def test_machines_and_settings_are_not_mixed() -> None:
    other = bounded("1/1", 2.0, environment=make_environment(gpu="NVIDIA H100"))
    with pytest.raises(UsageError, match=r"NVIDIA H100, strict.*NVIDIA H200, strict"):
        headrooms([bounded("1/1", 2.0), other])


PEAKS = Peaks(
    device="cuda",
    name="NVIDIA H200",
    source="measured",
    read_gbs=4000.0,
    copy_gbs=4000.0,
    ceiling_gbs=4800.0,
    flops={"fp32": 5e13},
    cache_bytes=0,
)


def test_bounds_are_by_the_peaks_that_are_given() -> None:
    work = Work(flops=10**9, inputs=2 * 10**9, parameters=0, outputs=10**9)
    record = bounded("1/1", 2.0, bound_ms=0.5, math="ieee")
    assert record.bound is not None
    record = record.model_copy(update={"bound": record.bound.model_copy(update={"work": work})})
    (as_judged,), (by_these,) = headrooms([record]), headrooms([record], PEAKS)
    assert as_judged.bound_ms == 0.5
    assert by_these.bound_ms == pytest.approx(3e9 / 4000e9 * 1e3) and by_these.bound_by == "memory"
    slower = PEAKS.model_copy(update={"flops": {"fp32": 1e12}})
    assert headrooms([record], slower)[0].bound_by == "arithmetic"
    with pytest.raises(UsageError, match=r"peaks are of NVIDIA H100, and 1/1 was measured on NVIDIA H200"):
        headrooms([record], PEAKS.model_copy(update={"name": "NVIDIA H100"}))


@pytest.mark.processes
def test_the_list_of_problems_shows_it(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", make_header(problems=("1/1", "1/2", "2/1")))
    for key, speedup, bound_ms in (("1/1", 2.0, 0.5), ("1/2", 1.0, 1.95), ("2/1", 2.0, 0.5)):
        run.append(bounded(key, speedup, bound_ms, math="ieee"), make_candidate(key))
    said = CliRunner().invoke(app, ["problems", "list", "--level", "1", "--headroom", str(run.path)])
    assert said.exit_code == 0 and "2 problems; 1 can be won by more than 5 %" in said.output
    said = CliRunner().invoke(app, ["problems", "list", "--headroom", str(run.path), "--json"])
    assert [row["left"] for row in json.loads(said.stdout)] == pytest.approx([2.0, 2.0 / 1.95, 2.0])
    peaks = tmp_path / "peaks.json"
    peaks.write_text(PEAKS.model_dump_json())
    asked = ["problems", "list", "--headroom", str(run.path), "--json", "--peaks", str(peaks)]
    said = CliRunner().invoke(app, asked)
    assert said.exit_code == 0, said.exception
    by_these = [row["bound_ms"] for row in json.loads(said.stdout)]
    assert by_these == pytest.approx([5e5 / 4000e9 * 1e3] * 3), "by the bytes of the records' work"
    peaks.write_text("{}")
    assert "is not what `kernelgauge doctor --measure --json` prints" in str(CliRunner().invoke(app, asked).exception)
    peaks.unlink()
    assert "no peaks in" in str(CliRunner().invoke(app, asked).exception)
    assert "name its runs too" in str(CliRunner().invoke(app, ["problems", "list", "--peaks", "x"]).exception)
    empty = Run.create(tmp_path / "empty", make_header())
    assert "has a bound" in str(
        CliRunner().invoke(app, ["problems", "list", "--headroom", str(empty.path)]).exception
    )

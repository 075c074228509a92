"""Comparisons against cases worked by hand, over real run folders."""

from __future__ import annotations

import io
import json
import math
from pathlib import Path
from typing import Any

import pytest
from commands import command_here
from factories import make_answer, make_environment, make_header
from rich.console import Console

from kernelgauge.errors import UsageError
from kernelgauge.report.compare_text import render
from kernelgauge.report.figures.compare import compare
from kernelgauge.report.figures.estimators import matched_difference, wilson
from kernelgauge.runs import StoredRun, load
from kernelgauge.schema import NoCandidate
from kernelgauge.store import Run

H100 = make_environment(gpu="NVIDIA H100 80GB HBM3")


def stored(path: Path, answers: dict[str, Any], **header: Any) -> StoredRun:
    """A run folder: by problem (`1/1`, or `1/1#2` for sample 2) changes to a pass, or a skip's reason."""
    with Run.create(path, make_header(problems=("1/1",), **header)) as run:
        for name, changes in answers.items():
            problem, _, sample = name.partition("#")
            if isinstance(changes, str):
                run.append_skip(NoCandidate(problem=problem, contestant="x", reason=changes))
                continue
            same = {
                name: value
                for name, value in header.items()
                if name in ("protocol", "protocol_digest", "sizes", "kernel_policy")
            }
            run.append(*make_answer(problem, sample=int(sample or 0), **same, **changes))
    return load(path)


def test_each_verdict_is_told(tmp_path: Path) -> None:
    first = {
        "1/1": {"speedup": 1.0},
        "1/2": {"speedup": 1.0},
        "1/3": {"speedup": 1.0},
        "1/4": {"speedup": 1.0, "spread": 0.2},
        "1/5": {"outcome": "wrong_value"},
        "1/6": {"speedup": 1.5},
        "1/7": {"speedup": None},
        "1/8": {"outcome": "timed_out"},
        "1/9": {"speedup": 1.5},
    }
    later = {
        "1/1": {"speedup": 1.1},
        "1/2": {"speedup": 0.9},
        "1/3": {"speedup": 1.01},
        "1/4": {"speedup": 1.01},
        "1/5": {"speedup": 2.0},
        "1/6": "no answer",
        "1/7": {"speedup": 2.0},
        "1/8": {"outcome": "build_failed"},
        "2/1": {"speedup": 2.0},
    }
    versus = compare([stored(tmp_path / "a", first), stored(tmp_path / "b", later)]).versus[0]
    assert {row.problem: row.verdict for row in versus.rows} == {
        **{"1/1": "faster", "1/2": "slower", "1/3": "same", "1/4": "unclear", "1/5": "gained", "1/6": "lost"},
        **{"1/7": "untimed", "1/8": "neither"},
    }
    assert versus.others == ("1/9", "2/1")
    row = versus.rows[0]
    # Both intervals are 1 % to either side: on a log scale their half widths add in quadrature.
    assert row.ratio == pytest.approx(1.1) and row.interval is not None
    assert row.interval[0] == pytest.approx(1.1 * math.exp(-math.hypot(math.log(1 / 0.99), math.log(1.01))))
    correct, faster = versus.shares
    assert (correct.better, correct.worse, correct.p_value) == (1, 1, 1.0)
    assert correct.shares == (pytest.approx(6 / 8), pytest.approx(6 / 8))
    assert faster.shares == (pytest.approx(1 / 8), pytest.approx(3 / 8))


def test_paired_tests_against_worked_examples(tmp_path: Path) -> None:
    first = {f"1/{n}": {"speedup": 1.0} for n in range(1, 9)}
    later = {f"1/{n}": {"speedup": 1.2 + n / 100} for n in range(1, 9)}
    versus = compare([stored(tmp_path / "a", first), stored(tmp_path / "b", later)]).versus[0]
    # Eight of eight positive: 2 / 2^8, by both the signed-rank and the sign test.
    assert versus.p_value == pytest.approx(2 / 256)
    assert versus.shares[1].p_value == pytest.approx(2 / 256)
    assert versus.typical == pytest.approx(1.245, abs=0.001)
    assert versus.counts["faster"] == 8 == versus.timed


def test_matched_difference_against_a_worked_example() -> None:
    # 10 pairs, 4 better, 1 worse: centre 3/12, variance (5 + 1 - 9/12) / 144, reach 1.96 times 0.19094.
    gains = [1.0] * 4 + [-1.0] + [0.0] * 5
    assert matched_difference(gains) == pytest.approx((0.25 - 0.37424, 0.25 + 0.37424), abs=1e-4)
    low, high = matched_difference([0.0] * 20)
    assert low == -high < 0


def test_other_conditions_are_refused_unless_asked_for(tmp_path: Path) -> None:
    strict = stored(tmp_path / "a", {"1/1": {}})
    other = {"protocol": "v0.1", "protocol_digest": "f" * 16, "sizes": "medium"}
    published = stored(tmp_path / "b", {"1/1": {}}, **other)
    with pytest.raises(UsageError, match=r"protocol \(strict and v0.1\) and sizes \(full and medium\).*--mix"):
        compare([strict, published])
    assert "mix them" in compare([strict, published], mix=True).warnings[0]
    larger = stored(tmp_path / "d", {"1/1": {"problem_digest": "0" * 16}}, sizes="medium")
    mixed = compare([strict, larger], mix=True).versus[0]
    assert [row.problem for row in mixed.rows] == ["1/1"] and not mixed.others, "other sizes are another text"
    renamed = stored(tmp_path / "c", {"1/1": {}}, protocol_digest="e" * 16)
    with pytest.raises(UsageError, match="protocol_digest"):
        compare([strict, renamed])
    with pytest.raises(UsageError, match="two runs"):
        compare([strict])


def test_a_problem_with_another_text_is_in_no_figure(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", {"1/1": {}, "1/2": {}})
    later = stored(tmp_path / "b", {"1/1": {"problem_digest": "0" * 16}, "1/2": {}})
    versus = compare([first, later]).versus[0]
    assert [row.problem for row in versus.rows] == ["1/2"]
    assert set(versus.others) == {"1/1"}


def test_several_samples_are_averaged_or_the_best_is_taken(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", {"1/1": {"speedup": 1.0}})
    later = stored(
        tmp_path / "b", {"1/1": {"speedup": 1.0}, "1/1#1": {"speedup": 4.0}, "1/1#2": {"outcome": "rejected"}}
    )
    assert compare([first, later]).versus[0].rows[0].ratio == pytest.approx(2.0)
    assert compare([first, later], best=True).versus[0].rows[0].ratio == pytest.approx(4.0)


def test_each_run_says_how_much_of_it_was_refused(tmp_path: Path) -> None:
    forged, fallen_back = ({"outcome": "rejected", "rule": rule} for rule in ("forged_time", "torch_fallback"))
    first = {"1/1": {}, "1/2": forged, "1/3#0": fallen_back, "1/3#1": {}, "1/4": {}}
    runs = [
        stored(tmp_path / "first", first),
        stored(tmp_path / "later", {f"1/{number}": {} for number in range(1, 5)}),
    ]
    found = compare(runs)
    assert [side.refused.share for side in found.sides] == [(0 + 1 + 0.5 + 0) / 4, 0.0]
    assert found.sides[0].refused.samples_by_class == {"timing": 1, "rules": 1}
    console = Console(width=100, file=io.StringIO())
    console.print(render(found))
    printed = console.file.getvalue()  # type: ignore[attr-defined]
    assert "37.5 %" in printed and "timing 1, rules 1" in printed and "0.0 %" in printed


def test_across_machines_it_says_which_wins_are_kept(tmp_path: Path) -> None:
    here = stored(tmp_path / "h200", {f"1/{n}": {"speedup": 1.5} for n in range(1, 5)} | {"1/5": {"speedup": 0.8}})
    there = {"1/1": 1.4, "1/2": 1.0, "1/3": 0.7, "1/5": 1.3}
    other = stored(tmp_path / "h100", {p: {"speedup": s, "environment": H100} for p, s in there.items()})
    found = compare([here, other])
    assert found.hardware is not None
    h200, h100 = found.hardware.machines
    assert (h200, h100) == ("NVIDIA H200", "NVIDIA H100 80GB HBM3")
    kept = found.hardware.wins[h200][h100]
    assert (kept.here, kept.there, kept.interval) == (3, 1, wilson(1, 3))
    assert (found.hardware.wins[h100][h200].here, found.hardware.wins[h100][h200].there) == (2, 1)
    text = shown(found)
    assert "1 of 3 33 %" in text and "machines differ" in text
    assert compare([here, here]).hardware is None


def test_a_win_on_a_problem_that_does_not_count_is_none(tmp_path: Path) -> None:
    weak = {"speedup": 9.0, "trivial_answers": ("zeros",)}
    here = stored(tmp_path / "h200", {"1/1": {"speedup": 1.5}, "1/2": weak})
    there = {"1/1": {"speedup": 1.5, "environment": H100}, "1/2": weak | {"environment": H100}}
    other = stored(tmp_path / "h100", there)
    kept = compare([here, other]).hardware
    assert kept is not None
    assert [kernel.problem for kernel in kept.kernels] == ["1/1"]
    assert kept.wins["NVIDIA H200"]["NVIDIA H100 80GB HBM3"].here == 1


def shown(found: Any, every: bool = False) -> str:
    console = Console(width=100, file=io.StringIO())
    with console.capture() as capture:
        console.print(render(found, every))
    return capture.get()


def test_the_tables_fit_100_columns_and_print_markup_as_text(tmp_path: Path) -> None:
    first = stored(tmp_path / "a", {f"1/{n}": {"speedup": 1.0, "problem_name": "[red]x" * 3} for n in range(1, 30)})
    later = stored(tmp_path / "b", {f"1/{n}": {"speedup": 1 + n / 100} for n in range(1, 30)}, contestant="[bold]y")
    text = shown(compare([first, later]), every=True)
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "[bold]y" in text and "[red]x[red]x" in text
    assert text.count("\n  1/") == 29
    assert shown(compare([first, later])).count("\n  1/") == 28


def test_the_command(tmp_path: Path) -> None:
    for name, speedup in (("a", 1.0), ("b", 2.0), ("c", 0.5)):
        stored(tmp_path / name, {"1/1": {"speedup": speedup}})
    folders = [str(tmp_path / name) for name in "abc"]
    done = command_here("compare", *folders, "--json")
    assert done.returncode == 0, done.stderr
    assert [versus["rows"][0]["verdict"] for versus in json.loads(done.stdout)["versus"]] == ["faster", "slower"]
    alone = command_here("compare", folders[0])
    assert alone.returncode == 2 and "two runs" in alone.stderr
    table = command_here("compare", *folders)
    assert "b against a" in table.stdout and "c against a" in table.stdout

"""Runs of a contestant become the table of its kernels and the page of what is left to gain, from committed files."""

from __future__ import annotations

import json
import lzma
from datetime import UTC, datetime
from pathlib import Path
from types import ModuleType
from typing import Any

import pytest
from factories import BOUND, make_answer, make_baseline, make_header

from kernelgauge.errors import StoreError
from kernelgauge.schema import MODES, BaselineSpeedup
from kernelgauge.store.codec import encode
from kernelgauge.store.run import Run

ROOT = Path(__file__).parents[2]


@pytest.fixture
def results(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    """A program, which finds its neighbours in its own folder."""
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))
    import results as module

    return module


def over_compile(speedup: float) -> dict[str, Any]:
    measured = datetime(2026, 11, 20, tzinfo=UTC)
    interval = (speedup * 0.99, speedup * 1.01)
    mode = BaselineSpeedup(mode="compile", strongest=True, speedup=speedup, interval=interval, measured=measured)
    return {"baseline_speedups": (mode,), "bound": BOUND}


@pytest.fixture
def expert(tmp_path: Path) -> Path:
    run = Run.create(tmp_path / "expert", make_header(contestant="expert", problems=("1/12", "1/30", "1/49", "2/14")))
    for problem, changes in {
        "1/12": {"speedup": 4.0, **over_compile(2.0)},
        "1/30": {"speedup": 1.31, "spread": 0.02, **over_compile(0.9)},
        "1/49": {"speedup": 0.8, "bound": BOUND},
        "2/14": {"speedup": None, "outcome": "wrong_precision"},
    }.items():
        run.append(*make_answer(problem, contestant="expert", math="ieee", **changes))
    return run.path


def test_the_table_of_expert_counts_and_shows_pytorchs_fastest_mode(
    results: ModuleType, expert: Path, tmp_path: Path
) -> None:
    from expert_page import expert as blocks
    from expert_page import wins
    from page_blocks import markdown

    folder = tmp_path / "h100"
    folder.mkdir()
    results.written(folder, "expert_strict", str(expert))
    text = markdown(blocks(folder))
    assert "### Under strict" in text and "`results/h100/expert_strict.json`" in text
    assert "of 4 judged 3 right; against eager 2 faster, 1 slower; 1 faster by more than 1.3" in text
    assert "1 are faster than PyTorch's fastest mode, 1 by more than 1.3 in all of the interval" in text
    assert "2/14 (wrong precision)" in text
    assert "| 1/12 | 2 | 0.5 | 4.00 (3.96 to 4.04) | compile | 1 | 2.00 | 50% | memory |" in text
    assert text.index("| 1/12 | 2 ") < text.index("| 1/49 | 2 "), "the largest first"

    other = tmp_path / "h200"
    other.mkdir()
    (other / "expert_strict.json").write_text(
        (folder / "expert_strict.json").read_text().replace("NVIDIA H200", "NVIDIA B200").replace("2/14", "1/99")
    )
    text = markdown(wins([folder, other]))
    assert "| what | paper | problem | H200, strict | B200, strict |" in text
    assert "| product with a diagonal matrix | 13.0 | 1/12 | 4.00 (3.96 to 4.04) | 4.00 (3.96 to 4.04) |" in text
    assert "| softsign | 1.3 | 1/30 | 1.31" in text and "triplet" not in text, "what has no time is left out"


def test_what_is_left_to_gain_comes_from_several_runs(results: ModuleType, expert: Path, tmp_path: Path) -> None:
    from headroom_page import blocks
    from page_blocks import markdown

    baselines = Run.create(tmp_path / "baselines", make_header(contestant="pytorch", problems=("1/30",)))
    near = BOUND.model_copy(update={"bound_ms": 1.95, "bytes_ms": 1.95, "headroom": 2.0 / 1.95})
    changes = {"speedup": 1.0, "sample": MODES.index("eager"), "bound": near, "math": "ieee"}
    baselines.append(*make_answer("1/3", contestant="pytorch", **changes))
    folder = tmp_path / "h100"
    folder.mkdir()
    path = results.written(folder, "headroom", f"{expert}+{baselines.path}")
    content = json.loads(path.read_text())
    assert [row["problem"] for row in content["rows"]] == ["1/3", "1/12", "1/30", "1/49"]
    assert content["figures"]["held"] == {"PyTorch, eager": 2, "expert": 1, "PyTorch, compile": 1}
    assert content["figures"]["hopeless"] == ["1/3"] and content["figures"]["to_win"]["1.05"] == 1
    text = markdown(blocks(content))
    assert "by more than 5 % over PyTorch's fastest mode on 1: 1/3." in text
    assert len(content["figures"]["missing"]) == 246 and "246 have no bound in these runs: 1/1, 1/2, 1/4" in text
    assert "| nobody can win by more than 5 % |" in text and "| expert | 1.00x |" in text
    assert "What is left to gain" in markdown(results.parts(folder)), "the page of the machine has it too"
    (folder / "peaks.json").write_text((ROOT / "results" / "h200" / "peaks.json").read_text())
    by_these = json.loads(results.written(folder, "headroom", f"{expert}+{baselines.path}").read_text())
    assert by_these["figures"]["peaks"] == ["measured"]
    assert by_these["rows"][0]["bound_ms"] < 0.001 < content["rows"][0]["bound_ms"], "of the work in the record"
    (folder / "baselines.jsonl.xz").write_bytes(lzma.compress(f"{encode(make_baseline('1/49'))}\n".encode()))
    compared = json.loads(results.written(folder, "headroom", str(expert)).read_text())
    assert [row["strongest"] for row in compared["rows"]] == ["compile"] * 3, "two of records, one of the file"
    board = json.loads(results.written(folder, "expert_strict", str(expert)).read_text())
    assert board["rows"][2]["speedup_over_strongest"] == pytest.approx(0.8 / 1.25)
    with pytest.raises(StoreError, match="no run"):
        results.written(folder, "headroom", f"{expert}+{tmp_path / 'nowhere'}")


def test_committed_files_become_pages() -> None:
    """What docs/ shows is read from results/ when the site is built."""
    import sys

    sys.path.insert(0, str(ROOT / "docs" / "_ext"))
    try:
        import generated
    finally:
        sys.path.remove(str(ROOT / "docs" / "_ext"))
    assert "### Under quick" in generated.PARTS["expert"]() or "### Under strict" in generated.PARTS["expert"]()
    assert "| 1/12 | " in generated.PARTS["expert-wins"]() and "in Triton" in generated.PARTS["expert-variants"]()
    assert "| 3/50 |" in generated.PARTS["headroom"]()

"""The same kernels on two cards: run folders become one file, and the file says which wins are kept."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from factories import make_answer, make_environment, make_header

from kernelgauge.store.run import Run

PROGRAM = Path(__file__).parents[2] / "benchmarks" / "cards.py"
H100, H200 = "NVIDIA H100 80GB HBM3", "NVIDIA H200"
SPEEDUPS: dict[str, dict[str, float | None]] = {
    H100: {"1/1": 2.0, "1/2": 0.9, "1/3": 1.5, "1/4": 1.5, "1/5": None},
    H200: {"1/1": 3.0, "1/2": 1.2, "1/3": 1.5, "1/5": 2.0},
}


def judged(folder: Path, gpu: str) -> Path:
    speedups = SPEEDUPS[gpu]
    run = Run.create(folder / gpu.replace(" ", "_"), make_header(contestant="expert", problems=tuple(speedups)))
    for problem, speedup in speedups.items():
        outcome = "passed" if speedup else "out_of_memory"
        changes = {"contestant": "expert", "environment": make_environment(gpu=gpu)}
        run.append(*make_answer(problem, speedup=speedup, outcome=outcome, **changes))
    run.close()
    return run.path


def test_wins_that_the_other_card_keeps_and_turns_around(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    runs = [str(judged(tmp_path, gpu)) for gpu in (H100, H200)]
    out = tmp_path / "cards.json"
    subprocess.run([sys.executable, str(PROGRAM), str(out), *runs], check=True, timeout=120)
    content = json.loads(out.read_text())
    assert len(content["groups"]) == 1
    assert [kernel["problem"] for kernel in content["rows"]] == ["1/1", "1/2", "1/3", "1/5"]
    monkeypatch.syspath_prepend(str(PROGRAM.parent))
    from cards import blocks
    from page_blocks import markdown

    text = markdown(blocks(content))
    assert "4 texts were judged on both" in text
    assert f"Of 2 that are faster than eager on the {H100}, 2 are faster on the {H200} too (100 %" in text
    assert f"Of 4 that are faster than eager on the {H200}, 2 are faster on the {H100} too (50 %" in text
    differing = text.partition("stand differently")[2].partition("Of 2 that are faster on both")[0]
    assert "| 1/2 " in differing and "slower, 0.9" in differing and "out of memory" in differing
    assert "1/1 " not in differing and "1/3 " not in differing
    assert text.rstrip().splitlines()[-2].endswith("| 1.50 |")


def test_runs_of_one_machine_have_nothing_to_compare(tmp_path: Path) -> None:
    run = str(judged(tmp_path, H100))
    done = subprocess.run([sys.executable, str(PROGRAM), str(tmp_path / "out"), run], capture_output=True, text=True)
    assert (
        done.returncode == 2
        and "Traceback" not in done.stderr
        and "on different machines" in done.stderr
        and not (tmp_path / "out").exists()
    )

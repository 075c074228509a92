"""GRPO beside its judge: what is due to each cheat, that cheats are judged so, and the whole program on a CPU."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from argparse import Namespace
from pathlib import Path

import pytest
from environments import python_of

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from kernelgauge.training import Judge

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
HONEST = [8.0, 8.4, 8.6, 8.8, 8.7, 8.5]


@pytest.fixture(autouse=True)
def beside_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They import each other, as when they are run."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


@pytest.mark.parametrize(("device", "kinds"), [("cpu", 3), ("cuda", 5)])
def test_every_cheat_has_what_is_due_to_it(device: str, kinds: int) -> None:
    from grpo_cheats import CHEATS_DUE
    from grpo_on_one_gpu import CHOSEN, group

    made = group(Namespace(device=device, problem="1/88", sizes="small"))
    cheats = [arm for arm in made if arm.kind == "cheat"]
    assert [arm.name for arm in made[:3]] == list(CHOSEN) and len(cheats) == kinds
    assert {arm.name for arm in cheats} <= set(CHEATS_DUE) and (device == "cpu" or len(cheats) == len(CHEATS_DUE))
    for arm in made:
        compile(arm.text, arm.name, "exec")


def test_what_is_due() -> None:
    from grpo_cheats import RIGHT_AND_NO_FASTER, WORTHLESS, WRONG_OR_NO_FASTER, as_due

    assert as_due(WORTHLESS, [0.0, -0.3, None], HONEST)
    assert not as_due(WORTHLESS, [0.0, 0.4], HONEST) and not as_due(WORTHLESS, [None], HONEST)
    assert as_due(WRONG_OR_NO_FASTER, [0.0, 7.9, 0.0], HONEST) and as_due(WRONG_OR_NO_FASTER, [0.0], HONEST)
    assert not as_due(WRONG_OR_NO_FASTER, [0.0, 12.0], HONEST) and not as_due(WRONG_OR_NO_FASTER, [8.0], [8.0, None])
    assert as_due(RIGHT_AND_NO_FASTER, [8.5, 8.7], HONEST) and as_due(RIGHT_AND_NO_FASTER, [5.0, None], HONEST)
    assert not as_due(RIGHT_AND_NO_FASTER, [8.5, 0.0], HONEST), "a cheat that fails has not been tried"
    assert as_due(RIGHT_AND_NO_FASTER, [9.2], HONEST) and not as_due(RIGHT_AND_NO_FASTER, [9.2] * 20, HONEST)


@pytest.mark.processes
@pytest.mark.nightly
def test_a_cheat_that_a_cpu_can_try_earns_nothing() -> None:
    from grpo_cheats import FALLBACK
    from grpo_on_one_gpu import group

    cheats = [arm for arm in group(Namespace(device="cpu", problem="1/88", sizes="small")) if arm.kind == "cheat"]
    with Judge(device="cpu", sizes="small", jobs=2) as judge:
        answers = asyncio.run(judge.batch([{"problem": "1/88", "text": arm.text} for arm in cheats]))
    found = {arm.name: (each["outcome"], each["reward"]) for arm, each in zip(cheats, answers, strict=True)}
    assert found.pop(FALLBACK) == ("rejected", -0.3)
    assert set(found.values()) == {("wrong_value", 0.0)}


@pytest.mark.processes
@pytest.mark.nightly
@pytest.mark.timeout(600)
def test_the_whole_program_on_a_cpu(tmp_path: Path) -> None:
    """With TRL's own trainer, from its environment."""
    out = tmp_path / "grpo.json"
    line = [sys.executable, str(BENCHMARKS / "grpo_on_one_gpu.py"), "--device", "cpu", "--sizes", "small"]
    line += ["--steps", "2", "--alone", "2", "--jobs", "2", "--python", str(python_of("trl")), "--out", str(out)]
    done = subprocess.run(line, capture_output=True, text=True, env=dict(os.environ))
    assert done.returncode == 0, done.stdout + done.stderr
    found = json.loads(out.read_text())
    cheats = {name: row for name, row in found["answers"].items() if row["kind"] == "cheat"}
    assert found["steps"] == 2 and len(cheats) == 3
    assert all(row["as_due"] and max(row["rewards"]) <= 0.0 for row in cheats.values()), cheats
    assert cheats["PyTorch where its kernel fails"]["outcomes"] == {"rejected": 2}

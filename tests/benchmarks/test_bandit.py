"""The bandit: it learns what is paid, leaves out what has no verdict, and its cheats are cheats."""

from __future__ import annotations

import asyncio
import json
import math
from pathlib import Path
from xml.etree import ElementTree

import pytest

from kernelgauge.problems.loader import load_problem
from kernelgauge.training import Judge

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
REWARDS = [3.0, 2.5, *[1.3, 0.5, 0.4, 0.4], *[0.0] * 6, *[0.0, 0.0, -0.3, -0.3]]


@pytest.fixture(autouse=True)
def beside_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They import each other, as when they are run."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_the_policy_learns_what_is_paid() -> None:
    import torch
    from bandit import ENOUGH, trained

    history = trained(torch.tensor([REWARDS, REWARDS]), steps=200, group=16, rate=0.05, seed=0)
    first, last = history[0], history[-1]
    assert len(history) == 201 and first["fast"] == pytest.approx(2 / 16) and first["cheat"] == pytest.approx(4 / 16)
    assert last["fast"] > ENOUGH and last["cheat"] < 0.01 and last["reward"] > 2.0 > first["reward"]


def test_a_cheat_that_is_paid_is_learnt_and_no_verdict_is_no_zero() -> None:
    """What the picture would show of a reward with a hole; and what has no verdict is as probable as before."""
    import torch
    from bandit import trained

    paid = [*REWARDS[:12], 6.0, *REWARDS[13:]]
    assert trained(torch.tensor([paid]), 200, 16, 0.05, 0)[-1]["cheat"] > 0.9
    unknown = [-1.0] * 12 + [math.nan] * 4
    last = trained(torch.tensor([unknown]), 200, 16, 0.05, 0)[-1]
    assert last["cheat"] == pytest.approx(0.25, abs=0.05), "a zero would have been the best paid of all"


def lines(svg: str) -> dict[str, list[list[tuple[float, float]]]]:
    """The points of every line of a picture, by what it shows."""
    found: dict[str, list[list[tuple[float, float]]]] = {}
    for each in ElementTree.fromstring(svg):
        if each.tag.endswith("polyline"):
            points = [point.split(",") for point in each.attrib["points"].split()]
            found.setdefault(each.attrib["class"], []).append([(float(x), float(y)) for x, y in points])
    return found


def test_the_picture_has_a_line_for_each_seed_and_for_the_reward_and_each_kind() -> None:
    import torch
    from bandit import trained
    from bandit_picture import picture

    runs = [trained(torch.tensor([REWARDS]), 5, 4, 0.05, seed) for seed in range(3)]
    found = lines(picture(runs))
    assert set(found) == {"reward", "fast", "slow", "wrong", "cheat"}
    assert all(len(each) == 3 and all(len(line) == 6 for line in each) for each in found.values())
    assert max(y for line in found["reward"] for _, y in line) < min(y for line in found["fast"] for _, y in line)


def test_the_reward_has_its_own_axis_and_straight_ends_are_cut() -> None:
    from bandit_picture import picture, shown_steps

    kinds = {"fast": 0.5, "slow": 0.5, "wrong": 0.0, "cheat": 0.0}
    run = [{"reward": min(step, 8) * 0.5 - 1.0, **kinds} for step in range(201)]
    assert shown_steps([run]) == 20 and shown_steps([[*run[:200], {**run[0]}]]) == 200, "it moves until the end"
    svg = picture([run])
    (line,) = lines(svg)["reward"]
    ticks = {each.text: float(each.attrib["y"]) - 4 for each in ElementTree.fromstring(svg) if each.text}
    assert len(line) == 21 and "the first 20 of 200" in svg
    assert (line[0][1], line[8][1]) == (ticks["-1"], ticks["3"]) and line[8][1] == line[20][1]


def test_the_stored_picture_is_of_the_stored_run() -> None:
    from bandit_picture import picture

    folder = BENCHMARKS.parent / "results" / "h100"
    runs = json.loads((folder / "bandit.json").read_text())["runs"]
    assert (folder / "bandit.svg").read_text() == picture(runs)


@pytest.mark.processes
@pytest.mark.nightly
def test_every_answer_is_what_it_was_made_to_be() -> None:
    """All but its speed: at small sizes and on a busy machine nothing is known of that."""
    from bandit_arms import arms

    made = arms(load_problem("1/88", sizes="small"), "cpu")
    with Judge(device="cpu", sizes="small", jobs=2) as judge:
        answers = asyncio.run(judge.batch([{"problem": "1/88", "text": arm.text} for arm in made]))
    assert all(each["status"] == "verdict" for each in answers)
    right = {arm.name: arm.kind for arm, each in zip(made, answers, strict=True) if each["outcome"] == "passed"}
    assert right == {arm.name: arm.kind for arm in made if arm.kind in ("fast", "slow")}
    earned = {arm.name: each["reward"] for arm, each in zip(made, answers, strict=True) if arm.kind == "cheat"}
    assert sorted(earned.values()) == [-0.3, -0.3, 0.0, 0.0]

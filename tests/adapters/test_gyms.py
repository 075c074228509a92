"""SkyRL's environments and Tinker's cookbook over a real judge: the same rewards for the same answers."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from environments import written_by
from kernelgauge_client import PARTS, Judge
from replies import CHEAT, GOOD, LONG, NONE, WRONG

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun

_PROGRAMS = Path(__file__).parent / "programs"
pytestmark = [
    pytest.mark.processes,
    pytest.mark.proof(
        "client", "serve/judge_api.py", "tests/adapters/programs", "tests/adapters/environments", unit="gyms"
    ),
]
_NOBODY = {"server": "http://127.0.0.1:9", "patience_s": 0.5}


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


@pytest.fixture(scope="module")
def good(server: Server) -> float:
    """What the right answer earns in a turn."""
    answer = asyncio.run(Judge(server.address, server.token)("1/19", GOOD))
    assert answer["outcome"] == "passed"
    return float(answer["reward"])


def test_skyrl_makes_episodes_of_turns(server: Server, good: float, tmp_path: Path) -> None:
    asked = {"server": server.address, "token": server.token}
    row = {"problem": "1/19", "max_turns": 2}
    cheating = {
        "env_config": asked,
        "extras": {"reward_spec": {"ground_truth": "1/19"}},
        "replies": [GOOD, CHEAT, NONE],
    }
    late = {"env_config": {**asked, "deadline_s": 0.001, "within_s": 0.0}, "replies": [f"{GOOD}# another\n"]}
    episodes = [
        {"env_config": asked, "extras": row, "replies": [WRONG, GOOD]},
        cheating,
        {"env_config": asked, "extras": {"problem": "9/99"}, "replies": [GOOD]},
        {"env_config": {**asked, "token": "kg_no"}, "extras": row, "replies": [GOOD]},
        {"env_config": {**asked, **_NOBODY}, "extras": row, "replies": [GOOD]},
        {"env_config": asked, "extras": {}, "replies": []},
        {**late, "extras": row},
        {**late, "extras": row, "env_config": {**late["env_config"], "without_verdict": -1.0}},
        {"env_config": asked, "extras": {**row, "max_turns": 1}, "replies": [LONG]},
    ]
    two, three, unknown, token, nobody, nameless, dropped, counted, long = written_by(
        "trl", _PROGRAMS / "skyrl_episodes.py", tmp_path, episodes=episodes
    )
    assert two["begun"] and [each["done"] for each in two["steps"]] == [False, True]
    # Kevin: R_0 = S_0 + 0.4 S_1 + 0.16 S_2, to which the rewards of the turns add up.
    assert [each["reward"] for each in two["steps"]] == pytest.approx([0.0, 0.4 * good])
    assert [each["metadata"]["reward"] for each in two["steps"]] == pytest.approx([0.0, good])
    assert [each["reward"] for each in three["steps"]] == pytest.approx([good, 0.4 * -0.3, 0.0])
    ((told,), nothing) = (each["observations"] for each in two["steps"])
    assert told["role"] == "user" and "wrong" in told["content"].lower() and nothing == []
    assert tuple(two["metrics"]) == PARTS and two["metrics"]["correct"] == 1.0
    assert unknown["raised"].startswith("Refused: ") and "no problem is called '9/99'" in unknown["raised"]
    assert token["raised"].startswith("Refused: ") and "that is no token of this server" in token["raised"]
    assert nobody["raised"].startswith("NoServer: no server answers at http://127.0.0.1:9")
    assert "names no problem" in nameless["raised"]
    assert dropped["raised"].startswith("NoVerdict: problem 1/19 has no verdict: ")
    assert [(each["reward"], each["done"]) for each in counted["steps"]] == [(-1.0, True)]
    assert "write a shorter file" in long["steps"][0]["metadata"]["reason"]


def test_tinkers_groups_are_pickled_and_leave_out_what_has_no_verdict(
    server: Server, good: float, tmp_path: Path
) -> None:
    asked: dict[str, Any] = {"server": server.address, "token": server.token, "problem": "1/19", "size": 1}
    broken = {"within_s": 0.0, "script": [f"{GOOD}# never judged\n"]}
    groups = [
        {**asked, "pickled": True, "script": [WRONG, GOOD]},
        {**asked, "script": [GOOD, CHEAT]},
        {**asked, **broken},
        {**asked, **broken, "tolerant": True},
        {**asked, "problem": "9/99", "script": [GOOD]},
        {**asked, "token": "kg_no", "script": [GOOD]},
        {**asked, **_NOBODY, "script": [GOOD]},
        {**asked, "script": [LONG, GOOD]},
    ]
    late, cheat, raised, dropped, unknown, token, nobody, long = written_by(
        "verl", _PROGRAMS / "tinker_rollouts.py", tmp_path, groups=groups
    )
    assert late["rewards"] == [pytest.approx([0.0, 0.4 * good])] and late["totals"] == pytest.approx([0.4 * good])
    assert cheat["rewards"] == [pytest.approx([good, 0.4 * -0.3])]
    assert {f"kernelgauge/{name}" for name in PARTS} <= late["metrics"].keys()
    assert late["logs"][0][1]["turn_reward"] == pytest.approx(good)
    first, second = late["seen"]
    assert "Write a ReLU." in first and second.startswith(first) and WRONG.strip() in second
    assert "wrong" in second.removeprefix(first).lower(), "the feedback is in the second prompt"
    assert raised["raised"].startswith("NoVerdict: problem 1/19 has no verdict: ")
    assert dropped["raised"].startswith("AllTrajectoriesFailedError: "), "the group is dropped, and training goes on"
    assert "no problem is called '9/99'" in unknown["raised"] and "`kernelgauge serve`" in nobody["raised"]
    assert token["raised"].startswith("Refused: ") and "that is no token of this server" in token["raised"]
    assert long["rewards"] == [pytest.approx([0.0, 0.4 * good])] and "write a shorter file" in long["seen"][1]

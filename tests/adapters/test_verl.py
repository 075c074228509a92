"""verl's reward managers over a real judge: always a number, always the same keys, asked again where it failed."""

from __future__ import annotations

import signal
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from environments import written_by
from kernelgauge_client import PARTS
from replies import CHEAT, GOOD, LONG, NONE, SLOW, WRONG

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun
from waiting import comes_true

_PROGRAM = Path(__file__).parent / "programs" / "verl_rewards.py"
_KEYS = {"score", "acc", *PARTS}
pytestmark = [
    pytest.mark.processes,
    pytest.mark.proof(
        "client", "serve/judge_api.py", "tests/adapters/programs", "tests/adapters/environments/verl.txt", unit="verl"
    ),
]


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


def same_keys(rows: list[dict[str, Any]]) -> bool:
    """Whether every answer has a number under every key, as verl needs it."""
    infos = [each["reward_extra_info"] for each in rows]
    assert all(info["score"] == each["reward_score"] for info, each in zip(infos, rows, strict=True))
    return all(info.keys() == _KEYS and all(isinstance(v, float) for v in info.values()) for info in infos)


def test_every_answer_has_a_number_under_the_same_keys(server: Server, tmp_path: Path) -> None:
    settings = {"server": server.address, "token": server.token, "reward": "interval"}
    step = {"over": "eager", "at_least": 1000.0, "adds": 1.0}
    own = {"name": "mine", "correct": 2.0, "failures": {"wrong": 0.5}, "steps": [step]}
    nobody = {**settings, "server": "http://127.0.0.1:9", "patience_s": 0.5, "without_verdict": -1.0}
    naive = {"manager": "naive", "settings": settings}
    steps: list[dict[str, Any]] = [
        {**naive, "texts": [GOOD, WRONG, CHEAT, NONE, LONG]},
        {"manager": "remote", "settings": settings, "texts": [GOOD, NONE]},
        {**naive, "settings": {**settings, "reward": own}, "texts": [WRONG]},
        {**naive, "texts": [GOOD], "problem": "9/99"},
        {**naive, "texts": [GOOD], "settings": {**settings, "token": "kg_no"}},
        {**naive, "texts": [GOOD], "settings": nobody},
        {**naive, "texts": [GOOD], "settings": {"server": "", "token": ""}},
        {**naive, "texts": [f"{SLOW}# too late\n"], "settings": {**settings, "within_s": 0.5}},
    ]
    written = written_by("verl", _PROGRAM, tmp_path, steps=steps)
    rows = [row for step in written["steps"] for row in step]
    assert same_keys(rows)
    good, wrong, cheat, none, long, remote, remote_none, other, *failed = (row["reward_score"] for row in rows)
    assert good == remote > 0.3 and cheat == -0.3 and wrong == none == long == remote_none == 0.0 and other == 0.5
    assert failed == [0.0, 0.0, -1.0, 0.0, 0.0]
    assert [row["reward_extra_info"]["verdict"] for row in rows] == [1.0] * 8 + [0.0] * 5
    for said, sentence in zip(
        written["said"],
        (
            "problem 9/99 has no verdict, and scores 0: ",
            "that is no token of this server",
            "problem 1/19 has no verdict, and scores -1: no server answers at http://127.0.0.1:9",
            "set KERNELGAUGE_SERVER",
            "the judge has not answered in the time it was given",
        ),
        strict=True,
    ):
        assert sentence in said


def test_a_server_that_is_killed_is_asked_again(server: Server, tmp_path: Path) -> None:
    settings = {"server": server.address, "token": server.token, "patience_s": 1.0, "within_s": 200.0}
    steps = [{"manager": "naive", "settings": settings, "texts": [SLOW, GOOD]}]
    before = server.states().total()  # one that an earlier test gave up may still be judged
    with ThreadPoolExecutor() as pool:
        running = pool.submit(written_by, "verl", _PROGRAM, tmp_path, steps=steps)
        assert comes_true(lambda: running.done() or server.states().total() > before, 200) and not running.done()
        server.end(signal.SIGKILL)
        time.sleep(4.0)  # longer than the client's patience: its answer is that there is no verdict
        server.begin()
        written = running.result()
    assert same_keys(written["steps"][0]) and written["said"] == []
    slow, good = (row["reward_score"] for row in written["steps"][0])
    assert slow > 0.3 and good > 0.3

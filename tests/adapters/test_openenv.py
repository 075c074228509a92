"""OpenEnv: our environment server under OpenEnv's own client, and under verifiers' taskset for it."""

from __future__ import annotations

import asyncio
import json
import os
import socket
import subprocess
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest
from environments import python_of, written_by
from kernelgauge_client import PARTS, Judge
from policy import Messages, policy
from replies import CHEAT, GOOD, LONG, NONE, SLOW, WRONG

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun
from tasksets import evaluated, traces_of
from waiting import comes_true

_SUBJECT = ("client", "serve/judge_api.py", "serve/problem_api.py", "tests/adapters/environments/openenv.txt")
pytestmark = [pytest.mark.processes, pytest.mark.proof(*_SUBJECT, unit="openenv")]
_PROGRAM = Path(__file__).parent / "programs" / "openenv_sessions.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


def launched(server: Server, *words: str, **variables: str) -> tuple[subprocess.Popen[str], str]:
    """`kernelgauge-openenv` and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    line = [str(python_of("openenv").parent / "kernelgauge-openenv"), "--port", str(port), *words]
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = {"KERNELGAUGE_SERVER": server.address, "KERNELGAUGE_TOKEN": server.token, **variables}
    process = subprocess.Popen(line, env={**ours, **told}, stderr=subprocess.PIPE, text=True)
    return process, f"http://127.0.0.1:{port}"


@contextmanager
def served(server: Server, *words: str) -> Iterator[str]:
    process, address = launched(server, *words)
    try:
        assert comes_true(lambda: process.poll() is None and _listens(address), 120)
        yield address
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _listens(address: str) -> bool:
    with socket.socket() as asking:
        return asking.connect_ex(("127.0.0.1", int(address.rpartition(":")[2]))) == 0


def sessions(folder: Path, address: str, *each: Any, routes: Sequence[Any] = ()) -> Any:
    return written_by("openenv", _PROGRAM, folder, address=address, sessions=each, routes=routes)


def test_eight_sessions_at_once_each_have_their_own_problem(server: Server, tmp_path: Path) -> None:
    replies = [{"text": WRONG}, {"text": GOOD}]
    problems = [f"1/{number}" for number in range(19, 27)]
    with served(server, "--turns", "2") as address:
        found = sessions(tmp_path, address, *(({"problem": key}, replies) for key in problems))["sessions"]
    for key, each in zip(problems, found, strict=True):
        first, wrong, last = each["told"]
        assert {part["observation"]["problem"] for part in each["told"]} == {key} and each["state"]["problem"] == key
        assert first["observation"]["text"].startswith("# Task") and first["reward"] is None and not first["done"]
        assert (
            wrong["observation"]["outcome"] in ("wrong_value", "wrong_shape") and not wrong["done"] and last["done"]
        )
        right = last["observation"]["outcome"] == "passed"
        assert right == (key == "1/19") and each["state"]["step_count"] == 2
        own = [part["observation"]["turn_reward"] for part in (wrong, last)]
        assert wrong["reward"] + last["reward"] == pytest.approx(own[0] + 0.4 * own[1]), "`interval`, worked by hand"
        assert tuple(last["observation"]["parts"]) == PARTS and last["observation"]["parts"]["correct"] == right
    assert len({each["told"][0]["observation"]["text"] for each in found}) == len(problems)
    texts = [each["told"][1]["observation"]["text"] for each in found]
    assert len(set(texts)) > 1, "each is told of its own trial"


def test_whatever_a_policy_replies_has_a_verdict(server: Server, tmp_path: Path) -> None:
    """Connectors read replies as JSON: a policy could leave its turns out by writing some."""
    replies: list[Any] = [{"text": 5}, {"a": 1}, {"type": "list_tools"}, {"text": LONG}]
    with served(server) as address:
        (found,) = sessions(tmp_path, address, ({"problem": "1/19"}, replies))["sessions"]
        (cheat,) = sessions(tmp_path, address, ({"problem": "1/19"}, [{"text": CHEAT}]))["sessions"]
    assert [each["observation"]["outcome"] for each in found["told"][1:]] == ["no_candidate"] * 4
    assert [each["reward"] for each in found["told"][1:]] == [0.0] * 4 and found["told"][-1]["done"]
    assert cheat["told"][1]["reward"] == pytest.approx(-0.3)


@pytest.mark.proof("problems/facts/verified.json")  # it says which count
def test_tasks_are_the_problems_that_count(server: Server, tmp_path: Path) -> None:
    asked = [
        ("GET", "/kernelgauge/splits", None),
        ("POST", "/kernelgauge/num_tasks", {"split": "level2"}),
        ("POST", "/kernelgauge/tasks", {"split": "level2"}),
        ("POST", "/kernelgauge/task", {"split": "level1", "index": 18}),
        ("POST", "/kernelgauge/task_range", {"split": "level2", "start": 0, "stop": 2}),
        ("POST", "/kernelgauge/task", {"split": "level1", "index": 1000}),
        ("POST", "/kernelgauge/num_tasks", {"split": "test"}),
        ("GET", "/schema", None),
    ]
    resets = [{"split": "level1", "index": 18}, {"seed": 3}, {"seed": 3}, {"split": "level9"}]
    with served(server) as address:
        found = sessions(tmp_path, address, *((reset, []) for reset in resets), routes=asked)
    splits, number, tasks, task, some, none, unknown, schema = found["routes"]
    assert [each["name"] for each in splits[1]] == ["level1", "level2", "level3", "level4"]
    counting = [f"2/{each}" for each in range(1, 101) if each not in (80, 83)]  # two accept zeros for the answer
    assert [each["id"] for each in tasks[1]["tasks"]] == counting and number[1]["num_tasks"] == len(counting)
    assert task[1]["task"] == {
        "id": "1/19",
        "index": 18,
        "problem": "1/19",
        "name": "relu",
        "level": 1,
        "counts": True,
    }
    assert [each["id"] for each in some[1]["tasks"]] == ["2/1", "2/2"] and none[0] == unknown[0] == 400
    assert schema[1]["action"]["required"] == ["text"]
    by_index, one, same, wrong = (each["told"][0] for each in found["sessions"])
    assert by_index["observation"]["problem"] == "1/19" and one == same
    assert "there is no split 'level9': choose one of level1, level2" in wrong["error"]


def test_failures_are_errors_with_a_sentence(server: Server, tmp_path: Path) -> None:
    with served(server, "--deadline-s", "0.2") as address:
        asked = [({"problem": "9/99"}, []), ({"problem": "1/19"}, [{"text": SLOW}])]
        unknown, late = sessions(tmp_path, address, *asked)["sessions"]
    assert "no problem is called '9/99'" in unknown["told"][0]["error"]
    assert "problem 1/19 has no verdict, leave this episode out: " in late["told"][1]["error"]
    assert comes_true(lambda: not server.states()["judging"] and not server.states()["waiting"], 60)
    for variables, sentence in (
        ({"KERNELGAUGE_TOKEN": "kg_no"}, "401: that is no token of this server"),
        ({"KERNELGAUGE_SERVER": "http://127.0.0.1:9"}, "no server answers at http://127.0.0.1:9"),
    ):
        process, _ = launched(server, "--patience-s", "0.5", **variables)
        said = process.communicate(timeout=60)[1].splitlines()
        assert process.returncode == 1 and len(said) == 1 and sentence in said[0], said


def test_a_server_that_is_stopped_leaves_an_error_and_no_zero(server: Server, tmp_path: Path) -> None:
    asked = ({"problem": "1/19"}, [{"text": NONE}, {"text": f"{SLOW}# another\n"}])
    with served(server, "--patience-s", "1") as address, ThreadPoolExecutor(1) as beside:
        found = beside.submit(sessions, tmp_path, address, asked)
        assert comes_true(lambda: server.states()["judging"] > 0, 60)
        server.end()
        (lost,) = found.result()["sessions"]
    server.begin()
    _, none, error = lost["told"]
    assert none["reward"] == 0.0
    assert "problem 1/19 has no verdict" in error["error"] and "has not answered for 1 s" in error["error"]


def played(address: str, url: str, out: Path, *problems: str) -> list[dict[str, Any]]:
    """The traces of verifiers' own taskset. Its client is older than the server: verifiers' mcp allows no other."""
    resets = ", ".join(f'{{problem = "{key}"}}' for key in problems)
    file = out / "taskset.toml"  # on the command line 0.4.0 takes no taskset that needs a setting
    file.write_text(
        f'[env.taskset]\nid = "openenv"\nbase_url = "{address}"\nresets = [{resets}]\n'
        '[env.player]\nharness.id = "null"\nruntime.type = "subprocess"\n'
    )
    return traces_of(evaluated(url, out / "traces", "@", str(file)), out)


@pytest.mark.proof("tests/adapters/environments/verifiers.txt")
def test_verifiers_taskset_has_the_return_and_an_error_where_the_server_stops(server: Server, tmp_path: Path) -> None:
    asked: list[Messages] = []

    def reply(messages: Messages) -> str:
        asked.append(messages)
        if "torch.sigmoid(x)" in messages[0]["content"]:
            server.end()
        return (WRONG, GOOD)[len(messages) // 2]

    with policy(reply) as url, served(server, "--turns", "2", "--patience-s", "1") as address:
        played_out, lost = played(address, url, tmp_path, "1/19", "1/21")
    server.begin()
    good = asyncio.run(Judge(server.address, server.token)("1/19", GOOD.strip()))["reward"]
    by_hand = 0.0 + 0.4 * good  # `interval`
    assert (
        played_out["rewards"]["openenv_reward"]["score"] == pytest.approx(by_hand) and played_out["ok"] and good > 0
    )
    first, second = (json.loads(messages[-1]["content"])["observation"] for messages in asked[:2])
    assert first["text"].startswith("# Task") and second["outcome"] == "wrong_value" and " is right" in second["text"]
    assert not lost["ok"] and not lost["rewards"] and len(asked) == 3, lost["rewards"]
    (error,) = lost["errors"]
    assert "problem 1/21 has no verdict" in error["message"] and "has not answered for 1 s" in error["message"]

"""The taskset for verifiers by `vf-eval` itself, in an environment of its own, against a real server."""

from __future__ import annotations

import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from policy import Messages, policy
from replies import CHEAT, GOOD, LONG, NONE, SLOW, WRONG

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun
from tasksets import evaluated, traces_of
from waiting import comes_true

pytestmark = [
    pytest.mark.processes,
    pytest.mark.proof(
        "client",
        "serve/judge_api.py",
        "serve/problem_api.py",
        "tests/adapters/environments/verifiers.txt",
        unit="verifiers",
    ),
]
_RELU, _SIGMOID = "torch.relu(x)", "torch.sigmoid(x)"
"""What the references of problems 1/19 and 1/21 compute: a prompt shows its reference."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


def vf_eval(server: Server, url: str, out: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    told = {"KERNELGAUGE_SERVER": server.address, "KERNELGAUGE_TOKEN": server.token}
    line = ["kernelgauge-verifiers", "--env.agent.harness.id", "null", "--env.agent.runtime.type", "subprocess"]
    return evaluated(url, out, *line, *words, **{**told, **variables})


def traces(server: Server, url: str, out: Path, *words: str) -> list[dict[str, Any]]:
    return traces_of(vf_eval(server, url, out, *words), out)


def test_named_rewards_come_from_turns_with_feedback(server: Server, tmp_path: Path) -> None:
    asked: list[Messages] = []

    def reply(messages: Messages) -> str:
        asked.append(messages)
        if _SIGMOID in messages[0]["content"]:
            return (LONG, CHEAT)[len(messages) // 2]
        return (WRONG, GOOD)[len(messages) // 2]

    with policy(reply) as url:
        words = ["--env.taskset.problems", '["1/19", "1/21"]', "--env.taskset.task.turns", "2"]
        relu, sigmoid = traces(server, url, tmp_path, *words, "--env.taskset.task.rewards.correct.weight", "0.5")
    assert relu["ok"] and sigmoid["ok"] and not relu["errors"]
    outcomes = [[each["outcome"] for each in trace["info"]["kernelgauge"]] for trace in (relu, sigmoid)]
    assert outcomes == [["wrong_value", "passed"], ["no_candidate", "rejected"]]
    wrong, good = (each["reward"] for each in relu["info"]["kernelgauge"])
    # `interval`: R_0 = S_0 + 0.4 S_1, worked by hand; what has been weighed counts beside it.
    assert relu["rewards"]["trajectory"] == {"score": pytest.approx(wrong + 0.4 * good), "weight": 1.0}
    assert relu["rewards"]["correct"] == {"score": 1.0, "weight": 0.5} and good > 0.3 and wrong == 0
    assert relu["rewards"]["speedup_low"] == {"score": relu["metrics"]["speedup_low"], "weight": 0.0}
    assert relu["metrics"]["turns"] == 2 and relu["metrics"]["correct"] == relu["metrics"]["verdict"] == 1
    assert (
        sigmoid["rewards"]["trajectory"]["score"] == pytest.approx(0.4 * -0.3) and sigmoid["metrics"]["rejected"] == 1
    )
    first, second = asked[:2]
    assert first[0]["content"].startswith("# Task") and second[:2] == [
        *first,
        {"role": "assistant", "content": WRONG},
    ]
    assert second[2]["role"] == "user" and " is right" in second[2]["content"], "the value that the verdict names"


def test_a_server_that_stops_half_way_leaves_errors_and_no_zeros(server: Server, tmp_path: Path) -> None:
    def reply(messages: Messages) -> str:
        if _SIGMOID in messages[0]["content"]:
            server.end()
        return GOOD

    with policy(reply) as url:
        words = ["--env.taskset.problems", '["1/19", "1/21"]', "--env.taskset.task.turns", "1"]
        good, lost = traces(server, url, tmp_path, *words, "--env.taskset.task.patience-s", "1")
    server.begin()
    assert good["ok"] and good["rewards"]["trajectory"]["score"] > 0.3
    assert not lost["ok"] and not any(lost["rewards"].values()), lost["rewards"]
    (error,) = lost["errors"]
    assert error["type"] == "NoServer" and f"no server answers at {server.address}" in error["message"]


def test_no_verdict_is_an_error(server: Server, tmp_path: Path) -> None:
    with policy(lambda _: SLOW) as url:
        words = ["--env.taskset.problems", '["1/19"]', "--env.taskset.task.deadline-s", "0.2"]
        (lost,) = traces(server, url, tmp_path, *words)
    assert not lost["ok"] and not any(lost["rewards"].values())
    (error,) = lost["errors"]
    assert error["type"] == "NoVerdict" and error["message"].startswith("problem 1/19, turn 0: ")
    assert comes_true(lambda: not server.states()["judging"] and not server.states()["waiting"], 60)


def test_under_another_environment_the_last_reply_is_judged(server: Server, tmp_path: Path) -> None:
    with policy(lambda _: NONE) as url:
        words = ["--env.taskset.problems", '["1/19"]', "--env.id", "single-agent"]
        (none,) = traces(server, url, tmp_path, *words)
    assert none["ok"] and none["rewards"]["trajectory"]["score"] == 0 and none["metrics"]["turns"] == 1
    assert none["info"]["kernelgauge"][0]["outcome"] == "no_candidate"


def test_what_is_wrong_from_the_start_is_one_sentence(server: Server, tmp_path: Path) -> None:
    with policy(lambda _: NONE) as url:
        for words, variables, sentence in (
            (["--env.taskset.problems", '["9/99"]'], {}, "no problem is called '9/99'"),
            ([], {"KERNELGAUGE_TOKEN": "kg_no"}, "401: that is no token of this server"),
            ([], {"KERNELGAUGE_TOKEN": ""}, "a token is needed: set KERNELGAUGE_TOKEN"),
            (
                ["--env.taskset.task.patience-s", "0.5"],
                {"KERNELGAUGE_SERVER": "http://127.0.0.1:9"},
                "no server answers at http://127.0.0.1:9",
            ),
        ):
            done = vf_eval(server, url, tmp_path, "-n", "1", *words, **variables)
            assert done.returncode and sentence in (done.stderr or done.stdout).splitlines()[-1], done.stderr[-2000:]

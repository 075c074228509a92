"""The resources server for NeMo Gym, under its own agent and collector, in an environment of its own."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest
from environments import python_of, written_by
from policy import Messages, policy
from replies import GOOD, LONG, WRONG

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun

pytestmark = [
    pytest.mark.processes,
    pytest.mark.nightly,  # another Python, and half a minute until its servers listen
    pytest.mark.proof(
        "client",
        "serve/judge_api.py",
        "serve/problem_api.py",
        "tests/adapters/programs/nemo_gym_rollouts.py",
        "tests/adapters/environments/nemo-gym.txt",
        unit="nemo-gym",
    ),
]
_PROGRAM = Path(__file__).parent / "programs" / "nemo_gym_rollouts.py"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


def ports(number: int) -> list[int]:
    with ExitStack() as held:
        sockets = [held.enter_context(socket.socket()) for _ in range(number)]
        for each in sockets:
            each.bind(("127.0.0.1", 0))
        return [each.getsockname()[1] for each in sockets]


def write_rows(server: Server, file: Path, *words: str, **variables: str) -> subprocess.CompletedProcess[str]:
    line = [str(python_of("nemo-gym")), "-m", "kernelgauge_client.adapters.nemo_gym", str(file), *words]
    ours = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    told = {"KERNELGAUGE_SERVER": server.address, "KERNELGAUGE_TOKEN": server.token, **variables}
    return subprocess.run(line, env={**ours, **told}, capture_output=True, text=True, timeout=120)


def lines(file: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in file.read_text().splitlines()]


@pytest.mark.proof("problems/facts/verified.json")  # it says that 2/80 does not count
def test_rollouts_have_rewards_and_what_has_no_verdict_is_kept_apart(server: Server, tmp_path: Path) -> None:
    rows, rollouts, unknown = (tmp_path / f"{name}.jsonl" for name in ("rows", "rollouts", "unknown"))
    done = write_rows(server, rows, "--problems", "1/19,1/21,1/22,2/80")
    assert done.returncode == 0, done.stderr
    assert [row["problem"] for row in lines(rows)] == ["1/19", "1/21", "1/22", "2/80"]
    unknown.write_text(json.dumps({**lines(rows)[0], "problem": "9/99"}))

    def reply(messages: Messages) -> str:
        said = {"torch.sigmoid(x)": WRONG, "torch.tanh(x)": LONG}
        return next((text for computed, text in said.items() if computed in messages[0]["content"]), GOOD)

    head, agent, ours, wrong_token, nobody = ports(5)
    settings = {"server": server.address}
    servers = {
        "kernelgauge": {"port": ours, "settings": settings, "token": server.token},
        "wrong_token": {"port": wrong_token, "settings": settings, "token": "kg_no"},
        "nobody": {"port": nobody, "settings": {"server": "http://127.0.0.1:9", "patience_s": 0.5}, "token": "kg_no"},
    }
    asked = {
        "servers": servers,
        "ports": [head, agent],
        "collections": [[str(rows), str(rollouts)], [str(unknown), str(tmp_path / "none.jsonl")]],
        "verify": [["kernelgauge", "9/99"], ["wrong_token", "1/19"], ["nobody", "1/19"]],
    }
    with policy(reply) as url:
        port = int(url.rsplit(":", 1)[1].removesuffix("/v1"))
        found = written_by("nemo-gym", _PROGRAM, tmp_path, policy=port, **asked)
    good, wrong, long = lines(rollouts)
    (lost,) = lines(tmp_path / "rollouts_failures.jsonl")
    assert [each["outcome"] for each in (good, wrong, long)] == ["passed", "wrong_value", "no_candidate"]
    assert good["reward"] > 0.3 and good["correct"] == 1 and not good["mask_sample"] and wrong["reward"] == 0
    assert long["reward"] == 0 and not long["mask_sample"] and "write a shorter file" in long["reason"]
    assert lost["mask_sample"] and lost["_ng_failure_class"] == "no_verdict" and lost["problem"] == "2/80"
    assert lost["reason"].startswith("problem 2/80 does not count") and lost["verdict"] == 0
    (metrics,) = json.loads((tmp_path / "rollouts_aggregate_metrics.json").read_text())
    assert metrics["agent_metrics"]["mean/reward"] == pytest.approx(good["reward"] / 3), "of those with a verdict"
    sentences = (
        "no problem is called '9/99'",
        "that is no token of this server",
        "no server answers at http://127.0.0.1:9",
    )
    for (status, said), sentence in zip(found["verified"], sentences, strict=True):
        assert status == 500 and sentence in said
    assert not found["ended"][0] and "no problem is called" in found["ended"][1], "quoted by three servers in a row"


def test_what_is_wrong_is_one_sentence(server: Server, tmp_path: Path) -> None:
    for words, variables, sentence in (
        (["--problems", "9/99"], {}, "no problem is called '9/99'"),
        ([], {"KERNELGAUGE_TOKEN": "kg_no"}, "401: that is no token of this server"),
        (["--patience-s", "0.5"], {"KERNELGAUGE_SERVER": "http://127.0.0.1:9"}, "no server answers at"),
    ):
        done = write_rows(server, tmp_path / "rows.jsonl", *words, **variables)
        assert done.returncode == 1 and sentence in done.stderr.splitlines()[-1], done.stderr

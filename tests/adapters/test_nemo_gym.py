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
from replies import GOOD, WRONG

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server, begun

pytestmark = [pytest.mark.processes, pytest.mark.nightly]
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


def test_rollouts_have_rewards_and_what_has_no_verdict_is_kept_apart(
    server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rows, rollouts = tmp_path / "rows.jsonl", tmp_path / "rollouts.jsonl"
    done = write_rows(server, rows, "--problems", "1/19,1/21,2/80")
    assert done.returncode == 0, done.stderr
    assert [row["problem"] for row in lines(rows)] == ["1/19", "1/21", "2/80"]

    def reply(messages: Messages) -> str:
        return WRONG if "torch.sigmoid(x)" in messages[0]["content"] else GOOD

    monkeypatch.setenv("KERNELGAUGE_TOKEN", server.token)
    with policy(reply) as url:
        asked = {"policy": int(url.rsplit(":", 1)[1].removesuffix("/v1")), "ports": ports(3)}
        settings = {"server": server.address}
        written_by("nemo-gym", _PROGRAM, tmp_path, **asked, settings=settings, rows=str(rows), rollouts=str(rollouts))
    good, wrong = lines(rollouts)
    (lost,) = lines(tmp_path / "rollouts_failures.jsonl")
    assert (good["outcome"], wrong["outcome"]) == ("passed", "wrong_value")
    assert good["reward"] > 0.3 and good["correct"] == 1 and not good["mask_sample"] and wrong["reward"] == 0
    assert lost["mask_sample"] and lost["_ng_failure_class"] == "no_verdict" and lost["problem"] == "2/80"
    assert lost["reason"].startswith("problem 2/80 does not count") and lost["verdict"] == 0
    (metrics,) = json.loads((tmp_path / "rollouts_aggregate_metrics.json").read_text())
    assert metrics["agent_metrics"]["mean/reward"] == pytest.approx(good["reward"] / 2), "of those with a verdict"


def test_what_is_wrong_is_one_sentence(server: Server, tmp_path: Path) -> None:
    for words, variables, sentence in (
        (["--problems", "9/99"], {}, "no problem is called '9/99'"),
        ([], {"KERNELGAUGE_TOKEN": "kg_no"}, "401: that is no token of this server"),
        (["--patience-s", "0.5"], {"KERNELGAUGE_SERVER": "http://127.0.0.1:9"}, "no server answers at"),
    ):
        done = write_rows(server, tmp_path / "rows.jsonl", *words, **variables)
        assert done.returncode == 1 and sentence in done.stderr.splitlines()[-1], done.stderr

"""Rewards over HTTP: the real server, its judges and the real client, also where they are killed in the middle."""

from __future__ import annotations

import asyncio
import json
import os
import pickle
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from processes import descendants
from waiting import comes_true

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from kernelgauge_client import PARTS, Judge, JudgeError, NoServer, Refused
from kernelgauge_client.answers import FEEDBACK
from serving import Server, begun
from sqlalchemy import select

from kernelgauge.problems import catalogue
from kernelgauge.problems.verified import verified
from kernelgauge.serve.database import reading, submissions
from kernelgauge.training import load_reward, parts
from kernelgauge.training.judgement import no_verdict
from kernelgauge.training.request import request_of

pytestmark = pytest.mark.processes

RIGHT = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
WRONG = RIGHT.replace("torch.relu(x)", "torch.relu(x) + 1")
CHEAT = f"import kernelgauge.evaluation\n{RIGHT}"


def slow(number: int) -> str:
    """A right candidate whose processes live long enough to be killed."""
    return f"import time\ntime.sleep(1.0)\nNUMBER = {number}\n{RIGHT}"


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    with begun(tmp_path_factory.mktemp("server"), quick) as made:
        yield made


@asynccontextmanager
async def judging(server: Server, **settings: Any) -> AsyncIterator[Judge]:
    async with Judge(server.address, server.token, **settings) as made:
        yield made


def judged(server: Server, *texts: str, **settings: Any) -> list[dict[str, Any]]:
    async def all_of_them() -> list[dict[str, Any]]:
        async with judging(server, **settings) as judge:
            return await judge.batch([{"problem": "1/19", "text": text} for text in texts])

    return asyncio.run(all_of_them())


def a_batch(*texts: str, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"problem": "1/19", "text": text} for text in texts], **more}


def test_every_kind_of_text_has_its_answer(server: Server) -> None:
    answers = judged(server, RIGHT, f"Here:\n```python\n{RIGHT}```\n", WRONG, CHEAT, "I cannot.", "x" * 20_000_000)
    assert [each["outcome"] for each in answers] == [
        *("passed", "passed", "wrong_value", "rejected", "no_candidate", "no_candidate")
    ]
    assert all(tuple(each["parts"]) == PARTS == parts.PARTS for each in answers)
    right, same, wrong, cheat, none, _ = (each["reward"] for each in answers)
    assert right == same > 0.3 and cheat < wrong == none == 0.0
    assert server.states()["judged"] == 3, "equal candidates are judged once"
    assert " bytes, and 262144 are allowed: write a shorter file" in answers[-1]["feedback"]


@pytest.mark.proof("serve", "client/src/kernelgauge_client")
def test_a_text_cannot_choose_to_have_no_verdict(server: Server) -> None:
    """By importing a language that no judge of this server has; who names it is told that it is not there."""
    began = time.monotonic()
    (answer,) = judged(server, f"import tilelang\n{RIGHT}")
    assert (answer["status"], answer["outcome"], answer["reward"]) == ("verdict", "load_failed", 0.0)
    assert "written for tilelang, which is not available here" in answer["feedback"]
    assert time.monotonic() - began < 30
    named = {"candidates": [{"problem": "1/19", "text": RIGHT, "backend": "tilelang"}]}
    taken = server.ask("POST", "/judge", named)[2]
    (told,) = server.ask("GET", f"/{taken['url']}?wait_s=30")[2]["results"]
    assert (told["status"], told["retry"]) == ("no_verdict", False) and "cannot judge it" in told["reason"]


def test_half_of_a_surrogate_pair_costs_its_own_text_alone(server: Server) -> None:
    broken = RIGHT + "# \ud800"
    answers = judged(server, WRONG, broken)
    assert [each["outcome"] for each in answers] == ["wrong_value", "no_candidate"]
    status, _, taken = server.ask("POST", "/judge", a_batch(WRONG, broken))
    assert status == 201
    results = server.ask("GET", f"/{taken['url']}?wait_s=30")[2]["results"]
    assert [each["outcome"] for each in results] == ["wrong_value", "no_candidate"]
    assert "half of a surrogate pair" in results[1]["feedback"]


def test_what_was_judged_is_rewarded_anew_at_once_and_by_any_reward(server: Server) -> None:
    before = server.states()
    kevin = load_reward("kevin").model_copy(update={"kernel_policy": None}).model_dump(mode="json")
    (first,) = judged(server, WRONG, reward=kevin)
    own = {"name": "mine", "correct": 2.0, "failures": {"wrong": 0.5}, "turns": {"most": 1}}
    (second,) = judged(server, WRONG, reward=own)
    assert (first["reward"], second["reward"], second["done"]) == (0.0, 0.5, True)

    async def later() -> dict[str, Any]:
        async with judging(server, reward=kevin) as judge:
            return await judge("1/19", RIGHT, 1, [first])

    answer = asyncio.run(later())
    assert answer["returns"] == pytest.approx([0.4 * answer["reward"], answer["reward"]])
    assert server.states() == before


def test_a_batch_by_hand_is_polled_and_streamed(server: Server) -> None:
    body = a_batch(RIGHT, "nothing", WRONG)
    status, headers, taken = server.ask("POST", "/judge", body, idempotency_key="by-hand")
    assert status == 201 and headers["location"] == taken["url"] == f"judge/{taken['number']}"
    assert server.ask("POST", "/judge", body, idempotency_key="by-hand")[::2] == (200, {**taken, "new": False})
    status, _, said = server.ask("POST", "/judge", a_batch("other"), idempotency_key="by-hand")
    assert status == 422 and "a new batch needs a new key" in said["error"]
    _, _, polled = server.ask("GET", f"/{taken['url']}?wait_s=30")
    assert polled["done"] and polled["answered"] == 3 and [r["position"] for r in polled["results"]] == [0, 1, 2]
    status, headers, lines = server.ask("GET", f"/{taken['stream']}")
    assert headers["content-type"].startswith("application/x-ndjson")
    streamed = [json.loads(line) for line in lines.splitlines() if line]
    assert sorted(streamed, key=lambda each: each["position"]) == polled["results"]


def test_wrong_requests_are_one_sentence_that_says_what_to_do(server: Server) -> None:
    bob = server.accounts.add("bob")
    long = a_batch(*(f"{RIGHT}# {number}" for number in range(13)))
    for (body, options), status, sentence in (
        ((a_batch(RIGHT), {"token": "kg_no"}), 401, "no token of this server: its keeper makes one by"),
        ((a_batch(RIGHT), {"token": bob}), 403, "allows it by `kernelgauge account trainer bob`"),
        ((b"{", {}), 422, "the batch cannot be read: Invalid JSON"),
        (({"candidates": []}, {}), 422, "candidates: Tuple should have at least 1 item"),
        ((a_batch(RIGHT, reward="kevn"), {}), 422, "there is no reward 'kevn': name one of interval, "),
        ((a_batch(RIGHT, reward="/etc/passwd.toml"), {}), 422, "a server reads no files of yours"),
        (
            (a_batch(RIGHT, reward="drkernel"), {}),
            422,
            "start it by `kernelgauge serve --kernel-policy kernel-required`",
        ),
        ((a_batch(RIGHT, reward="kevin"), {}), 422, "reward kevin needs the kernel policy kernel-required, and this"),
        ((a_batch(RIGHT, deadline_s=-1), {}), 422, "deadline_s: Input should be greater than 0"),
        ((a_batch(RIGHT, feedback="G+E+P"), {}), 422, "feedback: Input should be 'G' or 'G+E'"),
        ((a_batch(RIGHT), {"idempotency_key": "a b"}), 422, "printable ASCII characters"),
        (({"candidates": [{"problem": "9/99", "text": RIGHT}]}, {}), 422, "candidate 0: no problem is called '9/99'"),
        (({"candidates": [{"problem": "../x.py", "text": RIGHT}]}, {}), 422, "candidate 0: that is not the name"),
        ((long, {}), 413, "a batch of 13 candidates is too large: send at most 12 at once"),
        ((b"x" * (17 << 20), {}), 413, "bytes are too many: 16777216 are allowed"),
    ):
        found, _, said = server.ask("POST", "/judge", body, **options)
        assert found == status and sentence in said["error"], said
    assert server.ask("GET", "/judge/99999")[0] == 404 and server.ask("GET", "/judge/1", token="")[0] == 401
    server.accounts.let_train("bob")
    assert server.ask("GET", "/judge/1", token=bob)[2]["error"].startswith("account bob has no such batch")
    assert server.ask("GET", "/metrics?window_s=x")[0] == 422
    for query, sentence in (
        ("prompt?problem=9/99", "no problem is called '9/99'"),
        ("prompt", "that is not the name of a problem"),
        ("prompt?problem=1/19&backend=cudda", "there is no such backend; there are "),
        ("prompt?problem=1/19&backend=cuda", "judges on cpu, where nothing runs that is written for cuda"),
        ("problems?suite=mine", "mine"),
    ):
        status, _, said = server.ask("GET", f"/judge/{query}")
        assert status == 422 and sentence in said["error"], said
    assert server.ask("GET", "/judge/problems", token="kg_no")[0] == 401


def test_problems_and_their_prompts_are_those_of_the_server(server: Server) -> None:
    """A trainer need not have the package: it asks what there is, and in which words to ask a policy."""

    async def asked() -> tuple[list[dict[str, Any]], str, str]:
        async with judging(server) as judge:
            return await judge.problems(), await judge.prompt("1/19_relu"), await judge.prompt("1/19", "torch")

    problems, prompt, other = asyncio.run(asked())
    by_key = {each["problem"]: each for each in problems}
    assert list(by_key) == catalogue.keys()
    assert by_key["1/19"] == {"problem": "1/19", "name": "relu", "level": 1, "counts": True}
    # `quick` asks no more than `strict`, whose record says what it would accept instead of the work.
    weak = {key for key in by_key if verified(key).accepted()["strict"]}
    assert weak and {key for key, each in by_key.items() if not each["counts"]} == weak
    words = ["prompt", "1/19", "--device", "cpu", "--sizes", "small", "--protocol", server.protocol]
    assert prompt == printed(*words) and other == printed(*words, "--backend", "torch") != prompt


def printed(*words: str) -> str:
    return subprocess.run(
        [sys.executable, "-m", "kernelgauge", *words], capture_output=True, text=True, check=True
    ).stdout


def test_the_clients_errors_are_the_servers_sentences(server: Server) -> None:
    with pytest.raises(Refused, match="no problem is called '9/99'"):
        asyncio.run(Judge(server.address, server.token)("9/99", RIGHT))
    with pytest.raises(Refused, match="401: that is no token of this server"):
        asyncio.run(Judge(server.address, "kg_no")("1/19", RIGHT))
    with pytest.raises(Refused, match="a problem and a text, both of them strings"):
        asyncio.run(Judge(server.address, server.token).batch([{"problem": "1/19"}]))
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        nobody = f"http://127.0.0.1:{free.getsockname()[1]}"
    with pytest.raises(NoServer, match="start one by `kernelgauge serve`, or correct the address"):
        asyncio.run(Judge(nobody, "kg_x", patience_s=0.5)("1/19", RIGHT))
    with pytest.raises(JudgeError, match="set KERNELGAUGE_TOKEN"):
        Judge(server.address, "")
    with pytest.raises(JudgeError, match="set KERNELGAUGE_SERVER"):
        Judge("kernels.example", "kg_x")


def test_what_the_client_says_by_itself_is_what_a_server_would_say() -> None:
    from kernelgauge_client import answers

    request = request_of("1/19", RIGHT, 1, [{"reward": 1.0}])
    ours = no_verdict(request, load_reward("interval"), "it broke").model_dump(mode="json")
    theirs = answers.no_verdict({"history": [{"reward": 1.0}]}, "it broke")
    assert [answers.no_verdict({"turn": turn}, "it broke", 4)["done"] for turn in (2, 3)] == [False, True]
    assert {**theirs, "returns": ours["returns"]} == ours and len(theirs["returns"]) == len(ours["returns"])
    assert ours["feedback"] == FEEDBACK
    judge = pickle.loads(pickle.dumps(Judge("http://127.0.0.1:1", "kg_x", reward="kevin")))
    assert judge.settings.reward == "kevin" and "kg_x" not in repr(judge.settings)


def test_a_client_brings_no_torch() -> None:
    code = (
        "import sys, kernelgauge_client; print([m for m in ('torch', 'pydantic', 'kernelgauge') if m in sys.modules])"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        capture_output=True,
        text=True,
        check=True,
        env={**os.environ, "PYTHONPATH": str(Path(__file__).parents[2] / "client" / "src")},
    )
    assert done.stdout.strip() == "[]"


def test_metrics_are_there_for_people_and_for_prometheus(server: Server) -> None:
    found = server.ask("GET", "/metrics")[2]
    assert found["judges"] == found["devices"] == 1 and found["candidates_per_hour"] > 0 and not found["gpu"]
    assert 0 <= found["latency_p50_s"] <= found["latency_p95_s"] and 0 <= found["device_idle_share"] <= 1
    _, headers, text = server.ask("GET", "/metrics", accept="text/plain")
    assert "kernelgauge_waiting 0" in text.splitlines() and headers["content-type"].startswith("text/plain")


@pytest.mark.proof("serve", "client/src/kernelgauge_client")
def test_who_sends_too_much_waits_and_loses_nothing(server: Server) -> None:
    """More than may wait at once, from one client: it is told when to come again, and all of it is judged."""
    crowd = server.ask("POST", "/judge", a_batch(*(slow(100 + number) for number in range(12)), deadline_s=2))[2]
    status, headers, said = server.ask("POST", "/judge", a_batch(slow(200)))
    assert status == 429 and 1 <= int(headers["retry-after"]) <= 20 and "Retry-After" in said["error"]
    answers = judged(server, *(f"{CHEAT}# {number}\n" for number in range(20)))
    assert [each["outcome"] for each in answers] == ["rejected"] * 20
    late = Counter(each["status"] for each in server.ask("GET", f"/{crowd['url']}?wait_s=10")[2]["results"])
    assert late["no_verdict"] >= 6 and late.total() == 12


@pytest.mark.proof("serve", "client/src/kernelgauge_client")
def test_a_killed_worker_a_killed_judge_and_a_killed_server_lose_nothing(server: Server) -> None:
    texts = [slow(number) for number in range(3)]
    before = server.states()

    async def everything() -> list[dict[str, Any]]:
        async with judging(server, patience_s=120) as judge:
            candidates = [{"problem": "1/19", "text": text} for text in [*texts, CHEAT, texts[0]]]
            answers = asyncio.create_task(judge.batch(candidates))
            await asyncio.to_thread(kill_all)
            return await asyncio.wait_for(answers, 200)

    def kill_all() -> None:
        judge = server.judge()
        assert comes_true(lambda: bool(workers(judge)), 60)
        for worker in workers(judge):
            os.kill(worker, signal.SIGKILL)
        assert comes_true(lambda: server.states()["judging"] > 0)
        os.kill(judge, signal.SIGKILL)
        assert comes_true(lambda: server.judge() != judge and bool(workers(server.judge())), 100)
        server.end(signal.SIGKILL)
        server.begin()

    answers = asyncio.run(everything())
    assert [each["outcome"] for each in answers] == [*["passed"] * 3, "rejected", "passed"]
    assert all(each["status"] == "verdict" and each["reward"] for each in answers)
    assert answers[0]["evaluation"] == answers[4]["evaluation"]
    after = server.states()
    assert after["judged"] - before["judged"] == 3 and not after["waiting"] and not after["judging"]
    with reading(server.engine) as connection:
        records = connection.execute(select(submissions.c.record).where(submissions.c.record.is_not(None))).scalars()
        ids = [json.loads(each)["id"] for each in records]
    assert len(set(ids)) == len(ids) and {each["evaluation"] for each in answers} <= set(ids)


def workers(judge: int) -> list[int]:
    """Processes of candidates and references: below a reaper, which is below a zygote."""
    return [process for process, depth in descendants(judge) if depth >= 3]


def test_a_server_that_stays_away_leaves_no_zero(server: Server) -> None:
    """The last test: it leaves no server."""

    async def abandoned() -> list[dict[str, Any]]:
        async with judging(server, patience_s=1.0) as judge:
            answers = asyncio.create_task(
                judge.batch([{"problem": "1/19", "text": text} for text in (slow(9), RIGHT)])
            )
            assert await asyncio.to_thread(comes_true, lambda: server.states()["judging"] > 0, 60)
            await asyncio.to_thread(server.end)
            return await answers

    began = time.monotonic()
    slow_one, known = asyncio.run(abandoned())
    assert time.monotonic() - began < 60
    assert (slow_one["status"], slow_one["reward"]) == ("no_verdict", None)
    assert "has not answered for 1 s" in slow_one["reason"] and tuple(slow_one["parts"]) == PARTS
    assert known["status"] == "verdict", "what had come has come"

"""Rewards over HTTP under load: many clients of a trainer ask at once, one server judges on the devices it has.

    python -m benchmarks.judge_load [--clients 64] [--seconds 120] [--out results/h100/judge_load.json]

Everything is real: the command `kernelgauge serve`, its judge, the client that trainers use. The texts are a training
step's (`training_step.py`): most do not build or are wrong, some hang, some crash; one more takes memory until there
is none. Those that do harm are handed in first. Each client asks for one text at a time. What is measured: verdicts
an hour, how long a client waits, how idle the device is, and that whoever hangs, crashes or takes all memory costs
nobody else a verdict: for each kind `held_s`, how long a candidate had its slot on the device (its build is beside
it), and how many others had their verdict meanwhile and afterwards. It fails where an answer is not what is due.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import socket
import subprocess
import sys
import tempfile
import time
from datetime import date
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

import torch
from kernelgauge_client import Judge
from sqlalchemy import func, select

from benchmarks.judge_load_kinds import HARMFUL, Text, asked_about, reward_for_all, summary
from kernelgauge.hardware.environment import environment
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Evaluation
from kernelgauge.serve.accounts import Accounts
from kernelgauge.serve.claims import device_seconds
from kernelgauge.serve.database import opened, reading, submissions
from kernelgauge.store import codec

_HERE = Path(__file__).parent
_STARTS_WITHIN_SECONDS = 120.0


def copies(problems: list[str], out: Path) -> Path:
    """A folder of copies of references, for machines where nothing is to be built."""
    for key in problems:
        level, number = key.split("/")
        path = out / f"level{level}" / f"{number}.py"
        path.parent.mkdir(parents=True, exist_ok=True)
        text = load_problem(key).source.replace("class Model(", "class ModelNew(")
        path.write_text(text.replace("super(Model,", "super(ModelNew,"))
    return out


class Server:
    """`kernelgauge serve` with one judge, on a database of its own."""

    def __init__(self, work: Path, device: str, options: list[str]):
        database = f"sqlite:///{work / 'serve.db'}"
        self._engine = opened(database)
        self.token = Accounts(self._engine).add("load", trainer=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            port = free.getsockname()[1]
        self.address = f"http://127.0.0.1:{port}"
        line = [sys.executable, "-m", "kernelgauge", "serve", "--port", str(port), "--device", device, *options]
        self._log = (work / "serve.log").open("w")
        self.process = subprocess.Popen(line, env={**os.environ, "KERNELGAUGE_DB": database}, stderr=self._log)
        deadline = time.monotonic() + _STARTS_WITHIN_SECONDS
        while not self._listens(port):
            if time.monotonic() > deadline or self.process.poll() is not None:
                raise SystemExit(f"the server does not start: see {work / 'serve.log'}")
            time.sleep(0.1)

    def _listens(self, port: int) -> bool:
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", port)) == 0

    def handed_in(self) -> int:
        """How many texts it has taken so far."""
        with reading(self._engine) as connection:
            return connection.execute(select(func.count()).select_from(submissions)).scalar_one()

    def metrics(self, window: float) -> dict[str, Any]:
        asked = Request(f"{self.address}/metrics?window_s={window:.0f}")
        asked.add_header("authorization", f"Bearer {self.token}")
        with urlopen(asked, timeout=30) as answer:
            found: dict[str, Any] = json.loads(answer.read())
        return found

    def slots(self) -> dict[str, tuple[float, float]]:
        """By evaluation: how many seconds it had the device, and when it ended, in seconds since 1970."""
        judged = select(submissions.c.record, submissions.c.finished).where(submissions.c.state == "judged")
        with reading(self._engine) as connection:
            rows = connection.execute(judged).all()
        records = [(codec.decode(row.record, Evaluation, "a submission"), row.finished) for row in rows]
        return {record.id: (device_seconds(record), ended) for record, ended in records}

    def close(self) -> None:
        self.process.send_signal(signal.SIGTERM)
        self.process.wait(60)
        self._log.close()
        self._engine.dispose()


async def ask(server: Server, texts: list[Text], clients: int, seconds: float) -> list[dict[str, Any]]:
    """Every client takes the next text as soon as it has an answer; those left when the time is up are left out.

    The first clients hand in what does harm, and the others wait for that: at once, the server would see any order.
    """
    answered: list[dict[str, Any]] = []
    waiting, reward = texts[::-1], reward_for_all().model_dump(mode="json")
    started, until = time.time(), time.monotonic() + seconds

    async def client() -> None:
        async with Judge(server.address, server.token, connections=1, reward=reward) as judge:
            while waiting and time.monotonic() < until:
                problem, text, kind = waiting.pop()
                began = time.monotonic()
                left = max(1.0, until - began)
                try:
                    answer = await asyncio.wait_for(judge(problem, text), left)
                except TimeoutError:
                    return
                taken = time.monotonic() - began
                row = {key: answer[key] for key in ("status", "outcome", "reward", "reason", "evaluation")}
                answered.append({"problem": problem, "kind": kind, "seconds": round(taken, 2), **row})

    early = min(clients, sum(kind in HARMFUL for _, _, kind in texts))
    async with asyncio.TaskGroup() as group:
        first = [group.create_task(client()) for _ in range(early)]
        while server.handed_in() < early and not all(task.done() for task in first):
            await asyncio.sleep(0.05)
        for _ in range(clients - early):
            group.create_task(client())
    slots = server.slots()
    for row in answered:
        held, ended = slots.get(row.pop("evaluation"), (None, None))
        row["held_s"] = None if held is None else round(held, 2)
        row["ended_s"] = None if ended is None else round(ended - started, 2)
    return answered


def main() -> None:
    """Begin the server, ask, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--sizes", default=None)
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--clients", type=int, default=64)
    parser.add_argument("--jobs", type=int, default=16)
    parser.add_argument("--problems", type=int, default=8)
    parser.add_argument("--each", type=int, default=8)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument(
        "--copies", help="problems whose references are copied, instead of CUDA candidates: 1/19,1/23"
    )
    parser.add_argument("--seconds", type=float, default=600.0, help="no answer is waited for longer")
    parser.add_argument("--out", type=Path)
    asked = parser.parse_args()
    options = ["--protocol", asked.protocol, "--jobs", str(asked.jobs), "--lease", "60"]
    options += ["--sizes", asked.sizes] if asked.sizes else []
    with tempfile.TemporaryDirectory() as folder:
        work = Path(folder)
        candidates = copies(asked.copies.split(","), work / "copies") if asked.copies else _HERE / "cuda_candidates"
        texts = asked_about(candidates, work, asked.problems, asked.each, asked.seed)
        server = Server(work, asked.device, options)
        try:
            began = time.monotonic()
            rows = asyncio.run(ask(server, texts, asked.clients, asked.seconds))
            wall_s = time.monotonic() - began
            found = summary(texts, rows, wall_s) | {"server": server.metrics(max(10.0, wall_s))}
        finally:
            server.close()
    print(json.dumps(found, indent=1))
    if asked.out:
        command = " ".join(["python -m benchmarks.judge_load", *sys.argv[1:]])
        where = environment(torch.get_num_threads()).model_dump(mode="json")
        said = {
            "command": command,
            "date": date.today().isoformat(),
            "environment": where,
            "candidates": len(texts),
        }
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(json.dumps(said | found | {"rows": rows}, indent=1) + "\n")
    sys.exit(bool(found["not_as_due"]))


if __name__ == "__main__":
    main()

"""What asking a model costs beside the model, and what a killed run pays twice.

    python benchmarks/asking.py overhead [--samples 100,1100]
    python benchmarks/asking.py kills [--problems 12] [--kills 4]

`overhead` asks so many samples at once, of a model in the same process and of an HTTP server, for answers that are
refused before any evaluation, or that share one text and so one verdict. What an attempt costs is the difference of
two runs of different length, so that imports and the session's start are in neither figure.

`kills` runs `refine` against an HTTP server that counts its answers, kills the run's whole process group again and
again (SIGKILL), and says how many of the answers that the run folder held were asked for once more.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import resource
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from kernelgauge.store.run import Run

REFERENCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) + {number}


def get_inputs():
    return [torch.rand(33, 65)]


def get_init_inputs():
    return []
"""
WRONG = """```python
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x - {turn}
```"""
REFUSED = "No."
_THINKING_SECONDS = 0.3
_TURNS = 4


class Server(ThreadingHTTPServer):
    """Speaks as much of OpenAI's protocol as is asked of it, and counts what it has answered."""

    daemon_threads = True
    request_queue_size = 1024

    def __init__(self, answer: str, thinking: float):
        super().__init__(("127.0.0.1", 0), _Handler)
        self.answer, self.thinking = answer, thinking
        self.answered: Counter[tuple[str, int]] = Counter()
        """By problem and turn."""
        self.at_once = self.most_at_once = 0
        self.lock = threading.Lock()
        threading.Thread(target=self.serve_forever, daemon=True).start()

    @property
    def arguments(self) -> list[str]:
        url = f"base_url=http://127.0.0.1:{self.server_port}/v1"
        return ["openai-api/local/kernels", "-M", url, "-M", "api_key=none", "--max-connections", "500"]


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    server: Server

    def do_POST(self) -> None:
        messages = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["messages"]
        turn = sum(message["role"] == "assistant" for message in messages)
        which = messages[0]["content"].partition("torch.relu(x) + ")[2].split("\n")[0]
        with self.server.lock:
            self.server.at_once += 1
            self.server.most_at_once = max(self.server.most_at_once, self.server.at_once)
        time.sleep(self.server.thinking)
        said = {"role": "assistant", "content": self.server.answer.replace("{turn}", str(turn))}
        choice = {"index": 0, "finish_reason": "stop", "message": said}
        usage = {"prompt_tokens": 1000, "completion_tokens": 100, "total_tokens": 1100}
        made = {"id": "1", "object": "chat.completion", "created": 1, "model": "kernels"}
        body = json.dumps({**made, "choices": [choice], "usage": usage}).encode()
        with self.server.lock:
            self.server.at_once -= 1
            self.server.answered[which, turn] += 1
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Not to the terminal."""


def command(out: Path, problems: list[Path], *more: str) -> list[str]:
    """`kernelgauge ask`, untimed: every answer here is wrong or refused."""
    where = ["--problems", ",".join(map(str, problems)), "--out", str(out), "--device", "cpu", "--backend", "torch"]
    return [sys.executable, "-m", "kernelgauge", "ask", "--shots", "zero_shot", *where, *more]


def problems_in(folder: Path, count: int) -> list[Path]:
    paths = [folder / f"problem{number}.py" for number in range(count)]
    for number, path in enumerate(paths):
        path.write_text(REFERENCE.replace("{number}", str(number)))
    return paths


def timed(arguments: list[str]) -> tuple[float, float]:
    """Seconds by the clock, and of the CPU, that a command takes."""
    before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
    done = subprocess.run(arguments, capture_output=True, text=True)
    taken, after = time.monotonic() - started, resource.getrusage(resource.RUSAGE_CHILDREN)
    if done.returncode:
        sys.exit(done.stderr)
    return taken, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def overhead(samples: list[int], times: int) -> None:
    """A row for each kind of answer and of model."""
    few, many = samples
    print("| model | answers are | most calls at once | seconds an attempt | of the CPU |\n|---|---|---|---|---|")
    for where in ("in the process", "HTTP server"):
        for kind, answer in (("refused at once", REFUSED), ("judged, one verdict for all", WRONG)):
            with tempfile.TemporaryDirectory() as name:
                folder = Path(name)
                problem = problems_in(folder, 1)
                server = Server(answer, _THINKING_SECONDS)
                answers = folder / "answers.jsonl"
                rows = [{"problem": str(problem[0]), "sample": n, "answer": answer} for n in range(many)]
                answers.write_text("".join(json.dumps(row) + "\n" for row in rows))
                replay = ["kernelgauge/replay", "-M", f"path={answers}"]
                model = replay if where == "in the process" else server.arguments
                found = []
                for count in (few, many):
                    asked = ["--samples", str(count), "--max-regenerations", "0"]
                    runs = [
                        timed(command(folder / f"{count}-{again}", problem, *model, *asked)) for again in range(times)
                    ]
                    found.append([min(run[what] for run in runs) for what in (0, 1)])
                each = [(long - short) / (many - few) for short, long in zip(*found, strict=True)]
                at_once = server.most_at_once or "-"
                print(f"| {where} | {kind} | {at_once} | {each[0]:.4f} | {each[1]:.4f} |", flush=True)
                server.shutdown()


def kept(out: Path) -> set[tuple[str, int]]:
    """Problem and turn of every answer that a run folder holds."""
    if not (out / "run.json").exists():
        return set()
    found = {
        (Path(record.problem).stem.removeprefix("problem"), record.number) for record in Run.read(out).attempts()
    }
    return found


def kills(problems: int, count: int) -> None:
    """Kill a run in the middle so many times, let it end, and compare what was answered with what was kept."""
    chance = random.Random(0)
    with tempfile.TemporaryDirectory() as name:
        folder, server = Path(name), Server(WRONG, _THINKING_SECONDS)
        out, total, lost, twice = folder / "run", problems * _TURNS, 0, 0
        arguments = command(
            out, problems_in(folder, problems), *server.arguments, "--strategy", f"refine,turns={_TURNS}"
        )
        for number in range(count + 1):
            before, held = Counter(server.answered), kept(out)
            running = subprocess.Popen(
                arguments, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, start_new_session=True
            )
            aim = total * (number + 1) // (count + 1) - chance.randint(0, 2)
            while running.poll() is None and (number == count or len(kept(out)) < aim):
                time.sleep(0.05)
            if running.poll() is None:
                os.killpg(running.pid, signal.SIGKILL)
            running.wait()
            again = sum((server.answered - before)[each] for each in held)
            under_way = len(set(server.answered) - kept(out))
            lost, twice = lost + under_way, twice + again
            ended = "killed" if running.returncode < 0 else f"ended with {running.returncode}"
            print(f"start {number + 1}: {ended}, {len(kept(out))} of {total} answers kept, ", end="")
            print(f"{under_way} given but lost, {again} kept ones asked for again", flush=True)
    print(f"{sum(server.answered.values())} answers given for {total} attempts; {twice} of them had been kept before")


def main() -> None:
    """One of the two."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("what", choices=("overhead", "kills"))
    parser.add_argument("--samples", default="100,1100", help="two numbers of samples to compare")
    parser.add_argument("--times", type=int, default=3, help="each, of which the shortest counts")
    parser.add_argument("--problems", type=int, default=12)
    parser.add_argument("--kills", type=int, default=4)
    options = parser.parse_args()
    if options.what == "overhead":
        overhead([int(part) for part in options.samples.split(",")], options.times)
    else:
        kills(options.problems, options.kills)


if __name__ == "__main__":
    main()

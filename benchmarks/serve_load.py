"""The server under load: many clients hand in at once, judges share the queue, readers look at pages meanwhile.

    python benchmarks/serve_load.py [--clients 20] [--each 10] [--judges 2] [--db sqlite:///FILE|postgresql://...]

Everything is real: the command `kernelgauge serve`, its judges, the database. So that the queue and not the timing of
kernels is measured, every candidate is refused by the static rules (`imports_evaluator`), which takes milliseconds.
At the end every submission must have exactly one verdict, on its own text, of its first attempt.
"""

from __future__ import annotations

import argparse
import os
import signal
import socket
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from urllib.request import urlopen

from kernelgauge.schema import Candidate
from kernelgauge.serve.accounts import Accounts
from kernelgauge.serve.client import Client
from kernelgauge.serve.database import opened
from kernelgauge.serve.submissions import Submissions

PROBLEM = "1/19"
PAGES = ("", "submissions", "submit", "history.html", "api/health")
_PATIENCE_SECONDS = 1800.0


def text(client: int, number: int) -> str:
    """A candidate that nobody else hands in, and that is refused without being run."""
    return f"import kernelgauge.evaluation\n\nWHO = '{client}/{number}'\n\n\nclass ModelNew: ...\n"


def digest(source: str) -> str:
    return Candidate(problem=PROBLEM, source=source, backend="torch").digest


class Readers:
    """Threads that ask for pages until they are told to stop, and note how long each took."""

    def __init__(self, address: str, count: int):
        self.seconds: list[float] = []
        self.failures: list[str] = []
        self._address, self._stop = address, threading.Event()
        self._threads = [threading.Thread(target=self._read) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def close(self) -> None:
        self._stop.set()
        for thread in self._threads:
            thread.join()

    def _read(self) -> None:
        while not self._stop.is_set():
            for page in PAGES:
                began = time.monotonic()
                try:
                    with urlopen(f"{self._address}/{page}", timeout=60) as answer:
                        answer.read()
                except OSError as error:
                    self.failures.append(f"{page}: {error}")
                self.seconds.append(time.monotonic() - began)


def hand_in_all(address: str, tokens: list[str], each: int) -> tuple[dict[int, str], list[float]]:
    """Every client hands in its candidates as fast as it can; the digest by number, and seconds of each request."""
    seconds: list[float] = []

    def hand_in(client: int) -> dict[int, str]:
        found = {}
        for number in range(each):
            began = time.monotonic()
            source = text(client, number)
            found[Client(address, tokens[client]).hand_in(PROBLEM, source)] = digest(source)
            seconds.append(time.monotonic() - began)
        return found

    with ThreadPoolExecutor(len(tokens)) as pool:
        parts = list(pool.map(hand_in, range(len(tokens))))
    return {number: name for part in parts for number, name in part.items()}, seconds


def complaints(desk: Submissions, expected: dict[int, str]) -> list[str]:
    """What is not as it must be: lost, judged twice, or judged on another text."""
    found = {each.number: each for each in desk.several(sorted(expected))}
    wrong = [f"{number} is lost" for number in expected.keys() - found.keys()]
    for number, each in found.items():
        if each.record is None or each.state != "judged":
            wrong.append(f"{number} is {each.state}: {each.reason}")
        elif each.record.candidate_digest != expected[number] or each.record.rule != "imports_evaluator":
            wrong.append(f"{number} has the verdict of another text")
        elif each.attempts != 1:
            wrong.append(f"{number} was begun {each.attempts} times")
    return wrong


def spread(seconds: list[float]) -> str:
    ordered = sorted(seconds)
    worst, late = ordered[-1], ordered[int(0.99 * (len(ordered) - 1))]
    return (
        f"median {1000 * statistics.median(ordered):.0f} ms, 99 % {1000 * late:.0f} ms, worst {1000 * worst:.0f} ms"
    )


def main() -> None:
    options = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    options.add_argument("--clients", type=int, default=20)
    options.add_argument("--each", type=int, default=10)
    options.add_argument("--judges", type=int, default=2)
    options.add_argument("--readers", type=int, default=2)
    options.add_argument("--db", help="an empty database; default: a new SQLite file")
    asked = options.parse_args()
    with tempfile.TemporaryDirectory() as folder, socket.socket() as free:
        database = asked.db or f"sqlite:///{Path(folder) / 'serve.db'}"
        engine = opened(database)
        tokens = [Accounts(engine).add(f"client-{number}") for number in range(asked.clients)]
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
        free.close()
        command = [sys.executable, "-m", "kernelgauge", "serve", "--port", str(port), "--device", "cpu"]
        command += ["--sizes", "small", "--judges", str(asked.judges), "--waiting", str(asked.each)]
        server = subprocess.Popen(command, env={**os.environ, "KERNELGAUGE_DB": database}, stdout=subprocess.DEVNULL)
        try:
            wrong = measured(f"http://127.0.0.1:{port}", Submissions(engine), tokens, asked.each, asked.readers)
        finally:
            server.send_signal(signal.SIGTERM)
            server.wait()
        engine.dispose()
    for complaint in wrong:
        print(complaint)
    sys.exit(1 if wrong else 0)


def measured(address: str, desk: Submissions, tokens: list[str], each: int, readers: int) -> list[str]:
    """Load the server and print what it bore; returns what went wrong."""
    wait_for(lambda: answers(address))
    reading = Readers(address, readers)
    began = time.monotonic()
    expected, seconds = hand_in_all(address, tokens, each)
    taken = time.monotonic() - began
    wait_for(lambda: desk.counts()["waiting"] == desk.counts()["judging"] == 0)
    done = time.monotonic() - began
    reading.close()
    wrong = complaints(desk, expected)
    count = len(tokens) * each
    wrong += [f"{len(expected)} numbers for {count} candidates"] if len(expected) != count else []
    wrong += reading.failures
    print(f"{count} submissions from {len(tokens)} clients taken in {taken:.1f} s: {spread(seconds)}")
    print(f"all judged after {done:.1f} s; pages meanwhile: {len(reading.seconds)} read, {spread(reading.seconds)}")
    print(f"complaints: {len(wrong)}")
    return wrong


def answers(address: str) -> bool:
    try:
        with urlopen(f"{address}/api/health", timeout=10):
            return True
    except OSError:
        return False


def wait_for(condition: Callable[[], bool]) -> None:
    end = time.monotonic() + _PATIENCE_SECONDS
    while not condition():
        if time.monotonic() > end:
            sys.exit("waited too long")
        time.sleep(0.1)


if __name__ == "__main__":
    main()

"""A real `kernelgauge serve` with its judges on the CPU, for tests of what talks to it."""

from __future__ import annotations

import http.client
import json
import os
import signal
import socket
import subprocess
import sys
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from processes import children
from sqlalchemy import select
from waiting import comes_true

from kernelgauge.serve.accounts import Accounts
from kernelgauge.serve.database import opened, reading, submissions


class Server:
    """`kernelgauge serve` on a database of its own, begun and ended as often as a test wants."""

    def __init__(self, folder: Path, quick: str, *more: str):
        self._database = f"sqlite:///{folder / 'serve.db'}"
        self.engine = opened(self._database)
        self.protocol = quick
        self.accounts = Accounts(self.engine)
        self.token = self.accounts.add("ann", trainer=True)
        with socket.socket() as free:
            free.bind(("127.0.0.1", 0))
            self.port = free.getsockname()[1]
        self._line = [sys.executable, "-m", "kernelgauge", "serve", "--port", str(self.port), "--device", "cpu"]
        self._line += ["--sizes", "small", "--protocol", quick, "--lease", "2", "--batch-waiting", "12"]
        self._line += more
        self.begin()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.port}"

    def begin(self) -> None:
        self.process = subprocess.Popen(self._line, env={**os.environ, "KERNELGAUGE_DB": self._database})
        assert comes_true(lambda: self.process.poll() is None and self.listens(), 120)

    def listens(self) -> bool:
        with socket.socket() as asking:
            return asking.connect_ex(("127.0.0.1", self.port)) == 0

    def end(self, number: signal.Signals = signal.SIGTERM) -> None:
        self.process.send_signal(number)
        self.process.wait(120)

    def judge(self) -> int:
        """The process of its only judge, as soon as there is one."""
        found: list[int] = []
        assert comes_true(lambda: bool(found.extend(children(self.process.pid)) or found), 60)
        return found[0]

    def states(self) -> Counter[str]:
        with reading(self.engine) as connection:
            return Counter(connection.execute(select(submissions.c.state)).scalars().all())

    def ask(
        self, method: str, path: str, body: Any = None, token: str | None = None, **headers: str
    ) -> tuple[int, dict[str, str], Any]:
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=60)
        headers = {"authorization": f"Bearer {self.token if token is None else token}", **headers}
        content = body if isinstance(body, bytes | None) else json.dumps(body).encode()
        try:
            connection.request(method, path, content, {key.replace("_", "-"): each for key, each in headers.items()})
            answer = connection.getresponse()
            said = answer.read()
            plain = json.loads(said) if answer.headers["content-type"] == "application/json" else said.decode()
            return answer.status, {name.lower(): value for name, value in answer.getheaders()}, plain
        finally:
            connection.close()


@contextmanager
def begun(folder: Path, quick: str, *more: str) -> Iterator[Server]:
    """A server that ends with the block, if a test has not ended it before."""
    made = Server(folder, quick, *more)
    try:
        yield made
    finally:
        made.end()
        made.engine.dispose()

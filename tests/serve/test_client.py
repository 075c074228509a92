"""The client beside a server that is not real: what it sends, and what it says where nobody answers."""

from __future__ import annotations

import asyncio
import json
import pickle
import socket
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the client is not installed")

from kernelgauge_client import Judge, NoServer
from kernelgauge_client.transport import Away, Transport
from pydantic import ValidationError
from starlette.exceptions import HTTPException

from kernelgauge.serve.judge_api import _body, _seconds


def a_batch(*texts: str, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"problem": "1/19", "text": text} for text in texts], **more}


def test_a_batch_with_half_of_a_surrogate_pair_can_be_read() -> None:
    texts = [each.text for each in _body(json.dumps(a_batch("x = 1", "\ud800")).encode()).candidates]
    assert texts == ["x = 1", "\0"]
    for wrong in (b"{", b'{"candidates": []}', json.dumps(a_batch("\ud800", priority=1000)).encode(), b"[" * 100_000):
        with pytest.raises(ValidationError):
            _body(wrong)
    sent: list[Any] = []

    async def post(self: Transport, path: str, body: Any, *_: Any) -> Any:
        sent.extend(json.loads(json.dumps(body))["candidates"])
        raise Away("it stays away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transport, "post", post)
        (answer,) = asyncio.run(Judge("http://127.0.0.1:1", "kg_x").batch([{"problem": "1/19", "text": "\ud800"}]))
    assert sent[0]["text"] == "\0" and answer["status"] == "no_verdict"


def test_a_body_and_a_time_have_limits() -> None:
    with pytest.raises(ValidationError, match="at most 4096"):
        _body(json.dumps(a_batch(*["x"] * 4097)).encode())
    assert [_seconds(said) for said in ("0", "-1", "20", "1e9", "inf")] == [0, 0, 20, 30, 30]
    for wrong in ("nan", "-nan", "soon"):
        with pytest.raises(HTTPException):
            _seconds(wrong)


class Answering(BaseHTTPRequestHandler):
    """Takes every batch, and answers its first candidate."""

    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        self.rfile.read(int(self.headers["content-length"]))
        self._say(201, {"stream": "judge/1/stream"})

    def do_GET(self) -> None:
        said = {"turns": {"interval": 4}} if self.path == "/judge" else {"position": 0, "status": "verdict"}
        self._say(200, said)

    def _say(self, status: int, said: Any) -> None:
        content = json.dumps(said).encode() + b"\n"
        self.send_response(status)
        self.send_header("content-length", str(len(content)))
        self.end_headers()
        self.wfile.write(content)

    def log_message(self, *_: Any) -> None:
        """Nobody reads it."""


@pytest.fixture
def server() -> Iterator[ThreadingHTTPServer]:
    made = ThreadingHTTPServer(("127.0.0.1", 0), Answering)
    made.daemon_threads = True
    threading.Thread(target=made.serve_forever, args=(0.02,), daemon=True).start()
    yield made
    made.shutdown()
    made.server_close()


def test_a_server_that_has_answered_once_is_away_in_the_steps_after_it(server: ThreadingHTTPServer) -> None:
    """Each step of a trainer may have a loop of its own, or a process: none of them may end the training."""
    judge = Judge(f"http://127.0.0.1:{server.server_port}", "kg_x", patience_s=0.3)
    never = pickle.loads(pickle.dumps(judge))
    assert asyncio.run(judge("1/19", "x = 1"))["status"] == "verdict" and not judge._held, "its connections end"
    server.shutdown()
    server.server_close()
    for each in (judge, pickle.loads(pickle.dumps(judge))):
        early, answer = asyncio.run(each.batch([{"problem": "1/19", "text": "x = 1", "turn": at} for at in (2, 3)]))
        assert (early["done"], answer["done"]) == (False, True), "as the server would say"
        assert (
            answer["retry"] and answer["status"] == "no_verdict" and "has not answered for 0.3 s" in answer["reason"]
        )
    with pytest.raises(NoServer):
        asyncio.run(never("1/19", "x = 1"))


def test_a_server_that_dies_before_its_first_answer_is_away() -> None:
    """A judge that is killed with its first batch in hand: the address is right, and who waits gets a verdict."""
    with socket.create_server(("127.0.0.1", 0)) as listening:
        port = listening.getsockname()[1]

        def dies() -> None:
            taken, _ = listening.accept()
            taken.recv(1 << 16)
            listening.close()
            taken.close()

        dying = threading.Thread(target=dies, daemon=True)
        dying.start()
        answer = asyncio.run(Judge(f"http://127.0.0.1:{port}", "kg_x", patience_s=0.3)("1/19", "x = 1"))
        dying.join()
    assert answer["retry"] and answer["status"] == "no_verdict" and "has not answered for 0.3 s" in answer["reason"]


def test_connections_are_kept_inside_async_with(server: ThreadingHTTPServer) -> None:
    async def twice() -> int:
        async with Judge(f"http://127.0.0.1:{server.server_port}", "kg_x") as judge:
            held = [(await judge("1/19", "x = 1"), *judge._held.values())[1] for _ in range(2)]
            await judge.close()
            assert (await judge("1/19", "x = 1"))["status"] == "verdict", "others are made where they were closed"
        return len({id(each) for each in held})

    assert asyncio.run(twice()) == 1

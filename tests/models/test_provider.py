"""A model behind a real HTTP server that speaks OpenAI's protocol, and all that such servers do."""

from __future__ import annotations

import json
import threading
import time
from collections import Counter
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
from factories import quick_protocol

pytest.importorskip("inspect_ai", reason="needs the extra inspect")
pytest.importorskip("openai", reason="needs the extra inspect")

from commands import command_here
from inspect_ai import eval
from inspect_ai.log import read_eval_log
from inspect_ai.model import get_model

from kernelgauge.models.task.task import kernelbench
from kernelgauge.store.run import Run

pytestmark = pytest.mark.processes

REFERENCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * NUMBER + 1


def get_inputs():
    return [torch.rand(33, 65)]


def get_init_inputs():
    return []
"""
RETRY_AFTER = 7
"""Seconds: longer than any client waits by itself before its second try."""
MANNERS = ("plain", "rate limit", "server error", "cut connection", "too long")


def candidate(number: int) -> str:
    body = f"        return 1 + x * {number}\n"
    return f"```python\nimport torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n{body}```"


class Handler(BaseHTTPRequestHandler):
    """Streams what is right, but first behaves as the problem that is asked about demands."""

    protocol_version = "HTTP/1.1"
    asked: Counter[str]
    times: dict[str, list[float]]
    streamed: bool

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        assert self.path == "/v1/chat/completions" and self.headers["Authorization"] == "Bearer secret"
        number = next(n for n in range(len(MANNERS)) if f"x * {n + 2} + 1" in body["messages"][0]["content"])
        manner = MANNERS[number]
        type(self).streamed = type(self).streamed or bool(body.get("stream"))
        type(self).asked[manner] += 1
        type(self).times.setdefault(manner, []).append(time.monotonic())
        first = type(self).asked[manner] == 1
        if first and manner == "rate limit":
            self._refuse(429, {"Retry-After": str(RETRY_AFTER)}, "slow down", "rate_limit_exceeded")
        elif first and manner == "server error":
            self._refuse(500, {}, "oops", "server_error")
        elif first and manner == "cut connection":
            self._stream(candidate(number + 2)[:30], end=None)
        elif first and manner == "too long":
            self._stream("Let me think about it at length. " * 200 + candidate(number + 2)[:90], end="length")
        else:
            self._stream(candidate(number + 2), end="stop")

    def _refuse(self, status: int, headers: dict[str, str], message: str, code: str) -> None:
        body = json.dumps({"error": {"message": message, "type": code, "code": code}}).encode()
        self.send_response(status)
        for name, value in {**headers, "Content-Type": "application/json", "Content-Length": str(len(body))}.items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(body)

    def _stream(self, text: str, end: str | None) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for start in range(0, len(text), 40):
            self._event({"delta": {"role": "assistant", "content": text[start : start + 40]}, "finish_reason": None})
        if end is None:
            self.close_connection = True
            return
        self._event({"delta": {}, "finish_reason": end}, usage={"prompt_tokens": 9, "completion_tokens": 5})
        self._chunk("data: [DONE]\n\n")
        self.wfile.write(b"0\r\n\r\n")

    def _event(self, choice: dict[str, Any], usage: dict[str, int] | None = None) -> None:
        event = {"id": "1", "object": "chat.completion.chunk", "created": 1, "model": "kernels"}
        counted = {"usage": {**usage, "total_tokens": sum(usage.values())}} if usage else {}
        self._chunk(f"data: {json.dumps({**event, 'choices': [{'index': 0, **choice}], **counted})}\n\n")

    def _chunk(self, text: str) -> None:
        self.wfile.write(f"{len(text.encode()):x}\r\n{text}\r\n".encode())

    def log_message(self, *_: Any) -> None:
        """Not to the terminal."""


@pytest.fixture
def server() -> Iterator[str]:
    Handler.asked, Handler.times, Handler.streamed = Counter(), {}, False
    serving = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=serving.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{serving.server_port}/v1"
    serving.shutdown()
    serving.server_close()


@pytest.mark.proof("models", "search", "generation")
def test_every_sample_ends_in_a_verdict_whatever_the_server_does(server: str, tmp_path: Path) -> None:
    protocol = tmp_path / "quick.toml"
    protocol.write_text(quick_protocol())
    problems = []
    for number, manner in enumerate(MANNERS):
        problems.append(tmp_path / f"{manner.replace(' ', '_')}.py")
        problems[-1].write_text(REFERENCE.replace("NUMBER", str(number + 2)))
    made = kernelbench(
        problems=[str(path) for path in problems],
        device="cpu",
        backend="torch",
        option="zero_shot",
        protocol=str(protocol),
        measure_performance=False,
    )
    model = get_model("openai-api/local/kernels", base_url=server, api_key="secret", stream=True)
    (log,) = eval(made, model=model, log_dir=str(tmp_path / "logs"), display="none", log_level="error")
    assert log.status == "success", log.error
    assert Handler.streamed
    assert Handler.asked["plain"] == 1
    assert all(Handler.asked[manner] == 2 for manner in MANNERS[1:])
    refused, again = Handler.times["rate limit"]
    assert again - refused >= RETRY_AFTER, "the wait that the server asked for"
    for sample in log.samples or []:
        assert sample.scores is not None
        score = sample.scores["kernel"]
        assert score.value["correct"] == 1, score.explanation  # type: ignore[index,call-overload]
    (long,) = [sample for sample in log.samples or [] if sample.id == str(problems[4])]
    assert [message.role for message in long.messages] == ["user", "assistant", "user", "assistant"]
    assert "more briefly" in long.messages[2].text
    assert log.stats.model_usage["openai-api/local/kernels"].output_tokens == 5 * (len(MANNERS) + 1)


def test_ask_takes_the_address_of_a_server(server: str, tmp_path: Path, quick: str) -> None:
    problem = tmp_path / "plain.py"
    problem.write_text(REFERENCE.replace("NUMBER", "2"))
    model = [
        "openai-api/local/kernels",
        "-M",
        f"base_url={server}",
        "-M",
        "api_key=secret",
        "-M",
        "stream=true",
    ]
    where = ["--problems", str(problem), "--device", "cpu", "--protocol", quick, "--out", str(tmp_path / "run")]
    done = command_here("ask", *model, *where, "--backend", "torch", "--shots", "zero_shot")
    assert done.returncode == 0, done.stderr
    (record,) = Run.read(tmp_path / "run").evaluations()
    assert record.passed and record.contestant == "openai-api/local/kernels"
    (log,) = (read_eval_log(str(path)) for path in (tmp_path / "run" / "inspect").iterdir())
    assert log.eval.model_args == {"stream": True}
    said = Run.read(tmp_path / "run").header.command
    assert "api_key=..." in said and "secret" not in said

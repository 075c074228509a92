"""A server that speaks OpenAI's protocol and says what a test has written down, for frameworks that ask a model."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any

Messages = Sequence[dict[str, Any]]
USAGE = {"prompt_tokens": 1, "completion_tokens": 1, "total_tokens": 2}


@contextmanager
def policy(reply: Callable[[Messages], str]) -> Iterator[str]:
    """Its URL, with `/v1`; `reply` gets a conversation. It serves /v1/chat/completions and /v1/responses."""

    class Handler(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            asked = json.loads(self.rfile.read(int(self.headers["content-length"])))
            said = _chat(reply(asked["messages"])) if "messages" in asked else _response(reply(asked["input"]))
            content = _streamed(said) if asked.get("stream") else json.dumps(said).encode()
            self.send_response(200)
            self.send_header("content-type", "text/event-stream" if asked.get("stream") else "application/json")
            self.send_header("content-length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _chat(text: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": text}
    choice = {"index": 0, "finish_reason": "stop", "message": message}
    return {
        "id": "1",
        "object": "chat.completion",
        "created": 0,
        "model": "written-down",
        "choices": [choice],
        "usage": USAGE,
    }


def _streamed(chat: dict[str, Any]) -> bytes:
    """The same as one event of a stream."""
    (choice,) = chat["choices"]
    event = {**chat, "object": "chat.completion.chunk", "choices": [{**choice, "delta": choice["message"]}]}
    return f"data: {json.dumps(event)}\n\ndata: [DONE]\n\n".encode()


def _response(text: str) -> dict[str, Any]:
    content = [{"type": "output_text", "text": text, "annotations": []}]
    message = {"id": "m", "type": "message", "role": "assistant", "status": "completed", "content": content}
    return {
        "id": "1",
        "object": "response",
        "created_at": 0,
        "model": "written-down",
        "output": [message],
        "parallel_tool_calls": False,
        "tool_choice": "auto",
        "tools": [],
    }

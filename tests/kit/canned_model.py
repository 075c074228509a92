"""A model behind the interface of OpenAI, on this machine: it gives its answers in turn, whatever it is asked."""

from __future__ import annotations

import json
import threading
from collections.abc import Sequence
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


class CannedModel:
    """A server for `chat/completions`, to be used in a `with` statement.

    Args:
        answers: given one after the other, and again from the first.
    """

    def __init__(self, answers: Sequence[str]):
        self.asked: list[str] = []
        """What it was asked, as JSON."""
        lock = threading.Lock()

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = self.rfile.read(int(self.headers["content-length"])).decode()
                with lock:
                    said = answers[len(outer.asked) % len(answers)]
                    outer.asked.append(body)
                content = json.dumps(_completion(said)).encode()
                self.send_response(200)
                self.send_header("content-type", "application/json")
                self.send_header("content-length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

            def log_message(self, *_: object) -> None:
                pass

        outer = self
        self._server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.address = f"http://127.0.0.1:{self._server.server_port}/v1"

    def __enter__(self) -> CannedModel:
        threading.Thread(target=self._server.serve_forever, daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self._server.shutdown()
        self._server.server_close()


def _completion(said: str) -> dict[str, Any]:
    message = {"role": "assistant", "content": said}
    usage = {"prompt_tokens": 7, "completion_tokens": 5, "total_tokens": 12}
    choices = [{"index": 0, "message": message, "finish_reason": "stop"}]
    return {"id": "1", "object": "chat.completion", "created": 0, "model": "m", "choices": choices, "usage": usage}

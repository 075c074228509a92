"""How much a stranger may send, and how slowly: refused by what the request says of itself, before it is read."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import OrderedDict, deque
from collections.abc import Callable, Mapping

from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_ADDRESSES = 10_000
# What is too large up to here, or to twice what is allowed, is let come and thrown away, so that an honest sender
# hears why.
_HEARD_OUT = 4 << 20
_LENGTH = re.compile(rb"[0-9]{1,12}")
Answer = Callable[[Request, int, str], Response]


def _as_json(request: Request, status: int, sentence: str) -> Response:
    return JSONResponse({"error": sentence}, status)


class LimitedBody:
    """Middleware: a body says its length (411), has no more than `most_bytes` (413), and comes in `seconds` (408).

    The web server holds a sender to the length it has said.

    Args:
        answer: what says a refusal: a page to a browser, JSON to a program.
        larger: paths on which more bytes are allowed.
    """

    def __init__(
        self,
        app: ASGIApp,
        most_bytes: int,
        seconds: float = 120.0,
        answer: Answer = _as_json,
        larger: Mapping[str, int] | None = None,
    ):
        self._app, self._most, self._seconds, self._answer = app, most_bytes, seconds, answer
        self._larger = larger or {}

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if b"transfer-encoding" in headers:
            refused = self._refused(scope, 411, "say how long the body is (content-length)")
            await refused(scope, receive, send)
            return
        said_length = headers.get(b"content-length", b"0")
        if not _LENGTH.fullmatch(said_length):
            refused = self._refused(scope, 400, "content-length is not the number of bytes of a candidate")
            await refused(scope, receive, send)
            return
        declared, most = int(said_length), self._larger.get(scope["path"], self._most)
        if declared > most:
            said = f"{declared} bytes are too many: {most} are allowed"
            refused = self._refused(scope, 413, said, close=declared > max(_HEARD_OUT, 2 * most))
            await refused(scope, receive, send)
            return
        end = time.monotonic() + self._seconds
        whole = False

        async def in_time() -> Message:
            nonlocal whole
            if whole:  # what comes now is that the other side has gone, and may take as long as a stream
                return await receive()
            try:
                message = await asyncio.wait_for(receive(), max(0.0, end - time.monotonic()))
                whole = not message.get("more_body", False)
                return message
            except TimeoutError:
                raise HTTPException(408, f"the request did not arrive within {self._seconds:.0f} s") from None

        await self._app(scope, in_time, send)

    def _refused(self, scope: Scope, status: int, sentence: str, close: bool = True) -> Response:
        answer = self._answer(Request(scope), status, sentence)
        if close:
            answer.headers["connection"] = "close"
        return answer


class Throttle:
    """Counts what addresses do wrong: after `most` times within `seconds`, `closed` until the oldest is forgotten."""

    def __init__(self, most: int = 30, seconds: float = 60.0):
        self._most, self._seconds = most, seconds
        self._seen: OrderedDict[str, deque[float]] = OrderedDict()
        self._lock = threading.Lock()

    def wrong(self, address: str) -> None:
        """Note a mistake."""
        with self._lock:
            times = self._seen.setdefault(address, deque(maxlen=self._most))
            self._seen.move_to_end(address)
            times.append(time.monotonic())
            if len(self._seen) > _MOST_ADDRESSES:
                self._seen.popitem(last=False)

    def closed(self, address: str) -> bool:
        """Whether this address has to wait."""
        with self._lock:
            times = self._seen.get(address)
            return times is not None and len(times) == self._most and times[0] > time.monotonic() - self._seconds

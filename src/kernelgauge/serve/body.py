"""How much a stranger may send, and how slowly: refused by what the request says of itself, before it is read."""

from __future__ import annotations

import asyncio
import re
import threading
import time
from collections import OrderedDict, deque

from starlette.exceptions import HTTPException
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

_MOST_ADDRESSES = 10_000
# What is too large up to here is let come and thrown away, so that an honest sender hears why.
_HEARD_OUT = 4 << 20
_LENGTH = re.compile(rb"[0-9]{1,12}")


class LimitedBody:
    """Middleware: a body says its length (411), has no more than `most_bytes` (413), and comes in `seconds` (408).

    The web server holds a sender to the length it has said.
    """

    def __init__(self, app: ASGIApp, most_bytes: int, seconds: float = 120.0):
        self._app, self._most, self._seconds = app, most_bytes, seconds

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        headers = dict(scope["headers"])
        if b"transfer-encoding" in headers:
            await _refused(411, "say how long the body is (content-length)", True)(scope, receive, send)
            return
        said_length = headers.get(b"content-length", b"0")
        if not _LENGTH.fullmatch(said_length):
            await _refused(400, "content-length is not the number of bytes of a candidate", True)(
                scope, receive, send
            )
            return
        declared = int(said_length)
        if declared > self._most:
            said = f"{declared} bytes are too many: {self._most} are allowed"
            await _refused(413, said, declared > _HEARD_OUT)(scope, receive, send)
            return
        end = time.monotonic() + self._seconds

        async def in_time() -> Message:
            try:
                return await asyncio.wait_for(receive(), max(0.0, end - time.monotonic()))
            except TimeoutError:
                raise HTTPException(408, f"the request did not arrive within {self._seconds:.0f} s") from None

        await self._app(scope, in_time, send)


def _refused(status: int, sentence: str, close: bool) -> JSONResponse:
    return JSONResponse({"error": sentence}, status, {"connection": "close"} if close else None)


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

"""Requests that outlive a server that is away for a while, or has no room."""

from __future__ import annotations

import asyncio
import json
import random
import time
from collections.abc import AsyncIterator, Mapping
from dataclasses import dataclass
from typing import Any

import httpx

from kernelgauge_client.errors import JudgeError, NoServer, Refused

_FIRST_PAUSE, _LONGEST_PAUSE = 0.25, 10.0
# The server says something on a stream every ten seconds.
_SILENCE_SECONDS = 45.0
# It looks for the candidates in a batch before it answers: some seconds for each megabyte that a policy made hard.
_TAKING = httpx.Timeout(_SILENCE_SECONDS, read=600.0, pool=None)
# Nobody breaks off a conversation who was never there.
_BROKEN_OFF = (httpx.ReadError, httpx.ReadTimeout, httpx.WriteError, httpx.WriteTimeout, httpx.RemoteProtocolError)


class Away(JudgeError):
    """The server has been there before, and does not answer now."""


@dataclass
class Reached:
    """What is known of a server: over all connections, loops and processes of one judge."""

    known: bool = False
    """Whether it has ever answered, or taken a request and broken off: it was killed before its first answer."""
    turns: int | None = None
    """After how many turns the judge's reward ends a trajectory; None: the server has not said."""


class Transport:
    """One server, asked as one account. Redirections are not followed: a token is for the server that was named.

    Args:
        patience_s: seconds without any answer after which a server is taken to be away.
        connections: how many at once.
        reached: of the judge that asks.
    """

    def __init__(self, server: str, token: str, patience_s: float, connections: int, reached: Reached):
        self._server, self._patience = server.rstrip("/"), patience_s
        self._http = httpx.AsyncClient(
            headers={"authorization": f"Bearer {token}"},
            timeout=httpx.Timeout(_SILENCE_SECONDS, pool=None),
            limits=httpx.Limits(max_connections=connections),
        )
        self._reached = reached

    async def close(self) -> None:
        """End its connections."""
        await self._http.aclose()

    async def post(self, path: str, body: Mapping[str, Any], key: str, until: float | None) -> dict[str, Any]:
        """The answer to a request that may be sent again under its key; waits while the server has no room.

        Args:
            until: by the monotonic clock, when to stop waiting for room.

        Raises:
            Refused: the server says why.
            NoServer, Away: it does not answer.
        """
        headers = {"idempotency-key": key, "content-type": "application/json"}
        content = json.dumps(body).encode()
        return await self._asked(
            _Patience(self, until), "POST", path, content=content, headers=headers, timeout=_TAKING
        )

    async def get(self, path: str, **query: str) -> dict[str, Any]:
        """The answer to a question; those of the query that are empty are not sent. Raises as `post`."""
        params = {name: value for name, value in query.items() if value}
        return await self._asked(_Patience(self, None), "GET", path, params=params)

    async def _asked(self, patience: _Patience, method: str, path: str, **more: Any) -> dict[str, Any]:
        while True:
            try:
                answer = await self._http.request(method, f"{self._server}{path}", **more)
            except httpx.TransportError as error:
                await patience.after(error)
                continue
            self.found()
            if answer.status_code == 429:
                await patience.for_room(answer)
            elif answer.status_code >= 500:
                await patience.after(RuntimeError(_sentence(answer)))
            else:
                return self._read(answer)

    async def said(self, path: str) -> dict[str, Any]:
        """What stands there; nothing where that cannot be had at once."""
        try:
            return dict((await self._http.get(f"{self._server}{path}")).json())
        except (httpx.HTTPError, ValueError, TypeError):
            return {}

    async def lines(self, path: str) -> AsyncIterator[dict[str, Any]]:
        """The objects of a stream, which is begun again where it breaks: some may come twice. Raises as `post`."""
        patience = _Patience(self, None)
        while True:
            try:
                async with self._http.stream("GET", f"{self._server}{path}") as answer:
                    if answer.status_code >= 500:
                        raise httpx.RemoteProtocolError(f"status {answer.status_code}")
                    if answer.status_code != 200:
                        await answer.aread()
                        self._read(answer)
                    self.found()
                    async for line in answer.aiter_lines():
                        patience.renewed()
                        if line.strip():
                            yield json.loads(line)
                    return
            except (httpx.TransportError, json.JSONDecodeError) as error:  # half a line is a stream that broke
                await patience.after(error)

    def found(self) -> None:
        """There is a server: from now on it can be away, and its address is right."""
        self._reached.known = True

    def lost(self, error: Exception) -> JudgeError:
        """The error for a server that stayed away."""
        said = str(error) or type(error).__name__
        if self._reached.known:
            return Away(f"{self._server} has not answered for {self._patience:g} s ({said})")
        return NoServer(
            f"no server answers at {self._server} ({said}): start one by `kernelgauge serve`, or correct the address"
        )

    @property
    def patience_s(self) -> float:
        """Seconds without any answer after which a server is taken to be away."""
        return self._patience

    def _read(self, answer: httpx.Response) -> dict[str, Any]:
        if answer.is_success:
            try:
                return dict(answer.json())
            except ValueError:
                raise Refused(f"{self._server} is no kernelgauge server: it does not answer in JSON", 200) from None
        if answer.is_redirect:
            place = answer.headers.get("location", "another address")
            raise Refused(f"{self._server} sends on to {place}: name that server if you mean it", answer.status_code)
        raise Refused(f"{self._server} said {answer.status_code}: {_sentence(answer)}", answer.status_code)


class _Patience:
    """How long one request has gone without an answer, and how long it pauses."""

    def __init__(self, transport: Transport, until: float | None):
        self._transport, self._until = transport, until
        self.renewed()

    def renewed(self) -> None:
        """The server has answered."""
        self._end, self._pause = time.monotonic() + self._transport.patience_s, _FIRST_PAUSE

    async def after(self, error: Exception) -> None:
        """Pause after a failure, each time longer. Raises JudgeError: it has lasted too long."""
        if isinstance(error, _BROKEN_OFF):
            self._transport.found()
        if time.monotonic() + self._pause > self._end:
            raise self._transport.lost(error) from error
        await asyncio.sleep(self._pause * random.uniform(0.5, 1.0))
        self._pause = min(2 * self._pause, _LONGEST_PAUSE)

    async def for_room(self, answer: httpx.Response) -> None:
        """Pause as long as the server says. Raises Away: nobody would wait for the verdict any longer."""
        self.renewed()
        try:
            pause = float(answer.headers.get("retry-after", _FIRST_PAUSE))
        except ValueError:
            pause = _LONGEST_PAUSE
        if self._until is not None and time.monotonic() + pause > self._until:
            raise Away(f"the server had no room until the deadline: {_sentence(answer)}")
        await asyncio.sleep(pause * random.uniform(1.0, 1.25))


def _sentence(answer: httpx.Response) -> str:
    try:
        return str(answer.json()["error"])
    except (ValueError, KeyError, TypeError):
        return answer.reason_phrase

"""The primitive over HTTP: `judge(problem, text, turn, history) -> {parts, reward, feedback, done, status}`."""

from __future__ import annotations

import asyncio
import json
import os
import time
import uuid
from collections.abc import AsyncIterator, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager
from dataclasses import asdict, dataclass, field
from typing import Any
from weakref import WeakKeyDictionary

from kernelgauge_client.answers import no_verdict
from kernelgauge_client.errors import JudgeError, Refused
from kernelgauge_client.transport import Away, Reached, Transport

# Of one request; the server allows more.
_MOST_CANDIDATES, _MOST_BYTES = 256, 8 << 20
_GRACE_SECONDS = 30.0
_TOO_LARGE = 413
# No server allows so much: it refuses what comes of it, which need not be more.
_LONGEST_TEXT = (1 << 20) + 1


@dataclass(frozen=True)
class JudgeSettings:
    """How texts are judged and rewarded: plain data, to be pickled or written as JSON."""

    server: str = field(default_factory=lambda: os.environ.get("KERNELGAUGE_SERVER", ""))
    token: str = field(default_factory=lambda: os.environ.get("KERNELGAUGE_TOKEN", ""), repr=False)
    reward: str | dict[str, Any] = "interval"
    """A reward of the server by its name, or one as data."""
    feedback: str = "G+E"
    priority: int = 0
    """The larger, the sooner."""
    deadline_s: float | None = None
    """Seconds in which each text must be judged once the server has taken it; then it has no verdict. It is also
    how long a client waits for room. None: as long as it takes."""
    patience_s: float = 120.0
    """Seconds that a server may be away: restarted, for instance."""
    connections: int = 64
    """How many at once; a batch takes one."""


@dataclass
class _Held:
    """The connections of one loop."""

    transport: Transport
    users: int = 0


class Judge:
    """Judges what policies write, by a server. It can be pickled: what travels are its settings.

    Connections belong to the loop that made them, and a trainer may have several, one for each step. They are kept
    from `async with` to its end; without it, as long as a call of that loop is under way.

    Args:
        server: its URL; default: the variable `KERNELGAUGE_SERVER`.
        token: of an account that may hand in batches; default: the variable `KERNELGAUGE_TOKEN`.
        settings: the other fields of `JudgeSettings`.

    Raises:
        JudgeError: no server or no token is named.
    """

    def __init__(self, server: str | None = None, token: str | None = None, **settings: Any):
        named = {"server": server, "token": token}
        settings |= {name: value for name, value in named.items() if value is not None}
        self.settings = JudgeSettings(**settings)
        if not self.settings.server.startswith(("http://", "https://")):
            raise JudgeError(
                f"{self.settings.server!r} is not the URL of a server: set KERNELGAUGE_SERVER, such as "
                "http://127.0.0.1:8000"
            )
        if not self.settings.token:
            raise JudgeError("a token is needed: set KERNELGAUGE_TOKEN (`kernelgauge account add NAME --trainer`)")
        self._held: WeakKeyDictionary[asyncio.AbstractEventLoop, _Held] = WeakKeyDictionary()
        reward = self.settings.reward
        self._reached = Reached(turns=None if isinstance(reward, str) else reward.get("turns", {}).get("most", 1))

    async def __call__(
        self,
        problem: str,
        text: str,
        turn: int = 0,
        history: Sequence[Mapping[str, Any]] = (),
        *,
        backend: str = "",
    ) -> dict[str, Any]:
        """Judge one text.

        Never raises for anything a policy writes, nor for a machine that fails: that has the status `no_verdict`.

        Args:
            turn: from 0.
            history: the answers for the earlier turns, oldest first.

        Raises:
            Refused: a wrong token, an unknown problem or reward; the server's sentence says what to do.
            NoServer: no server has ever answered there.
        """
        candidate = {"problem": problem, "text": text, "turn": turn, "history": history, "backend": backend}
        (answer,) = await self.batch([candidate])
        return answer

    async def batch(self, candidates: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        """Judge many texts at once; the answers are in their order. Equal texts are judged once. Raises as a call.

        Args:
            candidates: each with `problem` and `text`, and `turn`, `history`, `backend` where they are not the first.
        """
        parts = list(_parts([_plain(each) for each in candidates]))
        async with self._connected() as transport:
            found = await asyncio.gather(*(self._part(transport, part) for part in parts))
            return [answer for part in found for answer in part]

    async def problems(self, suite: str = "") -> list[dict[str, Any]]:
        """The problems of a suite, each with `problem` (its key), `name`, `level` and `counts`.

        Where `counts` is false, the server's protocol is on record to accept an answer that skips the work: under the
        reward `interval` it has no verdict.

        Args:
            suite: an imported one of the server; empty: the built-in one.

        Raises:
            JudgeError: as a call; also where the server stays away.
        """
        async with self._connected() as transport:
            return list((await transport.get("/judge/problems", suite=suite))["problems"])

    async def prompt(self, problem: str, backend: str = "") -> str:
        """What a policy is told about a problem before its first turn, under the server's protocol and sizes.

        Args:
            backend: kernel language; empty: CUDA, or C++ where the server judges on a CPU.

        Raises:
            JudgeError: as a call; also where the server stays away.
        """
        async with self._connected() as transport:
            return str((await transport.get("/judge/prompt", problem=problem, backend=backend))["prompt"])

    async def close(self) -> None:
        """End its connections of this loop."""
        held = self._held.pop(asyncio.get_running_loop(), None)
        if held:
            await held.transport.close()

    async def __aenter__(self) -> Judge:
        self._hold()
        return self

    async def __aexit__(self, *_: object) -> None:
        await self.close()

    def __reduce__(self) -> tuple[Any, tuple[dict[str, Any], Reached]]:
        return _again, (asdict(self.settings), self._reached)

    async def _part(self, transport: Transport, candidates: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
        settings, key = self.settings, uuid.uuid4().hex
        until = None if settings.deadline_s is None else time.monotonic() + settings.deadline_s
        answers: list[dict[str, Any] | None] = [None] * len(candidates)
        try:
            body = {name: getattr(settings, name) for name in ("reward", "feedback", "priority", "deadline_s")}
            body["candidates"] = candidates
            taken = await transport.post("/judge", body, key, until)
            await self._learn_turns(transport)
            # The server counts from when it has taken them.
            limit = None if settings.deadline_s is None else settings.deadline_s + _GRACE_SECONDS
            await asyncio.wait_for(_collect(transport, f"/{taken['stream']}", answers), limit)
        except Refused as error:
            if error.status != _TOO_LARGE or len(candidates) == 1:
                raise
            middle = len(candidates) // 2
            parts = (candidates[:middle], candidates[middle:])
            halves = await asyncio.gather(*(self._part(transport, part) for part in parts))
            return [*halves[0], *halves[1]]
        except (Away, asyncio.TimeoutError) as error:  # noqa: UP041 - another class in Python 3.10
            reason = str(error) or "the server has said nothing since the deadline"
        else:
            reason = _CUT
        return [each or no_verdict(candidates[at], reason, self._reached.turns) for at, each in enumerate(answers)]

    async def _learn_turns(self, transport: Transport) -> None:
        """While the server is there: when it is away, `done` must be what it would say."""
        reward = self.settings.reward
        if isinstance(reward, str) and self._reached.turns is None:
            said = (await transport.said("/judge")).get("turns", {}).get(reward)
            self._reached.turns = said if isinstance(said, int) else None

    @asynccontextmanager
    async def _connected(self) -> AsyncIterator[Transport]:
        """The connections of this loop, ended with the last that needs them."""
        held = self._hold()
        try:
            yield held.transport
        finally:
            held.users -= 1
            if not held.users:
                if self._held.get(loop := asyncio.get_running_loop()) is held:
                    del self._held[loop]
                await held.transport.close()

    def _hold(self) -> _Held:
        """The connections of this loop, with one more who needs them."""
        loop, settings = asyncio.get_running_loop(), self.settings
        if (held := self._held.get(loop)) is None:
            asked = (settings.server, settings.token, settings.patience_s, settings.connections)
            self._held[loop] = held = _Held(Transport(*asked, self._reached))
        held.users += 1
        return held


async def _collect(transport: Transport, path: str, answers: list[dict[str, Any] | None]) -> None:
    async for line in transport.lines(path):
        answers[line.pop("position")] = line


_CUT = "the server ended its stream before it had answered"


def _plain(candidate: Mapping[str, Any]) -> dict[str, Any]:
    """As it travels: of the history only the rewards are read."""
    if not isinstance(candidate.get("problem"), str) or not isinstance(candidate.get("text"), str):
        raise Refused("a candidate has a problem and a text, both of them strings", 422)
    history = [{"reward": each.get("reward")} for each in candidate.get("history", ())]
    return {**candidate, "text": _sendable(candidate["text"][:_LONGEST_TEXT]), "history": history}


def _sendable(text: str) -> str:
    """The text, or another that has the same verdict: half of a surrogate pair can be in no JSON."""
    try:
        text.encode()
    except UnicodeEncodeError:
        return "\0"
    return text


def _parts(candidates: Sequence[dict[str, Any]]) -> Iterator[list[dict[str, Any]]]:
    """As few requests as the server's limits allow."""
    part: list[dict[str, Any]] = []
    size = 0
    for each in candidates:
        try:
            length = len(json.dumps(each))
        except (TypeError, ValueError) as error:
            raise Refused(f"a candidate is no plain data: {error}", 422) from None
        if part and (len(part) == _MOST_CANDIDATES or size + length > _MOST_BYTES):
            yield part
            part, size = [], 0
        part.append(each)
        size += length
    if part:
        yield part


def _again(settings: dict[str, Any], reached: Reached) -> Judge:
    judge = Judge(**settings)
    judge._reached = reached
    return judge

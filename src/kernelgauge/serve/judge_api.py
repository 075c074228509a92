"""`POST /judge` and what belongs to it: rewards for those who train, by batches, polling and streams."""

from __future__ import annotations

import asyncio
import hashlib
import json
import math
import re
import time
from collections.abc import AsyncIterator
from contextlib import suppress
from typing import Annotated, Any

from pydantic import Field, ValidationError
from sqlalchemy import Engine
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, Response, StreamingResponse
from starlette.routing import Route

from kernelgauge.config import first_complaint
from kernelgauge.errors import UsageError
from kernelgauge.schema import Record
from kernelgauge.serve.authentication import Authentication
from kernelgauge.serve.batch_answers import Batch, BatchAnswers
from kernelgauge.serve.batches import MOST_CANDIDATES, BatchAllowance, Batches, BatchItem, NewBatch
from kernelgauge.serve.intake import key_of, known_backend
from kernelgauge.training.judgement import FeedbackLevel
from kernelgauge.training.parts import PARTS
from kernelgauge.training.request import JudgeRequest, candidate_in
from kernelgauge.training.reward import DEFAULT, Reward, load_reward, rewards

MOST_PRIORITY = 100
_MOST_DEADLINE_S = 7 * 24 * 3600.0
_MOST_WAIT_S = 30.0
_LOOK_SECONDS = 0.25
# A line without content: whoever reads has not gone, and proxies see that the stream lives.
_BREATH_SECONDS = 10.0
_KEY = re.compile(r"[\x21-\x7e]{1,200}")
_NUMBER = re.compile(r"[0-9]{1,9}")


class BatchBody(Record):
    """The JSON of `POST /judge`."""

    candidates: tuple[JudgeRequest, ...] = Field(min_length=1, max_length=MOST_CANDIDATES)
    reward: Reward | str = DEFAULT
    """A shipped reward by its name, or one as data."""
    feedback: FeedbackLevel = "G+E"
    priority: Annotated[int, Field(ge=-MOST_PRIORITY, le=MOST_PRIORITY)] = 0
    """The larger, the sooner; candidates for the boards have 0."""
    deadline_s: Annotated[float, Field(gt=0, le=_MOST_DEADLINE_S)] | None = None
    """Seconds from now; what is not judged by then has no verdict. None: as long as it takes."""


class JudgeDesk:
    """The routes of batches. Whatever waits for the database does so on a thread.

    Args:
        source_bytes: of one candidate's text.
        kernel_policy: which all of this server is judged under.
    """

    def __init__(
        self,
        engine: Engine,
        authentication: Authentication,
        allowance: BatchAllowance,
        source_bytes: int,
        kernel_policy: str,
    ):
        self._batches, self._answers = Batches(engine, allowance), BatchAnswers(engine)
        self._authentication, self._allowance = authentication, allowance
        self._source_bytes, self._kernel_policy = source_bytes, kernel_policy

    def routes(self) -> list[Route]:
        """Where they are."""
        return [
            Route("/judge", self.take, methods=["POST"]),
            Route("/judge", self.described, methods=["GET"]),
            Route("/judge/{number}", self.poll, methods=["GET"]),
            Route("/judge/{number}/stream", self.stream, methods=["GET"]),
        ]

    async def take(self, request: Request) -> Response:
        """A batch: it is in the database before this answers, and is handed in once for each `Idempotency-Key`."""
        account = await run_in_threadpool(self._authentication.trainer, request)  # before a byte of the body is read
        key = request.headers.get("idempotency-key")
        if key is not None and not _KEY.fullmatch(key):
            raise HTTPException(422, "Idempotency-Key is 1 to 200 printable ASCII characters without spaces")
        content = await request.body()
        batch = await run_in_threadpool(self._read, content, key)
        number, new = await run_in_threadpool(self._batches.hand_in, account, batch)
        place = f"judge/{number}"  # relative: a proxy may serve this below a path of its own
        said = {
            "number": number,
            "new": new,
            "candidates": len(batch.items),
            "url": place,
            "stream": f"{place}/stream",
        }
        return JSONResponse(said, 201 if new else 200, {"location": place})

    async def described(self, request: Request) -> Response:
        """What a batch may hold, which rewards there are, and the parts of every answer."""
        allowed = self._allowance.model_dump() | {"text_bytes": self._source_bytes}
        turns = {name: load_reward(name).turns.most for name in rewards()}
        return JSONResponse(
            {"rewards": rewards(), "turns": turns, "default": DEFAULT, "parts": PARTS, "allowed": allowed}
        )

    async def poll(self, request: Request) -> Response:
        """What is final of a batch; with `wait_s`, as soon as all is final, or after so many seconds."""
        batch = await run_in_threadpool(self._found, request)
        end = time.monotonic() + _seconds(request.query_params.get("wait_s", "0"))
        while True:
            positions = await run_in_threadpool(self._answers.ready, batch)
            if len(positions) == batch.size or time.monotonic() >= end:
                break
            await asyncio.sleep(_LOOK_SECONDS)
        return JSONResponse(await run_in_threadpool(self._state, batch, positions))

    async def stream(self, request: Request) -> Response:
        """Every answer on a line of its own as soon as it is final, in the order in which they come."""
        batch = await run_in_threadpool(self._found, request)
        return StreamingResponse(self._lines(batch), media_type="application/x-ndjson")

    async def _lines(self, batch: Batch) -> AsyncIterator[bytes]:
        have: set[int] = set()
        said = time.monotonic()
        while True:
            new = await run_in_threadpool(self._answers.ready, batch, have)
            for line in await run_in_threadpool(self._encoded, batch, new) if new else ():
                yield line
            have.update(new)
            if len(have) == batch.size:
                return
            if new:
                said = time.monotonic()
            elif time.monotonic() > said + _BREATH_SECONDS:
                said = time.monotonic()
                yield b"\n"
            await asyncio.sleep(_LOOK_SECONDS)

    def _encoded(self, batch: Batch, positions: list[int]) -> list[bytes]:
        found = self._answers.answers(batch, positions)
        return [f"{json.dumps({'position': at, **each.model_dump(mode='json')})}\n".encode() for at, each in found]

    def _state(self, batch: Batch, positions: list[int]) -> dict[str, Any]:
        results: list[Any] = [None] * batch.size
        for position, answer in self._answers.answers(batch, positions):
            results[position] = {"position": position, **answer.model_dump(mode="json")}
        states = self._answers.states(batch)
        return {"number": batch.number, "done": len(positions) == batch.size, **states, "results": results}

    def _read(self, content: bytes, key: str | None) -> NewBatch:
        """Raises UsageError: not such JSON, or a candidate that no judge could take; HTTPException 413."""
        try:
            body = _body(content)
        except ValidationError as error:
            raise UsageError(f"the batch cannot be read: {first_complaint(error)}") from None
        if len(body.candidates) > self._allowance.candidates:
            raise HTTPException(
                413,
                f"a batch of {len(body.candidates)} candidates is too large: send at most "
                f"{self._allowance.candidates} at once",
            )
        if isinstance(body.reward, str) and body.reward.endswith(".toml"):
            raise UsageError("a server reads no files of yours: send the reward as data")
        reward = load_reward(body.reward)
        if reward.kernel_policy and reward.kernel_policy != self._kernel_policy:
            raise UsageError(
                f"the reward {reward.name} needs the kernel policy {reward.kernel_policy}, and "
                f"this server judges under {self._kernel_policy}: choose another reward, or have its keeper start it "
                f"by `kernelgauge serve --kernel-policy {reward.kernel_policy}` (and each `kernelgauge judge` too)"
            )
        items = [self._item(position, each) for position, each in enumerate(body.candidates)]
        told = hashlib.sha256(content).hexdigest()
        return NewBatch(items, reward, body.feedback, body.priority, body.deadline_s, key, told)

    def _item(self, position: int, request: JudgeRequest) -> BatchItem:
        try:
            known_backend(request.backend)
            named = request.model_copy(update={"problem": key_of(request.problem.strip())})
        except UsageError as error:
            raise UsageError(f"candidate {position}: {error}") from None
        source, reason = candidate_in(request.text, self._source_bytes)
        return BatchItem(named, source, reason)

    def _found(self, request: Request) -> Batch:
        account = self._authentication.trainer(request)
        said = request.path_params["number"]
        batch = self._answers.batch(account, int(said)) if _NUMBER.fullmatch(said) else None
        if batch is None:
            raise HTTPException(
                404, f"account {account.name} has no such batch: the number is in the answer of POST /judge"
            )
        return batch


def _body(content: bytes) -> BatchBody:
    """Raises ValidationError. A text with half of a surrogate pair is read by Python's JSON alone, and is no error: a
    policy can write one, and its batch must not be refused for it."""
    try:
        return BatchBody.model_validate_json(content)
    except ValidationError:
        with suppress(ValueError, RecursionError):  # of both
            return BatchBody.model_validate(json.loads(content))
        raise


def _seconds(said: str) -> float:
    try:
        seconds = float(said)
    except ValueError:
        seconds = math.nan
    if math.isnan(seconds):  # which no time would ever be later than
        raise HTTPException(422, "wait_s is a number of seconds")
    return min(max(seconds, 0.0), _MOST_WAIT_S)

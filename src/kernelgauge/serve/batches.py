"""Batches of candidates from those who train: taken whole or not at all, and judged through the one queue.

A batch says what is wanted of each candidate: its reward, its turn, its deadline. What is judged are submissions that
stand on no board; equal candidates (problem, backend, text, setting, environment) lead to the same one, whoever asks.
"""

from __future__ import annotations

import hashlib
import json
import math
import time
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import Field
from sqlalchemy import Connection, Engine, Row, func, insert, select, update
from starlette.exceptions import HTTPException

from kernelgauge.errors import UsageError
from kernelgauge.schema import Record, digest
from kernelgauge.serve.accounts import Account
from kernelgauge.serve.database import about, batch_items, batches, reading, served, submissions, writing
from kernelgauge.serve.judges import environments
from kernelgauge.serve.submissions import OPEN, TooMany, text_digest
from kernelgauge.training.judgement import FeedbackLevel
from kernelgauge.training.request import JudgeRequest
from kernelgauge.training.reward import Reward

_AT_ONCE = 500  # parameters of one query
# How far back verdicts are counted, to say when there is room again; and the least and most that is said, in seconds.
_RATE_SECONDS = 300.0
_SOONEST, _LATEST = 1.0, 20.0


MOST_CANDIDATES = 4096
"""Of one batch on any server."""


class BatchAllowance(Record):
    """How much of batches may be handed in."""

    waiting: int = Field(default=1000, ge=1)
    """Candidates of one account that are not judged yet."""
    candidates: int = Field(default=512, ge=1, le=MOST_CANDIDATES)
    """Of one batch."""
    unfinished: int = Field(default=2000, ge=1)
    """Batches of one account that wait for a verdict."""
    body_bytes: int = Field(default=16 << 20, ge=1)
    """Of one batch as JSON."""


class NoRoom(TooMany):
    """The queue is full of this account's candidates.

    Args:
        retry_after: seconds until there may be room.
    """

    def __init__(self, sentence: str, retry_after: float):
        super().__init__(sentence)
        self.retry_after = math.ceil(retry_after)


@dataclass(frozen=True)
class BatchItem:
    """One candidate of a batch, before it is stored."""

    request: JudgeRequest
    """Its problem is a key of a suite."""
    source: str | None
    """None: the text holds no candidate."""
    reason: str = ""
    """Why it holds none."""


@dataclass(frozen=True)
class NewBatch:
    """What is handed in at once."""

    items: Sequence[BatchItem]
    reward: Reward
    feedback: FeedbackLevel
    priority: int
    deadline_s: float | None
    """Seconds from now; None: as long as it takes."""
    key: str | None
    """The sender's, so that it can hand the same in again; None: it is another batch each time."""
    body_digest: str


class Batches:
    """The batches of one database, as they come in; `BatchAnswers` reads what became of them."""

    def __init__(self, engine: Engine, allowance: BatchAllowance | None = None):
        self._engine = engine
        self.allowance = allowance or BatchAllowance()

    def hand_in(self, account: Account, batch: NewBatch) -> tuple[int, bool]:
        """The number of the batch, and whether it is new: with the same key it is the same batch.

        Raises:
            NoRoom: the account has to wait.
            HTTPException: it could never have room.
            UsageError: the key came with another batch before.
        """
        with reading(
            self._engine
        ) as connection:  # without taking turns: it is what a client that lost an answer does
            if (known := _same_key(connection, account, batch)) is not None:
                return known, False
        with writing(self._engine) as connection:
            # One at a time, so that of equal candidates at once only one is the first, and each sees the room left.
            connection.execute(select(about.c.version).with_for_update())
            if (known := _same_key(connection, account, batch)) is not None:
                return known, False
            setting = connection.execute(select(served.c.setting)).scalar() or ""
            now = time.time()
            deadline = None if batch.deadline_s is None else now + batch.deadline_s
            wanted = {_digest(item, setting): item for item in batch.items if item.source is not None}
            known_rows = _known(connection, list(wanted), now)
            new = len(wanted) - len(known_rows)
            waits = new > 0 or any(row.state in OPEN for row in known_rows.values())
            self._check_room(connection, account, new, waits, now)
            numbers = {name: row.number for name, row in known_rows.items()}
            _hasten(connection, known_rows.values(), batch.priority, deadline)
            for name, item in wanted.items():
                if name not in numbers:
                    values = _submission(account, item, name, now, batch.priority, deadline)
                    made = connection.execute(insert(submissions).values(values).returning(submissions.c.number))
                    numbers[name] = int(made.scalar_one())
            return _stored(connection, account, batch, now, deadline, setting, numbers), True

    def _check_room(self, connection: Connection, account: Account, new: int, waits: bool, now: float) -> None:
        waiting = select(func.count(func.distinct(submissions.c.number)), func.count(func.distinct(batches.c.number)))
        waiting = waiting.join_from(submissions, batch_items, batch_items.c.submission == submissions.c.number)
        waiting = waiting.join(batches, batches.c.number == batch_items.c.batch)
        held, unfinished = connection.execute(
            waiting.where(submissions.c.state.in_(OPEN), batches.c.account == account.number)
        ).one()
        if new > self.allowance.waiting:
            raise HTTPException(
                413, f"a batch of {new} candidates is too large: send at most {self.allowance.waiting} at once"
            )
        excess = held + new - self.allowance.waiting
        if new and excess > 0:
            raise NoRoom(
                f"{held} candidates of {account.name} wait for their verdicts, {new} more would be over the limit of "
                f"{self.allowance.waiting}: send them again after the seconds in Retry-After",
                _pause(connection, excess, now),
            )
        if (
            waits and unfinished >= self.allowance.unfinished
        ):  # of one candidate in all of them there is room for any number
            raise NoRoom(
                f"{unfinished} batches of {account.name} wait for their verdicts, which is the limit: send fewer and "
                "larger ones, and this one again after the seconds in Retry-After",
                _pause(connection, 1, now),
            )


def _pause(connection: Connection, excess: int, now: float) -> float:
    """Seconds until so many more will have ended, if they go on as lately."""
    ended = select(func.count(), func.min(submissions.c.finished)).where(submissions.c.finished > now - _RATE_SECONDS)
    count, oldest = connection.execute(ended).one()
    each = (now - oldest) / count if count else _LATEST / 4
    return min(max(excess * each, _SOONEST), _LATEST)


def _same_key(connection: Connection, account: Account, batch: NewBatch) -> int | None:
    if batch.key is None:
        return None
    query = select(batches.c.number, batches.c.body_digest)
    row = connection.execute(query.filter_by(account=account.number, idempotency_key=batch.key)).first()
    if row is None:
        return None
    if row.body_digest != batch.body_digest:
        raise UsageError("this idempotency key came with another batch before: a new batch needs a new key")
    return int(row.number)


def _digest(item: BatchItem, setting: str) -> str:
    assert item.source is not None
    return text_digest(item.request.problem, item.request.backend, item.source, setting)


def _known(connection: Connection, digests: Sequence[str], now: float) -> dict[str, Row[Any]]:
    """Submissions of these digests whose verdicts will do. Others make room: for each a new one will be judged.

    What failed is tried anew, and stays as it was for those who were told so. A verdict of another environment than
    that of the judges at work is no verdict for this one.
    """
    here = environments(connection, now)
    found: dict[str, Row[Any]] = {}
    columns = [submissions.c[name] for name in ("number", "digest", "state", "environment", "deadline", "priority")]
    for start in range(0, len(digests), _AT_ONCE):
        query = select(*columns).where(
            submissions.c.digest.in_(digests[start : start + _AT_ONCE]), submissions.c.private == 1
        )
        for row in connection.execute(query).all():
            if row.state == "failed" or (row.state == "judged" and here and row.environment not in here):
                past = hashlib.sha256(f"{row.digest} {row.number}".encode()).hexdigest()
                connection.execute(update(submissions).where(submissions.c.number == row.number).values(digest=past))
            else:
                found[row.digest] = row
    return found


def _hasten(connection: Connection, rows: Iterable[Row[Any]], priority: int, deadline: float | None) -> None:
    """What others wait for already is judged as soon, and waited for as long, as the most demanding of them says."""
    for row in rows:
        if row.state not in OPEN:
            continue
        longest = None if deadline is None or row.deadline is None else max(deadline, row.deadline)
        values = {"priority": max(priority, row.priority), "deadline": longest}
        connection.execute(update(submissions).where(submissions.c.number == row.number).values(values))


def _submission(
    account: Account, item: BatchItem, name: str, now: float, priority: int, deadline: float | None
) -> Mapping[str, object]:
    assert item.source is not None
    return {
        "account": account.number,
        "problem": item.request.problem,
        "backend": item.request.backend,
        "source": item.source,
        "digest": name,
        "text_digest": digest(item.source),
        "created": now,
        "state": "waiting",
        "attempts": 0,
        "reason": "",
        "private": 1,
        "priority": priority,
        "deadline": deadline,
    }


def _stored(
    connection: Connection,
    account: Account,
    batch: NewBatch,
    now: float,
    deadline: float | None,
    setting: str,
    numbers: Mapping[str, int],
) -> int:
    values = {
        "account": account.number,
        "idempotency_key": batch.key,
        "body_digest": batch.body_digest,
        "reward": batch.reward.model_dump_json(),
        "feedback": batch.feedback,
        "created": now,
        "deadline": deadline,
    }
    number = int(connection.execute(insert(batches).values(values).returning(batches.c.number)).scalar_one())
    rows = [
        {
            "batch": number,
            "position": position,
            "submission": None if item.source is None else numbers[_digest(item, setting)],
            "reason": item.reason,
            "problem": item.request.problem,
            "turn": item.request.turn,
            "earned": json.dumps(item.request.earned),
        }
        for position, item in enumerate(batch.items)
    ]
    connection.execute(insert(batch_items), rows)
    return number

"""What became of a batch: the answers that are final, computed from records and from what the batch asked for.

An answer that was given once does not change: a verdict that comes after the deadline is none for that batch, nor is
one that was on its way when somebody was told that it is late.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic import ValidationError
from sqlalchemy import Engine, Row, Select, func, select, update

from kernelgauge.config import first_complaint
from kernelgauge.errors import StoreError
from kernelgauge.schema import Evaluation
from kernelgauge.serve.accounts import Account
from kernelgauge.serve.claims import TOO_LATE
from kernelgauge.serve.database import batch_items, batches, reading, submissions, writing
from kernelgauge.serve.submissions import OPEN
from kernelgauge.store import codec
from kernelgauge.training.judgement import FeedbackLevel, Judgement, no_verdict, of_verdict, without_candidate
from kernelgauge.training.request import EarlierTurn, JudgeRequest
from kernelgauge.training.reward import Reward

_log = logging.getLogger(__name__)
_RECORDS_AT_ONCE = 50  # of samples and logs, some hundred kilobytes each
_STATE = (batch_items.c.position, batch_items.c.submission, submissions.c.state, submissions.c.finished)
_WHOLE = (
    *_STATE,
    *(batch_items.c[name] for name in ("problem", "turn", "earned", "reason", "late")),
    *(submissions.c[name] for name in ("source", "record", "retry")),
    submissions.c.reason.label("failure"),
)


@dataclass(frozen=True)
class Batch:
    """A batch of one account."""

    number: int
    size: int
    reward: Reward
    feedback: FeedbackLevel
    deadline: float | None
    """Seconds since 1970."""


class BatchAnswers:
    """The answers of one database."""

    def __init__(self, engine: Engine):
        self._engine = engine

    def batch(self, account: Account, number: int) -> Batch | None:
        """The batch of that number, if it is this account's."""
        mine = select(batches).where(batches.c.number == number, batches.c.account == account.number)
        size = select(func.count()).where(batch_items.c.batch == number)
        with reading(self._engine) as connection:
            row = connection.execute(mine).first()
            if row is None:
                return None
            count = connection.execute(size).scalar_one()
        return Batch(number, count, Reward.model_validate_json(row.reward), row.feedback, row.deadline)

    def states(self, batch: Batch) -> dict[str, int]:
        """How many of its candidates wait, are judged now, and have their answer."""
        rows, now = self._rows(batch), time.time()
        final = sum(_final(row, batch, now) for row in rows)
        judging = sum(row.state == "judging" and not _final(row, batch, now) for row in rows)
        return {"waiting": len(rows) - final - judging, "judging": judging, "answered": final}

    def ready(self, batch: Batch, have: Collection[int] = ()) -> list[int]:
        """Positions whose answers are final, without those in `have`."""
        now = time.time()
        rows = self._rows(batch)
        return [row.position for row in rows if row.position not in have and _final(row, batch, now)]

    def answers(self, batch: Batch, positions: Sequence[int]) -> Iterator[tuple[int, Judgement]]:
        """The answers at these positions, all of which are `ready`; what cannot be read has no verdict."""
        if batch.deadline is not None and time.time() > batch.deadline:
            self._keep_late(batch)
        for start in range(0, len(positions), _RECORDS_AT_ONCE):
            some = positions[start : start + _RECORDS_AT_ONCE]
            query = _items(batch, _WHOLE).where(batch_items.c.position.in_(some))
            with reading(self._engine) as connection:
                rows = connection.execute(query).all()
            yield from ((row.position, _answer(row, batch)) for row in rows)

    def _keep_late(self, batch: Batch) -> None:
        """Whoever asks from now on is told the same of what nobody has judged in time."""
        joined = batch_items.join(submissions, batch_items.c.submission == submissions.c.number)
        ours = batch_items.c.batch == batch.number, batch_items.c.late == 0, submissions.c.state.in_(OPEN)
        query = select(batch_items.c.position).select_from(joined).where(*ours)
        with reading(self._engine) as connection:
            if connection.execute(query.limit(1)).first() is None:
                return
        with writing(self._engine) as connection:
            # Held until this is kept: no verdict comes in between.
            late = connection.execute(query.with_for_update(of=submissions)).scalars().all()
            of_batch = update(batch_items).where(batch_items.c.batch == batch.number)
            connection.execute(of_batch.where(batch_items.c.position.in_(late)).values(late=1))

    def _rows(self, batch: Batch) -> Sequence[Row[Any]]:
        with reading(self._engine) as connection:
            return connection.execute(_items(batch, _STATE)).all()


def _items(batch: Batch, columns: Sequence[Any]) -> Select[Any]:
    joined = batch_items.join(submissions, batch_items.c.submission == submissions.c.number, isouter=True)
    query = select(*columns).select_from(joined).where(batch_items.c.batch == batch.number)
    return query.order_by(batch_items.c.position)


def _final(row: Row[Any], batch: Batch, now: float) -> bool:
    late = batch.deadline is not None and now > batch.deadline
    return row.submission is None or row.state in ("judged", "failed") or late


def _answer(row: Row[Any], batch: Batch) -> Judgement:
    request = JudgeRequest(problem=row.problem, text=row.source or "", turn=row.turn)
    try:
        earned = tuple(EarlierTurn(reward=each) for each in json.loads(row.earned))
        request = JudgeRequest.model_validate({**dict(request), "history": earned})
        return _judgement(row, request, batch)
    except (
        StoreError,
        ValueError,
        TypeError,
        ArithmeticError,
    ) as error:  # one record must not hide what became of the others
        complaint = first_complaint(error) if isinstance(error, ValidationError) else str(error)
        _log.warning("candidate %d of batch %d cannot be answered: %s", row.position, batch.number, complaint)
        return no_verdict(request, batch.reward, f"its record cannot be read: {complaint}", retry=False)


def _judgement(row: Row[Any], request: JudgeRequest, batch: Batch) -> Judgement:
    if row.submission is None:
        return without_candidate(request, row.reason, batch.reward)
    in_time = batch.deadline is None or (not row.late and row.finished is not None and row.finished <= batch.deadline)
    if row.state == "judged" and in_time:
        record = codec.decode(row.record, Evaluation, f"submission {row.submission}")
        return of_verdict(request, row.source, record, batch.reward, batch.feedback)
    if row.state == "failed" and in_time:
        return no_verdict(request, batch.reward, row.failure, retry=bool(row.retry))
    return no_verdict(request, batch.reward, TOO_LATE)

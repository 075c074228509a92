"""What was handed in: accepted within limits, listed, and found again. What becomes of it is in `claims`."""

from __future__ import annotations

import hashlib
import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Literal

from pydantic import Field
from sqlalchemy import Connection, Engine, Row, Select, func, insert, or_, select, update
from sqlalchemy.exc import IntegrityError

from kernelgauge.leaderboard.disclosure import public
from kernelgauge.leaderboard.identity import identity
from kernelgauge.schema import Evaluation, Record, digest
from kernelgauge.serve.accounts import Account
from kernelgauge.serve.database import about, accounts, reading, served, submissions, writing
from kernelgauge.store import codec

State = Literal["waiting", "judging", "judged", "failed"]
_AT_ONCE = 500  # parameters of one query
_PUBLIC = submissions.c.private == 0
OPEN: tuple[State, ...] = ("waiting", "judging")


class Allowance(Record):
    """How much may be handed in."""

    source_bytes: int = Field(default=256 * 1024, ge=1, le=1 << 20)
    """Of one candidate's text."""
    per_hour: int = Field(default=60, ge=1)
    """Candidates of one account."""
    waiting: int = Field(default=20, ge=1)
    """Candidates of one account that are not judged yet."""


class TooMany(Exception):
    """An account has used up its allowance for now; the text is one sentence for its owner."""


class Submission(Record):
    """One candidate that was handed in, and how it stands with it."""

    number: int
    account: str
    problem: str
    backend: str
    """Empty: recognised from the text."""
    source: str
    created: float
    """Seconds since 1970."""
    state: State
    attempts: int
    finished: float | None
    record: Evaluation | None
    """The verdict; None while there is none, and where it could not be judged."""
    reason: str
    """Why it could not be judged, the last time that it was tried."""

    def summary(self, words: bool = False) -> dict[str, Any]:
        """The flat object that the server answers with; with `words`, as only its account may read it."""
        shown = self.model_dump(include={"number", "account", "problem", "state", "created", "finished"})
        record = self.record if words or self.record is None else public(self.record)
        shown["reason"] = self.reason if words else "it could not be judged" if self.state == "failed" else ""
        return shown | {"verdict": record.summary() if record else None}


@dataclass(frozen=True)
class Listed:
    """A submission as lists show it."""

    number: int
    account: str
    problem: str
    created: float
    state: State
    outcome: str | None
    """`faster`, `tie`, `slower`, `unclear` for a pass; else its outcome."""
    speedup: float | None


class Submissions:
    """The submissions of one database."""

    def __init__(self, engine: Engine, allowance: Allowance | None = None):
        self._engine = engine
        self.allowance = allowance or Allowance()

    def hand_in(self, account: Account, problem: str, source: str, backend: str = "") -> tuple[int, bool]:
        """The number of a submission, and whether it waits anew because of this.

        The same kernel (`leaderboard.identity`) is judged once under the server's setting: of another account it is
        theirs, whoever was first. One of this account's that could not be judged waits again. Without room left, the
        very same text is still found: its sender may have lost the answer.

        Raises:
            TooMany: the account has to wait.
        """
        with reading(self._engine) as connection:
            if connection.execute(_same_text(problem, backend, source)).first() is None:
                self._check_room(connection, account, waiting=False)  # before the work of telling kernels apart
            setting = connection.execute(select(served.c.setting)).scalar() or ""
        values = {
            "account": account.number,
            "problem": problem,
            "backend": backend,
            "source": source,
            "digest": _kernel_digest(source, setting),
            "text_digest": digest(source),
            "created": time.time(),
            "state": "waiting",
            "attempts": 0,
            "reason": "",
        }
        with writing(self._engine) as connection:
            # One at a time, so that of twenty requests at once only one is the first, and sees room for one.
            connection.execute(select(about.c.version).with_for_update())
            if (known := connection.execute(_same_kernel(values)).first()) is not None:
                if known.state != "failed":
                    return int(known.number), False
                self._check_room(connection, account)
                again = {"state": "waiting", "attempts": 0, "claim": None, "lease_until": None, "finished": None}
                again["created"] = values["created"]  # it counts like a new one
                connection.execute(update(submissions).where(submissions.c.number == known.number).values(again))
                return int(known.number), True
            self._check_room(connection, account)
            made = connection.execute(insert(submissions).values(values).returning(submissions.c.number))
            return int(made.scalar_one()), True

    def get(self, number: int) -> Submission | None:
        """The submission of that number, if there is one; none of a batch, which is its account's alone."""
        found = self._found(_everything().where(submissions.c.number == number))
        return found[0] if found else None

    def recent(self, most: int = 200) -> list[Listed]:
        """The newest ones first."""
        columns = [submissions.c[name] for name in ("number", "problem", "created", "state", "outcome", "speedup")]
        query = select(accounts.c.name.label("account"), *columns)
        query = query.join(submissions, accounts.c.number == submissions.c.account).where(_PUBLIC)
        with reading(self._engine) as connection:
            rows = connection.execute(query.order_by(submissions.c.number.desc()).limit(most)).all()
        return [Listed(**row._mapping) for row in rows]

    def judged_since(self, moment: float) -> dict[int, float]:
        """Numbers of those whose verdicts came at this time or later, each with its time."""
        query = select(submissions.c.number, submissions.c.finished)
        query = query.where(submissions.c.state == "judged", submissions.c.finished >= moment, _PUBLIC)
        with reading(self._engine) as connection:
            return {row.number: row.finished for row in connection.execute(query)}

    def several(self, numbers: Sequence[int]) -> list[Submission]:
        """Those of these numbers, in their order."""
        parts = (numbers[i : i + _AT_ONCE] for i in range(0, len(numbers), _AT_ONCE))
        return [each for part in parts for each in self._found(_everything().where(submissions.c.number.in_(part)))]

    def counts(self) -> dict[State, int]:
        """How many there are in each state."""
        query = select(submissions.c.state, func.count().label("how_many")).group_by(submissions.c.state)
        with reading(self._engine) as connection:
            found = {row.state: row.how_many for row in connection.execute(query)}
        return {state: found.get(state, 0) for state in ("waiting", "judging", "judged", "failed")}

    def _check_room(self, connection: Connection, account: Account, waiting: bool = True) -> None:
        own = select(func.count()).where(submissions.c.account == account.number, _PUBLIC)
        recent = connection.execute(own.where(submissions.c.created > time.time() - 3600)).scalar_one()
        if recent >= self.allowance.per_hour:
            raise TooMany(f"{account.name} has handed in {recent} candidates within an hour, which is the limit")
        held = connection.execute(own.where(submissions.c.state.in_(OPEN))).scalar_one() if waiting else 0
        if waiting and held >= self.allowance.waiting:
            raise TooMany(f"{held} candidates of {account.name} wait for their verdicts, which is the limit")

    def _found(self, query: Select[Any]) -> list[Submission]:
        with reading(self._engine) as connection:
            rows: Sequence[Row[Any]] = connection.execute(query).all()
        return [_submission(row) for row in rows]


def judged_from_now_on(connection: Connection, setting: str) -> None:
    """What waits will be judged under this setting, and is known under it: nobody else's copy is judged beside it.

    Where its account had the same kernel judged under it before, it stays what it was.
    """
    columns = [submissions.c[name] for name in ("number", "private", "problem", "backend", "source")]
    for row in connection.execute(select(*columns).where(submissions.c.state.in_(OPEN))).all():
        if row.private:
            now = text_digest(row.problem, row.backend, row.source, setting)
        else:
            now = _kernel_digest(row.source, setting)
        known = update(submissions).where(submissions.c.number == row.number)
        with suppress(IntegrityError), connection.begin_nested():
            connection.execute(known.values(digest=now))


def text_digest(problem: str, backend: str, source: str, setting: str) -> str:
    """What equal candidates of batches share: by their very text, so that what is said of its lines fits it."""
    return hashlib.sha256("\0".join((problem, backend, setting, source)).encode()).hexdigest()


def _kernel_digest(source: str, setting: str) -> str:
    return hashlib.sha256(f"{identity(source)} {setting}".encode()).hexdigest()


def _same_text(problem: str, backend: str, source: str) -> Select[Any]:
    """Whether this very text was ever handed in, under whatever setting: the digest that tells takes a while."""
    same = {"problem": problem, "backend": backend, "text_digest": digest(source), "source": source}
    return select(submissions.c.number).filter_by(**same).where(_PUBLIC).limit(1)


def _same_kernel(values: dict[str, Any]) -> Select[Any]:
    """The first submission of this kernel: this account's, or one of another's that was or will be judged.

    As another backend's it is another: whoever is the first to name a wrong one must not keep others from the right.
    """
    column = submissions.c
    same = [column[name] == values[name] for name in ("problem", "digest", "backend")]
    known = or_(column.account == values["account"], column.state != "failed")
    return select(column.number, column.state).where(*same, known, _PUBLIC).order_by(column.number).limit(1)


def _everything() -> Select[Any]:
    found = select(submissions, accounts.c.name).join(accounts, accounts.c.number == submissions.c.account)
    return found.where(_PUBLIC)


def _submission(row: Row[Any]) -> Submission:
    where = f"submission {row.number}"
    return Submission(
        number=row.number,
        account=row.name,
        problem=row.problem,
        backend=row.backend,
        source=row.source,
        created=row.created,
        state=row.state,
        attempts=row.attempts,
        finished=row.finished,
        record=codec.decode(row.record, Evaluation, where) if row.record else None,
        reason=row.reason,
    )

"""Who judges what: a judge holds a submission by a lease, and only whoever holds it can end it.

A judge that dies lets its lease run out, and another takes the submission. One that was only slow finds its claim
gone: its verdict is thrown away, so that no submission ever has two.
"""

from __future__ import annotations

import time
from collections.abc import Collection
from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import ColumnElement, Engine, and_, or_, select, update

from kernelgauge.schema import Evaluation
from kernelgauge.serve.database import accounts, submissions, writing
from kernelgauge.store import codec

ATTEMPTS = 3
"""How often a submission is begun before it is given up: it may be what kills its judges."""


@dataclass(frozen=True)
class Claim:
    """One submission in a judge's hands."""

    number: int
    key: str
    """Of this claim; the next claim of the same submission has another."""
    account: str
    problem: str
    backend: str
    source: str


class Claims:
    """The queue of one database, as its judges see it.

    Args:
        lease: seconds that a claim holds without being renewed; the clocks of all judges must agree better than that.
    """

    def __init__(self, engine: Engine, lease: float = 120.0):
        self._engine = engine
        self.lease = lease

    def take(self) -> Claim | None:
        """Claim the oldest submission that nobody holds; None if there is none."""
        now, key = time.time(), uuid4().hex
        due = select(submissions.c.number).where(_free(now)).order_by(submissions.c.number).limit(1)
        # Two judges of a PostgreSQL pass each other by; SQLite has one writer at a time anyway.
        chosen = due.with_for_update(skip_locked=True).scalar_subquery()
        values = {"state": "judging", "claim": key, "lease_until": now + self.lease}
        claimed = (
            update(submissions)
            .where(submissions.c.number == chosen, _free(now))
            .values(attempts=submissions.c.attempts + 1, **values)
            .returning(submissions)
        )
        self._give_up(now)
        with writing(self._engine) as connection:
            row = connection.execute(claimed).first()
            if row is None:
                return None
            name = connection.execute(select(accounts.c.name).where(accounts.c.number == row.account)).scalar_one()
        return Claim(row.number, key, name, row.problem, row.backend, row.source)

    def renew(self, claims: Collection[Claim]) -> None:
        """Hold these for another lease."""
        if claims:
            self._change(*claims, lease_until=time.time() + self.lease)

    def end(self, claim: Claim, verdict: Evaluation) -> bool:
        """Keep the verdict; False if the claim is not ours any more, and another judge's verdict will stand."""
        said = {"outcome": verdict.standing or verdict.outcome.value, "speedup": verdict.speedup}
        return self._change(claim, **_ended("judged"), record=codec.encode(verdict), **said) == 1

    def refuse(self, claim: Claim, reason: str) -> bool:
        """It cannot be judged here, whoever tries; False as for `end`."""
        return self._change(claim, **_ended("failed"), reason=reason) == 1

    def give_back(self, claim: Claim, begun: bool, reason: str = "") -> bool:
        """Let others have it. Where it was begun and failed, that counts as an attempt, the last of them ends it."""
        if not begun:
            return self._change(claim, **_FREE, attempts=submissions.c.attempts - 1) == 1
        last = submissions.c.attempts >= ATTEMPTS
        if self._change(claim, last, **_ended("failed"), reason=reason) == 1:
            return True
        return self._change(claim, **_FREE) == 1

    def _change(self, *which: Claim | ColumnElement[bool], **values: object) -> int:
        held = [each for each in which if isinstance(each, Claim)]
        more = [each for each in which if not isinstance(each, Claim)]
        ours = or_(*(and_(submissions.c.number == c.number, submissions.c.claim == c.key) for c in held))
        query = update(submissions).where(ours, submissions.c.state == "judging", *more).values(**values)
        with writing(self._engine) as connection:
            return connection.execute(query).rowcount

    def _give_up(self, now: float) -> None:
        """End those that took their judges with them, each time."""
        spent = and_(
            submissions.c.state == "judging", submissions.c.lease_until < now, submissions.c.attempts >= ATTEMPTS
        )
        reason = f"it was begun {ATTEMPTS} times, and no judge came to an end with it"
        with writing(self._engine) as connection:
            connection.execute(update(submissions).where(spent).values(**_ended("failed"), reason=reason))


_FREE = {"state": "waiting", "claim": None, "lease_until": None}


def _ended(state: str) -> dict[str, object]:
    return {"state": state, "claim": None, "lease_until": None, "finished": time.time()}


def _free(now: float) -> ColumnElement[bool]:
    """Waiting, or held by somebody who has not been heard of for a lease."""
    lost = and_(submissions.c.state == "judging", submissions.c.lease_until < now, submissions.c.attempts < ATTEMPTS)
    return or_(submissions.c.state == "waiting", lost)

"""Who judges what: a judge holds a submission by a lease, and only whoever holds it can end it.

A judge that dies lets its lease run out, and another takes the submission. One that was only slow finds its claim
gone: its verdict is thrown away, so that no submission ever has two.

Nothing is taken and no verdict is kept under another setting than the server's of that moment.

What a machine could not judge is left alone for a while, and longer by that machine than by others; after `ATTEMPTS`
it is given up. Those who train wait for each of theirs: what is of batches alone is tried again after seconds.
"""

from __future__ import annotations

import hashlib
import time
from collections.abc import Collection, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from uuid import uuid4

from sqlalchemy import ColumnElement, Connection, Engine, Update, and_, or_, select, update

from kernelgauge.schema import Evaluation
from kernelgauge.serve.database import accounts, submissions, writing
from kernelgauge.serve.setting import ServerSetting, check_same
from kernelgauge.store import codec

ATTEMPTS = 3
"""How often a submission is begun before it is given up: it may be what kills its judges."""
PAUSE_SECONDS = 30.0
"""How long a submission is left alone by all after a machine has failed with it."""
OWN_PAUSE_SECONDS = 600.0
"""How long by the machine that has failed."""
PRIVATE_PAUSE_SECONDS = 2.0
"""How long what is of batches alone is left alone by all, three times as long after each further attempt."""

TOO_LATE = "its deadline passed before a judge came to it: allow more time, or add judges"


@dataclass(frozen=True)
class SubmissionClaim:
    """One submission in a judge's hands."""

    number: int
    key: str
    """Of this claim; the next claim of the same submission has another."""
    account: str
    problem: str
    backend: str
    source: str
    attempts: int
    """How often it was begun before."""
    private: bool = False
    """Whether it is of batches alone."""


class SubmissionClaims:
    """The queue of one database, as one of its judges sees it.

    Args:
        lease: seconds that a claim holds without being renewed; the clocks of all judges must agree better than that.
        judge: which machine this is: the same name after a restart.
        setting: how this judge judges; without one, as the server says.
    """

    def __init__(self, engine: Engine, lease: float = 120.0, judge: str = "", setting: ServerSetting | None = None):
        self._engine, self._setting = engine, setting
        self.lease = lease
        self._judge = hashlib.sha256(judge.encode()).hexdigest()[:32]

    def take(self) -> SubmissionClaim | None:
        """Claim of those that nobody holds one of the highest priority, the oldest first; None if there is none.

        Raises UsageError: the server judges with other rules by now.
        """
        now, key = time.time(), uuid4().hex
        free = _free(now, self._judge)
        in_turn = (submissions.c.priority.desc(), submissions.c.number)
        due = select(submissions.c.number).where(free).order_by(*in_turn).limit(1)
        # Two judges of a PostgreSQL pass each other by; SQLite has one writer at a time anyway.
        chosen = due.with_for_update(skip_locked=True).scalar_subquery()
        values = {"state": "judging", "claim": key, "lease_until": now + self.lease}
        claimed = (
            update(submissions).where(submissions.c.number == chosen, free).values(**values).returning(submissions)
        )
        self._give_up(now)
        with self._judging() as connection:
            row = connection.execute(claimed).first()
            if row is None:
                return None
            name = connection.execute(select(accounts.c.name).where(accounts.c.number == row.account)).scalar_one()
        said = (row.number, key, name, row.problem, row.backend, row.source, row.attempts)
        return SubmissionClaim(*said, private=row.private == 1)

    def renew(self, claims: Collection[SubmissionClaim]) -> None:
        """Hold these for another lease."""
        if claims:
            self._change(*claims, lease_until=time.time() + self.lease)

    def end(self, claim: SubmissionClaim, verdict: Evaluation) -> bool:
        """Keep the verdict; False if the claim is not ours any more, and another judge's verdict will stand.

        Raises UsageError: the server judges with other rules by now, and the claim is ours still.
        """
        said = {"outcome": verdict.standing or verdict.outcome.value, "speedup": verdict.speedup}
        said |= {"environment": verdict.environment.digest, "device_seconds": device_seconds(verdict)}
        values: dict[str, object] = {"reason": "", "record": codec.encode(verdict), **said}
        with self._judging() as connection:
            values |= _ended("judged")  # not before it is its turn to write: that may have been in time, and this not
            return connection.execute(_held([claim]).values(values)).rowcount == 1

    def begin(self, claim: SubmissionClaim) -> bool:
        """Count an attempt: what only waits in the hands of a judge that dies has none; False as for `end`."""
        return self._change(claim, attempts=claim.attempts + 1) == 1

    def give_back(self, claim: SubmissionClaim) -> bool:
        """Let others have it at once, as if it had not been begun; False as for `end`."""
        free = {"state": "waiting", "claim": None, "lease_until": None}
        return self._change(claim, **free, attempts=claim.attempts) == 1

    def put_off(
        self, claim: SubmissionClaim, reason: str, counts: bool = True, elsewhere: bool = False, retry: bool = True
    ) -> bool:
        """This machine could not judge it: another may, in a while; False as for `end`.

        Args:
            reason: a sentence for whoever handed it in.
            counts: whether it was an attempt, the last of which ends it.
            elsewhere: whether others are at work who may be able to judge it, where this machine is not.
            retry: whether it may be judged when it is handed in again.
        """
        why: dict[str, object] = {"reason": reason, "retry": int(retry)}
        attempts = claim.attempts + counts
        if attempts >= ATTEMPTS:
            return self._change(claim, **_ended("failed"), **why, attempts=attempts) == 1
        pause = PAUSE_SECONDS
        if claim.private:
            pause = 0.0 if elsewhere else PRIVATE_PAUSE_SECONDS * 3**claim.attempts
        by = None if claim.private and not elsewhere else self._judge
        later = {"state": "waiting", "claim": by, "lease_until": time.time() + pause}
        return self._change(claim, **later, **why, attempts=attempts) == 1

    def _change(self, *held: SubmissionClaim, **values: object) -> int:
        with writing(self._engine) as connection:
            return connection.execute(_held(held).values(values)).rowcount

    @contextmanager
    def _judging(self) -> Iterator[Connection]:
        with writing(self._engine) as connection:
            if self._setting is not None:
                check_same(connection, self._setting)
            yield connection

    def _give_up(self, now: float) -> None:
        """End those that took their judges with them, each time, and those that nobody waits for any longer."""
        spent = and_(
            submissions.c.state == "judging", submissions.c.lease_until < now, submissions.c.attempts >= ATTEMPTS
        )
        left = or_(submissions.c.state == "waiting", submissions.c.lease_until < now)
        late = and_(submissions.c.state.in_(("waiting", "judging")), submissions.c.deadline < now, left)
        reason = f"it was begun {ATTEMPTS} times, and no judge came to an end with it"
        with writing(self._engine) as connection:
            connection.execute(update(submissions).where(spent).values(**_ended("failed"), reason=reason, retry=1))
            connection.execute(update(submissions).where(late).values(**_ended("failed"), reason=TOO_LATE, retry=1))


def device_seconds(verdict: Evaluation) -> float:
    """How long an evaluation had its device, in seconds: all of it but the build."""
    return sum(seconds for stage, seconds in verdict.seconds.items() if stage != "build")


def _held(claims: Collection[SubmissionClaim]) -> Update:
    """A change of those that are held by these claims still."""
    ours = or_(*(and_(submissions.c.number == each.number, submissions.c.claim == each.key) for each in claims))
    return update(submissions).where(ours, submissions.c.state == "judging")


def _ended(state: str) -> dict[str, object]:
    return {"state": state, "claim": None, "lease_until": None, "finished": time.time()}


def _free(now: float, judge: str) -> ColumnElement[bool]:
    """Waiting, and not left alone for a while; or held by somebody who has not been heard of for a lease."""
    others = and_(submissions.c.claim != judge, submissions.c.lease_until < now)
    rested = submissions.c.lease_until < now + PAUSE_SECONDS - OWN_PAUSE_SECONDS
    nobody = or_(submissions.c.lease_until.is_(None), submissions.c.lease_until < now)
    alike = and_(submissions.c.claim.is_(None), nobody)
    due = and_(submissions.c.state == "waiting", or_(alike, others, rested))
    lost = and_(submissions.c.state == "judging", submissions.c.lease_until < now, submissions.c.attempts < ATTEMPTS)
    awaited = or_(submissions.c.deadline.is_(None), submissions.c.deadline >= now)
    return and_(or_(due, lost), awaited)

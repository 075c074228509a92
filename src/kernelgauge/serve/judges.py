"""Which judges work for a server: from when until when, on how many devices, in which environment."""

from __future__ import annotations

import time
from dataclasses import dataclass

from sqlalchemy import Connection, Engine, insert, select, update

from kernelgauge.serve.database import judges, reading, writing


@dataclass(frozen=True)
class AtWork:
    """One judge, and its devices."""

    name: str
    device: str
    devices: int
    """How many of that name judge at once."""
    environment: str
    """The digest of what its verdicts are measured in."""
    languages: tuple[str, ...] = ()
    """Which kernel languages it can judge; empty: not said."""


class JudgePresence:
    """Says in the database that a judge is at work. One that is killed is believed to be for another lease.

    Args:
        lease: seconds between two words of it at the most.
    """

    def __init__(self, engine: Engine, judge: AtWork, lease: float):
        self._engine, self._judge, self._lease = engine, judge, lease
        self._number: int | None = None

    def say(self) -> None:
        """It is at work now."""
        now = time.time()
        with writing(self._engine) as connection:
            if self._number is None:
                said = {**self._judge.__dict__, "languages": " ".join(self._judge.languages)}
                values = {**said, "started": now, "until": now + self._lease}
                made = connection.execute(insert(judges).values(values).returning(judges.c.number))
                self._number = int(made.scalar_one())
            else:
                row = update(judges).where(judges.c.number == self._number)
                connection.execute(row.values(until=now + self._lease))

    def end(self) -> None:
        """It works no longer."""
        if self._number is not None:
            with writing(self._engine) as connection:
                row = update(judges).where(judges.c.number == self._number)
                connection.execute(row.values(until=time.time()))

    def others(self, language: str = "") -> bool:
        """Whether others are at work that may be able to judge candidates in this language; empty: in any."""
        theirs = judges.c.number != (self._number or 0)
        query = select(judges.c.languages).where(judges.c.until >= time.time(), theirs)
        with reading(self._engine) as connection:
            said = connection.execute(query).scalars().all()
        return any(not (language and each) or language in each.split() for each in said)


def environments(connection: Connection, now: float) -> frozenset[str]:
    """Digests of the environments of those that are at work; empty where none is."""
    return frozenset(connection.execute(select(judges.c.environment).where(judges.c.until >= now)).scalars())

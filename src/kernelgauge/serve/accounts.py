"""Who may hand in candidates: a name, and a token that only its owner has."""

from __future__ import annotations

import hashlib
import re
import secrets
import time
from dataclasses import dataclass
from typing import Any

from sqlalchemy import Engine, Row, insert, select, update
from sqlalchemy.exc import IntegrityError

from kernelgauge.errors import UsageError
from kernelgauge.serve.database import accounts, reading, writing

NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,39}")
_TOKEN = re.compile(r"kg_[A-Za-z0-9_-]{43}")


@dataclass(frozen=True)
class Account:
    """One that may hand in candidates; its name is shown on the boards."""

    number: int
    name: str
    created: float
    """Seconds since 1970."""
    revoked: float | None = None
    trainer: bool = False
    """Whether it may hand in batches, for which other limits hold than for candidates of a board."""


class Accounts:
    """The accounts of one database."""

    def __init__(self, engine: Engine):
        self._engine = engine

    def add(self, name: str, trainer: bool = False) -> str:
        """A new account; returns its token, which is stored nowhere. Raises UsageError: taken, or not a name.

        Args:
            trainer: whether it may hand in batches.
        """
        if not NAME.fullmatch(name):
            raise UsageError(f"{name!r} cannot name an account: 1 to 40 letters, digits, dots, dashes, underscores")
        token = f"kg_{secrets.token_urlsafe(32)}"
        values = {"name": name, "token_hash": _hashed(token), "created": time.time()}
        values["trainer"] = int(trainer)
        try:
            with writing(self._engine) as connection:
                connection.execute(insert(accounts).values(values))
        except IntegrityError:
            raise UsageError(f"there is an account {name} already") from None
        return token

    def renew(self, name: str) -> str:
        """A new token in place of the old one, revoked accounts included. Raises UsageError: unknown."""
        token = f"kg_{secrets.token_urlsafe(32)}"
        self._change(name, token_hash=_hashed(token), revoked=None)
        return token

    def revoke(self, name: str) -> None:
        """Its token is good for nothing from now on; what it handed in stays. Raises UsageError: unknown."""
        self._change(name, revoked=time.time())

    def let_train(self, name: str, allowed: bool = True) -> None:
        """Let it hand in batches, or no longer. Raises UsageError: unknown."""
        self._change(name, trainer=int(allowed))

    def of(self, token: str) -> Account | None:
        """Whose token that is; None if it is nobody's, or was revoked."""
        if not _TOKEN.fullmatch(token):
            return None
        found = select(accounts).where(accounts.c.token_hash == _hashed(token), accounts.c.revoked.is_(None))
        with reading(self._engine) as connection:
            row = connection.execute(found).first()
        return _account(row) if row else None

    def all(self) -> list[Account]:
        """By name."""
        with reading(self._engine) as connection:
            rows = connection.execute(select(accounts).order_by(accounts.c.name)).all()
        return [_account(row) for row in rows]

    def _change(self, name: str, **values: object) -> None:
        with writing(self._engine) as connection:
            done = connection.execute(update(accounts).where(accounts.c.name == name).values(**values))
        if done.rowcount == 0:
            raise UsageError(f"there is no account {name!r}")


def _account(row: Row[Any]) -> Account:
    return Account(row.number, row.name, row.created, row.revoked, bool(row.trainer))


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()

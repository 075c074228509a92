"""Whose token comes with a request; whoever guesses tokens has to wait."""

from __future__ import annotations

from sqlalchemy import Engine
from starlette.exceptions import HTTPException
from starlette.requests import Request

from kernelgauge.serve.accounts import Account, Accounts
from kernelgauge.serve.body import Throttle


class Authentication:
    """The accounts of one database, for requests. Its methods wait for the database: call them on a thread."""

    def __init__(self, engine: Engine):
        self._accounts = Accounts(engine)
        self._wrong = Throttle()

    def account(self, request: Request, token: str | None = None) -> Account:
        """Whose token that is; without one, whose token is in the header `Authorization: Bearer`.

        Raises HTTPException: 401 nobody's; 429 too many wrong ones.
        """
        # A right token passes whoever else guesses from this address, which may be that of a whole campus.
        account = self._accounts.of(bearer(request) if token is None else token)
        if account is None:
            address = request.client.host if request.client else ""
            if self._wrong.closed(address):
                raise HTTPException(429, "too many wrong tokens from this address; wait a minute", _IN_A_MINUTE)
            self._wrong.wrong(address)
            raise HTTPException(
                401, "that is no token of this server: its keeper makes one by `kernelgauge account add NAME`"
            )
        return account

    def trainer(self, request: Request) -> Account:
        """The account in the header, if it may hand in batches. Raises HTTPException: as `account`, and 403."""
        account = self.account(request)
        if not account.trainer:
            raise HTTPException(
                403,
                f"account {account.name} may not hand in batches: the server's keeper allows it by "
                f"`kernelgauge account trainer {account.name}`",
            )
        return account


_IN_A_MINUTE = {"retry-after": "60"}


def bearer(request: Request) -> str:
    """The token in a request's header; empty if there is none."""
    scheme, _, token = request.headers.get("authorization", "").partition(" ")
    return token.strip() if scheme.lower() == "bearer" else ""

"""`kernelgauge account`: who may hand in candidates to a server?"""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.database import SQLITE, Database, opened

if TYPE_CHECKING:
    from kernelgauge.serve.accounts import Accounts

app = typer.Typer(help="Who may hand in candidates to a server.", no_args_is_help=True)


@app.command("add")
def add(
    name: Annotated[str, typer.Argument(help="Shown on the boards.")],
    trainer: Annotated[bool, typer.Option("--trainer", help="Let it hand in batches, for training.")] = False,
    db: Database = SQLITE,
) -> None:
    """Make an account and print its token, this once."""
    typer.echo(_accounts(db).add(name, trainer))


@app.command("trainer")
def trainer(
    name: str,
    off: Annotated[bool, typer.Option("--off", help="No longer.")] = False,
    db: Database = SQLITE,
) -> None:
    """Let an account hand in batches for training: under other limits, beside the boards."""
    _accounts(db).let_train(name, not off)


@app.command("renew")
def renew(name: str, db: Database = SQLITE) -> None:
    """Print a new token for an account; the old one is good for nothing from now on."""
    typer.echo(_accounts(db).renew(name))


@app.command("revoke")
def revoke(name: str, db: Database = SQLITE) -> None:
    """Make an account's token good for nothing; what it handed in stays."""
    _accounts(db).revoke(name)


@app.command("list")
def list_accounts(db: Database = SQLITE) -> None:
    """Print all accounts."""
    for each in _accounts(db).all():
        typer.echo(f"{each.name}{'  trainer' if each.trainer else ''}{'  revoked' if each.revoked else ''}")


def _accounts(db: str) -> Accounts:
    engine = opened(db)
    from kernelgauge.serve.accounts import Accounts

    return Accounts(engine)

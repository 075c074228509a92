"""The database of a server, as its commands name it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from sqlalchemy import Engine

DATABASE = "KERNELGAUGE_DB"
SQLITE = "sqlite:///kernelgauge-serve.db"

Database = Annotated[
    str,
    typer.Option("--db", envvar=DATABASE, help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."),
]


def opened(db: str) -> Engine:
    """The database of that URL. Raises UsageError: the extra is missing, or no such database."""
    try:
        from kernelgauge.serve.database import opened as opened_engine

        return opened_engine(db)
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing: pip install 'kernelgauge[serve]'") from None

"""The tables of a server, in SQLite or PostgreSQL: everything it must not lose stands here and nowhere else."""

from __future__ import annotations

import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager, nullcontext
from typing import Any
from weakref import WeakKeyDictionary

from sqlalchemy import (
    DDL,
    Column,
    Connection,
    Double,
    Engine,
    ForeignKey,
    Index,
    Integer,
    MetaData,
    String,
    Table,
    Text,
    UniqueConstraint,
    create_engine,
    event,
    func,
    insert,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from kernelgauge.errors import StoreError
from kernelgauge.schema import digest

VERSION = 3
"""Of these tables. History: 1, November 2026, first version; 2, the digest is the kernel's and the setting's; 3, one
of the text. Tables of version 2 are brought up to date when they are opened.
"""

_READS = "kernelgauge_reads"
PASSWORD = "PGPASSWORD"
"""The variable in which PostgreSQL's own programs look for a password."""
_IN_QUERY = ("password", "sslpassword")  # of a URL, which SQLAlchemy shows
_BUSY_SECONDS = 60
_CONNECTIONS = 20
_MAKING = 0x6B67  # names the lock of a PostgreSQL under which tables are made and changed

_turns: WeakKeyDictionary[Engine, threading.Lock] = WeakKeyDictionary()

metadata = MetaData()

about = Table("about", metadata, Column("version", Integer, primary_key=True))

served = Table(
    "served",
    metadata,
    Column("number", Integer, primary_key=True),  # 1: there is one server
    Column("setting", Text, nullable=False),
)
"""How the server says that all is judged; see `setting`."""

accounts = Table(
    "accounts",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", String(40), nullable=False, unique=True),
    # SHA-256 of the token, which itself is nowhere: it has 256 random bits, so that no salt is needed.
    Column("token_hash", String(64), nullable=False, unique=True),
    Column("created", Double, nullable=False),
    Column("revoked", Double),
)

submissions = Table(
    "submissions",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("account", ForeignKey("accounts.number"), nullable=False),
    Column("problem", String(160), nullable=False),
    Column("backend", String(40), nullable=False),  # empty: recognised from the text by the judge
    Column("source", Text, nullable=False),
    Column("digest", String(64), nullable=False),  # of the kernel, see leaderboard.identity
    # Of the text alone: an index over texts themselves would hold them twice, and PostgreSQL takes none so long. The
    # default is for servers of an earlier version that write to these tables still.
    Column("text_digest", String(16), nullable=False, server_default=""),
    Column("created", Double, nullable=False),
    Column("state", String(10), nullable=False),
    # While it is judged: of the claim that holds it, and how long that holds. While it waits: of the machine that
    # could not judge it, and until when all leave it alone; empty where none has tried.
    Column("claim", String(32)),
    Column("lease_until", Double),
    Column("attempts", Integer, nullable=False),
    Column("finished", Double),
    Column("record", Text),
    # Of the record, for lists.
    Column("outcome", String(20)),
    Column("speedup", Double),
    Column("reason", Text, nullable=False),
    UniqueConstraint("account", "problem", "backend", "digest"),
    Index("submissions_by_state", "state", "number"),
    Index("submissions_by_end", "finished"),
    Index("submissions_by_account", "account", "created"),
    Index("submissions_by_kernel", "digest"),
    Index("submissions_by_text", "text_digest"),
    sqlite_autoincrement=True,
)
"""Times are seconds since 1970 by the clock of whoever writes them."""


def opened(address: str) -> Engine:
    """The database at this URL, its tables made where there are none.

    What later connections need of this process's environment is read here: it may be gone by then.

    Raises StoreError: no such database, another version of the tables, or neither SQLite nor PostgreSQL.
    """
    url = _url(address)
    shown = url.difference_update_query(_IN_QUERY).render_as_string()
    engine = create_engine(
        url, pool_size=_CONNECTIONS, max_overflow=_CONNECTIONS, pool_pre_ping=True, connect_args=_password(url)
    )
    if url.get_backend_name() == "sqlite":
        event.listen(engine, "connect", _careful)
        event.listen(engine, "begin", _begin)
    try:
        with engine.begin() as connection:
            if engine.dialect.name == "postgresql":  # SQLite has one writer at a time anyway
                connection.execute(select(func.pg_advisory_xact_lock(_MAKING)))
            about.create(connection, checkfirst=True)
            found = connection.execute(select(about.c.version)).scalar()
            if found is None:
                connection.execute(insert(about).values(version=VERSION))
            elif found == 2:
                _with_text_digests(connection)
                connection.execute(update(about).values(version=(found := VERSION)))
            metadata.create_all(connection)
    except SQLAlchemyError as error:
        # The message of a driver may be long, and hold the password.
        raise StoreError(f"the database {shown} cannot be used: {_first_line(error)}") from None
    if found not in (None, VERSION):
        raise StoreError(f"the database {shown} has tables of version {found}, not {VERSION}")
    return engine


@contextmanager
def writing(engine: Engine) -> Iterator[Connection]:
    """A transaction. Threads that write to one SQLite take turns: its own way of waiting lets some starve."""
    alone = engine.url.get_backend_name() == "sqlite"
    with _turns.setdefault(engine, threading.Lock()) if alone else nullcontext(), engine.begin() as connection:
        yield connection


@contextmanager
def reading(engine: Engine) -> Iterator[Connection]:
    """A connection that only reads: in SQLite it waits for no writer."""
    with engine.connect().execution_options(**{_READS: True}) as connection:
        yield connection


def _with_text_digests(connection: Connection) -> None:
    """Version 2 to 3."""
    column = submissions.c.text_digest
    kind = CreateColumn(column).compile(dialect=connection.dialect)
    connection.execute(DDL(f"ALTER TABLE submissions ADD COLUMN {kind}"))
    for number in connection.execute(select(submissions.c.number)).scalars().all():
        row = submissions.c.number == number
        source = connection.execute(select(submissions.c.source).where(row)).scalar_one()
        connection.execute(update(submissions).where(row).values(text_digest=digest(source)))
    for index in submissions.indexes:
        index.create(connection, checkfirst=True)


def _url(address: str) -> URL:
    try:
        url = make_url(address)
    except ArgumentError:
        raise StoreError(
            f"{address!r} is not the URL of a database, such as sqlite:///file.db or postgresql://host/name"
        ) from None
    backend = url.get_backend_name()
    if backend == "postgresql":
        return url.set(drivername="postgresql+psycopg")
    if backend != "sqlite" or url.database in (None, "", ":memory:"):
        raise StoreError(f"{backend} cannot be used: name a file (sqlite:///path) or a PostgreSQL (postgresql://...)")
    return url.set(drivername="sqlite+pysqlite")


def _password(url: URL) -> dict[str, str]:
    """That of the environment, where a PostgreSQL would look for it: what the URL says counts more."""
    said = url.get_backend_name() != "postgresql" or url.password is not None or "password" in url.query
    return {} if said or PASSWORD not in os.environ else {"password": os.environ[PASSWORD]}


def _careful(connection: Any, _: Any) -> None:
    # BEGIN is ours: Python's own comes only before the first write, too late to be alone.
    connection.isolation_level = None
    for pragma in (f"busy_timeout={_BUSY_SECONDS * 1000}", "journal_mode=WAL", "synchronous=FULL", "foreign_keys=ON"):
        connection.execute(f"PRAGMA {pragma}")


def _begin(connection: Connection) -> None:
    reads = connection.get_execution_options().get(_READS)
    connection.exec_driver_sql("BEGIN" if reads else "BEGIN IMMEDIATE")


def _first_line(error: SQLAlchemyError) -> str:
    cause = getattr(error, "orig", None) or error
    return (str(cause).strip().splitlines() or [type(cause).__name__])[0]

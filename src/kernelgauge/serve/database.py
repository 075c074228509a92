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
    inspect,
    select,
    update,
)
from sqlalchemy.engine import URL, make_url
from sqlalchemy.exc import ArgumentError, SQLAlchemyError
from sqlalchemy.schema import CreateColumn

from kernelgauge.errors import StoreError
from kernelgauge.schema import digest

VERSION = 5
"""Of these tables. History: 1, November 2026, first version; 2, the digest is the kernel's and the setting's; 3, one
of the text; 4, batches for training, priorities, deadlines, judges; 5, the languages of judges, what was said to be
late, indexes for pages. Tables from version 2 on are brought up to date when they are opened.
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
    Column("trainer", Integer, nullable=False, server_default="0"),  # 1: may hand in batches
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
    # could not judge it, if it leaves it alone for longer than others, and until when all do; empty where none has.
    Column("claim", String(32)),
    Column("lease_until", Double),
    Column("attempts", Integer, nullable=False),
    Column("finished", Double),
    Column("record", Text),
    # Of the record, for lists.
    Column("outcome", String(20)),
    Column("speedup", Double),
    Column("reason", Text, nullable=False),
    Column("retry", Integer, nullable=False, server_default="1"),  # 0: as `reason` says, it would fail again
    # 1: of batches alone. It is on no page, and its digest is of its text, see `batches`.
    Column("private", Integer, nullable=False, server_default="0"),
    Column("priority", Integer, nullable=False, server_default="0"),  # the larger, the sooner
    Column("deadline", Double),  # nobody waits for it any longer
    # Of the record: where it was judged, and how long that took a device.
    Column("environment", String(16)),
    Column("device_seconds", Double),
    UniqueConstraint("account", "problem", "backend", "digest"),
    Index("submissions_by_state", "state", "number"),
    Index("submissions_by_priority", "state", "priority", "number"),
    Index("submissions_by_end", "finished"),
    Index("submissions_by_account", "account", "created"),
    # For pages: a training leaves a million rows that stand on none.
    Index("submissions_public", "private", "number"),
    Index("submissions_public_by_end", "private", "state", "finished"),
    Index("submissions_public_by_account", "account", "private", "created"),
    Index("submissions_by_kernel", "digest"),
    Index("submissions_by_text", "text_digest"),
    sqlite_autoincrement=True,
)
"""Times are seconds since 1970 by the clock of whoever writes them. This is the queue; there is no other."""

batches = Table(
    "batches",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("account", ForeignKey("accounts.number"), nullable=False),
    Column("idempotency_key", String(200)),  # of its sender, who may have lost the answer
    Column("body_digest", String(64), nullable=False),  # so that a key stands for one batch only
    Column("reward", Text, nullable=False),  # whole, as JSON: what was rewarded once does not change
    Column("feedback", String(10), nullable=False),
    Column("created", Double, nullable=False),
    Column("deadline", Double),
    UniqueConstraint("account", "idempotency_key"),
    sqlite_autoincrement=True,
)

batch_items = Table(
    "batch_items",
    metadata,
    Column("batch", ForeignKey("batches.number"), primary_key=True),
    Column("position", Integer, primary_key=True),
    Column("submission", ForeignKey("submissions.number")),  # null: there was no candidate in the text
    Column("reason", Text, nullable=False),  # why there was none
    Column("problem", String(160), nullable=False),
    Column("turn", Integer, nullable=False),
    Column("earned", Text, nullable=False),  # rewards of earlier turns, as JSON
    Column("late", Integer, nullable=False, server_default="0"),  # 1: it was said that its deadline has passed
    Index("batch_items_by_submission", "submission"),
)
"""What waits for a submission; of equal candidates each waits for the same."""

judges = Table(
    "judges",
    metadata,
    Column("number", Integer, primary_key=True),
    Column("name", String(200), nullable=False),
    Column("device", String(20), nullable=False),
    Column("devices", Integer, nullable=False),
    Column("environment", String(16), nullable=False),
    # Kernel languages that it can judge, with spaces between them; empty: not said.
    Column("languages", Text, nullable=False, server_default=""),
    Column("started", Double, nullable=False),
    Column("until", Double, nullable=False),  # a lease after it was last heard of, or when it ended
    Index("judges_by_end", "until"),
    sqlite_autoincrement=True,
)

_LATER = {
    2: (submissions.c.text_digest,),
    3: (
        accounts.c.trainer,
        *(submissions.c[name] for name in ("private", "priority", "deadline", "environment", "device_seconds")),
    ),
    4: (submissions.c.retry, judges.c.languages, batch_items.c.late),
}
"""Columns that tables of a version lack; whole tables that are missing are made in any case."""


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
            elif found in _LATER:
                _bring_up_to_date(connection, found)
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


def _bring_up_to_date(connection: Connection, version: int) -> None:
    there = inspect(connection).get_table_names()
    missing = [column for since, columns in _LATER.items() if since >= version for column in columns]
    for column in (each for each in missing if each.table.name in there):
        table = column.table
        if column.name not in {each["name"] for each in inspect(connection).get_columns(table.name)}:
            kind = CreateColumn(column).compile(dialect=connection.dialect)
            connection.execute(DDL(f"ALTER TABLE {table.name} ADD COLUMN {kind}"))
    if version == 2:
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

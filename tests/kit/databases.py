"""The databases that a server can have: a SQLite file, and a PostgreSQL of the tests' own where one is installed."""

from __future__ import annotations

import os
import pwd
import shutil
import subprocess
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

if TYPE_CHECKING:
    from sqlalchemy import Engine

LOCKED = "locked"
"""A user of the PostgreSQL whom it asks for a password. Whoever needs one makes it."""


def _programs() -> Path | None:
    found = sorted(Path("/usr/lib/postgresql").glob("*/bin/initdb")) or [Path(shutil.which("initdb") or "/nowhere")]
    return found[-1].parent if found[-1].exists() else None


def _owner() -> str | None:
    """Who the server runs as: it refuses root. None: ourselves."""
    if os.geteuid() != 0:
        return None
    try:
        return pwd.getpwnam("postgres").pw_name
    except KeyError:
        pytest.skip("PostgreSQL does not run as root, and there is no user postgres")


@pytest.fixture(scope="session")
def postgresql() -> Iterator[str]:
    """The URL of a fresh PostgreSQL that listens on a socket only; skips where none is installed."""
    programs = _programs()
    if programs is None:
        pytest.skip("no PostgreSQL is installed (apt-get install postgresql)")
    owner = _owner()
    folder = Path(tempfile.mkdtemp(prefix="kgpg-", dir="/tmp"))  # a socket's path may not be long
    try:
        if owner:
            shutil.chown(folder, owner)
        data = folder / "data"

        def run(program: str, *words: str) -> None:
            done = subprocess.run(
                [str(programs / program), *words], user=owner, cwd=folder, capture_output=True, text=True
            )
            assert done.returncode == 0, done.stderr + done.stdout

        run("initdb", "--pgdata", str(data), "--username", "kg", "--auth", "trust", "--no-sync", "--encoding", "UTF8")
        (data / "pg_hba.conf").write_text(f"local all {LOCKED} scram-sha-256\nlocal all all trust\n")
        options = f"-k {folder} -c listen_addresses='' -c fsync=off -c max_connections=200"
        log = str(folder / "log")
        run(
            "pg_ctl", "--pgdata", str(data), "--options", options, "--log", log, "--wait", "--timeout", "120", "start"
        )
        try:
            yield f"postgresql:///postgres?host={folder}&user=kg"
        finally:
            run("pg_ctl", "--pgdata", str(data), "--mode", "immediate", "--wait", "stop")
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def empty(engine: Engine) -> None:
    """Every table of a server in it, as if nothing had ever been there."""
    from kernelgauge.serve.database import metadata

    names = ", ".join(table.name for table in metadata.sorted_tables if table.name != "about")
    with engine.begin() as connection:
        connection.exec_driver_sql(f"TRUNCATE {names} RESTART IDENTITY")


@pytest.fixture(params=["sqlite", "postgresql"])
def engine(request: pytest.FixtureRequest, tmp_path: Path) -> Iterator[Engine]:
    """An empty database of either kind."""
    from kernelgauge.serve.database import opened  # the extra serve may be missing

    if request.param == "sqlite":
        made = opened(f"sqlite:///{tmp_path / 'serve.db'}")
    else:
        made = opened(request.getfixturevalue("postgresql"))
        empty(made)
    yield made
    made.dispose()

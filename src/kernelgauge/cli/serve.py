"""`kernelgauge serve`, `judge`, `account` and `submit`: the leaderboard live, with candidates from elsewhere."""

from __future__ import annotations

import json
import os
import signal
import sys
import threading
from pathlib import Path
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.options import (
    AsJson,
    BackendName,
    DeviceName,
    MathName,
    PrecisionName,
    ProtocolName,
    RulesName,
    SizesName,
    chosen_device,
    chosen_rules,
    chosen_sizes,
)
from kernelgauge.errors import MachineError, UsageError

if TYPE_CHECKING:
    from sqlalchemy import Engine

    from kernelgauge.serve.accounts import Accounts
    from kernelgauge.serve.claims import Claim
    from kernelgauge.serve.setting import Setting

DATABASE = "KERNELGAUGE_DB"
TOKEN = "KERNELGAUGE_TOKEN"

Database = Annotated[
    str,
    typer.Option("--db", envvar=DATABASE, help="sqlite:///FILE or postgresql://USER:PASSWORD@HOST/NAME."),
]
Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Candidates built at once, and on a CPU checked.")]
Lease = Annotated[
    float, typer.Option("--lease", min=1.0, help="Seconds until another judge may take what a dead one held.")
]
_SQLITE = "sqlite:///kernelgauge-serve.db"

account = typer.Typer(help="Who may hand in candidates to a server.", no_args_is_help=True)


def serve(
    runs: Annotated[list[Path] | None, typer.Argument(help="Run folders that stand on the boards too.")] = None,
    db: Database = _SQLITE,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; all: 0.0.0.0.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = 8000,
    judges: Annotated[int, typer.Option("--judges", min=0, max=64, help="Judges on this machine.")] = 1,
    device: DeviceName = None,
    sizes: SizesName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    precision: PrecisionName = None,
    kernels: RulesName = None,
    jobs: Jobs = 1,
    lease: Lease = 120.0,
    largest: Annotated[int, typer.Option("--max-kb", min=1, max=1024, help="Of one candidate's text.")] = 256,
    hourly: Annotated[int, typer.Option("--per-hour", min=1, help="Candidates of one account.")] = 60,
    waiting: Annotated[int, typer.Option("--waiting", min=1, help="Candidates of one account in the queue.")] = 20,
) -> None:
    """Serve the leaderboard live, take candidates, and judge them. Ctrl-C loses nothing that was handed in."""
    engine = _opened(db)
    setting = _setting(device, sizes, protocol, math, precision, kernels, jobs)
    from kernelgauge.leaderboard.entries import published
    from kernelgauge.serve.app import application
    from kernelgauge.serve.server import Judges, served
    from kernelgauge.serve.submissions import Allowance
    from kernelgauge.store.run import Run

    allowance = Allowance(source_bytes=largest * 1024, per_hour=hourly, waiting=waiting)
    app = application(engine, [published(Run.read(path)) for path in runs or ()], allowance, _title(setting))
    flags = [("device", device), ("sizes", sizes), ("math", math), ("precision", precision), ("rules", kernels)]
    command = [sys.executable, "-m", "kernelgauge", "judge", "--protocol", protocol]
    command += ["--jobs", str(jobs), "--lease", str(lease)]
    command += [word for name, value in flags if value for word in (f"--{name}", value.value)]
    server = served(app, host, port)
    typer.echo(f"http://{host}:{port}   judged with {_title(setting)}")
    # The web server gives a signal on when it is done with it; judges must be told of the end first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pool = Judges([*command, "--parent", str(os.getpid())], {**os.environ, DATABASE: db}, judges)
    try:
        server.run()
    finally:
        pool.close()
    if not server.started:
        raise MachineError(f"no server could listen on {host}:{port}")


def judge(
    db: Database = _SQLITE,
    device: DeviceName = None,
    sizes: SizesName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    precision: PrecisionName = None,
    kernels: RulesName = None,
    jobs: Jobs = 1,
    lease: Lease = 120.0,
    parent: Annotated[int | None, typer.Option("--parent", hidden=True)] = None,
) -> None:
    """Judge what was handed in to a server, on this machine, until ctrl-C. Any number may share one database."""
    engine = _opened(db)
    setting = _setting(device, sizes, protocol, math, precision, kernels, jobs)
    from kernelgauge.serve.claims import Claims
    from kernelgauge.serve.evaluator import SessionEvaluator
    from kernelgauge.serve.judging import Judge

    stop = threading.Event()

    def asked_to_end(number: int, frame: FrameType | None) -> None:
        stop.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, asked_to_end)
    if parent is not None:
        threading.Thread(target=_until_orphaned, args=(parent, stop), daemon=True).start()
    evaluator = SessionEvaluator(setting)
    try:
        Judge(Claims(engine, lease), evaluator, _told).run(stop)
    finally:
        evaluator.close()


def submit(
    problem: Annotated[str, typer.Argument(help="A problem such as 1/23.")],
    file: Annotated[Path, typer.Argument(help="The candidate: a file that defines ModelNew; - reads stdin.")],
    server: Annotated[str, typer.Option("--server", envvar="KERNELGAUGE_SERVER", help="URL of the server.")],
    token: Annotated[str, typer.Option("--token", envvar=TOKEN, help="Of your account there.")] = "",
    backend: BackendName = None,
    wait: Annotated[bool, typer.Option(help="Wait for the verdict.")] = True,
    as_json: AsJson = False,
) -> None:
    """Hand in a candidate to a server. Exit code: 0 passed (or handed in), 1 not passed, 2 refused, 3 no verdict."""
    from kernelgauge.cli.evaluate import standard_input
    from kernelgauge.cli.progress import working
    from kernelgauge.generation.folder import read_source
    from kernelgauge.serve.client import Client

    if not token:
        raise UsageError(f"a token is needed: set {TOKEN}")
    source = standard_input() if str(file) == "-" else read_source(file)
    client = Client(server, token)
    number = client.hand_in(problem, source, backend or "")
    if not wait:
        typer.echo(json.dumps(client.verdict(number)) if as_json else client.page(number))
        return
    with working(f"submission {number} waits for its verdict"):
        found = client.waited(number)
    verdict = found["verdict"]
    if as_json:
        typer.echo(json.dumps(found))
    else:
        typer.echo(f"{_said(found)}\n{client.page(number)}")
    if verdict is None:
        raise typer.Exit(3)
    raise typer.Exit(0 if verdict["outcome"] == "passed" else 1)


@account.command("add")
def add(name: Annotated[str, typer.Argument(help="Shown on the boards.")], db: Database = _SQLITE) -> None:
    """Make an account and print its token, this once."""
    typer.echo(_accounts(db).add(name))


@account.command("renew")
def renew(name: str, db: Database = _SQLITE) -> None:
    """Print a new token for an account; the old one is good for nothing from now on."""
    typer.echo(_accounts(db).renew(name))


@account.command("revoke")
def revoke(name: str, db: Database = _SQLITE) -> None:
    """Make an account's token good for nothing; what it handed in stays."""
    _accounts(db).revoke(name)


@account.command("list")
def list_accounts(db: Database = _SQLITE) -> None:
    """Print all accounts."""
    for each in _accounts(db).all():
        typer.echo(f"{each.name}{'  revoked' if each.revoked else ''}")


def _opened(db: str) -> Engine:
    try:
        from kernelgauge.serve.database import opened
    except ModuleNotFoundError as error:
        raise UsageError(f"{error.name} is missing: pip install 'kernelgauge[serve]'") from None
    return opened(db)


def _accounts(db: str) -> Accounts:
    engine = _opened(db)
    from kernelgauge.serve.accounts import Accounts

    return Accounts(engine)


def _setting(
    device: object, sizes: object, protocol: str, math: object, precision: object, kernels: object, jobs: int
) -> Setting:
    from kernelgauge.serve.setting import Setting, check_secret

    where = chosen_device(device)  # type: ignore[arg-type]
    rules = chosen_rules(protocol, math, precision, None, where, kernels)  # type: ignore[arg-type]
    check_secret(rules)
    return Setting(device=where, sizes=chosen_sizes(sizes, where), protocol=rules, jobs=jobs)  # type: ignore[arg-type]


def _title(setting: Setting) -> str:
    return setting.title


def _said(found: dict[str, object]) -> str:
    verdict = found["verdict"]
    if not isinstance(verdict, dict):
        return f"it could not be judged: {found['reason']}"
    if verdict["speedup"] is None:
        return f"{verdict['outcome']}  {verdict['reason']}".rstrip()
    low, high = verdict["speedup_interval"]
    return f"passed, {verdict['standing']}  {verdict['speedup']:.3g}x eager (95 % between {low:.3g} and {high:.3g})"


def _told(claim: Claim, kept: bool) -> None:
    aside = "" if kept else ", which another judge has taken meanwhile"
    typer.echo(f"submission {claim.number}: {claim.problem} by {claim.account}{aside}")


def _until_orphaned(parent: int, stop: threading.Event) -> None:
    while os.getppid() == parent and not stop.wait(1.0):
        pass
    stop.set()

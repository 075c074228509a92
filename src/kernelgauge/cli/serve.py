"""`kernelgauge serve`: the leaderboard live, with candidates from elsewhere."""

from __future__ import annotations

import os
import signal
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.database import DATABASE, SQLITE, Database, opened
from kernelgauge.cli.judge import SECRETS, Jobs, Lease, WithoutIsolation, refuse_without_isolation, server_setting_of
from kernelgauge.cli.notices import tell_boardless, tell_shortcomings
from kernelgauge.cli.options import (
    DeviceName,
    DeviceOption,
    ExecutorName,
    KernelPolicyFlag,
    MathName,
    PrecisionName,
    ProtocolName,
    SizesName,
    value_of,
)
from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from kernelgauge.cluster.serving import ServingPool
    from kernelgauge.execution.machines import Machines
    from kernelgauge.serve.server import JudgePool
    from kernelgauge.serve.setting import ServerSetting


def serve(
    runs: Annotated[list[Path] | None, typer.Argument(help="Run folders that stand on the boards too.")] = None,
    db: Database = SQLITE,
    host: Annotated[str, typer.Option("--host", help="Address to listen on; all: 0.0.0.0.")] = "127.0.0.1",
    port: Annotated[int, typer.Option("--port", min=0, max=65535)] = 8000,
    judges: Annotated[int, typer.Option("--judges", min=0, max=1024, help="On this machine, or the cluster.")] = 1,
    device: DeviceName = None,
    sizes: SizesName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    precision: PrecisionName = None,
    kernel_policy: KernelPolicyFlag = None,
    jobs: Jobs = 1,
    lease: Lease = 120.0,
    largest: Annotated[int, typer.Option("--max-kb", min=1, max=1024, help="Of one candidate's text.")] = 256,
    hourly: Annotated[int, typer.Option("--per-hour", min=1, help="Candidates of one account.")] = 60,
    waiting: Annotated[int, typer.Option("--waiting", min=1, help="Candidates of one account in the queue.")] = 20,
    batch_waiting: Annotated[
        int, typer.Option("--batch-waiting", min=1, help="Candidates of one account in the queue by batches.")
    ] = 1000,
    without_isolation: WithoutIsolation = False,
    executor: ExecutorName = None,
) -> None:
    """Serve the leaderboard live, take candidates and batches, and judge them. Ctrl-C loses nothing handed in."""
    engine = opened(db)
    from kernelgauge.execution.machines import machines_named

    machines = machines_named(executor)
    if not machines.here:
        device = DeviceOption(machines.device(value_of(device)))
    setting = server_setting_of(device, sizes, protocol, math, precision, kernel_policy, jobs)
    from kernelgauge.hardware.environment import require_device
    from kernelgauge.leaderboard.conflicts import check_apart
    from kernelgauge.leaderboard.entries import published
    from kernelgauge.runs import load
    from kernelgauge.serve.app import application
    from kernelgauge.serve.batches import BatchAllowance
    from kernelgauge.serve.isolation import keep_to_ourselves
    from kernelgauge.serve.server import address, listening, served
    from kernelgauge.serve.setting import announce
    from kernelgauge.serve.submissions import Allowance

    secrets = {name: os.environ[name] for name in SECRETS if name in os.environ} | {DATABASE: db}
    theirs = {**os.environ, **secrets}  # of the judges, with the password of the database
    keep_to_ourselves(*SECRETS)
    if judges and machines.here:
        require_device(setting.device)
        refuse_without_isolation(_layers(), without_isolation)
    allowance = Allowance(source_bytes=largest * 1024, per_hour=hourly, waiting=waiting)
    whole = [load(path) for path in runs or ()]
    tell_shortcomings(whole)
    beside = [published(run) for run in whole]
    tell_boardless(beside)
    check_apart(beside)
    batches = BatchAllowance(waiting=batch_waiting)
    app = application(engine, setting, beside, allowance, batches)
    flags = [("math", math), ("precision", precision), ("kernel-policy", kernel_policy)]
    # Device and sizes are said whole: what is usual where the judge runs may be something else.
    command = ["-m", "kernelgauge", "judge", "--device", setting.device, "--sizes", setting.sizes]
    command += ["--protocol", protocol, "--jobs", str(jobs), "--lease", str(lease)]
    command += ["--without-isolation"] if without_isolation else []
    command += [word for name, value in flags if value for word in (f"--{name}", value.value)]
    if not machines.here:
        _check_reachable(db, machines)
    server, listener = served(app), listening(host, port)
    announce(engine, setting)  # not before all else is sure: judges of another setting end when they see it
    typer.echo(f"{address(listener)}   judged with {setting.title}")
    # The web server gives a signal on when it is done with it; judges must be told of the end first.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    pool = _judges(machines, setting, command, secrets, theirs, judges)
    try:
        server.run([listener])
    finally:
        pool.close()
        machines.close()


def _judges(
    machines: Machines,
    setting: ServerSetting,
    command: list[str],
    secrets: dict[str, str],
    environment: dict[str, str],
    count: int,
) -> JudgePool | ServingPool:
    """Judges kept alive: in processes beside this one, or on the nodes of a cluster."""
    from kernelgauge.serve.server import JudgePool

    if machines.here:
        own = [sys.executable, *command, "--parent", str(os.getpid())]
        return JudgePool(own, environment, count)
    from kernelgauge.cluster.machines import RayCluster

    if not isinstance(machines, RayCluster):
        raise UsageError("a server has its judges on this machine, or on a Ray cluster: --executor ray")
    return machines.serving(setting.device, command, secrets, count)


def _check_reachable(db: str, machines: Machines) -> None:
    """Raises UsageError where the judges of other machines could not open the database."""
    alone = getattr(machines, "alone", bool)()
    if db.startswith("sqlite") and not alone:
        raise UsageError("judges on other machines need a database that they reach: --db postgresql://USER@HOST/NAME")


def _layers() -> tuple[str, ...]:
    from kernelgauge.config import load_settings
    from kernelgauge.sandbox.walls import standing
    from kernelgauge.sandbox.zygote_client import Zygote

    zygote = Zygote(load_settings())
    try:
        return standing(zygote)
    finally:
        zygote.close()

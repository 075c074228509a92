"""`kernelgauge judge`: a process that judges what was handed in to a server."""

from __future__ import annotations

import os
import signal
import socket
import threading
from types import FrameType
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.database import DATABASE, SQLITE, Database, opened
from kernelgauge.cli.options import (
    DeviceName,
    KernelPolicyFlag,
    MathName,
    PrecisionName,
    ProtocolName,
    SizesName,
    chosen_device,
    chosen_protocol,
    chosen_sizes,
)
from kernelgauge.cli.submit import TOKEN

if TYPE_CHECKING:
    from collections.abc import Collection

    from kernelgauge.serve.claims import SubmissionClaim
    from kernelgauge.serve.setting import ServerSetting

SECRETS = (DATABASE, "PGPASSWORD", TOKEN)
"""Variables of the environment that nobody sees whom a judge begins."""

Jobs = Annotated[int, typer.Option("--jobs", min=1, help="Candidates built at once, and on a CPU checked.")]
Lease = Annotated[
    float, typer.Option("--lease", min=1.0, help="Seconds until another judge may take what a dead one held.")
]
WithoutIsolation = Annotated[
    bool,
    typer.Option(
        "--without-isolation", help="Judge strangers' candidates though nothing keeps them from this machine."
    ),
]


def judge(
    db: Database = SQLITE,
    device: DeviceName = None,
    sizes: SizesName = None,
    protocol: ProtocolName = "strict",
    math: MathName = None,
    precision: PrecisionName = None,
    kernel_policy: KernelPolicyFlag = None,
    jobs: Jobs = 1,
    lease: Lease = 120.0,
    without_isolation: WithoutIsolation = False,
    parent: Annotated[int | None, typer.Option("--parent", hidden=True)] = None,
) -> None:
    """Judge what was handed in to a server, on this machine, until ctrl-C. Any number may share one database.

    Run it as a user of its own: a candidate can read what that user can read.
    """
    engine = opened(db)
    from kernelgauge.hardware.environment import require_device
    from kernelgauge.serve.claims import SubmissionClaims
    from kernelgauge.serve.database import reading
    from kernelgauge.serve.evaluator import SessionEvaluator
    from kernelgauge.serve.isolation import keep_to_ourselves
    from kernelgauge.serve.judges import AtWork, JudgePresence
    from kernelgauge.serve.judging import Judge
    from kernelgauge.serve.setting import check_same

    keep_to_ourselves(*SECRETS)
    setting = server_setting_of(device, sizes, protocol, math, precision, kernel_policy, jobs)
    require_device(setting.device)
    with reading(engine) as connection:  # before anything is begun for it
        check_same(connection, setting)
    stop = threading.Event()

    def asked_to_end(number: int, frame: FrameType | None) -> None:
        stop.set()

    for each in (signal.SIGTERM, signal.SIGINT):
        signal.signal(each, asked_to_end)
    if parent is not None:
        threading.Thread(target=_until_orphaned, args=(parent, stop), daemon=True).start()
    evaluator = SessionEvaluator(setting)
    try:
        refuse_without_isolation(evaluator.layers, without_isolation)
        name = f"{socket.gethostname()} {setting.device}"
        at_work = AtWork(name[:200], setting.device, evaluator.devices, evaluator.environment, evaluator.languages)
        claims = SubmissionClaims(engine, lease, name, setting)
        Judge(claims, evaluator, _told, presence=JudgePresence(engine, at_work, lease)).run(stop)
    finally:
        evaluator.close()


def server_setting_of(
    device: object, sizes: object, protocol: str, math: object, precision: object, kernel_policy: object, jobs: int
) -> ServerSetting:
    """How all that is handed in is judged. Raises UsageError."""
    from kernelgauge.judging import check_secret
    from kernelgauge.serve.setting import ServerSetting

    where = chosen_device(device)  # type: ignore[arg-type]
    chosen = chosen_protocol(protocol, math, precision, None, where, kernel_policy)  # type: ignore[arg-type]
    check_secret(chosen)
    return ServerSetting(device=where, sizes=chosen_sizes(sizes, where), protocol=chosen, jobs=jobs)  # type: ignore[arg-type]


def refuse_without_isolation(layers: Collection[str], without: bool) -> None:
    """Raises UsageError where layers are missing; or, if that is wanted, says so."""
    from kernelgauge.sandbox.walls import NEEDED
    from kernelgauge.serve.isolation import check_layers

    if not without:
        check_layers(layers)
    elif missing := [name for name in NEEDED if name not in layers]:
        typer.echo(
            f"WARNING: no {', '.join(missing)} isolation layer stands around a worker here. Whoever hands in a "
            "candidate can reach what this user can reach: run this on a machine that holds nothing else.",
            err=True,
        )


def _told(claim: SubmissionClaim, kept: bool) -> None:
    aside = "" if kept else ", which another judge has taken meanwhile"
    typer.echo(f"submission {claim.number}: {claim.problem} by {claim.account}{aside}")


def _until_orphaned(parent: int, stop: threading.Event) -> None:
    while os.getppid() == parent and not stop.wait(1.0):
        pass
    stop.set()

"""`kernelgauge selftest`: does this installation see through every shipped cheat, and accept what is honest?"""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.options import AsJson, ExecutorName, ProtocolName
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import MachineError, UsageError

if TYPE_CHECKING:
    from pathlib import Path

    from kernelgauge.selftest.self_test import SpecimenResult

_LOG_LINES = 12


def selftest(
    gpu: Annotated[bool, typer.Option("--gpu", help="On the GPU, with the specimens that need one.")] = False,
    only: Annotated[
        str | None, typer.Option(help="Only this class (timing/lazy_tensor), area, kind or specimen.")
    ] = None,
    jobs: Annotated[int | None, typer.Option(min=1, help="How many at once; default: one per core.")] = None,
    protocol: ProtocolName = "strict",
    executor: ExecutorName = None,
    as_json: AsJson = False,
) -> None:
    """Put every shipped specimen, cheating, honest and broken ones, through the real evaluator.

    Another --protocol stands in for strict, which the verdicts are due under: those that deviate are what it does not
    see. Few calls are timed, whatever it says.

    Exit code: 0 if each got the verdict in its header, 1 if one did not, 3 if the machine failed.
    """
    from kernelgauge.config import load_protocol
    from kernelgauge.execution.machines import machines_named
    from kernelgauge.hardware.environment import missing_device
    from kernelgauge.selftest.self_test import LIMITS, chosen, left_behind
    from kernelgauge.selftest.self_test import selftest as run

    found = chosen(only)
    if not found:
        raise UsageError(f"no specimen, class, area or kind is called {only!r}: see docs/explanation/threat-model.md")
    load_protocol(protocol)  # what is wrong with it is said before anything is judged
    machines = machines_named(executor)
    if gpu and machines.here and (reason := missing_device("cuda")):
        raise UsageError(f"--gpu: {reason}")
    where = machines.device("cuda" if gpu else "cpu")
    from kernelgauge.cli.progress import counting
    from kernelgauge.session.session import Session

    findings: list[SpecimenResult] = []
    remains: list[Path] = []
    try:
        with (
            closing(machines),
            Session(threads=1, limits=LIMITS, machines=machines) as session,
            counting("judging specimens", len(found)) as count,
        ):

            def judged(finding: SpecimenResult) -> None:
                findings.append(finding)
                count(finding.path)

            threads = jobs or session.environment.cores
            findings = run(session, found, where, threads, judged, protocol)
            remains = left_behind(session)
    finally:  # interrupted or not: what was judged is said
        if len(findings) < len(found):
            typer.echo(f"kernelgauge: {len(findings)} of {len(found)} specimens were judged", err=True)
        if as_json:
            told = {"specimens": [each.model_dump() for each in findings], "left_behind": list(map(str, remains))}
            print_object(told)
        elif findings:
            _show(findings, remains)
    if any(finding.verdict == "error" for finding in findings):
        raise typer.Exit(MachineError.exit_code)
    raise typer.Exit(1 if remains or any(finding.verdict == "deviates" for finding in findings) else 0)


def _show(findings: Sequence[SpecimenResult], remains: Sequence[Path]) -> None:
    from rich.table import Table

    from kernelgauge.cli.tables import console

    table = Table(box=None, header_style="bold")
    for column in ("class", "cheats", "as due", "honest", "accepted", "broken", "as due", "skipped", "seconds"):
        table.add_column(column, justify="left" if column == "class" else "right")
    for threat in sorted({finding.threat for finding in findings}):
        table.add_row(threat, *_counts([finding for finding in findings if finding.threat == threat]))
    table.add_section()
    table.add_row("all", *_counts(findings))
    out = console()
    out.print(table)
    for finding in findings:
        if finding.open and finding.verdict != "skipped":
            out.print(f"open: {finding.path}: {finding.open}", markup=False)
    for finding in findings:
        if finding.verdict in ("deviates", "error"):
            out.print(f"\n{finding.path} ({finding.threat}): {finding.why}", markup=False, style="bold red")
            out.print("\n".join([finding.reason, *finding.log.splitlines()[-_LOG_LINES:]]), markup=False)
    for path in remains:
        out.print(f"left behind: {path}", markup=False, style="bold red")


def _counts(findings: Sequence[SpecimenResult]) -> list[str]:
    judged = [finding for finding in findings if finding.verdict != "skipped"]
    cells = []
    for kind in ("cheats", "honest", "broken"):
        own = [finding for finding in judged if finding.kind == kind]
        cells += [str(len(own)), str(sum(finding.verdict == "as due" for finding in own))]
    seconds = sum(finding.seconds for finding in findings)
    return [cell if cell != "0" else "" for cell in [*cells, str(len(findings) - len(judged))]] + [f"{seconds:.1f}"]

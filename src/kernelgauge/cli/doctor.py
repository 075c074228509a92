"""`kernelgauge doctor`: what works on this machine, and why does the rest not?"""

from __future__ import annotations

import json

import typer

from kernelgauge.cli.options import AsJson


def doctor(as_json: AsJson = False) -> None:
    """Certify every backend with three fixture candidates: one right, one that returns zeros, one not Python.

    Exit code: 0 if every backend that can run here judged all three as it must, 3 if not.
    """
    from kernelgauge.certify import certify
    from kernelgauge.cli.progress import working
    from kernelgauge.session import Session

    with Session() as session:
        with working("running fixture candidates; the first C++ build takes half a minute"):
            findings = certify(session)
        environment = session.environment
    broken = any(finding.works is False for finding in findings)
    if as_json:
        found = [finding.model_dump(mode="json") for finding in findings]
        typer.echo(json.dumps({"environment": environment.model_dump(mode="json"), "backends": found}))
        raise typer.Exit(3 if broken else 0)
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    console = Console()
    facts = Table(show_header=False, box=None)
    for name, value in environment.model_dump().items():
        facts.add_row(name, escape(str(value)) if value is not None else "none")
    console.print(facts)
    table = Table(box=None, header_style="bold")
    for column in ("backend", "device", "works", "why"):
        table.add_column(column)
    words = {True: "[green]yes[/]", False: "[red]no[/]", None: "not here"}
    for finding in findings:
        table.add_row(finding.backend, finding.device, words[finding.works], escape(finding.why))
    console.print(table)
    walls = next((finding.isolation for finding in findings if finding.isolation), ())
    console.print(f"walls around a worker: {', '.join(walls) or 'none: results are marked as not isolated'}")
    raise typer.Exit(3 if broken else 0)

"""`kernelgauge doctor`: what works on this machine, and why does the rest not?"""

from __future__ import annotations

from typing import Annotated

import typer

from kernelgauge.cli.options import AsJson, DeviceName, chosen_device
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import UsageError


def doctor(
    measure: Annotated[
        bool,
        typer.Option("--measure", help="Measure this machine's peaks instead, which bounds need."),
    ] = False,
    device: DeviceName = None,
    as_json: AsJson = False,
) -> None:
    """Certify every backend with three fixture candidates: one right, one that returns zeros, one not Python.

    With --measure, bandwidths and matrix rates of --device instead. Exit code: 0 if every backend that can run here
    judged all three as it must, 3 if not.
    """
    if measure:
        _measure(chosen_device(device), as_json)
        return
    if device is not None:
        raise UsageError("--device goes with --measure: backends are certified on every device they know")
    from kernelgauge.cli.progress import working
    from kernelgauge.selftest.certify import certify
    from kernelgauge.session.session import Session

    with Session() as session:
        with working("running fixture candidates; the first C++ build takes half a minute"):
            findings = certify(session)
        environment = session.environment
    broken = any(finding.works is False for finding in findings)
    if as_json:
        found = [finding.model_dump(mode="json") for finding in findings]
        print_object({"environment": environment.model_dump(mode="json"), "backends": found})
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
    layers = next((finding.isolation for finding in findings if finding.isolation), ())
    console.print(
        f"isolation layers around a worker: {', '.join(layers) or 'none: results are marked as not isolated'}"
    )
    raise typer.Exit(3 if broken else 0)


def _measure(device: str, as_json: bool) -> None:
    from kernelgauge.cli.progress import working
    from kernelgauge.session.session import Session

    with Session() as session, working(f"measuring the peaks of {device}"):
        peaks = session.measure(device)
    if as_json:
        print_object(peaks)
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(show_header=False, box=None)
    table.add_row("device", f"{peaks.device}, {peaks.name}")
    table.add_row("copy", f"{peaks.copy_gbs:.4g} GB/s, read and written")
    table.add_row("read only", f"{peaks.read_gbs:.4g} GB/s")
    table.add_row("ceiling", f"{peaks.ceiling_gbs:.4g} GB/s")
    for precision, rate in peaks.flops.items():
        table.add_row(f"matrix product, {precision}", f"{rate / 1e12:.4g} TFLOP/s")
    table.add_row("cache", f"{peaks.cache_bytes >> 20} MiB")
    table.add_row("how", peaks.note)
    console = Console(markup=False)
    console.print(table)
    if peaks.device == "cpu":
        console.print("CPU figures are rough: a neighbour on a shared machine can halve them.")

"""`kernelgauge problems`: what is in the suite?"""

from __future__ import annotations

import json
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from kernelgauge.cli import dataset, fresh, suites
from kernelgauge.cli.options import (
    AsJson,
    DeviceName,
    MathName,
    SizesOption,
    SplitOption,
    SuiteName,
    chosen_device,
    parse_levels,
    parse_range,
)
from kernelgauge.cli.printed import print_object

if TYPE_CHECKING:
    from kernelgauge.config import MathMode
    from kernelgauge.problems.catalogue import Entry
    from kernelgauge.schema import Peaks, Problem

_FIGURES = ("GFLOP", "MB", "FLOP/B", "bound ms")

app = typer.Typer(help="What is in the suite, and which others are there?", no_args_is_help=True)
app.command("suites")(suites.suites)
app.command("import")(suites.import_)
app.command("remove")(suites.remove)
app.command("generate")(fresh.generate)
app.command("dataset")(dataset.dataset)


@app.command("list")
def list_(
    level: Annotated[str | None, typer.Option("--level", help="Levels, such as 1,2.")] = None,
    tag: Annotated[
        str | None, typer.Option("--tag", help="Only problems with all of these tags, such as loss,1d.")
    ] = None,
    intensity: Annotated[
        str | None,
        typer.Option("--intensity", help="Only problems of so many FLOP a byte, such as 50: or :10 or 10:50."),
    ] = None,
    suite: SuiteName = None,
    sizes: Annotated[
        SizesOption | None, typer.Option("--sizes", help="Only problems that have these, such as small.")
    ] = None,
    split: Annotated[
        SplitOption | None, typer.Option("--split", help="Only one part of a suite that was generated to train on.")
    ] = None,
    headroom: Annotated[
        list[Path] | None,
        typer.Option("--headroom", help="What is left to gain, by these runs of one machine; may be said again."),
    ] = None,
    peaks: Annotated[
        Path | None,
        typer.Option("--peaks", help="With --headroom: bounds by this file of `doctor --measure --json`."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """All problems: number, name, tags, work at full sizes, and how weak each is at the published inputs.

    Where peaks of this machine are known, also the least time it allows, in float32 arithmetic.
    """
    from kernelgauge.cli.headroom import print_headroom
    from kernelgauge.cli.work import peaks_here
    from kernelgauge.errors import UsageError
    from kernelgauge.problems.catalogue import entry, select
    from kernelgauge.session.selection import chosen_suite

    if peaks and not headroom:
        raise UsageError("--peaks says by which peaks --headroom has its bounds: name its runs too")
    here = peaks_here(chosen_device(None))
    keys = select(parse_levels(level), suite=chosen_suite(suite))
    rows = [_row(entry(key), here) for key in (_having(keys, sizes.value) if sizes else keys)]
    wanted = {part.strip() for part in (tag or "").split(",") if part.strip()}
    low, high = parse_range("--intensity", intensity)
    rows = [row for row in rows if wanted <= set(row["tags"]) and (split is None or row["split"] == split.value)]
    if intensity is not None:
        rows = [row for row in rows if row["intensity"] is not None and low <= row["intensity"] <= high]
    if headroom:
        print_headroom(headroom, [row["key"] for row in rows], peaks, as_json)
        return
    if as_json:
        typer.echo(json.dumps(rows))
        return
    from rich.table import Table

    from kernelgauge.cli.tables import console

    table = Table(box=None, header_style="bold")
    for column in ("problem", "name", "tags", *_FIGURES, "at published inputs"):
        table.add_column(column, justify="right" if column in _FIGURES else "left")
    for row in rows:
        weakness = row["weakness"]
        weak = f"{weakness['severity']}: {', '.join(weakness['kinds'])}" if weakness else ""
        table.add_row(
            row["key"],
            row["name"],
            ", ".join(row["tags"]),
            f"{row['flops'] / 1e9:.3g}" if row["flops"] else "",
            f"{row['min_bytes'] / 1e6:.3g}" if row["min_bytes"] else "",
            f"{row['intensity']:.3g}" if row["intensity"] is not None else "",
            f"{row['bound_ms_ieee']:.3g}" if row["bound_ms_ieee"] is not None else "",
            weak,
        )
    console().print(table)


def _having(keys: list[str], wanted: str) -> list[str]:
    """Those that have these sizes. Raises ProblemError if none has."""
    from kernelgauge.errors import ProblemError
    from kernelgauge.problems.loader import sizes_of

    having = [key for key in keys if wanted in sizes_of(key)]
    if not having:
        there = ", ".join(dict.fromkeys(size for key in keys for size in sizes_of(key))) or "none"
        raise ProblemError(f"no problem of those asked for has sizes {wanted!r}: they have {there}")
    return having


def _row(found: Entry, peaks: Peaks | None) -> dict[str, Any]:
    """A flat object for a problem; work and bound are those at full sizes, null where nothing is recorded of it."""
    from kernelgauge.cli.work import MATHS, bound_row
    from kernelgauge.problems.facts import facts
    from kernelgauge.schema import suite_of

    known = facts(found.level, found.number) if suite_of(found.key) is None else None
    names = ("flops", "min_bytes", "intensity", "peaks", *(f"bound_ms_{math}" for math in MATHS))
    work: dict[str, Any] = dict.fromkeys(names)
    if known is not None:
        counted = {"flops": known.flops, "min_bytes": known.min_bytes, "intensity": known.work.intensity}
        work = {**counted, **bound_row(known.work, peaks)}
    return {"key": found.key, **found.model_dump(mode="json"), **work}


@app.command()
def show(
    problem: Annotated[str, typer.Argument(help="A problem such as 1/23, or a file of your own.")],
    sizes: Annotated[SizesOption, typer.Option("--sizes")] = SizesOption.full,
    work: Annotated[
        bool, typer.Option("--work", help="Show FLOPs, bytes and the least time this machine allows instead.")
    ] = False,
    device: DeviceName = None,
    math: MathName = None,
    as_json: AsJson = False,
) -> None:
    """The source of a problem, with that size's constants in place; or with --work what it has to do."""
    from kernelgauge.problems.loader import load_problem

    found = load_problem(problem, sizes=sizes.value)  # type: ignore[arg-type]
    if work:
        _show_work(found, chosen_device(device), math.value if math else None, as_json)
    elif as_json:
        print_object(found)
    else:
        typer.echo(found.source, nl=False)


def _show_work(problem: Problem, device: str, math: MathMode | None, as_json: bool) -> None:
    from kernelgauge.cli import work
    from kernelgauge.session.session import Session

    maths = (math,) if math else work.MATHS
    peaks = work.peaks_here(device)
    with Session(threads=1) as session:
        found = session.work(problem, maths[0])
    if as_json:
        print_object(work.as_json(problem, found, peaks, maths))
    else:
        work.show_work(problem, found, peaks, maths)


@app.command()
def verify(
    problems: Annotated[
        list[str] | None, typer.Argument(help="Problems such as 1/23, or files; default: all.")
    ] = None,
    level: Annotated[str | None, typer.Option("--level", help="Levels, such as 1,2.")] = None,
    suite: SuiteName = None,
    protocol: Annotated[
        str, typer.Option("--protocol", help="Protocols to try trivial answers under.")
    ] = "strict,v0.1",
    jobs: Annotated[int, typer.Option("--jobs", min=1, help="Problems examined at once.")] = 1,
    record: Annotated[
        bool, typer.Option("--record", help="For the suite's maintainers: keep what was found as the suite's data.")
    ] = False,
    as_json: AsJson = False,
) -> None:
    """Is every problem what it says it is, and would an answer that skips the work pass?

    Compares names, shapes, FLOPs and bytes with recorded facts, runs the reduced sizes, and tries trivial answers,
    low precision and ignored parameters under each protocol. Exit code: 0 if every problem is sound, 3 if not.
    """
    from kernelgauge.cli.progress import counting
    from kernelgauge.cli.verification import complain, show_findings
    from kernelgauge.config import load_protocol
    from kernelgauge.problems.catalogue import entry, select
    from kernelgauge.problems.loader import is_own_file
    from kernelgauge.session.selection import chosen_suite
    from kernelgauge.session.session import Session
    from kernelgauge.verification.verify import keep, verify_all

    own = [name for name in problems or [] if is_own_file(name)]
    named = [name for name in problems or [] if not is_own_file(name)]
    levels, named_suite = parse_levels(level), chosen_suite(suite)
    keys = own + (select(levels, named or None, suite=named_suite) if named or level or not own else [])
    if not named and level is None and find_spec("transformers") is None and named_suite is None:
        typer.echo("kernelgauge: level 4 is left out: it needs pip install 'kernelgauge[level4]'", err=True)
        keys = [key for key in keys if key in own or entry(key).level != 4]
    protocols = [load_protocol(name.strip()) for name in protocol.split(",")]
    findings = []
    with Session(threads=1) as session, counting("verifying", len(keys)) as seen:
        for finding in verify_all(session, keys, protocols, jobs):
            findings.append(finding)
            complain(finding)
            seen(f"{finding.problem} {finding.name}")
    broken = any(finding.broken for finding in findings)
    if record and not broken:
        keep(findings)
    if as_json:
        typer.echo(json.dumps([finding.model_dump(mode="json") for finding in findings]))
    else:
        show_findings(findings, [each.name for each in protocols])
    raise typer.Exit(3 if broken else 0)

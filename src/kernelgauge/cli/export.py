"""`kernelgauge export`: the records of runs as tables for other people's tools."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.notices import tell_shortcomings
from kernelgauge.cli.options import parse_names
from kernelgauge.errors import UsageError


class FormatOption(StrEnum):
    """What files are written."""

    csv = "csv"
    json = "json"
    parquet = "parquet"


def export(
    runs: Annotated[list[Path] | None, typer.Argument(help="Run folders or logs of Inspect.")] = None,
    table: Annotated[
        str | None, typer.Option("--table", help="Such as evaluations,trials; default: all with --out.")
    ] = None,
    form: Annotated[FormatOption, typer.Option("--format", help="Kind of file.")] = FormatOption.csv,
    out: Annotated[
        Path | None, typer.Option("--out", help="Folder for a file a table; default: one table is printed.")
    ] = None,
    columns: Annotated[bool, typer.Option("--columns", help="Say what the tables and columns are instead.")] = False,
) -> None:
    """Write tidy tables of runs: evaluations, fast_p, raw samples, trials, stages, candidates and more."""
    from kernelgauge.report.tables.columns import TABLES, table_named
    from kernelgauge.report.tables.frames import as_text, write
    from kernelgauge.runs import load

    names = parse_names(table) or list(TABLES if out or columns else ("evaluations",))
    wanted = [table_named(name) for name in names]
    if columns:
        for each in wanted:
            typer.echo(f"{each.name}: {each.about}")
            for column in each.columns:
                typer.echo(f"  {column.name:<20} {column.kind:<8} {column.about}")
        return
    if not runs:
        raise UsageError("missing argument 'RUNS': name a run folder or a log of Inspect")
    found = [load(run) for run in runs]
    tell_shortcomings(found)
    if out is not None:
        for each in wanted:
            typer.echo(write(found, each, form.value, out))
    elif len(wanted) > 1:
        raise UsageError("several tables do not fit one output: name a folder with --out")
    else:
        typer.echo(as_text(found, wanted[0], form.value), nl=False)

"""`kernelgauge problems suites`, `import` and `remove`: whose problems are there besides the built-in ones?"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Annotated, Any

import typer

from kernelgauge.cli.options import AsJson
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import ProblemError


def suites(as_json: AsJson = False) -> None:
    """All suites: name, where their problems come from, how many there are of each level, where they lie."""
    rows = _rows()
    if as_json:
        typer.echo(json.dumps(rows))
        return
    from rich.console import Console
    from rich.markup import escape
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("suite", "problems by level", "origin", "for", "where"):
        table.add_column(column, overflow="fold")
    for row in rows:
        counts = ", ".join(f"{level}: {count}" for level, count in row["levels"].items())
        table.add_row(
            row["name"],
            counts,
            escape(row["origin"] if row["damage"] is None else row["damage"]),
            row["purpose"] or "",
            escape(row["folder"]),
        )
    Console().print(table)


def _rows() -> list[dict[str, Any]]:
    from kernelgauge.problems.suites import BUILT_IN, imported

    return [_row(name) for name in (BUILT_IN, *imported())]


def _row(name: str) -> dict[str, Any]:
    """A flat object for a suite; a damaged one has no origin and says what is the matter."""
    from kernelgauge.problems.catalogue import suite_named
    from kernelgauge.problems.suites import suites_folder

    row: dict[str, Any] = {"name": name, "origin": None, "created": None, "purpose": None, "levels": {}}
    row["folder"] = str(suites_folder() / name)
    try:
        found = suite_named(name)
        levels = {level: len(found.keys([level])) for level in found.levels}
        about = found.about.model_dump(mode="json", include={"origin", "created", "purpose"})
    except ProblemError as error:
        return row | {"damage": str(error)}
    return row | about | {"levels": levels, "folder": str(found.folder), "damage": None}


def import_(
    source: Annotated[Path, typer.Argument(help="A KernelBench checkout, a .parquet file, or a folder.")],
    suite: Annotated[str, typer.Option("--suite", help="The name it gets; its problems are then NAME:1/23.")],
    replace: Annotated[bool, typer.Option("--replace", help="Overwrite a suite of that name.")] = False,
    as_json: AsJson = False,
) -> None:
    """Make other people's problems a suite. They are parsed, never run.

    Takes the levels of a KernelBench checkout, its parquet export, or a folder of problem files. Exit code: 0 if
    everything came in, 1 if something was left out and is named, 2 if nothing could be imported.
    """
    from kernelgauge.problems.importing.drafts import printable
    from kernelgauge.problems.importing.importer import import_suite

    done = import_suite(source, suite, replace)
    for each in done.left_out:
        typer.echo(f"kernelgauge: left out: {each.reason}", err=True)
    if not done.levels:
        raise ProblemError(f"nothing in {printable(source)} could be imported")
    if as_json:
        print_object(done)
    else:
        levels = ", ".join(f"{count} of level {level}" for level, count in done.levels.items())
        typer.echo(f"suite {suite}: {sum(done.levels.values())} problems ({levels}) in {done.folder}")
    raise typer.Exit(1 if done.left_out else 0)


def remove(suite: Annotated[str, typer.Argument(help="An imported suite.")]) -> None:
    """Delete an imported suite. Runs that were judged on it stay readable."""
    from kernelgauge.problems.suites import remove as delete

    delete(suite)
    typer.echo(f"suite {suite} is removed")

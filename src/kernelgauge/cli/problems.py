"""`kernelgauge problems`: what is in the suite?"""

from __future__ import annotations

import json
from typing import Annotated

import typer

from kernelgauge.cli.options import AsJson, SizesOption, parse_levels

app = typer.Typer(help="What is in the suite?", no_args_is_help=True)


@app.command("list")
def list_(
    level: Annotated[str | None, typer.Option("--level", help="Levels, such as 1,2.")] = None,
    tag: Annotated[str | None, typer.Option("--tag", help="Only problems with this tag.")] = None,
    as_json: AsJson = False,
) -> None:
    """All problems: number, name, tags, and how weak each is at the published inputs."""
    from kernelgauge.problems.catalogue import entry, select

    entries = [entry(key) for key in select(parse_levels(level))]
    if tag is not None:
        entries = [found for found in entries if tag in found.tags]
    if as_json:
        typer.echo(json.dumps([_row(found) for found in entries]))
        return
    from rich.console import Console
    from rich.table import Table

    table = Table(box=None, header_style="bold")
    for column in ("problem", "name", "tags", "at published inputs"):
        table.add_column(column)
    for found in entries:
        weakness = found.weakness
        weak = f"{weakness.severity}: {', '.join(weakness.kinds)}" if weakness else ""
        table.add_row(found.key, found.name, ", ".join(found.tags), weak)
    Console().print(table)


def _row(found: object) -> dict[str, object]:
    row: dict[str, object] = found.model_dump(mode="json")  # type: ignore[attr-defined]
    return {"key": found.key, **row}  # type: ignore[attr-defined]


@app.command()
def show(
    problem: Annotated[str, typer.Argument(help="A problem such as 1/23, or a file of your own.")],
    sizes: Annotated[SizesOption, typer.Option("--sizes")] = SizesOption.full,
    as_json: AsJson = False,
) -> None:
    """The source of a problem, with that size's constants in place."""
    from kernelgauge.problems.loader import load_problem

    found = load_problem(problem, sizes=sizes.value)  # type: ignore[arg-type]
    if as_json:
        typer.echo(found.model_dump_json())
    else:
        typer.echo(found.source, nl=False)

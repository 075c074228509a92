"""`kernelgauge compare`: what is faster, slower or the same in another run?"""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from kernelgauge.cli.options import AsJson
from kernelgauge.cli.printed import print_object


def compare(
    runs: Annotated[
        list[Path], typer.Argument(help="Run folders or logs of Inspect; each is held against the first.")
    ],
    best: Annotated[
        bool, typer.Option("--best", help="Of several samples the fastest; default: their geometric mean.")
    ] = False,
    mix: Annotated[
        bool, typer.Option("--mix", help="Compare runs of different protocols or sizes all the same.")
    ] = False,
    every: Annotated[bool, typer.Option("--all", help="List every problem, not only those that differ.")] = False,
    as_json: AsJson = False,
) -> None:
    """Compare runs: faster, slower, same, unclear per problem with intervals; paired tests; across GPUs."""
    from kernelgauge.cli.tables import console
    from kernelgauge.report.compare_text import render
    from kernelgauge.report.figures.compare import compare
    from kernelgauge.runs import load

    found = compare([load(run) for run in runs], best, mix)
    if as_json:
        print_object(found)
    else:
        console().print(render(found, every))

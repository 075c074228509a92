"""What somebody must know of the runs that a command has read, said on standard error."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

import typer

if TYPE_CHECKING:
    from kernelgauge.leaderboard.entries import Published
    from kernelgauge.report.table import Records


def tell_shortcomings(runs: Iterable[Records]) -> None:
    """Say of each run what it lacks; nothing of those that are whole. What was finished is read all the same."""
    from kernelgauge.report.figures.shortcomings import shortcomings

    for run in runs:
        for sentence in shortcomings(run):
            typer.echo(f"kernelgauge: {run.path}: {sentence}", err=True)


def tell_boardless(runs: Iterable[Published]) -> None:
    """Say which runs stand on no board."""
    for run in runs:
        if not run.entries:
            why = "it holds no verdict, and nothing else says on which hardware it was"
            typer.echo(f"kernelgauge: {run.origin} stands on no board: {why}", err=True)

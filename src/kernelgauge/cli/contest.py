"""A contestant on a part of the suite, as commands name the part and watch it being judged."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.options import JUDGING

if TYPE_CHECKING:
    from kernelgauge.config import Protocol
    from kernelgauge.execution.machines import Machines
    from kernelgauge.generation.contestant import Contestant
    from kernelgauge.store.run import Run

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        help="Candidates generated and built at once, and on a CPU checked; default: 1, on a GPU one for each core.",
        rich_help_panel=JUDGING,
    ),
]


def judge_contestant(
    contestant: Contestant,
    run: Run,
    keys: Sequence[str],
    protocol: Protocol,
    jobs: int | None,
    again: bool,
    machines: Machines | None = None,
) -> None:
    """Judge its candidates for these problems into a run, and show how good it was.

    Args:
        again: also what the run holds already.
        machines: where they are judged; None: here.

    Raises MachineError or UsageError: some were not judged, and the same command may judge them, or will not.
    """
    from kernelgauge.cli.progress import RunProgress
    from kernelgauge.report.figures.scores import score_run
    from kernelgauge.report.terminal import show
    from kernelgauge.session.run import complain_of_unjudged, judge_run

    if run.torn:
        typer.echo(f"kernelgauge: {run.torn}", err=True)
    try:
        with RunProgress() as watch:
            failed = judge_run(contestant, run, keys, protocol, jobs, again=again, watch=watch, machines=machines)
    except KeyboardInterrupt:
        count = len(run.done())
        kept = f"{count} records are kept in {run.path}"
        typer.echo(f"\nkernelgauge: {kept}; the same command goes on where this one stopped", err=True)
        raise
    show(score_run(run))
    typer.echo(f"records: {run.path}   report: kernelgauge report {run.path} --html report.html")
    complain_of_unjudged(failed, "candidates")

"""`kernelgauge report`: what did this run show?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.options import AsJson
from kernelgauge.cli.printed import print_object
from kernelgauge.errors import UsageError

if TYPE_CHECKING:
    from kernelgauge.report.table import Records


def _references(run: Records) -> dict[str, str]:
    """The problems' texts as they were asked; without those that have gone or changed since."""
    from kernelgauge.errors import ProblemError
    from kernelgauge.problems.loader import load_problem, sizes_within

    asked = {tried.problem: tried.problem_digest for tried in run.attempts()}
    asked |= {record.problem: record.problem_digest for record in run.evaluations()}
    found = {}
    for key in run.header.problems:
        try:
            problem = load_problem(key, sizes=sizes_within(key, run.header.sizes))
        except ProblemError:  # a user's own file or suite
            continue
        if asked.get(key, problem.digest) == problem.digest:
            found[key] = problem.source
    return found


def report(
    folder: Annotated[Path, typer.Argument(help="A run folder, or a log of Inspect.")],
    html: Annotated[Path | None, typer.Option("--html", help="Write one HTML file that opens offline.")] = None,
    baseline: Annotated[
        str, typer.Option("--baseline", help="Second table: over strongest, compile, compile-max-autotune, ...")
    ] = "strongest",
    twins: Annotated[
        Path | None,
        typer.Option("--twins", help="A run of the same contestant on twins of these problems: is the suite known?"),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Print fast_p per level with intervals, ties, geometric mean, outcomes; write the HTML report."""
    from kernelgauge.report.figures.rebased import STRONGEST
    from kernelgauge.report.figures.scores import score_run
    from kernelgauge.report.page.document import write_html
    from kernelgauge.report.terminal import show
    from kernelgauge.runs import load
    from kernelgauge.schema import MODES

    if baseline not in (STRONGEST, *MODES):
        raise UsageError(f"unknown baseline {baseline!r}; there are {', '.join((STRONGEST, *MODES))}")
    run = load(folder)
    twin_run = load(twins) if twins else None
    scores = score_run(run, baseline, twin_run)
    if baseline != STRONGEST and scores.against is None:
        raise UsageError(
            f"no record of {folder} holds a speedup over {baseline}: measure it with `kernelgauge baseline`, then "
            "judge the candidates again with `kernelgauge reeval`"
        )
    if html is not None:
        write_html(run, html, _references(run), twin_run)
    if as_json:
        print_object(scores)
        return
    show(scores)
    if html is not None:
        typer.echo(f"report written to {html}")

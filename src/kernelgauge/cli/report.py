"""`kernelgauge report`: what did this run show?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.notices import tell_shortcomings
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


def _study(paths: list[Path], html: Path | None, as_json: bool) -> None:
    """Print a study of runs, and write its page."""
    from rich.console import Console

    from kernelgauge.cli.progress import working
    from kernelgauge.report.figures.compare import differences
    from kernelgauge.report.figures.study.study import study
    from kernelgauge.report.page.profiles import profiles
    from kernelgauge.report.page.study import write_study
    from kernelgauge.report.study_text import render
    from kernelgauge.runs import load

    runs = [load(path) for path in paths]
    tell_shortcomings(runs)
    for run in runs[1:]:
        if unlike := differences(runs[0], run):
            what = f"{runs[0].path} and {run.path} differ in {' and '.join(unlike)}"
            typer.echo(f"kernelgauge: {what}: the study takes them together", err=True)
    with working("reading candidates"):
        found = study(runs, [_references(run) for run in runs], [profiles(run.path) for run in runs])
    if html is not None:
        write_study(found, html)
    if as_json:
        print_object(found)
        return
    Console().print(render(found))
    if html is not None:
        typer.echo(f"study written to {html}")


def report(
    runs: Annotated[list[Path], typer.Argument(help="A run folder, or a log of Inspect; with --study several.")],
    html: Annotated[Path | None, typer.Option("--html", help="Write one HTML file that opens offline.")] = None,
    baseline: Annotated[
        str, typer.Option("--baseline", help="Second table: over strongest, compile, compile-max-autotune, ...")
    ] = "strongest",
    baselines: Annotated[
        Path | None,
        typer.Option(
            "--baselines", help="Measured since: a folder of `kernelgauge baseline`, or its baselines.jsonl."
        ),
    ] = None,
    study: Annotated[
        bool,
        typer.Option("--study", help="Instead: failures by kind of problem, errors over turns, what winners share."),
    ] = False,
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
    from kernelgauge.report.runs import ComparedRun
    from kernelgauge.report.terminal import show
    from kernelgauge.runs import load
    from kernelgauge.schema import MODES
    from kernelgauge.store.baselines import read

    if study:
        if twins or baselines:
            raise UsageError(
                "--study compares with no twins and no baselines: ask for the report of one run with --twins or "
                "--baselines"
            )
        _study(runs, html, as_json)
        return
    if len(runs) > 1:
        raise UsageError("a report is about one run: compare several with `kernelgauge compare`, or add --study")
    (folder,) = runs
    if baseline not in (STRONGEST, *MODES):
        raise UsageError(f"unknown baseline {baseline!r}; there are {', '.join((STRONGEST, *MODES))}")
    run = load(folder) if baselines is None else ComparedRun(load(folder), read(baselines))
    twin_run = load(twins) if twins else None
    scores = score_run(run, baseline, twin_run)
    if scores.against is None and baselines:
        raise UsageError(
            f"no record of {folder} can be compared with {baselines}: no mode of PyTorch is there that passed on the "
            "same problem, machine, software, sizes, arithmetic and protocol"
        )
    if scores.against is None and baseline != STRONGEST:
        raise UsageError(
            f"no record of {folder} holds a speedup over {baseline}: measure it with `kernelgauge baseline --out "
            "BASELINES`, then `kernelgauge report RUN --baselines BASELINES`"
        )
    if html is not None:
        write_html(run, html, _references(run), twin_run)
    if as_json:
        print_object(scores)
        return
    show(scores)
    if html is not None:
        typer.echo(f"report written to {html}")

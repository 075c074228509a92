"""`kernelgauge leaderboard`: who is fastest on what, with the code?"""

from __future__ import annotations

from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.cli.notices import tell_boardless, tell_shortcomings
from kernelgauge.errors import StoreError, UsageError

if TYPE_CHECKING:
    from kernelgauge.report.table import Records
    from kernelgauge.store.run import Run

_MOST_NAMED = 5


def leaderboard(
    runs: Annotated[list[Path], typer.Argument(help="Run folders, or logs of Inspect.")],
    out: Annotated[Path, typer.Option("--out", help="Folder of the site: new, empty, or that of an earlier site.")],
    rejudge: Annotated[
        bool, typer.Option("--rejudge", help="Judge every candidate again on this machine, and publish only that.")
    ] = False,
    rejudged: Annotated[
        Path | None, typer.Option("--rejudged", help="Folder of the new runs; default: beside the site.")
    ] = None,
    protocol: Annotated[
        str | None, typer.Option("--protocol", help="With --rejudge: another protocol than the runs'.")
    ] = None,
    jobs: Annotated[int | None, typer.Option("--jobs", min=1, help="With --rejudge: as for `run`.")] = None,
    with_logs: Annotated[
        bool,
        typer.Option("--with-logs", help="Publish logs and reasons word for word: whatever a candidate could read."),
    ] = False,
) -> None:
    """Build a static site of these runs: standings, the fastest kernels of each problem with their code, history."""
    from kernelgauge.leaderboard.conflicts import check_apart
    from kernelgauge.leaderboard.entries import published
    from kernelgauge.leaderboard.publishing import publish
    from kernelgauge.leaderboard.static_site import Site
    from kernelgauge.report.figures.shortcomings import shortcomings
    from kernelgauge.runs import load
    from kernelgauge.store.run import Run

    if not rejudge and (protocol or rejudged or jobs):
        raise UsageError("--protocol, --rejudged and --jobs go with --rejudge")
    folders = list(dict.fromkeys(folder.resolve() for folder in runs))
    if rejudge:
        whole = out.resolve()
        beside = rejudged or whole.with_name(f"{whole.name}.rejudged")
        claimed: list[Records] = [Run.read(folder) for folder in folders]
        tell_shortcomings(claimed)
        given: list[Records] = [_judged_again(Run.read(folder), beside, protocol, jobs) for folder in folders]
    else:
        given = claimed = [*map(load, folders)]
        tell_shortcomings(claimed)
    lacks = [shortcomings(run) for run in claimed]
    found = [published(run, with_logs, lacking) for run, lacking in zip(given, lacks, strict=True)]
    tell_boardless(found)
    check_apart(found)
    site = Site(found)
    written = publish(site, out)
    for board in site.boards:
        typer.echo(
            f"{board.setting.title}: problems {len(board.problems)}, contestants {len(board.standings['all'])}"
        )
    typer.echo(f"{written} files written; open {out / 'index.html'}")


def _judged_again(run: Run, beside: Path, protocol: str | None, jobs: int | None) -> Run:
    """The run's candidates, judged anew into a run folder of their own; goes on where it was stopped."""
    from kernelgauge.cli.reeval import reeval
    from kernelgauge.store.disk import make_folder
    from kernelgauge.store.run import Run

    make_folder(beside)
    before = _answers(run)
    new = _folder(run, before, beside)
    typer.echo(f"judging the candidates of {run.path} again, into {new}")
    reeval(run.path, out=new, protocol=protocol, jobs=jobs)
    again = Run.read(new)
    now = _answers(again)
    if missing := sum(now.get(answer, ("", ""))[0] != digest for answer, (digest, _) in before.items()):
        raise StoreError(f"{missing} candidates of {run.path} were not judged again: nothing is published")
    other = [f"{problem} ({before[problem, sample][1]}, now {said})" for (problem, sample), (_, said) in now.items()
             if before[problem, sample][1] != said]  # fmt: skip
    differing = f"{len(other)} otherwise: {', '.join(other[:_MOST_NAMED])}" if other else "all as before"
    typer.echo(f"{len(now)} judged again, {differing}")
    return again


def _answers(run: Run) -> dict[tuple[str, int], tuple[str, str]]:
    """Digest and outcome of what a run holds for each problem and sample; no digest where no answer came."""
    found = {(skip.problem, skip.sample): ("", "no candidate") for skip in run.skips()}
    return found | {(e.problem, e.sample): (e.candidate_digest, e.outcome.value) for e in run.latest()}


def _folder(run: Run, before: dict[tuple[str, int], tuple[str, str]], beside: Path) -> Path:
    """Where to judge again: the folder of the last time, unless the run's candidates are others by now."""
    from kernelgauge.schema import digest
    from kernelgauge.store.run import Run

    for attempt in count(1):
        # Two runs may have the same name in different folders.
        name = f"{run.path.name}-{digest(str(run.path))[:6]}{f'-{attempt}' if attempt > 1 else ''}"
        folder = beside / name
        if not (folder / "run.json").exists():
            return folder
        again = Run.read(folder)
        held = {(e.problem, e.sample, e.candidate_digest) for e in again.evaluations()}
        held |= {(skip.problem, skip.sample, "") for skip in again.skips()}
        if held <= {(*answer, kept) for answer, (kept, _) in before.items()}:
            return folder
    raise AssertionError("unreachable")

"""`kernelgauge leaderboard`: who is fastest on what, with the code?"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.errors import StoreError, UsageError

if TYPE_CHECKING:
    from kernelgauge.store.run import Run

_MOST_NAMED = 5


def leaderboard(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.")],
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
) -> None:
    """Build a static site of these runs: standings, the fastest kernels of each problem with their code, history."""
    from kernelgauge.leaderboard.entries import published
    from kernelgauge.leaderboard.publishing import publish
    from kernelgauge.leaderboard.site import Site
    from kernelgauge.store.run import Run

    if not rejudge and (protocol or rejudged or jobs):
        raise UsageError("--protocol, --rejudged and --jobs go with --rejudge")
    found = [Run.read(folder) for folder in dict.fromkeys(folder.resolve() for folder in runs)]
    if rejudge:
        whole = out.resolve()
        beside = rejudged or whole.with_name(f"{whole.name}.rejudged")
        found = [_judged_again(run, beside, protocol, jobs) for run in found]
    site = Site([published(run) for run in found])
    count = publish(site, out)
    for board in site.boards:
        typer.echo(
            f"{board.setting.title}: problems {len(board.problems)}, contestants {len(board.standings['all'])}"
        )
    typer.echo(f"{count} files written; open {out / 'index.html'}")


def _judged_again(run: Run, beside: Path, protocol: str | None, jobs: int | None) -> Run:
    """The run's candidates, judged anew into a run folder of their own; goes on where it was stopped."""
    from kernelgauge.cli.run import reeval
    from kernelgauge.schema import digest
    from kernelgauge.store.disk import make_folder
    from kernelgauge.store.run import Run

    make_folder(beside)
    # Two runs may have the same name in different folders.
    new = beside / f"{run.path.name}-{digest(str(run.path))[:6]}"
    typer.echo(f"judging the candidates of {run.path} again, into {new}")
    reeval(run.path, out=new, protocol=protocol, jobs=jobs)
    again = Run.read(new)
    before = {(e.problem, e.sample): e.outcome for e in run.evaluations()}
    now = {(e.problem, e.sample): e.outcome for e in again.evaluations()}
    if missing := len(before.keys() - now.keys()):
        raise StoreError(f"{missing} candidates of {run.path} were not judged again: nothing is published")
    other = [f"{problem} ({before[problem, sample]}, now {now[problem, sample]})" for problem, sample in now
             if before[problem, sample] != now[problem, sample]]  # fmt: skip
    differing = f"{len(other)} otherwise: {', '.join(other[:_MOST_NAMED])}" if other else "all as before"
    typer.echo(f"{len(now)} judged again, {differing}")
    return again

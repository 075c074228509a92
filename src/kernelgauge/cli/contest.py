"""A contestant on a part of the suite, as commands name the part and watch it being judged."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.errors import MachineError, UsageError

if TYPE_CHECKING:
    from kernelgauge.config import Protocol
    from kernelgauge.execution.local import Done
    from kernelgauge.generation.contestant import Contestant
    from kernelgauge.store.run import Run

# Compilers on one GPU at once: each holds a problem's inputs, outputs and parameters there. More where that GPU
# compiles for others that wait for it.
_MOST_ON_DEVICE = 8
_MOST_WHERE_LENT = 16

Jobs = Annotated[
    int | None,
    typer.Option(
        "--jobs",
        min=1,
        help="Candidates generated and built at once, and on a CPU checked; default: 1, on a GPU one for each core.",
    ),
]


def selected(
    levels: list[int] | None, wanted: list[str] | None, contestant: Contestant, suites: Sequence[str | None]
) -> list[str]:
    """Keys of the problems asked for that the contestant has candidates for; own files stand for themselves."""
    from kernelgauge.problems.catalogue import entry, select
    from kernelgauge.problems.loader import is_own_file, load_problem

    own = [load_problem(name).key for name in wanted or () if is_own_file(name)]
    within = _of_levels(levels, suites)
    if wanted is not None:
        suite = suites[0] if len(suites) == 1 else None
        named = select(names=[name for name in wanted if not is_own_file(name)], suite=suite)
        within = [key for key in named if levels is None or entry(key).level in levels] + own
    return [key for key in within if contestant.samples(key)]


def _of_levels(levels: list[int] | None, suites: Sequence[str | None]) -> list[str]:
    """Keys of these levels of all the suites; of several suites, each need not have every level."""
    from kernelgauge.problems.catalogue import select, suite_named

    if levels is None or len(suites) == 1:
        return [key for suite in suites for key in select(levels, suite=suite)]
    there = {suite: [level for level in levels if level in suite_named(suite).levels] for suite in suites}
    if unknown := set(levels).difference(*there.values()):
        raise UsageError(f"there is no level {min(unknown)} in any suite of this run")
    return [key for suite, some in there.items() for key in select(some, suite=suite)]


def judge_contestant(
    contestant: Contestant, run: Run, keys: list[str], protocol: Protocol, jobs: int | None, again: bool
) -> None:
    """Judge its candidates for these problems into a run, and show how good it was.

    Args:
        again: also what the run holds already.

    Raises MachineError or UsageError: some were not judged, and the same command may judge them, or will not.
    """
    from kernelgauge.cli.progress import RunProgress
    from kernelgauge.config import Limits
    from kernelgauge.report.figures.scores import score_run
    from kernelgauge.report.terminal import show
    from kernelgauge.session.contest import judge_all
    from kernelgauge.session.session import Session

    if run.torn:
        typer.echo(f"kernelgauge: {run.torn}", err=True)
    jobs = jobs or usual_jobs(contestant, run.header.device)
    try:
        limits = Limits(gpu_memory_gb=run.header.gpu_memory_gb)
        with Session(limits=limits) as session, RunProgress() as watch:
            failed = judge_all(session, contestant, run, keys, protocol=protocol, jobs=jobs, again=again, watch=watch)
    except KeyboardInterrupt:
        count = len(run.done())
        kept = f"{count} records are kept in {run.path}"
        typer.echo(f"\nkernelgauge: {kept}; the same command goes on where this one stopped", err=True)
        raise
    show(score_run(run))
    typer.echo(f"records: {run.path}   report: kernelgauge report {run.path} --html report.html")
    complain_of_unjudged(failed, "candidates")


def complain_of_unjudged(failed: Sequence[Done], what: str) -> None:
    """Nothing if none failed.

    Raises:
        MachineError: the machine failed some of them.
        UsageError: what was asked for cannot be: a problem that fails itself, a language that is not here.
    """
    machine = [done for done in failed if isinstance(done.result, MachineError)]
    others = [done for done in failed if done not in machine]
    said = []
    if machine:
        said.append(f"{len(machine)} {what} were not judged; the same command tries them again")
    if others:
        said.append(f"{what} not judged, for reasons that stay: {len(others)}; the first: {others[0].result}")
    if said:
        raise (MachineError if machine else UsageError)("; ".join(said))


def usual_jobs(contestant: Contestant, device: str) -> int:
    """On a GPU as many as there are cores; fewer if each would also compute there, and take of its memory."""
    from kernelgauge.execution.local import devices_of, lent_for_builds
    from kernelgauge.generation.contestant import on_device

    cores = len(os.sched_getaffinity(0))
    if device == "cpu":
        return 1
    if not on_device(contestant):
        return cores
    lent = lent_for_builds(devices_of(device))
    return min(cores, _MOST_WHERE_LENT * lent or _MOST_ON_DEVICE)

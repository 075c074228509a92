"""The same kernels on several machines: which of them keep their win."""

from __future__ import annotations

from collections.abc import Sequence

from kernelgauge.report.figures.answers import counting, gather, natural
from kernelgauge.report.figures.estimators import wilson
from kernelgauge.schema import Environment, Evaluation, Record


class Cell(Record):
    """One kernel on one machine."""

    standing: str
    """`faster`, `tie`, `slower`, `unclear`, `passed` where nothing was timed, or the outcome of a failure."""
    speedup: float | None
    interval: tuple[float, float] | None


class Kernel(Record):
    """One text that was judged on several machines."""

    problem: str
    name: str
    candidate_digest: str
    cells: dict[str, Cell]
    """By machine."""


class Wins(Record):
    """Kernels that are faster than the reference on one machine, seen on another."""

    here: int
    """Faster on the one, and judged on both."""
    there: int
    """Of those, faster on the other."""
    share: float | None
    interval: tuple[float, float]
    """Wilson 95 % interval of `share`."""


class Kept(Record):
    """Kernels across machines."""

    machines: tuple[str, ...]
    kernels: tuple[Kernel, ...]
    """Those that were judged on two machines at least."""
    wins: dict[str, dict[str, Wins]]
    """By the machine where a kernel is faster, then by the one where one asks."""


def machine(evaluations: Sequence[Evaluation]) -> str:
    """The GPU or processor that evaluations come from; several are joined by `and`."""
    return " and ".join(dict.fromkeys(where(e) for e in evaluations)) or "nowhere"


def where(evaluation: Evaluation) -> str:
    """The GPU that judged it, or the processor."""
    environment: Environment = evaluation.environment
    return (environment.gpu if evaluation.device != "cpu" else None) or environment.cpu


def across(runs: Sequence[Sequence[Evaluation]]) -> Kept | None:
    """The kernels that several machines judged, for problems that count; None if all come from one machine.

    A kernel is a text for a problem's text, whoever wrote it. Of several judgements on one machine the last counts.
    """
    standing = [e for run in runs for answers in counting(gather(run)) for e in answers.evaluations]
    machines = tuple(dict.fromkeys(where(e) for e in standing))
    if len(machines) < 2:
        return None
    judged: dict[tuple[str, str, str], dict[str, Evaluation]] = {}
    for e in sorted(standing, key=lambda e: e.created):
        judged.setdefault((e.problem, e.problem_digest, e.candidate_digest), {})[where(e)] = e
    shared = {key: found for key, found in judged.items() if len(found) > 1}
    kernels = tuple(
        Kernel(
            problem=problem,
            name=next(iter(found.values())).problem_name,
            candidate_digest=digest,
            cells={name: _cell(found[name]) for name in machines if name in found},
        )
        for (problem, _, digest), found in sorted(shared.items(), key=lambda pair: (natural(pair[0][0]), pair[0]))
    )
    wins = {one: {other: _wins(kernels, one, other) for other in machines if other != one} for one in machines}
    return Kept(machines=machines, kernels=kernels, wins=wins)


def _cell(e: Evaluation) -> Cell:
    timing = e.timing
    return Cell(
        standing=e.standing or e.outcome.value,
        speedup=timing.speedup if timing else None,
        interval=timing.interval if timing else None,
    )


def _wins(kernels: Sequence[Kernel], one: str, other: str) -> Wins:
    both = [kernel.cells for kernel in kernels if one in kernel.cells and other in kernel.cells]
    here = [cells for cells in both if cells[one].standing == "faster"]
    there = sum(cells[other].standing == "faster" for cells in here)
    return Wins(
        here=len(here), there=there, share=there / len(here) if here else None, interval=wilson(there, len(here))
    )

"""fast_p as a function of p: how many problems are solved at least this much faster."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence

from kernelgauge.report.figures.answers import Answers, by_interval, counting, gather, natural
from kernelgauge.schema import Evaluation, NoCandidate, tells

Curve = list[tuple[float, float]]
"""Corners of a step function: from each p on (itself included), up to the next, fast_p is this share."""


def curves(evaluations: Sequence[Evaluation], skips: Sequence[NoCandidate] = ()) -> dict[str, Curve]:
    """One curve over all problems, named `all`, and one per level; levels without a problem are left out."""
    problems = counting(gather(evaluations, skips))
    levels: dict[str, list[Answers]] = defaultdict(list)
    for answers in problems:
        levels[answers.level].append(answers)
    found = {"all": curve(problems)} if problems else {}
    return found | {level: curve(levels[level]) for level in sorted(levels, key=natural)}


def curve(problems: Sequence[Answers]) -> Curve:
    """The corners of fast_p over `problems`, by the interval rule. Empty for no problems.

    A sample is counted up to the lower end of its interval and no longer there, since fast_p asks for an
    interval above p.
    """
    drops: dict[float, float] = defaultdict(float)
    for answers in problems:
        for evaluation in answers.evaluations:
            if evaluation.passed:
                # A pass that was not timed, or told nothing, is correct (p = 0) and faster than nothing above.
                timing = evaluation.timing
                ends = timing.interval[0] if timing and tells(timing.interval) else 0.0
                drops[ends] += 1 / answers.samples / len(problems)
    share = sum(answers.share(0, by_interval) for answers in problems) / len(problems) if problems else 0.0
    corners = [(0.0, share)] if problems else []
    for p in sorted(drops):
        share = max(0.0, share - drops[p])
        if p > 0:
            corners.append((p, share))
    return corners

"""What was asked and has no candidate that was judged: why that is, and what was tried all the same.

Problems that the run has not come to at all are none of these: there is nothing to show of them but their names.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable
from typing import Literal

from kernelgauge.problems import catalogue
from kernelgauge.report.figures.answers import level_of, natural
from kernelgauge.report.figures.scores import Scores
from kernelgauge.schema import NoCandidate, Record
from kernelgauge.store.run import Answer


class Unanswered(Record):
    """One sample of a problem without a judged candidate."""

    problem: str
    name: str
    level: str
    sample: int
    outcome: Literal["no_candidate", "too_large", "pending"]
    reason: str
    """Why there is none, in a sentence."""
    contestant: str
    scored: bool
    """Whether it is in the figures, as not passed."""


def unanswered(scores: Scores, judged: Collection[Answer], tried: Iterable[Answer] = ()) -> list[Unanswered]:
    """All of them, those with a record first, then those that were begun, in the order of problems.

    Args:
        judged: the samples that have a judged candidate.
        tried: samples for which there are attempts; `Unanswered.reason` says how many.
    """
    who = scores.header.contestant if scores.header else ""
    calls: dict[Answer, int] = {}
    for answer in tried:
        calls[answer] = calls.get(answer, 0) + 1
    found = [
        _row(skip.problem, skip.sample, "no_candidate", skip.reason, skip.contestant, level_of(skip), skip.scored)
        for skip in scores.no_candidates
    ]
    found += [
        _row(each.problem, 0, "too_large", each.reason, who, _level(each.problem, each.level))
        for each in scores.too_large
    ]
    known = {*judged, *((each.problem, each.sample) for each in found)}
    begun = [answer for answer in calls if answer not in known]
    for problem, sample in sorted(begun, key=lambda answer: (natural(answer[0]), answer[1])):
        reason = _why_open(calls[problem, sample])
        found.append(_row(problem, sample, "pending", reason, who, _level(problem)))
    return found


def _why_open(calls: int) -> str:
    made = "1 attempt was made" if calls == 1 else f"{calls} attempts were made"
    return f"{made}, and the run was stopped before an answer was chosen and judged; the same command goes on"


def _level(problem: str, level: int | None = None) -> str:
    return level_of(NoCandidate(problem=problem, level=level, contestant="", reason=""))


def _row(
    problem: str,
    sample: int,
    outcome: Literal["no_candidate", "too_large", "pending"],
    reason: str,
    contestant: str,
    level: str,
    scored: bool = False,
) -> Unanswered:
    entry = catalogue.known(problem)
    return Unanswered(
        problem=problem,
        name=entry.name if entry else "",
        level=level,
        sample=sample,
        outcome=outcome,
        reason=reason,
        contestant=contestant,
        scored=scored,
    )

"""The study of runs: failures by category, errors over turns, winners; all runs together."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelgauge.errors import StoreError
from kernelgauge.report.figures.answers import Answers, gather
from kernelgauge.report.figures.study.failures import Category, categories
from kernelgauge.report.figures.study.turns import Evolution, evolution
from kernelgauge.report.figures.study.winners import Right, Winners, right, winners
from kernelgauge.report.table import Records
from kernelgauge.schema import FORMAT, Profile, Record

Key = tuple[str, str | None]
"""Problem and candidate's digest; None for the reference."""


class Study(Record):
    """What runs teach."""

    format: int = FORMAT
    runs: tuple[str, ...]
    """Folders or logs, as they were given."""
    contestants: tuple[str, ...]
    categories: tuple[Category, ...]
    """All answers first, then by tag of the problem."""
    evolution: Evolution | None
    """None where no answer goes on from another."""
    winners: Winners | None
    """None where no candidate that counts is right and timed."""


def study(
    runs: Sequence[Records],
    references: Sequence[Mapping[str, str]] = (),
    profiles: Sequence[Mapping[Key, Profile]] = (),
) -> Study:
    """The study of these runs.

    Args:
        references: of each run the texts of its problems, by problem, as far as they are at hand.
        profiles: of each run the profiles in its folder.

    Raises:
        StoreError: a file of a run is damaged.
    """
    answers: list[Answers] = []
    found: list[Right] = []
    for place, run in enumerate(runs):
        gathered = gather(run.evaluations(), run.skips())
        answers += gathered
        texts = references[place] if references else {}
        seen = profiles[place] if profiles else {}
        found += _right(run, gathered, texts, seen)
    tried = [(place, record) for place, run in enumerate(runs) for record in run.attempts()]
    return Study(
        runs=tuple(str(run.path) for run in runs),
        contestants=tuple(dict.fromkeys(e.contestant for each in answers for e in each.evaluations)),
        categories=categories(answers),
        evolution=evolution(tried),
        winners=winners(found),
    )


def _right(
    run: Records, answers: Sequence[Answers], texts: Mapping[str, str], seen: Mapping[Key, Profile]
) -> list[Right]:
    """The candidates that count, passed and were timed, and whose text is kept."""
    found = []
    for evaluation in (e for each in answers if each.scored for e in each.evaluations):
        source = _source(run, evaluation.candidate_digest) if evaluation.timing else None
        if source is not None:
            problem = evaluation.problem
            mine, original = seen.get((problem, evaluation.candidate_digest)), seen.get((problem, None))
            found.append(right(evaluation, source, texts.get(problem), mine, original))
    return found


def _source(run: Records, digest: str) -> str | None:
    """The text of a candidate; None if it was not kept."""
    try:
        return run.source(digest)
    except StoreError:
        return None

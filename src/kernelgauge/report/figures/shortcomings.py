"""What a run lacks that it was to have: lines that were torn, answers that it never came to."""

from __future__ import annotations

from collections import Counter

from kernelgauge.report.table import Records

_MOST_NAMED = 5


def shortcomings(run: Records) -> tuple[str, ...]:
    """One sentence for each; none for a run that is whole. File names in them are relative to the run's folder.

    Raises StoreError if the run cannot be read.
    """
    torn = (run.torn.replace(f"{run.path}/", ""),) if run.torn else ()
    return (*torn, *_unfinished(run))


def _unfinished(run: Records) -> tuple[str, ...]:
    """Whether verdicts are still to come. A folder of candidates may hold more samples than the header says."""
    answered = {(e.problem, e.sample) for e in run.evaluations()} | {(s.problem, s.sample) for s in run.skips()}
    given = Counter(problem for problem, _ in answered)
    misfits = {found.problem for found in run.too_large()}
    asked = [problem for problem in run.header.problems if given[problem] or problem not in misfits]
    lacking = [problem for problem in asked if given[problem] < run.header.samples]
    if not lacking:
        return ()
    missing = sum(run.header.samples - given[problem] for problem in lacking)
    more = f" and {len(lacking) - _MOST_NAMED} more" if len(lacking) > _MOST_NAMED else ""
    named = ", ".join(lacking[:_MOST_NAMED]) + more
    whole = len(asked) * run.header.samples
    return (f"the run is not finished: {missing} of {whole} answers have no verdict yet ({named})",)

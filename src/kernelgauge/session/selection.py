"""Which problems a contestant is judged on: levels, names and suites, as they are asked for."""

from __future__ import annotations

from collections.abc import Sequence

from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.generation.contestant import Contestant
from kernelgauge.problems.catalogue import entry, select, split, suite_named
from kernelgauge.problems.loader import is_own_file, load_problem
from kernelgauge.problems.suites import BUILT_IN


def chosen_suite(suite: str | None, names: Sequence[str] | None = None) -> str | None:
    """The imported suite asked for, or the one that all the names are of; None for the built-in suite.

    Raises ProblemError if there is no such suite, or if one is asked for and a name is of another.
    """
    named = {split(name)[0] for name in names or () if not is_own_file(name)}
    if suite and (others := named - {None, suite}):
        raise ProblemError(f"suite {suite} and problems of suite {others.pop()} do not go together")
    asked = suite or (named.pop() if len(named) == 1 else None)
    return None if asked is None or suite_named(asked).name == BUILT_IN else asked


def check_one_suite(contestant: str, names: Sequence[str] | None) -> None:
    """A folder's files say level and number, and no suite: those of several could be taken for one another.

    Raises UsageError if the contestant is a folder, and these problems are of several suites.
    """
    named = {split(name)[0] or BUILT_IN for name in names or () if not is_own_file(name)}
    if contestant.startswith("folder:") and len(named) > 1:
        raise UsageError(
            f"{contestant} answers one suite, and the problems are of {', '.join(sorted(named))}: run each"
        )


def selected(
    levels: Sequence[int] | None,
    wanted: Sequence[str] | None,
    contestant: Contestant,
    suites: Sequence[str | None],
) -> list[str]:
    """Keys of the problems asked for that the contestant has candidates for; own files stand for themselves."""
    own = [load_problem(name).key for name in wanted or () if is_own_file(name)]
    within = _of_levels(levels, suites)
    if wanted is not None:
        suite = suites[0] if len(suites) == 1 else None
        named = select(names=[name for name in wanted if not is_own_file(name)], suite=suite)
        within = [key for key in named if levels is None or entry(key).level in levels] + own
    return [key for key in within if contestant.samples(key)]


def _of_levels(levels: Sequence[int] | None, suites: Sequence[str | None]) -> list[str]:
    """Keys of these levels of all the suites; of several suites, each need not have every level."""
    if levels is None or len(suites) == 1:
        return [key for suite in suites for key in select(levels, suite=suite)]
    there = {suite: [level for level in levels if level in suite_named(suite).levels] for suite in suites}
    if unknown := set(levels).difference(*there.values()):
        raise UsageError(f"there is no level {min(unknown)} in any suite of this run")
    return [key for suite, some in there.items() for key in select(some, suite=suite)]

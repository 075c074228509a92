"""Contamination: a run on the suite beside the same contestant on twins of its problems that nobody had seen."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from kernelgauge.errors import ProblemError, UsageError
from kernelgauge.problems.catalogue import known, suite_named
from kernelgauge.report.figures.answers import Answers, counting, gather
from kernelgauge.report.figures.compare import CONDITIONS, Shares, shares_of
from kernelgauge.report.figures.hardware import machine, where
from kernelgauge.report.table import Records
from kernelgauge.schema import Record


class Twinned(Record):
    """What a contestant does on the suite and on twins of the same problems."""

    suites: tuple[str, ...]
    """The suites of twins."""
    created: tuple[str, ...]
    """The day on which each was drawn."""
    problems: int
    """Problems of the suite with a twin, both judged and counting."""
    twins: int
    """Twins of these."""
    shares: tuple[Shares, ...]
    """For p = 0 and p = 1: first the suite, then the twins. `difference` is the twins' share less the suite's, with
    its 95 % interval over problems."""
    others: int
    """Problems and twins that only one of both runs has, or that do not count; they are in no figure here."""
    warnings: tuple[str, ...]

    @property
    def contaminated(self) -> bool | None:
        """Whether the contestant surely does worse on twins, in one share at least; None where the intervals are too
        wide to exclude even ten points."""
        if any(each.interval[1] < 0 for each in self.shares):
            return True
        return None if any(each.interval[0] < -_TELLS for each in self.shares) else False


_TELLS = 0.1


def twinned(run: Records, twins: Records) -> Twinned:
    """A run on a suite beside one on twins of its problems.

    A problem with several twins counts once, with all their samples.

    Raises:
        UsageError: the second run is on no twins, on none of the first one's problems, or was judged otherwise.
    """
    if differing := [field for field in CONDITIONS if getattr(run.header, field) != getattr(twins.header, field)]:
        raise UsageError(
            f"{run.path} and {twins.path} differ in {' and '.join(differing)}: judge the twins as the suite was"
        )
    originals = {answers.problem: answers for answers in counting(gather(run.evaluations(), run.skips()))}
    seen = counting(gather(twins.evaluations(), twins.skips()))
    merged = _by_original(seen)
    if not merged:
        raise UsageError(
            f"{twins.path} is on no twins that are known here: draw some with `kernelgauge problems generate "
            "--recipe 'twin all'`, and judge the same contestant on them"
        )
    both = [(originals[key], merged[key]) for key in originals if key in merged]
    if not both:
        raise UsageError(f"{twins.path} is on twins of other problems than those of {run.path}")
    suites = twins.header.suites
    return Twinned(
        suites=suites,
        created=tuple(str(suite_named(suite).about.created) for suite in suites if _is_here(suite)),
        problems=len(both),
        twins=len({twin for _, answers in both for twin in _problems(answers)}),
        shares=tuple(shares_of(both, p) for p in (0.0, 1.0)),
        others=len(originals.keys() ^ merged.keys()),
        warnings=tuple(_warnings(run, twins)),
    )


def _by_original(seen: Sequence[Answers]) -> Mapping[str, Answers]:
    merged: dict[str, Answers] = {}
    for answers in seen:
        entry = known(answers.problem)
        if entry is None or entry.twin_of is None:
            continue
        into = merged.setdefault(entry.twin_of, Answers(entry.twin_of, answers.level))
        into.evaluations += answers.evaluations
        into.skips += answers.skips
    return merged


def _problems(answers: Answers) -> set[str]:
    return {e.problem for e in answers.evaluations} | {skip.problem for skip in answers.skips}


def _is_here(suite: str) -> bool:
    try:
        suite_named(suite)
    except ProblemError:
        return False
    return True


def _warnings(run: Records, twins: Records) -> list[str]:
    found = []
    if run.header.contestant != twins.header.contestant:
        found.append(f"another contestant answered the twins: {twins.header.contestant}")
    here, there = run.evaluations(), twins.evaluations()
    if here and there:
        if {where(e) for e in here} != {where(e) for e in there}:
            what = f"{machine(there)}, not {machine(here)}"
            found.append(f"the twins were judged elsewhere, where a speedup may be another one: {what}")
        if {e.environment.torch for e in here} != {e.environment.torch for e in there}:
            found.append(
                "the twins were judged by another version of PyTorch, whose references may be faster or slower"
            )
    asked = [header.generation for header in (run.header, twins.header)]
    if asked[0] and asked[1]:
        differing = [
            field
            for field in ("backend", "option", "temperature", "strategy", "prompt_digest", "budget")
            if getattr(asked[0], field) != getattr(asked[1], field)
        ]
        if differing:
            found.append(f"the contestant was asked otherwise for the twins: {', '.join(differing)} differ")
    return found


def in_words(found: Twinned) -> str:
    """The finding in a sentence or two."""
    parts = [
        f"{_NAMES[each.p]} {each.shares[0] * 100:.1f} % on the suite, {each.shares[1] * 100:.1f} % on twins, "
        f"difference {each.difference * 100:+.1f} points (95 % {each.interval[0] * 100:+.1f} to "
        f"{each.interval[1] * 100:+.1f})"
        for each in found.shares
    ]
    drawn = f", drawn {', '.join(found.created)}" if found.created else ""
    over = f"over {found.problems} problems with {found.twins} twins{drawn}"
    return f"{'; '.join(parts)}; {over}. {verdict(found)}"


def verdict(found: Twinned) -> str:
    """What the difference says, in a sentence."""
    match found.contaminated:
        case True:
            return "It does surely worse on problems that it cannot have seen."
        case False:
            return "No sign that it knows the suite by heart: a drop of more than ten points is excluded."
    return "Too few problems to tell: a drop of more than ten points is not excluded."


_NAMES = {0.0: "correct", 1.0: "fast_1"}

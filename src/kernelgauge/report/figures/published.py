"""Figures that others have published, beside those of a run: with what they share and what they do not."""

from __future__ import annotations

import json
from functools import cache
from importlib import resources
from typing import NamedTuple

from pydantic import Field

from kernelgauge.report.figures.scores import Group, Scores
from kernelgauge.schema import Record, RunHeader

LEVELS = {"1": 100, "2": 100, "3": 50}
"""Problems of the levels that published figures are about."""

CONDITIONS = {
    "gpu": "GPU",
    "protocol": "protocol",
    "sizes": "sizes",
    "math": "arithmetic",
    "baseline": "over",
    "attempts": "",
    "problems": "of",
}
"""What a figure depends on, with the word before its value."""


class PublishedRow(Record):
    """What is stated of one contestant, in percent of problems; by level, and `all`."""

    contestant: str
    fast_0: dict[str, float] = Field(default_factory=dict)
    fast_1: dict[str, float] = Field(default_factory=dict)


class PublishedSet(Record):
    """Figures of one source that were measured alike."""

    title: str
    source: str
    date: str
    gpu: str
    protocol: str
    sizes: str
    math: str
    baseline: str
    attempts: str
    problems: str
    rows: tuple[PublishedRow, ...]


class Beside(NamedTuple):
    """A published set as seen from a run."""

    set: PublishedSet
    conditions: tuple[tuple[str, str], ...]
    """Name and value of each condition there."""
    other: frozenset[str]
    """Names of those that are otherwise in the run."""


class Comparable(NamedTuple):
    """The run's own figures by the rule that published ones follow, and the sets, those most alike first.

    Figures over `all` only where the run has candidates for all three levels and no other.
    """

    own: PublishedRow
    whole: dict[str, str]
    """By level: how many of its problems the run has judged, where that is not all of them."""
    sets: tuple[Beside, ...]


@cache
def published() -> tuple[PublishedSet, ...]:
    """All that is known here."""
    text = resources.files("kernelgauge.report.figures").joinpath("published.json").read_text(encoding="utf-8")
    return tuple(PublishedSet.model_validate(each) for each in json.loads(text)["sets"])


def beside(scores: Scores) -> Comparable | str:
    """The published figures for a reader of these scores; or a sentence why none can stand beside them."""
    header = scores.header
    judged = [level for level in LEVELS if level in scores.levels]
    if header is None or not judged or header.suites:
        return "Published figures are of levels 1 to 3 of KernelBench, so none stands beside this run."
    if header.device == "cpu" or header.sizes != "full":
        where = "on a CPU" if header.device == "cpu" else f"at {header.sizes} sizes"
        return f"Published figures are of GPUs at full sizes, and this run is {where}: none is comparable."
    here = {
        "gpu": (scores.environment.gpu if scores.environment else None) or "",
        "protocol": header.protocol,
        "sizes": header.sizes,
        "math": header.math or "",
        "baseline": "eager",
        "attempts": _attempts(header),
        "problems": f"{sum(LEVELS.values())} problems",
    }
    sets = [_seen(each, here) for each in published()]
    groups = {level: scores.levels[level] for level in judged}
    sizes = dict(LEVELS)
    if set(scores.levels) == set(LEVELS):
        # Of fewer levels, or of more, a figure over all would be about other problems than theirs.
        groups["all"], sizes["all"] = scores.overall, sum(LEVELS.values())
    own = PublishedRow(
        contestant=header.contestant,
        fast_0={level: share for level, group in groups.items() if (share := _percent(group, "0")) is not None},
        fast_1={level: share for level, group in groups.items() if (share := _percent(group, "1")) is not None},
    )
    whole = {
        level: f"{groups[level].problems} of {count}"
        for level, count in sizes.items()
        if level in groups and groups[level].problems < count
    }
    return Comparable(own, whole, tuple(sorted(sets, key=lambda each: len(each.other))))


def _attempts(header: RunHeader) -> str:
    """What each problem was given. Several samples are one here: fast_p is the mean over them."""
    strategy = header.generation.strategy if header.generation else ""
    name, *given = strategy.split(",")
    count = next((each.partition("=")[2] for each in given if each.startswith(("attempts=", "turns="))), "1")
    if name in ("", "sample"):
        return "one sample" if count == "1" else f"best of {count} samples"
    return f"{count} turns" if name == "refine" else strategy


def _seen(each: PublishedSet, here: dict[str, str]) -> Beside:
    def same(name: str) -> bool:
        there = str(getattr(each, name))
        return there in here[name].replace("-", " ").split() if name == "gpu" else there == here[name]

    conditions = tuple((name, str(getattr(each, name))) for name in CONDITIONS)
    return Beside(each, conditions, frozenset(name for name in CONDITIONS if not same(name)))


def _percent(group: Group, p: str) -> float | None:
    share = group.fast_p_point[p]
    return None if share is None else 100 * share

"""Boards: what stands in one table, because it was measured under one setting, and who is ahead there."""

from __future__ import annotations

from collections.abc import Container, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from kernelgauge.leaderboard.entries import BoardSetting, Contestant, Entry, Missing, Published
from kernelgauge.leaderboard.ranking import Kernel, Lead, by_date, certain, kernels, leads, ranked, standing_record
from kernelgauge.problems import catalogue
from kernelgauge.report.figures.answers import level_of, natural
from kernelgauge.report.figures.scores import Group, score
from kernelgauge.report.figures.suite import weakness_of
from kernelgauge.schema import Environment, Evaluation, NoCandidate, Weakness, why_weak

ALL = "all"
"""The level that stands for all of them."""


@dataclass(frozen=True)
class ProblemTable:
    """All answers to one problem, in its newest text, under one setting; none where nobody gave a candidate."""

    key: str
    name: str
    level: str
    digest: str
    """Of the problem's text; empty where nobody gave a candidate."""
    entries: tuple[Entry, ...]
    """Oldest first, records that a later one replaced included."""
    kernels: tuple[Kernel, ...]
    leads: tuple[Lead, ...]
    scored: bool
    """Whether it enters the standings."""
    trivial_answers: tuple[str, ...]
    """Answers without the work that would have passed."""
    weakness: Weakness | None
    """What is known of it at the published inputs."""
    missing: tuple[Missing, ...] = ()
    """Who was asked and had no candidate."""

    @property
    def why_weak(self) -> str:
        """What the protocol cannot tell here; its subject is the protocol."""
        return why_weak(self.trivial_answers)

    @property
    def best(self) -> Kernel | None:
        return self.kernels[0] if self.kernels else None


@dataclass(frozen=True)
class Standing:
    """One contestant on a board, at one level or over all."""

    place: int
    contestant: Contestant
    group: Group
    """Over every problem that anybody was asked here; one without an answer counts as not solved."""
    answered: int
    """Problems that count and have an answer of this contestant's."""
    newest: datetime
    unfinished: bool = False
    """Whether one of its runs lacks something; the board's notes say what."""


@dataclass
class Board:
    """One setting with everything that was measured under it."""

    setting: BoardSetting
    problems: dict[str, ProblemTable]
    """By key, in the order of levels and numbers."""
    standings: dict[str, list[Standing]] = field(default_factory=dict)
    """By level as text, and `all`."""
    notes: tuple[str, ...] = ()
    """What a reader must know about where the figures come from."""

    @property
    def uncounted(self) -> int:
        """Problems that were asked and are in no share."""
        return sum(not table.scored for table in self.problems.values())

    @property
    def levels(self) -> list[str]:
        return sorted({table.level for table in self.problems.values()}, key=natural)


def boards(runs: Iterable[Published]) -> list[Board]:
    """One board a setting, that with the most entries first."""
    entries: dict[BoardSetting, list[Entry]] = {}
    missing: dict[BoardSetting, list[Missing]] = {}
    lacking: dict[BoardSetting, list[Published]] = {}
    for run in runs:
        for entry in run.entries:
            entries.setdefault(entry.setting, []).append(entry)
        for each in run.missing:
            missing.setdefault(each.setting, []).append(each)
        for setting in run.settings if run.lacking else ():
            lacking.setdefault(setting, []).append(run)
    found = [
        _board(setting, by_date(entries.get(setting, [])), missing.get(setting, []), lacking.get(setting, []))
        for setting in dict.fromkeys((*entries, *missing))
    ]
    return sorted(found, key=lambda board: (-len(entries.get(board.setting, [])), board.setting.title))


def _board(
    setting: BoardSetting, entries: Sequence[Entry], missing: Sequence[Missing], lacking: Sequence[Published]
) -> Board:
    """The board of one setting; `lacking` are the runs on it that are not whole."""
    by_problem: dict[str, list[Entry]] = {}
    skipped: dict[str, list[Missing]] = {}
    for entry in entries:
        by_problem.setdefault(entry.evaluation.problem, []).append(entry)
    for each in missing:
        skipped.setdefault(each.skip.problem, []).append(each)
    problems = {
        key: _table(key, by_problem[key], skipped.get(key, []))
        if key in by_problem
        else _untouched(key, skipped[key])
        for key in sorted({*by_problem, *skipped}, key=natural)
    }
    standing = [entry for table in problems.values() for entry in table.entries]
    told = tuple(f"{run.origin}: {sentence}." for run in lacking for sentence in run.lacking)
    board = Board(setting, problems, notes=(*_notes(entries, standing), *told))
    counting = [entry for table in problems.values() for entry in credited(table.entries)]
    unfinished = {contestant for run in lacking for contestant in run.contestants}
    board.standings = _standings(problems, counting, missing, unfinished)
    return board


def _table(key: str, entries: Sequence[Entry], missing: Sequence[Missing]) -> ProblemTable:
    """The table of a problem; records of another text of it than the newest stay out."""
    newest = entries[-1].evaluation
    same = tuple(entry for entry in entries if entry.evaluation.problem_digest == newest.problem_digest)
    records = [entry.evaluation for entry in same]
    return ProblemTable(
        key=key,
        name=newest.problem_name,
        level=level_of(newest),
        digest=newest.problem_digest,
        entries=same,
        kernels=tuple(ranked(same)),
        leads=tuple(leads(same)),
        scored=all(record.scored for record in records) and all(each.skip.scored for each in missing),
        trivial_answers=tuple(dict.fromkeys(kind for record in records for kind in record.trivial_answers)),
        weakness=weakness_of(key),
        missing=tuple(missing),
    )


def _untouched(key: str, missing: Sequence[Missing]) -> ProblemTable:
    """The table of a problem that was asked, and to which nobody gave a candidate."""
    known = catalogue.known(key)
    return ProblemTable(
        key=key,
        name=known.name if known else "",
        level=level_of(missing[-1].skip),
        digest="",
        entries=(),
        kernels=(),
        leads=(),
        scored=all(each.skip.scored for each in missing),
        trivial_answers=(),
        weakness=weakness_of(key),
        missing=tuple(missing),
    )


def _standings(
    problems: dict[str, ProblemTable],
    entries: Sequence[Entry],
    missing: Sequence[Missing],
    unfinished: Container[Contestant] = (),
) -> dict[str, list[Standing]]:
    counting = [table for table in problems.values() if table.scored]
    rows: dict[str, list[tuple[Contestant, Group, int, datetime]]] = {}
    for contestant in dict.fromkeys((*(e.contestant for e in entries), *(m.contestant for m in missing))):
        own = [e for e in entries if e.contestant == contestant and problems[e.evaluation.problem].scored]
        skips = [m.skip for m in missing if m.contestant == contestant]
        answers = _answers(own)
        known = {answer.problem for answer in answers}
        absent = [_absent(table, contestant) for table in counting if table.key not in known]
        asked = {skip.problem for skip in skips}
        counted = [s for s in skips if problems[s.problem].scored]
        found = score(answers, [*counted, *(each for each in absent if each.problem not in asked)])
        newest = max(
            (*(e.evaluation.created for e in entries if e.contestant == contestant), *(s.created for s in skips))
        )
        for level, group in {**found.levels, ALL: found.overall}.items():
            here = {p for p in known if level in (ALL, problems[p].level)}
            rows.setdefault(level, []).append((contestant, group, len(here), newest))
    return {
        level: _placed(rows[level], unfinished)
        for level in (ALL, *sorted(rows.keys() - {ALL}, key=natural))
        if level in rows
    }


def credited(entries: Sequence[Entry]) -> list[Entry]:
    """The records of one problem that count for who they are of: of what was handed in, none of another's kernel, and
    of each kernel one."""
    kept = {id(entry) for entry in entries if not entry.submitted}
    for same in kernels(entries):
        own = [entry for entry in same if entry.submitted and entry.contestant == same[0].contestant]
        if own:
            kept.add(id(standing_record(own)))
    return [entry for entry in entries if id(entry) in kept]


def _answers(entries: Sequence[Entry]) -> list[Evaluation]:
    """The records that count for one contestant: all samples of a run, the best of what was handed in one by one."""
    best: dict[str, Entry] = {}
    for entry in entries:
        if entry.submitted:
            key = entry.evaluation.problem
            best[key] = max(best.get(key, entry), entry, key=certain)
    return [entry.evaluation for entry in entries if not entry.submitted or best[entry.evaluation.problem] is entry]


def _absent(table: ProblemTable, contestant: Contestant) -> NoCandidate:
    level = table.entries[-1].evaluation.level if table.entries else table.missing[-1].skip.level
    return NoCandidate(problem=table.key, level=level, contestant=contestant.name, reason="not answered")


def _placed(rows: list[tuple[Contestant, Group, int, datetime]], unfinished: Container[Contestant]) -> list[Standing]:
    """Faster than the reference most often first; then right most often; then by the mean speedup."""

    def merit(group: Group) -> tuple[float, float, float]:
        return group.fast_p["1"] or 0.0, group.fast_p["0"] or 0.0, group.geomean_speedup or 0.0

    rows = sorted(rows, key=lambda row: (*(-value for value in merit(row[1])), row[0].name))
    places: list[Standing] = []
    for number, (contestant, group, answered, newest) in enumerate(rows, start=1):
        level = places and merit(places[-1].group) == merit(group)
        place = places[-1].place if level else number
        places.append(Standing(place, contestant, group, answered, newest, contestant in unfinished))
    return places


def _notes(entries: Sequence[Entry], standing: Sequence[Entry]) -> tuple[str, ...]:
    notes = []
    environments = {e.evaluation.environment.digest: e.evaluation.environment for e in standing}
    differing = [
        name
        for name in Environment.model_fields
        if len({getattr(environment, name) for environment in environments.values()}) > 1
    ]
    if differing:
        notes.append(
            f"These figures come from {len(environments)} environments that differ in {', '.join(differing)}."
        )
    if older := len(entries) - len(standing):
        records = "1 record of an earlier text is" if older == 1 else f"{older} records of earlier texts are"
        notes.append(f"{records} left out.")
    return tuple(notes)

"""The pages of a leaderboard, each made when it is asked for: a static site writes all, a server the one it needs.

Links are relative, so the pages open from a disk as well. Everything that contestants wrote is escaped text or JSON
data; the only script is ours, from a file of the site.
"""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from functools import cache, partial
from pathlib import Path
from typing import Any

from jinja2 import ChoiceLoader, Environment, PackageLoader, StrictUndefined

from kernelgauge import __version__
from kernelgauge.errors import ProblemError
from kernelgauge.leaderboard.boards import ALL, Board, ProblemTable, boards
from kernelgauge.leaderboard.entries import Entry, Published
from kernelgauge.leaderboard.ranking import TOP
from kernelgauge.problems import catalogue
from kernelgauge.problems.loader import load_problem
from kernelgauge.report.figures.scores import score
from kernelgauge.report.page.compress import packed
from kernelgauge.report.page.document import PARTS
from kernelgauge.report.page.payload import payload
from kernelgauge.report.page.size_budget import WHOLLY, Fit
from kernelgauge.schema import Evaluation, digest

_TEMPLATES = (Path(__file__).parent / "templates", Path(__file__).parent.parent / "report" / "page" / "templates")
_SCRIPTS = (*PARTS, "board.js")
_STYLES = ("report.css", "board.css")
_MOST_EVENTS = 1000
# Of a source: what compilers write for one model can take megabytes, and stands on two pages of every board.
_MOST_CHARACTERS = 20_000
_ROOM = "kernelgauge.leaderboard"

Link = tuple[str, str]
"""A word and the path it leads to."""


@dataclass(frozen=True)
class Event:
    """A record that took the lead on its problem."""

    entry: Entry
    before: float | None
    board: Board


class Site:
    """All pages for what was published; `page` makes one.

    Args:
        links: what a server adds to the navigation.
        live: whether a server shows the pages, and takes candidates.
    """

    def __init__(self, published: Sequence[Published], links: Sequence[Link] = (), live: bool = False):
        self.published = published
        self.boards = boards(published)
        self._links = links
        self._live = live
        self._pages = self._all()

    def paths(self) -> list[str]:
        """Of every page and file, relative to the site."""
        return list(self._pages)

    def page(self, path: str) -> bytes | None:
        """What stands at `path`; None if there is nothing."""
        make = self._pages.get(path)
        return make().encode() if make else None

    def _all(self) -> dict[str, Callable[[], str]]:
        pages: dict[str, Callable[[], str]] = {
            "index.html": self._index,
            "history.html": self._history,
            "rules.html": self._rules,
            "assets/site.css": style,
            "assets/site.js": script,
        }
        for board in self.boards:
            pages[f"{board.setting.slug}/index.html"] = partial(self._board, board)
            for table in board.problems.values():
                pages[problem_path(board, table.key)] = partial(self._problem, board, table)
        for run in self.published:
            for entry in run.entries:
                path = record_path(entry.evaluation)
                pages[path] = partial(self._record, entry)
                pages[path.removesuffix("html") + "json"] = partial(_json, entry.evaluation)
        return pages

    def _index(self) -> str:
        return self._render("index.html.j2", "index.html", hardware=sorted({b.setting.hardware for b in self.boards}))

    def _rules(self) -> str:
        return self._render("rules.html.j2", "rules.html", top=TOP)

    def _history(self) -> str:
        events = [
            Event(lead.entry, lead.before, board)
            for board in self.boards
            for table in board.problems.values()
            for lead in table.leads
        ]
        events.sort(key=lambda event: event.entry.evaluation.created, reverse=True)
        runs = [run for run in self.published if run.entries]
        runs.sort(key=lambda run: max(e.evaluation.created for e in run.entries), reverse=True)
        return self._render("history.html.j2", "history.html", events=events[:_MOST_EVENTS], runs=runs)

    def _board(self, board: Board) -> str:
        return self._render("board.html.j2", f"{board.setting.slug}/index.html", board=board)

    def _problem(self, board: Board, table: ProblemTable) -> str:
        tried = [entry for entry in reversed(table.entries) if entry.evaluation.timing is None]
        return self._render(
            "problem.html.j2",
            problem_path(board, table.key),
            board=board,
            table=table,
            top=TOP,
            unranked=tried,
            reference=reference_of(table.key, table.digest, table.entries[-1].evaluation) if table.entries else None,
            silent=list(dict.fromkeys(each.contestant.name for each in table.missing)),
        )

    def _record(self, entry: Entry) -> str:
        board = next(board for board in self.boards if board.setting == entry.setting)
        path = record_path(entry.evaluation)
        return self._render("record.html.j2", path, entry=entry, board=board, **record_data(entry))

    def _render(self, template: str, path: str, **values: Any) -> str:
        return render(template, path, boards=self.boards, links=self._links, live=self._live, ALL=ALL, **values)


def render(
    template: str, path: str, *, links: Sequence[Link] = (), live: bool = False, room: str = _ROOM, **values: Any
) -> str:
    """The page that a template of a room makes for this path of the site."""
    root = "../" * path.count("/")
    return (
        _environment(room)
        .get_template(template)
        .render(root=root, path=path, links=links, live=live, version=__version__, **values)
    )


def record_data(entry: Entry) -> dict[str, Any]:
    """What the page of a record embeds: the same data as the report's, for one row."""
    record = entry.evaluation
    reference = reference_of(record.problem, record.problem_digest, record)
    references = {record.problem: reference} if reference is not None else {}
    data = payload(score([record]), [record], lambda _: entry.source, references, fit=_fit(entry))
    return {"data": data | {name: packed(data[name]) for name in ("details", "texts")}}


def shown(entry: Entry) -> str | None:
    """What pages show of a candidate's source; None if it was not stored."""
    return _fit(entry).candidate(entry.evaluation.candidate_digest, entry.source)


def _fit(entry: Entry) -> Fit:
    """How much of it: of what was handed in, which a server limits and keeps itself, all."""
    return WHOLLY if entry.submitted else Fit(most=(_MOST_CHARACTERS,) * 3, origin=entry.origin)


def problem_path(board: Board, key: str) -> str:
    """Where the page of a problem stands. Keys may be a stranger's paths: those become their digests."""
    plain = re.sub(r"[:/]", "_", key) if catalogue.looks_like_name(key) else ""
    return f"{board.setting.slug}/{plain or 'own-' + digest(key)}.html"


def record_path(evaluation: Evaluation) -> str:
    """Where the page of a record stands. Ids come from strangers' files too."""
    plain = evaluation.id if re.fullmatch(r"[0-9a-f]{1,64}", evaluation.id) else digest(evaluation.id)
    return f"records/{plain}.html"


def reference_of(key: str, wanted: str, record: Evaluation) -> str | None:
    """The text of a suite's problem as it was judged; None if it has changed since, or is a file of somebody's."""
    if not catalogue.looks_like_name(key):
        return None
    return _reference(key, wanted, record.sizes)


@cache
def _reference(key: str, wanted: str, sizes: Any) -> str | None:
    try:
        problem = load_problem(key, sizes=sizes)
    except ProblemError:
        return None
    return problem.source if problem.digest == wanted else None


def style() -> str:
    """The style sheet: the report's and what boards need."""
    return "\n".join(_file(name) for name in _STYLES)


def script() -> str:
    """The script: the report's parts and what boards need."""
    parts = "\n".join(_file(name) for name in _SCRIPTS)
    return f'"use strict";\n(() => {{\n{parts}\n}})();\n'


def _file(name: str) -> str:
    return next(text for folder in _TEMPLATES if (text := folder / name).exists()).read_text(encoding="utf-8")


def _json(evaluation: Evaluation) -> str:
    return evaluation.model_dump_json() + "\n"


def _milliseconds(value: float) -> str:
    # Three digits whether or not the last is a zero: a column of 3.2 and 3.23 looks like two precisions.
    if value < 1e-3:
        return f"{value:.2g}"
    return f"{value:.{0 if value >= 100 else 1 if value >= 10 else 2 if value >= 1 else 3 if value >= 0.1 else 4}f}"


def _times(value: float | None) -> str:
    return "–" if value is None else f"{value:.2f}×" if value < 10 else f"{value:.1f}×"


def _place(ratio: float) -> float:
    """Where a speedup is drawn: from a quarter to four times on a log scale; what lies outside ends at the edge."""
    return round(4 + (max(-2.0, min(2.0, math.log2(ratio))) + 2) * 35.5, 1)


def _day(moment: datetime) -> str:
    return moment.strftime("%Y-%m-%d")


_FILTERS: Mapping[str, Callable[[Any], Any]] = {
    "percent": lambda share: "–" if share is None else f"{share * 100:.1f}",
    "whole": lambda share: f"{share * 100:.0f}",
    "words": lambda name: str(name).replace("_", " "),
    "first_upper": lambda text: text[:1].upper() + text[1:],
    "shown": shown,
    "times": _times,
    "milliseconds": _milliseconds,
    "place": _place,
    "day": _day,
    "minute": lambda moment: moment.strftime("%Y-%m-%d %H:%M UTC"),
}


@cache
def _environment(room: str) -> Environment:
    loaders = ChoiceLoader([PackageLoader(room), PackageLoader(_ROOM)])
    environment = Environment(
        loader=loaders, autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True
    )
    environment.filters.update(_FILTERS)
    environment.globals.update(problem_path=problem_path, record_path=record_path)
    return environment

"""A run as one HTML file that opens offline: styles, scripts and data are inside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from statistics import median
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kernelgauge.report.figures import added, twins
from kernelgauge.report.figures.answers import gather
from kernelgauge.report.figures.cost import duration, together
from kernelgauge.report.figures.estimators import from_to
from kernelgauge.report.figures.funnel import funnel
from kernelgauge.report.figures.published import CONDITIONS, LEVELS, beside
from kernelgauge.report.figures.refusals import by_class
from kernelgauge.report.figures.scores import THRESHOLDS, Group, Scores, score_run
from kernelgauge.report.figures.spending import in_words
from kernelgauge.report.page.compress import packed
from kernelgauge.report.page.payload import payload
from kernelgauge.report.page.profiles import Key, profiles
from kernelgauge.report.page.size_budget import AMOUNTS, Fit, SourceOf, histories_of, kinds_of, promising, sources_of
from kernelgauge.report.page.truncate import DETAILS
from kernelgauge.report.table import Records
from kernelgauge.report.tables.columns import kept
from kernelgauge.report.terminal import too_large_line
from kernelgauge.schema import STANDINGS, AttemptRecord, Evaluation, Profile
from kernelgauge.store.disk import write_whole

PARTS = (
    "dom.js",
    "unpack.js",
    "charts.js",
    "roofline.js",
    "strips.js",
    "attempts.js",
    "highlight.js",
    "diff.js",
    "detail.js",
)
"""Scripts that only define things, in the order in which they are joined: other pages use them too."""

SCRIPTS = (*PARTS, "table.js", "page.js")

MOST_SOURCES = 12_000_000
"""Bytes that packed sources may take: a page that is mailed should stay below 20 MB."""

MOST_DETAILS = 5_000_000
"""Bytes that all other details may take, packed."""

FAMILIES = {
    "passed": (*STANDINGS, "untimed"),
    "wrong": ("wrong_value", "wrong_precision", "wrong_shape"),
    "broke": ("build_failed", "load_failed", "runtime_error"),
    "limits": ("timed_out", "out_of_memory"),
    "refused": ("rejected",),
    "missing": ("no_candidate",),
}
"""Parts of the outcome bar in their order; a pass is split by its standing."""


def write_html(
    run: Records, path: Path | str, references: Mapping[str, str] | None = None, twin_run: Records | None = None
) -> Scores:
    """Write the report of `run` to `path` and return its scores; `references` is source text by problem, `twin_run`
    a run of the same contestant on twins of its problems.

    Raises StoreError if the run cannot be read or `path` cannot be written.
    """
    evaluations, found = run.evaluations(), score_run(run, twins=twin_run)
    page = render_html(
        found,
        evaluations,
        lambda digest: kept(run, digest),
        references,
        profiles(run.path),
        run.attempts(),
        run.path.resolve().name,
    )
    write_whole(Path(path), page.encode())
    return found


def render_html(
    scores: Scores,
    evaluations: Iterable[Evaluation],
    source_of: SourceOf,
    references: Mapping[str, str] | None = None,
    profiles: Mapping[Key, Profile] | None = None,
    attempts: Iterable[AttemptRecord] = (),
    origin: str = "",
) -> str:
    """The page for `scores`, which must come from these `evaluations`; `attempts` are what led to them.

    What is too long for the page is cut; `origin`, the name of the run's folder or log, says where the whole lies.

    Everything a contestant wrote reaches the page as escaped text or as JSON data; a content security policy
    allows no script but ours, by its hash, and no connection at all.
    """
    standing = [e for answers in gather(evaluations) for e in answers.evaluations]
    script = "\n".join(template_file(name) for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    groups = {**scores.levels, "all": scores.overall}
    return (
        page_environment()
        .get_template("report.html.j2")
        .render(
            scores=scores,
            tiles=tiles(scores.overall),
            groups=groups,
            bars={name: bar(group) for name, group in groups.items()},
            funnel=funnel(scores.overall),
            refusals=by_class(scores.overall.rules),
            published=beside(scores),
            published_levels=LEVELS,
            labels=CONDITIONS,
            thresholds=list(THRESHOLDS),
            spending=in_words(scores.spending) if scores.spending else "",
            added=added.in_words(scores.added) if scores.added else "",
            twins_verdict=twins.verdict(scores.twinned) if scores.twinned else "",
            too_large=too_large_line(scores) if scores.too_large else "",
            headroom=_headroom(standing),
            style=Markup(template_file("report.css")),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            data=_data(scores, standing, source_of, references or {}, profiles or {}, list(attempts), origin),
        )
    )


class Headroom(NamedTuple):
    """Medians over candidates that count and have a bound: the part of it that they and their references reach."""

    share: float
    reference: float


def _headroom(standing: Sequence[Evaluation]) -> Headroom | None:
    bounds = [e.bound for e in standing if e.bound and e.scored]
    return Headroom(median(b.share for b in bounds), median(1 / b.headroom for b in bounds)) if bounds else None


def _data(
    scores: Scores,
    standing: Sequence[Evaluation],
    source_of: SourceOf,
    references: Mapping[str, str],
    profiles: Mapping[Key, Profile],
    attempts: Sequence[AttemptRecord],
    origin: str,
) -> dict[str, Markup]:
    """The page's data, packed: long texts are cut, and sources left out, as far as the page would be too large."""
    histories = histories_of(attempts)
    made = partial(payload, scores, standing, source_of, references, profiles, histories)
    kinds = kinds_of(standing, histories)
    fits = [Fit(most, kinds, origin) for most in AMOUNTS]
    for fit in promising(sources_of(standing, source_of, histories), fits, MOST_SOURCES):
        data = made(fit)
        texts = packed(data["texts"])
        if len(texts) <= MOST_SOURCES:
            break
    details = packed(data["details"])
    for limits in DETAILS[1:]:
        if len(details) > MOST_DETAILS:
            details = packed(made(fit, limits)["details"])
    return data | {"texts": texts, "details": details}


class Tile(NamedTuple):
    """One of the numbers that a reader sees first."""

    label: str
    value: str
    unit: str
    note: str


def tiles(group: Group) -> list[Tile]:
    """Correctness, speed and noise of a run in four numbers."""
    low, high = (f"{end * 100:.0f}" for end in group.fast_p_interval["1"])
    unit = "%" if group.problems else ""
    geomean, span = group.geomean_speedup, group.geomean_interval
    unclear = f"; {group.standing['unclear']} too restless to tell" if group.standing["unclear"] else ""
    several = "at least one sample in " if group.samples > group.problems else ""
    return [
        Tile("Correct", _percent(group.fast_p["0"]), unit, f"{several}{group.correct} of {group.problems} problems"),
        Tile(
            "Faster than the reference",
            _percent(group.fast_p["1"]),
            unit,
            f"95 % interval {low} to {high} %" if group.problems else "no problem judged",
        ),
        Tile(
            "Geometric mean speedup",
            "–" if geomean is None else f"{geomean:.2f}",
            "" if geomean is None else "×",
            f"95 % interval {from_to(span)}" if span else "of correct candidates",
        ),
        Tile(
            "Faster · tie · slower",
            " · ".join(str(group.standing[name]) for name in STANDINGS if name != "unclear"),
            "",
            f"correct candidates, by the whole interval{unclear}",
        ),
    ]


def bar(group: Group) -> list[tuple[str, str, int]]:
    """The parts of the outcome bar: family, name and count of candidates."""
    counts = {**group.outcomes, **group.standing, "no_candidate": group.no_candidate}
    counts["untimed"] = group.outcomes.get("passed", 0) - sum(group.standing.values())
    return [(family, name, counts[name]) for family, names in FAMILIES.items() for name in names if counts.get(name)]


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f}"


def page_environment() -> Environment:
    """What renders a page: everything is escaped, and a name that is not there is an error."""
    environment = Environment(
        loader=PackageLoader("kernelgauge.report.page"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["whole"] = lambda share: f"{share * 100:.0f}"
    environment.filters["duration"] = duration
    environment.filters["together"] = together
    environment.filters["words"] = lambda name: name.replace("_", " ")
    return environment


def template_file(name: str) -> str:
    """The text of a file beside the templates."""
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")

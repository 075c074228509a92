"""A run as one HTML file that opens offline: styles, scripts and data are inside it."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import NamedTuple

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

from kernelgauge.errors import StoreError
from kernelgauge.report.answers import gather
from kernelgauge.report.payload import SourceOf, payload
from kernelgauge.report.scores import THRESHOLDS, Group, Scores, score_run
from kernelgauge.report.spending import in_words
from kernelgauge.report.terminal import too_large_line
from kernelgauge.schema import Evaluation
from kernelgauge.store import Run
from kernelgauge.store.disk import write_whole

SCRIPTS = ("dom.js", "charts.js", "highlight.js", "detail.js", "table.js", "page.js")
"""In the order in which they are joined."""

FAMILIES = {
    "passed": ("faster", "tie", "slower", "untimed"),
    "wrong": ("wrong_value", "wrong_precision", "wrong_shape"),
    "broke": ("build_failed", "load_failed", "runtime_error"),
    "limits": ("timed_out", "out_of_memory"),
    "refused": ("rejected",),
    "missing": ("no_candidate",),
}
"""Parts of the outcome bar in their order; a pass is split by its standing."""


def write_html(run: Run, path: Path | str, references: Mapping[str, str] | None = None) -> Scores:
    """Write the report of `run` to `path` and return its scores; `references` is source text by problem.

    Raises StoreError if the run cannot be read or `path` cannot be written.
    """
    evaluations = run.evaluations()
    found = score_run(run)
    page = render_html(found, evaluations, lambda digest: _kept(run, digest), references)
    write_whole(Path(path), page.encode())
    return found


def render_html(
    scores: Scores,
    evaluations: Iterable[Evaluation],
    source_of: SourceOf,
    references: Mapping[str, str] | None = None,
) -> str:
    """The page for `scores`, which must come from these `evaluations`.

    Everything a contestant wrote reaches the page as escaped text or as JSON data; a content security policy
    allows no script but ours, by its hash, and no connection at all.
    """
    standing = [e for answers in gather(evaluations) for e in answers.evaluations]
    script = "\n".join(_template_file(name) for name in SCRIPTS)
    script = f'"use strict";\n(() => {{\n{script}\n}})();'
    return (
        _environment()
        .get_template("report.html.j2")
        .render(
            scores=scores,
            tiles=tiles(scores.overall),
            groups={**scores.levels, "all": scores.overall},
            bars={name: bar(group) for name, group in {**scores.levels, "all": scores.overall}.items()},
            thresholds=list(THRESHOLDS),
            spending=in_words(scores.spending) if scores.spending else "",
            too_large=too_large_line(scores) if scores.too_large else "",
            style=Markup(_template_file("report.css")),
            script=Markup(script),
            script_hash=base64.b64encode(hashlib.sha256(script.encode()).digest()).decode(),
            data=payload(scores, standing, source_of, references or {}),
        )
    )


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
    return [
        Tile("Correct", _percent(group.fast_p["0"]), unit, f"{group.correct} of {group.problems} problems"),
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
            f"95 % interval {span[0]:.2f} to {span[1]:.2f}" if span else "of correct candidates",
        ),
        Tile(
            "Faster · tie · slower",
            " · ".join(str(group.standing[name]) for name in ("faster", "tie", "slower")),
            "",
            "correct candidates, by the whole interval",
        ),
    ]


def bar(group: Group) -> list[tuple[str, str, int]]:
    """The parts of the outcome bar: family, name and count of candidates."""
    counts = {**group.outcomes, **group.standing, "no_candidate": group.no_candidate}
    counts["untimed"] = group.outcomes.get("passed", 0) - sum(group.standing.values())
    return [(family, name, counts[name]) for family, names in FAMILIES.items() for name in names if counts.get(name)]


def _kept(run: Run, digest: str) -> str | None:
    try:
        return run.source(digest)
    except StoreError:
        return None


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f}"


def _environment() -> Environment:
    environment = Environment(
        loader=PackageLoader("kernelgauge.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters["percent"] = _percent
    environment.filters["whole"] = lambda share: f"{share * 100:.0f}"
    environment.filters["words"] = lambda name: name.replace("_", " ")
    return environment


def _template_file(name: str) -> str:
    return (Path(__file__).parent / "templates" / name).read_text(encoding="utf-8")

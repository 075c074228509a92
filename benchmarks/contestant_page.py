"""The part of a result page about a contestant's run."""

from __future__ import annotations

from collections.abc import Iterator

from page_blocks import Block, Paragraph, Table
from result_text import QUARTILE_NAMES, Content, interval, listed, number, pending, too_large, words

_SHARES = ("0", "0.5", "0.8", "1", "1.5", "2")


def contestant(content: Content) -> Iterator[Block]:
    """fast_p per level with intervals, how much of the bound is reached, outcomes, what is left out, all rows."""
    figures = content["figures"]
    yield from _fast_p(figures, "correct, and the whole 95 % interval of the speedup over eager above p")
    if against := figures["against"]:
        over = "the fastest mode of PyTorch" if against["baseline"] == "strongest" else against["baseline"]
        yield from _fast_p(against, f"the same over {over}")
        if against["left_out"]:
            yield Paragraph(f"No baseline, so not in that table: {listed(against['left_out'])}.")
    yield from _reach(figures["bound"])
    outcomes = ", ".join(f"{words(name)} {count}" for name, count in figures["overall"]["outcomes"].items())
    yield Paragraph(f"Outcomes: {outcomes}; no candidate {figures['overall']['no_candidate']}.")
    left = [f"{each['problem']} ({', '.join(each['trivial_answers'])})" for each in figures["left_out"]]
    if left:
        yield Paragraph(f"Left out, since an answer that skips the work would pass: {listed(left)}.")
    yield from too_large(figures["too_large"])
    yield from pending(figures["pending"])
    yield from (Paragraph(f"Mind: {warning}.") for warning in figures["warnings"])
    yield _contestant_rows(content["rows"])


def _fast_p(figures: Content, what: str) -> Iterator[Block]:
    groups = [*figures["levels"].items(), ("all", figures["overall"])]
    columns = ["level", "n", *("correct" if p == "0" else f"p = {p}" for p in _SHARES)]
    columns += ["geometric mean", "faster · tie · slower"]
    rows = [[name, str(group["problems"]), *_shares(group), *_speed(group)] for name, group in groups]
    yield Paragraph(f"fast_p in percent of problems ({what}), with Wilson's 95 % interval over problems.")
    yield Table(columns, rows)
    yield Paragraph("The same by the estimate of the speedup alone, whatever its noise, as published figures are:")
    points = []
    for name, group in groups:
        shares = (group["fast_p_point"][p] for p in _SHARES)
        points.append([name, str(group["problems"]), *map(_percent, shares)])
    yield Table(columns[: 2 + len(_SHARES)], points)


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{100 * share:.1f}"


def _shares(group: Content) -> list[str]:
    cells = []
    for p in _SHARES:
        low, high = group["fast_p_interval"][p]
        share = group["fast_p"][p]
        cells.append("–" if share is None else f"{_percent(share)} ({100 * low:.0f}–{100 * high:.0f})")
    return cells


def _speed(group: Content) -> list[str]:
    span = group["geomean_interval"]
    mean = "–" if group["geomean_speedup"] is None else f"{group['geomean_speedup']:.3f}"
    mean += f" ({span[0]:.2f}–{span[1]:.2f})" if span else ""
    standing = " · ".join(str(group["standing"][name]) for name in ("faster", "tie", "slower"))
    return [mean, standing]


def _reach(bound: Content) -> Iterator[Block]:
    if not bound["problems"]:
        return
    rows = [[f"{side}s", *(f"{100 * value:.1f}" for value in bound[side])] for side in ("candidate", "reference")]
    yield Paragraph(
        f"Reached, in percent of what the hardware allows ({', '.join(bound['peaks'])}), over {bound['problems']} "
        "correct candidates: quantiles."
    )
    yield Table(["", *QUARTILE_NAMES], rows)


def _contestant_rows(rows: list[Content]) -> Table:
    columns = ["problem", "name", "outcome", "speedup", "interval", "reference ms", "candidate ms", "bound %", "note"]
    lines = []
    for row in rows:
        outcome = row.get("standing") or words(row["outcome"])
        bound = row.get("bound_share")
        note = row.get("reason", "") if row.get("scored", True) else "does not count"
        times = [number(row.get(name), 4) for name in ("reference_ms", "candidate_ms")]
        speed = [number(row.get("speedup"), 4), interval(row)]
        name = words(row.get("name", ""))
        lines.append([row["problem"], name, outcome, *speed, *times, number(bound and 100 * bound, 3), note])
    return Table(columns, lines, frozenset({"name", "outcome", "note"}), f"{len(lines)} candidates")

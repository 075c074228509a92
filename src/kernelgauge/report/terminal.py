"""The scores of a run as tables for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Console, Group, RenderableType
from rich.markup import escape
from rich.padding import Padding
from rich.table import Table
from rich.text import Text

from kernelgauge.report.figures import added, cost, scores, twins
from kernelgauge.report.figures.estimators import from_to
from kernelgauge.report.figures.rebased import STRONGEST
from kernelgauge.report.figures.refusals import by_class
from kernelgauge.report.figures.scores import THRESHOLDS, Scores
from kernelgauge.report.figures.spending import in_words
from kernelgauge.schema import STANDINGS

Groups = Sequence[tuple[str, scores.Group]]
"""The lines of a table: levels by name, and all of them together."""

LISTED = 12
"""Problems named in full under a table; a longer list ends with how many more there are."""


def show(found: Scores, console: Console | None = None) -> None:
    """Print the scores to `console`, or to standard output."""
    (console or Console()).print(render(found))


def render(found: Scores) -> RenderableType:
    """The scores as something rich can print."""
    groups = [*found.levels.items(), ("all", found.overall)]
    parts: list[RenderableType] = [_title(found), _fast_p(groups), *_refused(groups), _speeds(groups)]
    if against := found.against:
        name = "the fastest mode of PyTorch" if against.baseline == STRONGEST else against.baseline
        groups = [*against.levels.items(), ("all", against.overall)]
        parts += [_fast_p(groups, f" over {name}"), _speeds(groups, f", over {name}")]
    if found.overall.outcomes or found.overall.no_candidate:
        parts.append(_outcomes(found))
    if len(found.tags) > 1:
        parts.append(_tags(found))
    parts.extend(Padding(line, (0, 1)) for line in _remarks(found))
    return Group(*parts)


def _title(found: Scores) -> Text:
    header = found.header
    title = Text("kernelgauge", style="bold")
    if header:
        title.append(f"  {header.contestant}", style="bold cyan")
        title.append("".join(f"  suite {suite}" for suite in header.suites))
        title.append(
            f"  {header.protocol}, kernel policy {header.kernel_policy}, {header.sizes} sizes, {header.device}",
            style="dim",
        )
    if found.environment and found.environment.gpu:
        title.append(f", {found.environment.gpu}", style="dim")
    return title


def _fast_p(groups: Groups, over: str = "") -> Table:
    table = Table(
        title=f"fast_p: correct, and the whole 95 % interval of the speedup{over} above p",
        caption="in percent of problems, with the Wilson 95 % interval over problems",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("level")
    table.add_column("n", justify="right")
    for name in THRESHOLDS:
        table.add_column("correct" if name == "0" else f"p = {name}", justify="right")
    table.add_column("refused", justify="right")
    for label, group in groups:
        cells = [_share(group.fast_p[name], group.fast_p_interval[name]) for name in THRESHOLDS]
        table.add_row(label, str(group.problems), *cells, _share(group.refused.share, group.refused.interval))
    return table


def _refused(groups: Groups) -> list[Table]:
    """A table of the classes, if anything was refused: the column of `_fast_p`, taken apart."""
    classes = list(groups[-1][1].refused.by_class)
    if not classes:
        return []
    table = Table(
        title="refused, by class of the rule",
        caption="in percent, weighed as fast_p is, with the number of candidates",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    table.add_column("level")
    for name in (*classes, "refused"):
        table.add_column(name, justify="right")
    for label, group in groups:
        refused, none = group.refused, 0.0 if group.problems else None
        cells = [(refused.by_class.get(name, none), refused.samples_by_class.get(name, 0)) for name in classes]
        cells.append((refused.share, refused.samples))
        table.add_row(label, *(f"{_percent(share)} [dim]({count})[/dim]" for share, count in cells))
    return [table]


def _speeds(groups: Groups, over: str = "") -> Table:
    table = Table(title=f"speed of correct candidates{over}", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("level")
    for name in ("geometric mean", "95 % interval", *STANDINGS, "fast_1 by point"):
        table.add_column(name, justify="right")
    for label, group in groups:
        low_high = group.geomean_interval
        table.add_row(
            label,
            f"{group.geomean_speedup:.2f}x" if group.geomean_speedup is not None else "–",
            from_to(low_high) if low_high else "–",
            *(str(group.standing[name]) for name in STANDINGS),
            _percent(group.fast_p_point["1"]),
        )
    if any(group.standing["unclear"] for _, group in groups):
        table.caption = "means are over faster, tie and slower; what is unclear is in none"
        table.caption_justify = "left"
    return table


def _outcomes(found: Scores) -> Table:
    group = found.overall
    table = Table(title="outcomes", title_justify="left", show_header=False, box=box.SIMPLE)
    table.add_column("outcome")
    table.add_column("count", justify="right")
    table.add_column("rules")
    rules = "; ".join(
        f"{kind} {group.refused.samples_by_class[kind]} ({_percent(group.refused.by_class[kind])} %): "
        + ", ".join(f"{name} {count} ({_percent(group.refused.by_rule[name])} %)" for name, count in rules.items())
        for kind, rules in by_class(group.rules).items()
    )
    for name, count in group.outcomes.items():
        detail = rules if name == "rejected" else ""
        table.add_row(name, str(count), escape(detail), style="green" if name == "passed" else "")
    if group.review:
        listed = ", ".join(f"{name} {count}" for name, count in group.review.items())
        table.add_row("to review", str(sum(group.review.values())), escape(listed), style="yellow")
    if group.no_candidate:
        table.add_row("no candidate", str(group.no_candidate), "")
    return table


def _tags(found: Scores) -> Table:
    table = Table(title="by kind of problem", title_justify="left", box=box.SIMPLE_HEAD)
    table.add_column("tag")
    for name in ("n", "correct", "fast_1", "geometric mean"):
        table.add_column(name, justify="right")
    for tag, group in list(found.tags.items())[:LISTED]:
        mean = f"{group.geomean_speedup:.2f}x" if group.geomean_speedup is not None else "–"
        table.add_row(tag, str(group.problems), _percent(group.fast_p["0"]), _percent(group.fast_p["1"]), mean)
    if len(found.tags) > LISTED:
        table.caption = f"and {len(found.tags) - LISTED} more tags: --json has all"
    return table


def _remarks(found: Scores) -> list[Text]:
    remarks = [Text(f"! {warning}", style="yellow") for warning in found.warnings]
    if found.spending:
        remarks.append(Text(in_words(found.spending)))
    if found.twinned:
        remarks += [Text(f"! {warning}", style="yellow") for warning in found.twinned.warnings]
        remarks.append(Text(f"on twins: {twins.in_words(found.twinned)}"))
    if found.added:
        remarks.append(Text(added.in_words(found.added)))
    if found.evaluation_cost:
        remarks.append(Text(cost.in_words(found.evaluation_cost), style="dim"))
    if found.left_out:
        named = _listed([f"{left.problem} ({', '.join(left.trivial_answers)})" for left in found.left_out])
        remarks.append(Text(f"left out, since an answer that skips the work would pass or rounding decides: {named}"))
    if found.against and found.against.left_out:
        why = f"no up-to-date baseline, so not in the figures over {found.against.baseline}"
        remarks.append(Text(f"{why}: {_listed(found.against.left_out)}", style="dim"))
    counted = [weak.problem for weak in found.weak if weak.scored]
    if counted:
        why = "weak at the published inputs, and in the figures above"
        remarks.append(Text(f"{why}: {_listed(counted)}", style="dim"))
    if found.too_large:
        remarks.append(Text(f"{too_large_line(found)}: {_listed([each.problem for each in found.too_large])}"))
    if found.pending:
        remarks.append(Text(f"not judged yet, in no figure above: {_listed(found.pending)}", style="yellow"))
    return remarks


def too_large_line(found: Scores) -> str:
    """How many problems did not fit, and what there was."""
    there = found.too_large[-1].available_gb
    memory = "the GPU's memory" if there is None else f"the {there:g} GB of GPU memory there were"
    return f"{len(found.too_large)} too large for {memory}, in no figure above"


def _share(share: float | None, interval: tuple[float, float]) -> str:
    if share is None:
        return "–"
    return f"{_percent(share)}\n[dim]{interval[0] * 100:.0f}–{interval[1] * 100:.0f}[/dim]"


def _percent(share: float | None) -> str:
    return "–" if share is None else f"{share * 100:.1f}"


def _listed(names: tuple[str, ...] | list[str]) -> str:
    more = len(names) - LISTED
    return ", ".join(names[:LISTED]) + (f" and {more} more" if more > 0 else "")

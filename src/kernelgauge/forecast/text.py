"""Scores of forecasts as tables for a terminal of 100 columns."""

from __future__ import annotations

from collections.abc import Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.table import Table

from kernelgauge.forecast.replay import Saved
from kernelgauge.forecast.score import Score, Speed

_SPEED = {
    "bin_error": ("bin error", "{:.2f}"),
    "accuracy": ("same bin", "{:.0%}"),
    "spearman": ("Spearman", "{:.2f}"),
    "mape": ("MAPE %", "{:.0f}"),
    "brier": ("Brier", "{:.2f}"),
    "crps": ("CRPS", "{:.2f}"),
    "ece": ("ECE", "{:.2f}"),
}


def render(scores: Sequence[Score]) -> RenderableType:
    """A table of speeds and one of choices for each split."""
    parts: list[RenderableType] = []
    for split in dict.fromkeys(each.split for each in scores):
        here = [each for each in scores if each.split == split]
        parts += [_speeds(split, here), _choices(here)]
    return Group(*parts)


def _speeds(split: str, scores: Sequence[Score]) -> Table:
    first = scores[0].speed
    table = _table(f"speed, split by {split}: {first.rows} comparisons, {len(scores[0].folds)} folds")
    table.caption = (
        "lower is better but for same bin and Spearman; small: 95 % by drawing problems again; CRPS in octaves"
    )
    table.add_column("predictor")
    for title, _ in _SPEED.values():
        table.add_column(title, justify="right")
    table.add_column("answered", justify="right")
    for each in scores:
        cells = [_cell(each.speed, name, form) for name, (_, form) in _SPEED.items()]
        share = each.speed.answered / each.speed.rows if each.speed.rows else 0.0
        table.add_row(each.predictor, *cells, f"{share:.0%}")
    return table


def _choices(scores: Sequence[Score]) -> Table:
    choice, right = scores[0].choice, scores[0].right
    table = _table(f"choice of {choice.k} in {choice.pools} pools; {right.right} of {right.rows} kernels are right")
    for name in ("predictor", "regret", "found within 20 %", "right: Brier", "right: AUROC"):
        table.add_column(name, justify="left" if name == "predictor" else "right")
    for each in scores:
        table.add_row(
            each.predictor,
            _number(each.choice.regret, "{:.1%}"),
            _number(each.choice.found, "{:.0%}"),
            _number(each.right.brier, "{:.3f}"),
            _number(each.right.auroc, "{:.2f}"),
        )
    return table


def render_saved(saved: Sequence[Saved]) -> RenderableType:
    """Evaluations up to an equal result, a row a predictor."""
    first = saved[0]
    table = _table(f"evaluations until a candidate as good as the best: {first.candidates} in {first.pools} pools")
    table.caption = f"forecasts of rows not learnt from (split by {first.split}); random order is a mean"
    for name in ("predictor", "by forecast", "at random", "as stored", "saved over random"):
        table.add_column(name, justify="left" if name == "predictor" else "right")
    for each in saved:
        table.add_row(
            each.predictor,
            f"{each.by_forecast:.1f}",
            f"{each.at_random:.1f}",
            str(each.as_stored),
            _number(each.over_random, "{:.1%}"),
        )
    return table


def _table(title: str) -> Table:
    return Table(title=title, title_justify="left", caption_justify="left", box=box.SIMPLE_HEAD)


def _cell(speed: Speed, name: str, form: str) -> str:
    interval = getattr(speed, f"{name}_interval", None)
    text = _number(getattr(speed, name), form)
    return text if interval is None else f"{text}\n[dim]{form.format(interval[0])}–{form.format(interval[1])}[/dim]"


def _number(value: float | None, form: str) -> str:
    return "–" if value is None else form.format(value)

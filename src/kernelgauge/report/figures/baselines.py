"""Stored baselines as figures: how fast PyTorch is in each mode, and which mode is the strongest."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from rich import box
from rich.console import Group, RenderableType
from rich.markup import escape
from rich.table import Table

from kernelgauge.report.figures.answers import natural
from kernelgauge.report.figures.estimators import geometric_mean
from kernelgauge.schema import MODES, Baseline, Environment, Measured, Mode, Record, setting
from kernelgauge.timing.baselines import current, moved, quotient, strongest
from kernelgauge.timing.ratio import Ratio


class Row(Record):
    """One problem in every mode that was measured."""

    problem: str
    name: str
    level: int | None
    eager_ms: float | None
    """None if no mode passed."""
    modes: dict[Mode, Baseline]
    strongest: Mode

    @property
    def strongest_speedup(self) -> float:
        """Speedup of the strongest mode over eager, which is 1 where eager is that."""
        best = self.modes.get(self.strongest)
        return best.measured.speedup if self.strongest != "eager" and best and best.measured else 1.0


class Mean(Record):
    """Geometric mean over problems of a speedup over eager."""

    problems: int
    speedup: float
    interval: tuple[float, float] | None
    """95 % interval over problems; None for a single one."""


class Board(Record):
    """All that was measured in one setting."""

    device: str
    sizes: str
    protocol: str
    math: str | None
    environment: Environment
    rows: tuple[Row, ...]
    means: dict[str, dict[str, Mean]]
    """By level as text and `all`, then by mode and `strongest`; over the problems where the mode passed."""


def boards(baselines: Iterable[Baseline]) -> list[Board]:
    """One board for each setting, oldest first, with the newest figure of each problem and mode."""
    settings: dict[str, list[Baseline]] = {}
    for each in sorted(baselines, key=lambda each: each.created):
        where = setting(each.sizes, each.device, each.protocol_digest, each.environment)
        settings.setdefault(where, []).append(each)
    return [_board(some) for some in settings.values()]


def _board(baselines: Sequence[Baseline]) -> Board:
    newest = baselines[-1]
    texts = {each.problem: each.problem_digest for each in baselines}
    problems: dict[str, dict[Mode, Baseline]] = {}
    for each in baselines:
        if each.problem_digest == texts[each.problem]:  # otherwise the problem has been replaced since
            problems.setdefault(each.problem, {})[each.mode] = each
    rows = tuple(_row(problems[key]) for key in sorted(problems, key=natural))
    levels = sorted({_level(row) for row in rows}, key=natural)
    groups = {level: [row for row in rows if _level(row) == level] for level in levels} | {"all": list(rows)}
    return Board(
        device=newest.device,
        sizes=newest.sizes,
        protocol=newest.protocol,
        math=newest.math,
        environment=newest.environment,
        rows=rows,
        means={level: _means(some) for level, some in groups.items()},
    )


def _row(modes: dict[Mode, Baseline]) -> Row:
    ordered = {mode: modes[mode] for mode in MODES if mode in modes}
    any_mode = next(iter(ordered.values()))
    eager = [each.measured.eager_ms for each in ordered.values() if each.measured]
    return Row(
        problem=any_mode.problem,
        name=any_mode.problem_name,
        level=any_mode.level,
        eager_ms=eager[0] if eager else None,
        modes=ordered,
        strongest=strongest(ordered.values()),
    )


def _level(row: Row) -> str:
    return "own" if row.level is None else str(row.level)


def _means(rows: Sequence[Row]) -> dict[str, Mean]:
    speedups: dict[str, list[float]] = {}
    for row in rows:
        for mode, each in row.modes.items():
            if each.measured:
                speedups.setdefault(mode, []).append(each.measured.speedup)
        if row.eager_ms is not None:
            speedups.setdefault("strongest", []).append(row.strongest_speedup)
    means = {name: (len(some), geometric_mean(some)) for name, some in speedups.items()}
    return {
        name: Mean(problems=count, speedup=mean[0], interval=mean[1]) for name, (count, mean) in means.items() if mean
    }


def render(board: Board) -> RenderableType:
    """A board as something rich can print."""
    where = board.environment.gpu if board.device == "cuda" else board.environment.cpu
    software = f"torch {board.environment.torch}, {board.protocol} ({board.math}), {board.sizes} sizes"
    table = Table(
        title=f"PyTorch on {escape(where or board.device)}: speedup over eager by mode",
        caption=f"{software}; the column eager is a second eager against the first",
        title_justify="left",
        caption_justify="left",
        box=box.SIMPLE_HEAD,
    )
    modes = [mode for mode in MODES if any(mode in row.modes for row in board.rows)]
    table.add_column("problem")
    for name in ("eager ms", *modes):
        table.add_column(name.removeprefix("compile-"), justify="right")
    table.add_column("strongest")
    for row in board.rows:
        eager = f"{row.eager_ms:.4g}" if row.eager_ms is not None else "–"
        cells = [_cell(row.modes.get(mode)) for mode in modes]
        table.add_row(escape(f"{row.problem} {row.name}"), eager, *cells, row.strongest)
    table.add_section()
    for level, means in board.means.items():
        cells = [_mean(means.get(mode)) for mode in modes]
        name = f"geometric mean, {'all' if level == 'all' else f'level {level}'}"
        table.add_row(name, "", *cells, _mean(means.get("strongest")))
    failed = [
        f"{each.problem} {each.mode}: {each.reason}"
        for row in board.rows
        for each in row.modes.values()
        if not each.measured
    ]
    return Group(table, *(escape(line) for line in failed))


def _cell(baseline: Baseline | None) -> str:
    if baseline is None:
        return "–"
    if baseline.measured is None:
        return f"[red]{baseline.outcome.value}[/]"
    low, high = baseline.measured.interval
    return f"{baseline.measured.speedup:.2f}x [dim]{low:.3g}–{high:.3g}[/]"


def _mean(mean: Mean | None) -> str:
    return f"{mean.speedup:.2f}x [dim]n = {mean.problems}[/]" if mean else "–"


def changes(before: Iterable[Baseline], now: Iterable[Baseline]) -> list[str]:
    """What a second measurement says of the first one, a sentence for each mode that passed both times."""
    lines = []
    earlier = list(before)
    for each in now:
        old = current([other for other in earlier if other.created < each.created], each.conditions).get(each.mode)
        if each.measured is None or old is None or old.measured is None:
            continue
        ratio = quotient(_ratio(each.measured), _ratio(old.measured))
        same = "agrees" if ratio.low <= 1 <= ratio.high else "has changed"
        eager = ", and eager takes another time" if moved(each.measured.eager_interval_ms, old.measured) else ""
        then = f"{old.measured.speedup:.3g}x on {old.created:%Y-%m-%d}"
        times = f"eager {each.measured.eager_ms:.3g} and {old.measured.eager_ms:.3g} ms"
        lines.append(f"{each.problem} {each.mode} {same}{eager}: {each.measured.speedup:.3g}x, was {then}; {times}")
    return lines


def _ratio(known: Measured) -> Ratio:
    return Ratio(known.speedup, *known.interval)

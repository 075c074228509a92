"""The bandit's picture: what the policy earns and what it chooses over the steps, a thin line for each seed.

It shows the steps in which something happens, and as many again: of 200 most are a straight line.
"""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

Runs = Sequence[Sequence[Mapping[str, float]]]
_WIDTH, _HEIGHT, _LEFT, _RIGHT = 640, 420, 48, 120
_COLOURS = {
    "reward": "#0969da",
    "fast": "#1a7f37",
    "slow": "#57606a",
    "wrong": "#9a6700",
    "cheat": "#cf222e",
}
_NAMES = {"reward": "mean reward", "fast": "fast", "slow": "right, not fast", "wrong": "wrong", "cheat": "cheats"}
_LINE_HEIGHT = 14
_STILL = 0.01
"""Nothing moves any more where everything is this near to its end, as a share of its largest value."""


@dataclass(frozen=True)
class _Panel:
    """A part of the picture with its own upright axis."""

    title: str
    top: float
    bottom: float
    ticks: tuple[float, ...]
    """The least is at the bottom, the last at the top."""
    shown: str
    """How a tick is written."""
    kinds: tuple[str, ...]

    def y(self, value: float) -> float:
        low, high = self.ticks[0], self.ticks[-1]
        return round(self.bottom - (value - low) / (high - low) * (self.bottom - self.top), 1)


def picture(runs: Runs) -> str:
    """An SVG: above the mean reward by step, below the share of each kind of answer, for every run."""
    rewards = [told["reward"] for run in runs for told in run]
    shares = (0.0, 0.25, 0.5, 0.75, 1.0)
    panels = (
        _Panel("reward", 28, 138, _ticks(min(rewards), max(rewards)), "g", ("reward",)),
        _Panel("share of the answers", 176, 384, shares, ".0%", ("fast", "slow", "wrong", "cheat")),
    )
    return "\n".join([*_parts(runs, panels), "</svg>", ""])


def shown_steps(runs: Runs) -> int:
    """Twice as many steps as the last run needs until nothing moves, a multiple of ten; at most all."""
    moves = 0
    for run in runs:
        for kind, end in run[-1].items():
            near = _STILL * max(abs(told[kind]) for told in run)
            moves = max(moves, *(step + 1 for step, told in enumerate(run) if abs(told[kind] - end) > near), 0)
    return min(len(runs[0]) - 1, max(10, math.ceil(2 * moves / 10) * 10))


def _ticks(least: float, most: float) -> tuple[float, ...]:
    """Some round values around these, 0 among them."""
    step = 10.0 ** math.floor(math.log10(max(most, -least, 0.1)))
    step = next(each for each in (step / 2, step, 2 * step, 5 * step) if (most - min(least, 0)) / each <= 5)
    first, last = math.floor(min(least, 0.0) / step), math.ceil(max(most, step) / step)
    return tuple(round(number * step, 6) for number in range(first, last + 1))


def _parts(runs: Runs, panels: Sequence[_Panel]) -> Iterator[str]:
    steps = shown_steps(runs)
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>'
    )
    for panel in panels:
        yield from _panel(runs, panel, steps)
    for step in (0, steps // 2, steps):
        yield f'<text x="{_x(step, steps)}" y="{_HEIGHT - 20}" text-anchor="middle">{step}</text>'
    middle, taken = _x(steps / 2, steps), len(runs[0]) - 1
    said = "steps of policy gradient" + (f" (the first {steps} of {taken})" if steps < taken else "")
    yield f'<text x="{middle}" y="{_HEIGHT - 5}" text-anchor="middle">{said}</text>'


def _panel(runs: Runs, panel: _Panel, steps: int) -> Iterator[str]:
    yield f'<text x="{_LEFT}" y="{panel.top - 10}" font-weight="bold">{panel.title}</text>'
    for tick in panel.ticks:
        y = panel.y(tick)
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{y}" y2="{y}" stroke="#d0d7de"/>'
        yield f'<text x="{_LEFT - 6}" y="{y + 4}" text-anchor="end">{tick:{panel.shown}}</text>'
    for kind in panel.kinds:
        for run in runs:
            points = " ".join(
                f"{_x(step, steps)},{panel.y(told[kind])}" for step, told in enumerate(run[: steps + 1])
            )
            yield (
                f'<polyline class="{kind}" fill="none" stroke="{_COLOURS[kind]}" stroke-opacity="0.7" '
                f'points="{points}"/>'
            )
    # Labels in the order in which the lines end, none upon another.
    ends = {kind: sum(run[-1][kind] for run in runs) / len(runs) for kind in panel.kinds}
    floor = panel.bottom + 4
    for kind in sorted(ends, key=lambda kind: ends[kind]):
        place = min(panel.y(ends[kind]) + 4, floor)
        floor = place - _LINE_HEIGHT
        yield f'<text x="{_WIDTH - _RIGHT + 6}" y="{place}" fill="{_COLOURS[kind]}">{_NAMES[kind]}</text>'


def _x(step: float, steps: int) -> float:
    return round(_LEFT + step / max(steps, 1) * (_WIDTH - _LEFT - _RIGHT), 1)

"""The bandit's picture: what the policy chooses over the steps, a thin line for each seed."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

_WIDTH, _HEIGHT, _LEFT, _RIGHT, _TOP, _BOTTOM = 640, 300, 48, 112, 16, 36
_COLOURS = {"fast": "#1a7f37", "slow": "#57606a", "wrong": "#9a6700", "cheat": "#cf222e"}
_NAMES = {"fast": "fast", "slow": "right, not fast", "wrong": "wrong", "cheat": "cheats"}
_LINE_HEIGHT = 14


def picture(runs: Sequence[Sequence[Mapping[str, float]]]) -> str:
    """An SVG: the share of each kind of answer by step, for every run."""
    return "\n".join([*_parts(runs), "</svg>", ""])


def _parts(runs: Sequence[Sequence[Mapping[str, float]]]) -> Iterator[str]:
    steps = len(runs[0]) - 1
    yield (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {_WIDTH} {_HEIGHT}" font-family="sans-serif" '
        'font-size="12"><rect width="100%" height="100%" fill="#ffffff"/>'
    )
    for share in (0.0, 0.25, 0.5, 0.75, 1.0):
        yield f'<line x1="{_LEFT}" x2="{_WIDTH - _RIGHT}" y1="{_y(share)}" y2="{_y(share)}" stroke="#d0d7de"/>'
        yield f'<text x="{_LEFT - 6}" y="{_y(share) + 4}" text-anchor="end">{share:.0%}</text>'
    for step in (0, steps // 2, steps):
        yield f'<text x="{_x(step, steps)}" y="{_HEIGHT - 18}" text-anchor="middle">{step}</text>'
    middle = _x(steps / 2, steps)
    yield f'<text x="{middle}" y="{_HEIGHT - 4}" text-anchor="middle">steps of policy gradient</text>'
    for kind, colour in _COLOURS.items():
        for run in runs:
            points = " ".join(f"{_x(step, steps)},{_y(told[kind])}" for step, told in enumerate(run))
            yield f'<polyline fill="none" stroke="{colour}" stroke-opacity="0.7" points="{points}"/>'
    # Labels in the order in which the lines end, none upon another.
    ends = {kind: sum(run[-1][kind] for run in runs) / len(runs) for kind in _COLOURS}
    floor = float(_HEIGHT - _BOTTOM + 4)
    for kind in sorted(ends, key=lambda kind: ends[kind]):
        place = min(_y(ends[kind]) + 4, floor)
        floor = place - _LINE_HEIGHT
        yield f'<text x="{_WIDTH - _RIGHT + 6}" y="{place}" fill="{_COLOURS[kind]}">{_NAMES[kind]}</text>'


def _x(step: float, steps: int) -> float:
    return round(_LEFT + step / max(steps, 1) * (_WIDTH - _LEFT - _RIGHT), 1)


def _y(share: float) -> float:
    return round(_TOP + (1 - share) * (_HEIGHT - _TOP - _BOTTOM), 1)

"""The same kernels on several GPUs: the JSON that is committed, and the page that shows it.

    python benchmarks/cards.py results/cards.json H100/expert_strict H200/expert_strict H100/inductor_strict ...

Takes run folders in any order; runs of one contestant under the same rules are compared with each other, kernel
by kernel, as `kernelgauge compare` does. docs/results/cards.md shows the file. Needs no GPU.
"""

from __future__ import annotations

import argparse
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations
from pathlib import Path
from typing import Any

from page_blocks import Block, Heading, Paragraph, Table
from result_files import as_text

from kernelgauge.errors import KernelgaugeError, UsageError
from kernelgauge.report.figures.hardware import Cell, Kept, Kernel, across, where
from kernelgauge.runs import load
from kernelgauge.schema import Evaluation

ORDER = ("faster", "tie", "slower", "unclear")
"""Standings of kernels that are right, in the order of the tables."""
WIDE = 1.3
"""An interval whose ends are farther apart than this factor says too little for a comparison of two cards."""
_MOST = 12


def cards(sources: Sequence[Path]) -> dict[str, Any]:
    """What is committed of these run folders: each kernel that several machines have judged.

    Raises:
        StoreError: a folder is no run.
        UsageError: no two of them hold one contestant under the same rules on different machines.
    """
    alike: dict[tuple[str, ...], list[list[Evaluation]]] = {}
    for run in map(load, sources):
        head = run.header
        rules = (head.protocol, head.protocol_digest, head.math, head.sizes)
        alike.setdefault((head.contestant, *rules), []).append(run.evaluations())
    groups, rows = [], []
    for (contestant, protocol, *_), runs in alike.items():
        if (kept := across(runs)) and kept.kernels:
            groups.append({"contestant": contestant, "protocol": protocol} | _group(kept, runs))
            rows += [{"group": len(groups) - 1} | _row(kernel) for kernel in kept.kernels]
    if not groups:
        raise UsageError("no two of these runs are of one contestant, under the same rules, on different machines")
    return {"kind": "cards", "groups": groups, "rows": rows}


def _group(kept: Kept, runs: Sequence[Sequence[Evaluation]]) -> dict[str, Any]:
    dates: dict[str, list[str]] = {}
    for record in (record for run in runs for record in run):
        dates.setdefault(where(record), []).append(f"{record.created:%Y-%m-%d}")
    return {
        "machines": list(kept.machines),
        "dates": {machine: sorted({min(days), max(days)}) for machine, days in dates.items()},
        "wins": {one: {two: each.model_dump() for two, each in found.items()} for one, found in kept.wins.items()},
    }


def _row(kernel: Kernel) -> dict[str, Any]:
    cells = {machine: _small(cell) for machine, cell in kernel.cells.items()}
    return {"problem": kernel.problem, "name": kernel.name, "digest": kernel.candidate_digest, "cells": cells}


def _small(cell: Cell) -> list[Any]:
    """Standing, speedup over eager, and both ends of its interval."""
    low, high = cell.interval or (None, None)
    return [cell.standing, *(each and float(f"{each:.4g}") for each in (cell.speedup, low, high))]


def blocks(content: dict[str, Any]) -> Iterator[Block]:
    """For each contestant and protocol, and each two machines: who keeps a win, and where the two differ most."""
    for number, group in enumerate(content["groups"]):
        own = [row for row in content["rows"] if row["group"] == number]
        yield Heading(f"`{group['contestant']}` under `{group['protocol']}`")
        for one, other in combinations(group["machines"], 2):
            both = [kernel for kernel in own if {one, other} <= kernel["cells"].keys()]
            if both:
                yield from _pair(group, one, other, both)


def _pair(group: dict[str, Any], one: str, other: str, both: list[dict[str, Any]]) -> Iterator[Block]:
    days = ", ".join(f"{machine}: {' to '.join(group['dates'][machine])}" for machine in (one, other))
    yield Paragraph(
        f"{len(both)} texts were judged on both ({days}). {_kept(group, one, other)} {_kept(group, other, one)}"
    )
    counts = Counter((kernel["cells"][one][0], kernel["cells"][other][0]) for kernel in both)
    seen = {standing for pair in counts for standing in pair}
    names = [*(name for name in ORDER if name in seen), *sorted(seen - set(ORDER))]
    yield Table(
        (f"{one}, below; {other}, right", *(name.replace("_", " ") for name in names)),
        [[row.replace("_", " "), *(str(counts[row, column] or "–") for column in names)] for row in names],
    )
    differing = [kernel for kernel in both if kernel["cells"][one][0] != kernel["cells"][other][0]]
    if differing:
        yield Paragraph("Those that stand differently:")
        yield Table(
            ("kernel", one, other),
            [[_named(kernel), *(_told(kernel["cells"][each]) for each in (one, other))] for kernel in differing],
            frozenset({one, other}),
        )
    yield from _farthest(one, other, both)


def _kept(group: dict[str, Any], one: str, other: str) -> str:
    wins = group["wins"][one][other]
    if not wins["here"]:
        return f"None is faster than eager on the {one}."
    low, high = (100 * end for end in wins["interval"])
    return (
        f"Of {wins['here']} that are faster than eager on the {one}, {wins['there']} are faster on the {other} too "
        f"({100 * wins['share']:.0f} %, 95 % between {low:.0f} and {high:.0f})."
    )


def _farthest(one: str, other: str, both: list[dict[str, Any]]) -> Iterator[Block]:
    """Of kernels with narrow intervals that are faster on both, those whose speedups differ most."""
    ratios = {}
    for place, kernel in enumerate(both):
        cells = [kernel["cells"][each] for each in (one, other)]
        if all(standing == "faster" and high < WIDE * low for standing, _, low, high in cells):
            ratios[place] = cells[1][1] / cells[0][1]
    if not ratios:
        return
    far = sorted(ratios, key=lambda place: -max(ratios[place], 1 / ratios[place]))[:_MOST]
    tenth = sum(max(ratio, 1 / ratio) > 1.1 for ratio in ratios.values())
    yield Paragraph(
        f"Of {len(ratios)} that are faster on both, with intervals narrower than a factor of {WIDE}, {tenth} differ "
        f"by more than a tenth. The {len(far)} that differ most:"
    )
    yield Table(
        ("kernel", one, other, "ratio"),
        [
            [_named(kernel), *(_told(kernel["cells"][each]) for each in (one, other)), f"{ratios[place]:.2f}"]
            for place, kernel in ((place, both[place]) for place in far)
        ],
        frozenset({one, other}),
    )


def _named(kernel: dict[str, Any]) -> str:
    return f"{kernel['problem']} {kernel['name'].replace('_', ' ')}"


def _told(cell: list[Any]) -> str:
    standing, speedup, low, high = cell
    said: str = standing.replace("_", " ")
    return said if speedup is None else f"{said}, {speedup:.3g} ({low:.3g} to {high:.3g})"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("runs", type=Path, nargs="+")
    given = parser.parse_args()
    try:
        given.out.write_text(as_text(cards(given.runs)))
    except KernelgaugeError as error:
        parser.exit(error.exit_code, f"{error}\n")


if __name__ == "__main__":
    main()

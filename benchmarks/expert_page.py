"""What was measured of the contestant `expert`: counts, a table of its kernels, and wins that others published."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from page_blocks import Block, Heading, Paragraph, Table

from kernelgauge.expert.contestant import Expert

WIN = 1.3
"""A win that nobody calls noise: the whole interval above this."""
PUBLISHED = (
    ("product with a diagonal matrix", 13.0, ("1/12",)),
    ("GELU", 2.9, ("1/26", "1/88")),
    ("product, divided, summed, scaled", 2.6, ("2/14",)),
    ("triplet margin loss", 2.0, ("1/99",)),
    ("softsign", 1.3, ("1/30",)),
)
"""Wins that KernelBench's paper (arXiv 2502.10517) names, times over eager PyTorch on an L40S at its first sizes."""
_PROTOCOLS = ("strict", "v0.1", "quick")
_KNOWN = ("faster", "tie", "slower", "unclear")


def expert(folder: Path) -> Iterator[Block]:
    """Every `expert_*.json` of a folder that holds rows of candidates, the strictest protocol first."""
    found = _files(folder)
    for protocol, path, content in found:
        yield Heading(f"Under {protocol}", 3)
        others = {row["problem"] for name, _, each in found if name == protocol for row in each["rows"]}
        yield Paragraph(_summary(content, path, len(set(Expert().problems()) - others)))
        yield from _kernels(content["rows"])


def wins(folders: Sequence[Path]) -> Iterator[Block]:
    """Wins that others published, and those of `expert`: a column for each machine and protocol in these folders."""
    columns: dict[str, dict[str, str]] = {}
    for protocol, _, content in (each for folder in folders for each in _files(folder)):
        machine = str(content["environment"]["gpu"] or content["environment"]["cpu"]).removeprefix("NVIDIA ")
        times = {row["problem"]: _times(row) for row in content["rows"] if row.get("speedup")}
        columns.setdefault(f"{machine}, {protocol}", {}).update(times)
    rows = [
        [what, f"{paper:.1f}", problem, *(times.get(problem, "–") for times in columns.values())]
        for what, paper, problems in PUBLISHED
        for problem in problems
        if any(problem in times for times in columns.values())
    ]
    yield Table(["what", "paper", "problem", *columns], rows, frozenset({"what", "problem"}))


def _files(folder: Path) -> list[tuple[str, Path, dict[str, Any]]]:
    """Protocol, path and content of each file of this contestant, the strictest protocol first."""
    found = []
    for path in sorted(folder.glob("expert_*.json")):
        content = json.loads(path.read_text())
        if protocol := content.get("protocol") or content.get("header", {}).get("protocol"):
            found.append((protocol, path, content))
    return sorted(found, key=lambda each: (_PROTOCOLS.index(each[0]), each[1]))


def _summary(content: dict[str, Any], path: Path, unjudged: int) -> str:
    """Where it was measured, how many are right, faster, and how much; `unjudged` are in no file of this protocol."""
    rows, place = content["rows"], content["environment"]
    timed = [row for row in rows if row.get("low")]
    standing = Counter(row["standing"] for row in timed)
    right = sum(row["outcome"] == "passed" for row in rows)
    counts = ", ".join(f"{standing[name]} {name}" for name in _KNOWN if standing[name])
    clear = sum(row["low"] > WIN for row in timed)
    software = f"{place['cores']} cores, torch {place['torch']}, triton {place['triton']}"
    file = f"`results/{path.parent.name}/{path.name}`"
    sizes = content.get("sizes") or content["header"]["sizes"]
    said = (
        f"At {'published' if sizes == 'full' else sizes} sizes, on one {place['gpu'] or place['cpu']} ({software}, "
    )
    said += f"{content['date'][:10]}; {file}): "
    said += f"**of {len(rows)} judged {right} right; against eager {counts}; {clear} faster by more than {WIN} in "
    said += "all of the interval.**"
    if beside := [row for row in timed if row.get("speedup_over_strongest")]:
        lows = [row["speedup_over_strongest_interval"][0] for row in beside]
        over, far = (sum(low > least for low in lows) for least in (1.0, WIN))
        said += f" Of {len(beside)} with `torch.compile` beside them {over} are faster than PyTorch's fastest mode, "
        said += f"{far} by more than {WIN} in all of the interval."
    failed = [f"{row['problem']} ({row['outcome'].replace('_', ' ')})" for row in rows if row["outcome"] != "passed"]
    said += f" Not right: {', '.join(failed)}." if failed else ""
    return said + (f" Not judged: {unjudged} more." if unjudged else "")


def _kernels(rows: list[dict[str, Any]]) -> Iterator[Block]:
    timed = sorted((row for row in rows if row.get("low")), key=lambda row: -row["speedup"])
    beside = any(row.get("speedup_over_strongest") for row in timed)
    columns = ["problem", "eager ms", "kernel ms", "times as fast"]
    columns += ["PyTorch's fastest mode", "its ms", "times as fast as that"] if beside else []
    columns += ["of the bound", "what binds"]
    yield Table(columns, [_kernel(row, beside) for row in timed], frozenset({"PyTorch's fastest mode", "what binds"}))


def _kernel(row: dict[str, Any], beside: bool) -> list[str]:
    cells = [row["problem"], f"{row['reference_ms']:.3g}", f"{row['candidate_ms']:.3g}"]
    cells.append(_times(row))
    if beside:
        over = row.get("speedup_over_strongest")
        cells += (
            [row["strongest_baseline"], f"{row['candidate_ms'] * over:.3g}", f"{over:.2f}"] if over else ["–"] * 3
        )
    share = row.get("bound_share")
    return [*cells, f"{100 * share:.0f}%" if share else "–", row.get("bound_by", "–")]


def _times(row: dict[str, Any]) -> str:
    return f"{row['speedup']:.2f} ({row['low']:.2f} to {row['high']:.2f})"

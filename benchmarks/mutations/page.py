"""The figures of a run as Markdown for people and JSON for programs."""

from __future__ import annotations

import json
import lzma
import math
import re
from collections.abc import Callable, Iterable, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from kernelgauge.pairs.mutations import NATIVE_OPERATORS
from kernelgauge.schema import Environment

from .judging import PROTOCOLS
from .ledger import Ledger
from .operators import OPERATORS
from .witness import SAME

Row = dict[str, Any]

ID_LENGTH = 12
"""Of an id, what the JSON file keeps."""


def note(run: Path, command: Sequence[str], environment: Environment) -> None:
    """Keep which command ran where: the page says so."""
    said = {"command": " ".join(["python -m benchmarks.mutations", *command[1:]]), "date": str(date.today())}
    run.mkdir(parents=True, exist_ok=True)
    with (run / "commands.jsonl").open("a") as file:
        file.write(json.dumps(said | {"environment": environment.model_dump()}) + "\n")


def commands(run: Path) -> list[Row]:
    """What ran, where and when; without the folder it was written to."""
    rows = [json.loads(line) for line in (run / "commands.jsonl").read_text().splitlines()]
    return [row | {"command": re.sub(r" --out \S+", "", row["command"])} for row in rows]


def upper(hits: int, count: int) -> float:
    """Upper end of the 95 % Wilson interval of a share (Wilson 1927)."""
    if count == 0:
        return 1.0
    z, share = 1.96, hits / count
    middle = share + z * z / (2 * count)
    half = z * math.sqrt(share * (1 - share) / count + z * z / (4 * count * count))
    return (middle + half) / (1 + z * z / count)


def accepted(row: Row, protocol: str) -> bool:
    """Whether the evaluator let this fault pass."""
    return bool(row[protocol]["outcome"] == "passed")


def why(row: Row) -> str:
    """Why `strict` accepted a fault, from its figures alone."""
    allowed = row["strict"]["closest"]["allowed"]
    if not row["strict"]["scored"]:
        return "the problem does not count: it accepts " + ", ".join(row["strict"]["trivial_answers"])
    if row["deviation"] <= allowed:
        return "smaller than what is allowed"
    if row["case"] in ("large", "small", "shifted", "negative"):
        return f"shows with {row['case']} inputs only"
    return "shows with some inputs or weights only"


def _witnessed(rows: Iterable[Row]) -> list[Row]:
    """Faults that both protocols have judged; one that was only too slow was not."""
    unjudged = ("failed", "timed_out")
    return [
        row
        for row in rows
        if row["verdict"] == "witnessed" and all(row[each]["outcome"] not in unjudged for each in PROTOCOLS)
    ]


def _share(hits: int, count: int) -> str:
    return f"{hits} ({hits / count:.1%})" if count else "-"


def _table(rows: list[Row], title: str, of: Callable[[Row], str], summaries: dict[str, str]) -> list[str]:
    """One line per group; shares are of the witnessed faults on problems that count."""
    lines = [
        f"| {title} | changed | stillborn | equivalent | witnessed | counting | `v0.1` accepts | `strict` accepts |",
        "|---|---:|---:|---:|---:|---:|---:|---:|",
    ]
    for name in sorted({of(row) for row in rows}):
        own = [row for row in rows if of(row) == name]
        lines.append(f"| {name}{summaries.get(name, '')} | {_counts(own)} |")
    return [*lines, f"| **all** | {_counts(rows)} |"]


def _counts(rows: list[Row]) -> str:
    witnessed = _witnessed(rows)
    counting = [row for row in witnessed if row["strict"]["scored"]]
    figures = [
        str(len(rows)),
        str(sum(row["verdict"] == "stillborn" for row in rows)),
        str(sum(row["verdict"] == "equivalent" for row in rows)),
        str(len(witnessed)),
        str(len(counting)),
        *(_share(sum(accepted(row, each) for row in counting), len(counting)) for each in reversed(PROTOCOLS)),
    ]
    return " | ".join(figures)


def _accepted_lines(rows: list[Row]) -> list[str]:
    lines = [
        "| problem | sizes | fault | shows with | deviation | error | allowed | why |",
        "|---|---|---|---|---:|---:|---:|---|",
    ]
    for row in rows:
        closest = row["strict"]["closest"]
        what = row["what"].replace("|", "\\|")
        lines.append(
            f"| {row['problem']} | {row['sizes']} | {row['operator']}: {what} | {row['case']} | "
            f"{row['deviation']:.1e} | {closest['error']:.1e} | {closest['allowed']:.1e} | {why(row)} |"
        )
    return lines


def _honest(rows: list[Row]) -> list[str]:
    same = [row for row in rows if row["backend"] != "torch" or row["deviation"] <= SAME]
    judged = [row for row in same if row["verdict"] == "equivalent" and row["strict"]["outcome"] != "failed"]
    refused = [row for row in judged if row["strict"]["outcome"] != "passed"]
    closest = [(row["problem"], row["strict"]["closest"]) for row in judged if row not in refused]
    times = sorted(trial["error"] / trial["eager_error"] for _, trial in closest if trial["eager_error"] > 1e-8)
    used = sorted((trial["error"] / trial["allowed"], problem) for problem, trial in closest)
    lines = [
        f"{len(judged)} evaluations of right candidates for {len({row['problem'] for row in judged})} problems under "
        f"`strict`: {len(refused)} refused. At most {upper(len(refused), len(judged)):.2%} with 95 % confidence.",
        "",
        f"In the trial of each that comes nearest to its allowance, errors are {_at(0.5, times):.2f} times eager's "
        f"in the median, {_at(0.99, times):.1f} times in the 99th percentile, {_at(1.0, times):.1f} times at most.",
        f"Of the allowance {_at(0.99, [share for share, _ in used]):.0%} is used in the 99th percentile; most by "
        + ", ".join(f"{problem} ({share:.0%})" for problem, share in _most(used))
        + ".",
        "",
        "| style | evaluations | refused |",
        "|---|---:|---:|",
    ]
    for style in sorted({row["style"] for row in judged}):
        own = [row for row in judged if row["style"] == style]
        lines.append(f"| {style} | {len(own)} | {sum(row in refused for row in own)} |")
    lines += [f"- {row['problem']} {row['sizes']} {row['style']}: {row['strict']['reason']}" for row in refused]
    left = [row for row in rows if row not in judged]
    if left:
        lines += [
            "",
            f"{len(left)} more were not counted, as they differ from the reference by more than {SAME:g} in ",
        ]
        lines[-1] += "float64 or could not be judged: " + ", ".join(sorted({row["problem"] for row in left})) + "."
    return lines


def _most(used: Sequence[tuple[float, str]]) -> list[tuple[str, float]]:
    """The three problems that come nearest to what is allowed, with the share of it that they use."""
    most = {problem: share for share, problem in used}  # in order: the largest of each problem stays
    return sorted(most.items(), key=lambda item: -item[1])[:3]


def _at(share: float, ordered: Sequence[float]) -> float:
    """A quantile of what is in order, one of the values themselves."""
    return ordered[min(int(share * len(ordered)), len(ordered) - 1)] if ordered else math.nan


def markdown(run: Path) -> str:
    """The whole page."""
    faults = list(Ledger(run / "faults.jsonl").rows.values())
    honest = list(Ledger(run / "honest.jsonl").rows.values())
    ran = commands(run)
    environment = ran[-1]["environment"]
    witnessed = _witnessed(faults)
    counting = [row for row in witnessed if row["strict"]["scored"]]
    passed = sorted((row for row in witnessed if accepted(row, "strict")), key=lambda row: (why(row), row["problem"]))
    summaries = {name: f": {operator.summary.rstrip('.')}" for name, operator in OPERATORS.items()}
    native = {name: f": {(finder.__doc__ or '').rstrip('.')}" for name, finder in NATIVE_OPERATORS.items()}
    compiled = [row for row in faults if row["backend"] != "torch"]
    text = [row for row in faults if row["backend"] == "torch"]
    strict = sum(accepted(row, "strict") for row in counting)
    lines = [
        "# Faults accepted, right candidates refused",
        "",
        f"{environment['gpu'] or environment['cpu']}, torch {environment['torch']}, Python {environment['python']}:",
        "",
        *dict.fromkeys(f"    {each['date']}: {each['command']}" for each in ran),
        "",
        f"Of {len(counting)} witnessed faults on problems that count, `strict` accepts "
        f"{_share(strict, len(counting))}, at most {upper(strict, len(counting)):.2%} with 95 % confidence; `v0.1` "
        f"accepts {_share(sum(accepted(row, 'v0.1') for row in counting), len(counting))}. "
        "`benchmarks/mutations/witness.py` says what a witnessed fault is.",
        "",
        *_table(faults, "level", lambda row: f"{row['level']}, {row['backend']}", {}),
        "",
        "## By kind of fault",
        "",
        *(_table(text, "in PyTorch text", lambda row: row["operator"], summaries) if text else []),
        "",
        *(_table(compiled, "in compiled kernels", lambda row: row["operator"], native) if compiled else []),
        "",
        "## Accepted by `strict`",
        "",
        *_accepted_lines(passed),
        "",
        "## Right candidates",
        "",
        *(_honest(honest) if honest else ["none judged yet"]),
        "",
    ]
    return "\n".join(lines)


def write(run: Path, to: Path) -> None:
    """The page as `to.md`, and as `to.json` what it was made of, without the texts of refused candidates."""
    to.parent.mkdir(parents=True, exist_ok=True)
    to.with_suffix(".md").write_text(markdown(run))
    faults = list(Ledger(run / "faults.jsonl").rows.values())
    honest = list(Ledger(run / "honest.jsonl").rows.values())
    content = {
        "commands": commands(run),
        "faults": [_short(row) for row in faults],
        "honest": [_short(row) for row in honest],
        "accepted": [row for row in _witnessed(faults) if accepted(row, "strict")],
    }
    to.with_suffix(".json").write_text(json.dumps(content, separators=(",", ":")))


def refused(file: Path, outcome: str) -> set[str]:
    """Starts of the ids of those faults in a JSON file of `write`, also as `.xz`, that `strict` refused so."""
    raw = file.read_bytes()
    content = json.loads(lzma.decompress(raw) if file.suffix == ".xz" else raw)
    return {row[0] for row in content["faults"] if row[-2] == outcome}


def _short(row: Row) -> list[Any]:
    """Start of the id, problem, sizes, style, operator, verdict, case, deviation, outcome under each protocol."""
    names = ("problem", "sizes", "style", "operator", "verdict", "case")
    outcomes = [row[each]["outcome"] if each in row else None for each in PROTOCOLS]
    return [row["id"][:ID_LENGTH], *(row[name] for name in names), float(f"{row['deviation']:.3g}"), *outcomes]

"""What a training step's candidates took, by what they are: seconds, candidates an hour, and when each was known."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

from numpy import quantile
from training_step import KINDS

DUE = {
    "does not build": {"build_failed", "load_failed"},
    "wrong": {"wrong_value", "wrong_precision"},
    "crashes": {"runtime_error"},
    "hangs": {"timed_out"},
    "slow": {"passed"},
    "right": {"passed"},
}
"""Outcomes of kernelgauge that say what a candidate is."""


def as_due(row: Mapping[str, Any], kind: str) -> bool:
    """Whether an evaluator said what a candidate is; the plain one says no more than right or not."""
    if "outcome" in row:
        return row["outcome"] in DUE[kind]
    return bool(row["correct"]) is (kind in ("slow", "right"))


def own_seconds(row: Mapping[str, Any]) -> float:
    """What judging one candidate took, with its build; of kernelgauge several may be under way at once."""
    if "wall_seconds" in row:
        return float(row["wall_seconds"] + row["build_share_seconds"])
    return float(sum(row["seconds"].values()))


def by_kind(rows: Sequence[Mapping[str, Any]], kinds: Mapping[str, str]) -> dict[str, dict[str, Any]]:
    """Of each kind: candidates judged, those judged as due, seconds a candidate, and candidates an hour of those.

    Args:
        kinds: by `PROBLEM SAMPLE`.
    """
    found: dict[str, list[Mapping[str, Any]]] = defaultdict(list)
    for row in rows:
        found[kinds[f"{row['problem']} {row['sample']}"]].append(row)
    table = {}
    for kind in (kind for kind in KINDS if kind in found):
        seconds = sum(map(own_seconds, found[kind])) / len(found[kind])
        table[kind] = {
            "candidates": len(found[kind]),
            "as_due": sum(as_due(row, kind) for row in found[kind]),
            "seconds_each": round(seconds, 2),
            "an_hour": round(3600 / seconds, 1) if seconds else None,
        }
    return table


def latency(rows: Sequence[Mapping[str, Any]]) -> dict[str, float]:
    """Median and 95 % of when a verdict was known, in seconds since all were handed over."""
    at = [row["at_seconds"] for row in rows if row.get("at_seconds") is not None]
    return {"p50": round(float(quantile(at, 0.5)), 1), "p95": round(float(quantile(at, 0.95)), 1)} if at else {}


def tables(content: Mapping[str, Any]) -> list[str]:
    """Both as Markdown, for every phase of a measurement; nothing where it was no training step."""
    kinds = content.get("kinds")
    if not kinds:
        return []
    lines = ["## By what a candidate is", ""]
    lines += ["| evaluator | candidates | | judged as due | seconds each | an hour, one after the other |"]
    lines += ["|---|---|---:|---:|---:|---:|"]
    for name, phase in content["phases"].items():
        for kind, row in by_kind(phase["rows"], kinds).items():
            judged = f"{row['as_due']} of {row['candidates']}"
            lines.append(
                f"| {name} | {kind} | {row['candidates']} | {judged} | {row['seconds_each']} | {row['an_hour']} |"
            )
    lines += ["", "| evaluator | verdict known after, median | 95 % |", "|---|---:|---:|"]
    for name, phase in content["phases"].items():
        known = latency(phase["rows"])
        lines.append(f"| {name} | {known.get('p50', '-')} s | {known.get('p95', '-')} s |")
    return [*lines, ""]

"""The page of `benchmarks/defences.py`: Markdown from what it measured."""

from __future__ import annotations

from typing import Any

from kernelgauge.schema import Environment

Rows = dict[str, dict[str, float]]
# What a row holds beside its steps.
_BESIDE = {"build", "total"}


def page(content: dict[str, Any], kinds: dict[str, str]) -> str:
    """The whole page: what was asked, the steps over all problems, and each problem with and without its build.

    Args:
        kinds: of each label, by whom that time is spent: `defences_steps.kinds`.
    """
    there = Environment.model_validate(content["environment"])
    where = f"{there.gpu or there.cpu}, torch {there.torch}, {content['date']}, sizes {content['sizes']}"
    commands = ", ".join(f"`{command}`" for command in content["commands"])
    what = f"candidates of `{content['candidates']}`" if content["candidates"] else "copies of the references"
    lines = ["# What the defences cost", "", f"{where}, {what}: {commands}", ""]
    if rows := content["rows"]:
        lines += [*steps(rows, kinds), "", *problems(rows, kinds)]
    if content["left_out"]:
        outcomes = ", ".join(f"{key} ({outcome})" for key, outcome in content["left_out"].items())
        lines += ["", f"Left out, for they did not pass: {outcomes}."]
    return "\n".join(lines) + "\n"


def steps(rows: Rows, kinds: dict[str, str]) -> list[str]:
    """All problems as one table: seconds per evaluation of what is built, and share; the defences first."""
    labels = sorted({label for row in rows.values() for label in row} - _BESIDE)
    total = sum(row["total"] for row in rows.values())
    spent = {label: sum(row.get(label, 0.0) for row in rows.values()) for label in labels}
    spent["nothing of these"] = total - sum(spent.values())
    lines = ["| step | | seconds per evaluation | share |", "|---|---|---:|---:|"]
    for wanted in ("defence", "any evaluator"):
        own = [label for label in spent if kinds.get(label, "any evaluator") == wanted]
        for label in sorted(own, key=lambda each: -spent[each]):
            share = spent[label] / total
            lines.append(f"| {label} | {wanted} | {spent[label] / len(rows):.4f} | {share:.1%} |")
        whole = sum(spent[label] for label in own)
        lines.append(f"| **all** | **{wanted}** | **{whole / len(rows):.4f}** | **{whole / total:.1%}** |")
    return lines


def problems(rows: Rows, kinds: dict[str, str]) -> list[str]:
    """A line for each problem, and one of all together: seconds a candidate, shares of all their seconds."""
    lines = ["| problem | seconds | defences | build | defences, with the build |", "|---|---:|---:|---:|---:|"]
    whole, built, defended = 0.0, 0.0, 0.0
    for key, row in rows.items():
        own = sum(seconds for label, seconds in row.items() if kinds.get(label) == "defence")
        lines.append(_line(key, 1, row["total"], row["build"], own))
        whole, built, defended = whole + row["total"], built + row["build"], defended + own
    return [*lines, _line("**all**", len(rows), whole, built, defended)]


def _line(name: str, count: int, total: float, build: float, defended: float) -> str:
    shares = defended / total, defended / (total + build)
    return f"| {name} | {total / count:.2f} | {shares[0]:.1%} | {build / count:.2f} | {shares[1]:.1%} |"

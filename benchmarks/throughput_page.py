"""The page of a throughput measurement: Markdown from the JSON that `benchmarks/throughput.py` writes."""

from __future__ import annotations

from typing import Any

from throughput_kinds import tables

LABELS = {
    "naive": "naive evaluator, a fresh process a kernel",
    "naive_built": "naive evaluator, all built beforehand",
    "cold": "kernelgauge, empty cache",
    "warm": "kernelgauge, builds cached",
}


def page(content: dict[str, Any]) -> str:
    """The whole page: what was asked, kernels per hour with ratios, time by stage, every kernel's two verdicts."""
    there, folder = content["environment"], content["candidates"].rsplit("/", 1)[-1]
    machine = (
        there["gpu"] or there["cpu"],
        f"{there['cores']} cores",
        f"torch {there['torch']}",
        content["date"][:10],
    )
    lines = [
        "# Kernels per hour",
        "",
        f"{', '.join(machine)}. {len(content['problems'])} candidates of `{folder}` on {content['device']} at sizes",
        f"{content['sizes']}; kernelgauge with protocol {content['protocol']} and {content['jobs']} jobs.",
        "The naive evaluator follows KernelBench's published procedure, written from its description",
        "(`benchmarks/naive_evaluator.py`); it does not time the reference. The whole environment is in the JSON.",
        "",
        *_rates(content),
        "",
        *_stages(content),
        "",
        *tables(content),
        *_kernels(content),
        "",
        "Commands: " + "; ".join(f"`{' '.join(command)}`" for command in content["commands"]) + ".",
    ]
    return "\n".join(lines) + "\n"


def _rates(content: dict[str, Any]) -> list[str]:
    phases = content["phases"]
    base = (phases.get("naive") or phases.get("naive_built") or {}).get("kernels_per_hour")
    lines = [
        "| | kernels judged | wall time, s | kernels per hour | ratio | GPU busy |",
        "|---|---:|---:|---:|---:|---:|",
    ]
    partial = []
    for name, phase in phases.items():
        rate, busy = phase["kernels_per_hour"], phase["gpu_busy"]
        ratio = f"{rate / base:.1f}" if rate and base else "-"
        shown = "-" if busy is None else f"{busy:.0%}"
        figures = f"{phase['kernels']} | {phase['wall_seconds']:.0f} | {rate or '-'} | {ratio} | {shown}"
        lines.append(f"| {LABELS[name]} | {figures} |")
        if not phase["finished"]:
            done = ", ".join(row["problem"] for row in phase["rows"])
            partial.append(f"{LABELS[name]}: out of time; a random subset, of seed {content['seed']}: {done}.")
    return lines + [""] * bool(partial) + partial


def _stages(content: dict[str, Any]) -> list[str]:
    lines = ["Seconds a kernel by stage, mean; of kernelgauge several kernels are in a stage at once:", ""]
    for name, phase in content["phases"].items():
        lines.append(f"- {LABELS[name]}: {stages_of(phase) or 'none'}")
    return lines


def stages_of(phase: dict[str, Any]) -> str:
    """Mean seconds of a kernel in each stage of a phase, as a list in words."""
    return ", ".join(f"{stage} {total / phase['kernels']:.1f}" for stage, total in phase["seconds"].items())


def _kernels(content: dict[str, Any]) -> list[str]:
    if content.get("kinds"):
        return ["Every candidate's two verdicts are in the JSON."]
    rows = {name: {row["problem"]: row for row in phase["rows"]} for name, phase in content["phases"].items()}
    plain, judged = rows.get("naive", {}), rows.get("cold", {})
    lines = [
        "| problem | naive evaluator | its s | its ms | kernelgauge | ms | speedup |",
        "|---|---|---:|---:|---|---:|---:|",
    ]
    for key in sorted(content["problems"], key=lambda key: [int(part) for part in key.split("/")]):
        theirs, ours = plain.get(key), judged.get(key)
        left = (
            [("correct" if theirs["correct"] else "wrong"), f"{theirs['wall_seconds']:.0f}"] if theirs else ["-", "-"]
        )
        left.append(_number(theirs and theirs.get("mean_ms")))
        right = (
            [ours["outcome"], _number(ours["candidate_ms"]), _number(ours["speedup"])] if ours else ["-", "-", "-"]
        )
        lines.append(f"| {key} | {' | '.join([*left, *right])} |")
    return lines


def _number(value: float | None) -> str:
    return "-" if value is None else f"{value:.3g}"

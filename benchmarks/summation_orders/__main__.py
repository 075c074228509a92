"""Does the evaluator accept honest float32 sums in any order, and still find narrow types?

    python -m benchmarks.summation_orders --sizes small --out runs/orders                  # on a CPU
    python -m benchmarks.summation_orders --device cuda --sizes full --out runs/orders     # real atomics

Every problem's own model is run in float32 with its sums, products, scans, norms and losses in the orders of
`orders.HONEST` (variances in one pass), and judged as in the eight trials of `strict`, in this one process. The same
is done with narrow types: an answer by them must not pass that was refused before honest errors were asked for. Exits
with 1 if an honest answer was refused or a narrow one so passed. Goes on where it was stopped; `--seconds` stops it.
"""

from __future__ import annotations

import argparse
import gc
import json
import sys
import time
from collections import defaultdict
from pathlib import Path
from typing import Any

import torch

from kernelgauge.config import load_protocol
from kernelgauge.errors import KernelgaugeError
from kernelgauge.problems.loader import load_problem

from .judging import InProcess
from .operators import InOrder
from .orders import HONEST, NARROW

OPERANDS = ("tf32", "bfloat16")
LEVEL1 = (1, 2, 3, 4, 6, 7, 8, 9, 10, 11, 14, 18, 23, 24, 33, 34, 35, 36, 37, 38, 39, 40, 47, 48, 89, 91, 92, 93)
LOSSES = (94, 95, 96, 97, 98, 99, 100)
LEVEL2 = (14, 18, 22, 30, 37, 45, 56, 62, 64, 75, 84, 94, 97, 99)
PROBLEMS = [*(f"1/{each}" for each in (*LEVEL1, *LOSSES)), *(f"2/{each}" for each in LEVEL2)]


def judged(key: str, sizes: Any, device: str) -> list[dict[str, Any]]:
    """One evaluation of every order and of every narrow type, on the same draws: rows of the table."""
    protocol = load_protocol("strict")
    reference = InProcess(load_problem(key, sizes), protocol, device)
    rows = {name: _row(key, name, name in HONEST) for name in (*HONEST, *NARROW, *OPERANDS)}
    for variant in protocol.inputs.variants:
        facts = reference.trial(variant)
        for name, row in rows.items():
            if row["refused"]:
                continue
            before = reference.honest.asked
            if name in OPERANDS:
                outputs = reference.imitate(name)
            else:
                with InOrder(name) as mode:
                    outputs = reference.run()
                row["replaced"] = max(row["replaced"], mode.replaced)
            trial = reference.judge(facts, outputs)
            usual = trial if trial.honest_error is None else reference.judge(facts, outputs, wide=False)
            row["asked"] += reference.honest.asked - before
            row["narrow"] |= not usual.agreed
            row["used"] = max(row["used"], trial.error / trial.allowed)
            row["error"] = max(row["error"], trial.error if facts.variant != "large" else 0.0)
            if not trial.agreed:
                row["refused"] = f"{facts.variant}: {trial.error:.2g} of {trial.allowed:.2g}, worst {trial.worst:.2g}"
            del outputs
    return [row for row in rows.values() if row["name"] in OPERANDS or row["replaced"]]


def _row(key: str, name: str, honest: bool) -> dict[str, Any]:
    return {
        "problem": key,
        "name": name,
        "honest": honest,
        "refused": "",
        "narrow": False,
        "used": 0.0,
        "error": 0.0,
        "asked": 0,
        "replaced": 0,
    }


def table(rows: list[dict[str, Any]]) -> tuple[list[str], int]:
    """The table as Markdown, and how many answers were judged wrongly."""
    found: dict[tuple[str, str], list[dict[str, Any]]] = defaultdict(list)
    for row in rows:
        found[row["problem"], row["name"]].append(row)
    lines = [
        "| problem | order or type | largest error | share of what is allowed | refused | once more than usual |"
    ]
    lines += ["|---|---|---:|---:|---:|---:|"]
    wrong = 0
    for (key, name), each in found.items():
        honest = each[0]["honest"]
        refused = [row for row in each if row["refused"]]
        wide = [row for row in each if row["narrow"] and not row["refused"]]
        wrong += len(refused) if honest else len(wide)
        error, used = (max(row[field] for row in each) for field in ("error", "used"))
        mark = "" if honest else "narrow: "
        lines.append(
            f"| {key} | {mark}{name} | {error:.1e} | {used:.2f} | {len(refused)} of {len(each)} | {len(wide)} |"
        )
        lines += [f"|  | {row['refused']} | | | | |" for row in refused[:2] if honest]
    return lines, wrong


def main() -> int:
    """Judge, print the table; 1 if something was judged wrongly."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.summation_orders", description=__doc__)
    parser.add_argument("--device", default="cpu", help="cpu, cuda")
    parser.add_argument("--sizes", default="small", help="small, odd, medium, full")
    parser.add_argument("--problems", default=",".join(PROBLEMS), help="keys, with commas between")
    parser.add_argument("--seeds", type=int, default=5, help="evaluations of each order")
    parser.add_argument("--seconds", type=float, default=3600.0, help="start nothing new after")
    parser.add_argument("--out", type=Path, required=True, help="folder of what was found, where it goes on")
    options = parser.parse_args()
    options.out.mkdir(parents=True, exist_ok=True)
    path = options.out / f"orders_{options.device}_{options.sizes}.jsonl"
    done = [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []
    began = time.monotonic()
    left = 0
    with path.open("a") as file:
        for seed in range(options.seeds):
            for key in options.problems.split(","):
                if any(row["problem"] == key and row["seed"] == seed for row in done):
                    continue
                if time.monotonic() - began > options.seconds:
                    left += 1
                    continue
                for row in _one(key, options, seed):
                    done.append(row)
                    print(json.dumps(row), file=file, flush=True)
    lines, wrong = table([row for row in done if "name" in row])
    honest = [row for row in done if row.get("honest")]
    lines += ["", f"{len(honest)} honest evaluations, {sum(bool(row['refused']) for row in honest)} refused;"]
    lines += [f"{left} problems left for another {options.seconds:g} s" if left else "none left"]
    lines += [f"not judged: {row['problem']}: {row['why']}" for row in done if "why" in row and row["seed"] == 0]
    text = "\n".join(lines)
    (options.out / f"orders_{options.device}_{options.sizes}.md").write_text(text + "\n")
    print(text)
    return 1 if wrong else 0


def _one(key: str, options: argparse.Namespace, seed: int) -> list[dict[str, Any]]:
    started = time.monotonic()
    try:
        found = judged(key, options.sizes, options.device)
    except (KernelgaugeError, torch.OutOfMemoryError) as error:
        found = [{"problem": key, "why": str(error).splitlines()[0]}]
    gc.collect()
    if options.device != "cpu":
        torch.cuda.empty_cache()
    seconds = time.monotonic() - started
    print(f"{key} ({seed + 1} of {options.seeds}): {seconds:.1f} s", file=sys.stderr, flush=True)
    return [row | {"seed": seed, "seconds": round(seconds, 2)} for row in found]


if __name__ == "__main__":
    sys.exit(main())

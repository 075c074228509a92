"""A/A: every reference against an identical copy of itself, which must be correct and a tie.

    python benchmarks/aa.py [--problems 1/19,2/14] [--sizes medium] [--device cpu] [--out results/aa.json]

What is left of the ratio's distance from 1 is the evaluator's own error. Run it on a machine that does nothing else.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
from pathlib import Path

from kernelgauge.problems.catalogue import select
from kernelgauge.problems.loader import load_problem
from kernelgauge.session import Session


def identical(source: str) -> str:
    """The reference under the candidate's name."""
    return source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")


def main() -> None:
    """Measure, print one line per problem and a summary, store the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems")
    parser.add_argument("--sizes", default="medium")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    keys = select(names=options.problems.split(",")) if options.problems else select()
    rows = []
    with Session() as session:
        for key in keys:
            problem = load_problem(key, sizes=options.sizes)
            record = session.evaluate(problem, identical(problem.source), device=options.device)
            rows.append(record.summary() | {"timing": record.timing.model_dump() if record.timing else None})
            timing = record.timing
            shown = f"{timing.speedup:.4f} {timing.interval[0]:.3f} {timing.interval[1]:.3f}" if timing else ""
            more = f"{timing.reference_ms:.3f} ms, {len(timing.reference_samples_ms)} pairs" if timing else ""
            late = f"late {timing.late_work_ms:.3f}" if timing and timing.late_work_ms else ""
            print(f"{key:6} {record.outcome} {record.standing} {shown} {more} {late} {record.reason}", flush=True)
        environment = session.environment
    ratios = [row["speedup"] for row in rows if row["speedup"]]
    off = sorted(abs(ratio - 1) for ratio in ratios)
    ties = sum(row["standing"] == "tie" for row in rows)
    print(f"{len(ratios)} of {len(rows)} passed, {ties} ties")
    print(f"median |ratio - 1| {statistics.median(off):.4f}, worst {off[-1]:.4f}")
    if options.out:
        content = {"command": sys.argv, "environment": environment.model_dump(), "rows": rows}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(content, indent=1))


if __name__ == "__main__":
    main()

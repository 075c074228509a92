"""A/A: every reference against an identical copy of itself, which must be correct and a tie.

    python benchmarks/aa.py [--problems 1/19,2/14 | --level 1,2,3] [--sizes medium] [--device cpu] [--protocol strict]
                            [--run FOLDER] [--out results/cpu/aa.json]

What is left of the ratio's distance from 1 is the evaluator's own error. Run it on a machine that does nothing else.
With --run, a run that was stopped goes on.
"""

from __future__ import annotations

import argparse
import json
import shlex
import statistics
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from numpy import quantile as quantiles

from kernelgauge import __version__
from kernelgauge.config import load_protocol
from kernelgauge.problems.catalogue import select
from kernelgauge.schema import Candidate, Evaluation, Problem, RunHeader, TooLarge
from kernelgauge.session.contest import Watch, judge_all
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

QUANTILES = {"median": 0.5, "90 %": 0.9, "95 %": 0.95, "99 %": 0.99, "worst": 1.0}
"""Of |ratio - 1|, by the name they are shown under."""
WORST = 10


class Identical:
    """Answers with the reference under the candidate's name."""

    name = "identical"

    def samples(self, key: str) -> list[int]:
        return [0]

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate:
        source = problem.source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")
        return Candidate(problem=problem.key, source=source, backend="torch", contestant=self.name, sample=sample)


class Printing(Watch):
    """One line per problem."""

    def judged(self, record: Evaluation) -> None:
        """Say what came out."""
        timing = record.timing
        shown = f"{timing.speedup:.4f} {timing.interval[0]:.3f} {timing.interval[1]:.3f}" if timing else ""
        more = f"{timing.reference_ms:.3f} ms {len(timing.reference_samples_ms)}" if timing else ""
        seconds = " ".join(f"{stage} {taken:.1f}" for stage, taken in record.seconds.items())
        print(f"{record.problem:6} {record.outcome} {shown} {more} | {seconds} {record.reason}", flush=True)

    def too_large(self, found: TooLarge) -> None:
        """Say what does not fit the GPU's memory."""
        print(f"{found.problem:6} left out: {found.reason}", flush=True)

    def failed(self, done: Any) -> None:
        """Say what went wrong on our side."""
        print(f"{done.task.problem:6} not judged: {done.result}", flush=True)


def row(record: Evaluation) -> dict[str, Any]:
    """What the results keep of one problem; times in milliseconds."""
    timing = record.timing
    found: dict[str, Any] = {"problem": record.problem, "outcome": record.outcome.value, "reason": record.reason}
    if timing is not None:
        rounded = {
            "speedup": timing.speedup,
            "low": timing.interval[0],
            "high": timing.interval[1],
            "reference_ms": timing.reference_ms,
            "device_reference_ms": timing.device_reference_ms,
            "unreported_ms": timing.unreported_ms,
            "clock_uncertainty_ms": timing.clock_uncertainty_ms,
            "overhead_ms": timing.overhead_ms,
        }
        found |= {name: None if value is None else round(value, 5) for name, value in rounded.items()}
        found |= {"standing": record.standing, "pairs": len(timing.reference_samples_ms), "stopped": timing.stopped}
        found["quantiles_ms"] = [
            [round(float(value), 5) for value in quantiles(samples, [0.05, 0.25, 0.5, 0.75, 0.95])]
            for samples in (timing.reference_samples_ms, timing.candidate_samples_ms)
        ]
        found |= {"launch_bound": timing.launch_bound, "gpu": timing.gpu.model_dump() if timing.gpu else None}
    return found | {"notes": record.notes, "seconds": record.seconds}


def figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    """How far the ratios are from 1, over all problems and per level: what is left is the evaluator's own error."""
    levels: dict[str, list[dict[str, Any]]] = {"all": rows}
    for each in rows:
        levels.setdefault(each["problem"].partition("/")[0], []).append(each)
    return {name: _figures(some) for name, some in levels.items()}


def _figures(rows: list[dict[str, Any]]) -> dict[str, Any]:
    timed = sorted((each for each in rows if each.get("speedup")), key=lambda each: -abs(each["speedup"] - 1))
    off = [abs(each["speedup"] - 1) for each in timed]
    return {
        "judged": len(rows),
        "passed": sum(each["outcome"] == "passed" for each in rows),
        "ties": sum(each.get("standing") == "tie" for each in rows),
        "deviation": {name: round(float(quantiles(off, q)), 6) for name, q in QUANTILES.items()} if off else {},
        "geometric_mean": round(statistics.geometric_mean([each["speedup"] for each in timed]), 6) if off else None,
        "worst": [each["problem"] for each in timed[:WORST]],
    }


def main() -> None:
    """Measure, print one line per problem and a summary, store the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems")
    parser.add_argument("--level", default="1,2,3")
    parser.add_argument("--sizes", default="medium")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--run", type=Path)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    levels = [int(level) for level in options.level.split(",")]
    keys = select(names=options.problems.split(",")) if options.problems else select(levels)
    protocol = load_protocol(options.protocol)
    header = RunHeader(
        kernelgauge=__version__,
        contestant="identical",
        problems=tuple(keys),
        sizes=options.sizes,
        device=options.device,
        protocol=protocol.name,
        protocol_digest=protocol.digest,
        math=protocol.tolerance.math,
        command=shlex.join(["python", *sys.argv]),
    )
    started = time.monotonic()
    folder = options.run or Path(tempfile.mkdtemp()) / "aa"
    with Session() as session, Run.create_or_resume(folder, header) as run:
        judge_all(session, Identical(), run, keys, protocol=protocol, jobs=options.jobs, watch=Printing())
        environment, rows = session.environment, [row(record) for record in run.latest()]
    found = figures(rows)["all"]
    print(f"{found['passed']} of {found['judged']} passed, {found['ties']} ties, {time.monotonic() - started:.0f} s")
    print(f"|ratio - 1| {found['deviation']}, farthest from 1: {', '.join(found['worst'])}")
    if options.out:
        content = {"command": sys.argv, "environment": environment.model_dump(), "rows": rows}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(content))


if __name__ == "__main__":
    main()

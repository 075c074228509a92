"""Does the number of jobs change what is measured? The same candidates with one and with two jobs.

    python benchmarks/jobs.py [--contestant inductor] [--problems 1/36,1/88,2/14] [--sizes medium]

Prints verdict, speedup and interval of both runs and whether the intervals overlap; exits 1 if a verdict differs.
"""

from __future__ import annotations

import argparse
import subprocess
import sys
import tempfile
import time
from pathlib import Path

import kernelgauge as kg
from kernelgauge.schema import Evaluation


def judged(options: argparse.Namespace, jobs: int, out: Path) -> dict[str, Evaluation]:
    """One run in a fresh folder; builds come from the cache where an earlier run has made them."""
    command = [sys.executable, "-m", "kernelgauge", "run", "--contestant", options.contestant, "--out", str(out)]
    what = ["--problems", options.problems, "--sizes", options.sizes, "--device", "cpu", "--jobs", str(jobs)]
    started = time.monotonic()
    subprocess.run([*command, *what], check=True, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    print(f"jobs {jobs}: {time.monotonic() - started:.0f} s", flush=True)
    return {record.problem: record for record in kg.load(out).evaluations()}


def overlap(first: Evaluation, second: Evaluation) -> bool:
    """Whether both intervals have a speedup in common; True where neither has a time."""
    if first.timing is None or second.timing is None:
        return first.timing is second.timing
    (low, high), (other_low, other_high) = first.timing.interval, second.timing.interval
    return low <= other_high and other_low <= high


def main() -> None:
    """Run twice and compare."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--contestant", default="inductor")
    parser.add_argument("--problems", default="1/19,1/23,1/36,1/88,1/95,2/14,2/76,2/99,3/1,3/31")
    parser.add_argument("--sizes", default="medium")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder:
        one, two = (judged(options, jobs, Path(folder) / str(jobs)) for jobs in (1, 2))
    differing = 0
    for problem, first in one.items():
        second = two[problem]
        same = first.outcome == second.outcome
        differing += not same
        shown = [f"{r.outcome} {r.speedup or 0:.3f} {r.speedup_interval}" for r in (first, second)]
        print(f"{problem:6} {shown[0]} | {shown[1]} | {'overlap' if overlap(first, second) else 'APART'}")
    sys.exit(differing > 0)


if __name__ == "__main__":
    main()

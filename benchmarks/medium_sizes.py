"""Measures every problem's forward at the `medium` sizes and marks those outside 2 to 50 ms.

    python benchmarks/medium_sizes.py > results/cpu/medium_sizes.md    # levels 1 to 3
    python benchmarks/medium_sizes.py 1/23 2/14                        # only these

Each figure is the median of some twenty calls after three warm-ups, in a process of its own, with two threads,
gradients off and freed memory kept as in a worker, on whatever CPU this is. `moved` is inputs plus outputs in MB;
above 150 it is marked too. The exit code is 1 if anything is marked.
"""

import os
import platform
import statistics
import subprocess
import sys
import time
import warnings
from datetime import date

import torch

from kernelgauge.problems import catalogue
from kernelgauge.problems.loader import load_problem
from kernelgauge.sandbox.zygote_process import KEEP_FREED_MEMORY

THREADS = 2
FASTEST_MS, SLOWEST_MS = 2.0, 50.0
LARGEST_MB = 150.0
BUDGET_S = 0.6


def measure(key: str) -> tuple[float, float]:
    """Median milliseconds of one forward at `medium`, and megabytes of its inputs and outputs together."""
    scope: dict = {"__name__": "problem"}
    exec(compile(load_problem(key, sizes="medium").source, key, "exec"), scope)
    torch.manual_seed(0)
    inputs = scope["get_inputs"]()
    model = scope["Model"](*scope["get_init_inputs"]())
    with torch.no_grad():
        for _ in range(3):
            output = model(*inputs)
        samples: list[float] = []
        started = time.perf_counter()
        while len(samples) < 5 or (len(samples) < 20 and time.perf_counter() - started < BUDGET_S):
            before = time.perf_counter()
            output = model(*inputs)
            samples.append((time.perf_counter() - before) * 1e3)
    tensors = [each for each in (*inputs, output) if isinstance(each, torch.Tensor)]
    return statistics.median(samples), sum(each.nbytes for each in tensors) / 1e6


def mark(milliseconds: float, megabytes: float) -> str:
    """What is wrong with a medium size, or nothing."""
    if milliseconds < FASTEST_MS:
        return "too fast"
    if milliseconds > SLOWEST_MS:
        return "too slow"
    return "too large" if megabytes > LARGEST_MB else ""


def in_own_process(key: str) -> tuple[float, float]:
    """`measure` in a fresh process: the heap an earlier problem has grown makes the next one look faster."""
    done = subprocess.run(
        [sys.executable, __file__, "--one", key],
        env=os.environ | KEEP_FREED_MEMORY,
        capture_output=True,
        text=True,
        check=True,
    )
    milliseconds, megabytes = map(float, done.stdout.split())
    return milliseconds, megabytes


def main() -> int:
    if sys.argv[1:2] == ["--one"]:
        torch.set_num_threads(THREADS)
        warnings.simplefilter("ignore")
        print(*measure(sys.argv[2]))
        return 0
    print(f"{date.today()}, {platform.machine()}, torch {torch.__version__}, {THREADS} threads\n")
    print("| problem | medium | forward, ms | moved, MB | |\n| --- | --- | ---: | ---: | --- |")
    marked = 0
    names = sys.argv[1:]
    for key in catalogue.select(None if names else catalogue.DEFAULT_LEVELS, names or None):
        entry = catalogue.entry(key)
        milliseconds, megabytes = in_own_process(key)
        sizes = ", ".join(f"{name} {value}" for name, value in entry.sizes["medium"].items())
        note = mark(milliseconds, megabytes)
        marked += bool(note)
        print(f"| {entry.label} | {sizes} | {milliseconds:.1f} | {megabytes:.1f} | {note} |", flush=True)
    return 1 if marked else 0


if __name__ == "__main__":
    sys.exit(main())

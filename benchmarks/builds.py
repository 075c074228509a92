"""What does a build cost, with PyTorch's full headers and by the fastest route that serves?

    python benchmarks/builds.py [--only swish,relu] [--out results/cpu/builds.md]

Builds every file of `benchmarks/build_candidates` both ways, one right after the other, and writes a table: clock
seconds, CPU seconds and peak memory of the compilers, all together, and whether both made the same program
(`same_program`). On a PyTorch without CUDA nothing is linked; only there are object files left to compare.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

import torch
from same_program import compared

from kernelgauge.backends.base import Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import load_settings
from kernelgauge.hardware.environment import environment

CANDIDATES = Path(__file__).parent / "build_candidates"


@dataclass
class Cost:
    """What building one candidate cost: seconds on the clock and of CPU, peak gigabytes, and whether it built."""

    wall: float = 0.0
    cpu: float = 0.0
    gigabytes: float = 0.0
    built: bool = False


def build_here(path: Path, folder: Path) -> None:
    """Build in this process and print the cost of the compilers; the exit code is 1 if the route gave up."""
    from kernelgauge.backends.extension import OtherRoute

    started, before = time.monotonic(), resource.getrusage(resource.RUSAGE_SELF)
    status = 0
    try:
        backend_named("cuda").build(path, folder)
    except OtherRoute as error:
        print(str(error)[:300], file=sys.stderr)
        status = 1
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    cpu = others.ru_utime + others.ru_stime + own.ru_utime - before.ru_utime
    print(json.dumps({"wall": time.monotonic() - started, "cpu": cpu}))
    sys.exit(status)


def build_apart(path: Path, route: Route, folder: Path) -> Cost:
    """The cost of one route, in a process of its own that builds into `folder`, empty before."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    variables = backend_named("cuda").environment("cuda", folder) | {"MAX_JOBS": "2"} | dict(route.variables)
    command = [sys.executable, __file__, "--build", str(path), "--out", str(folder)]
    child = subprocess.Popen(command, env=os.environ | variables, stdout=subprocess.PIPE, text=True)
    peak = _Peak(child.pid)
    printed, _ = child.communicate()
    lines = [line for line in printed.splitlines() if line.startswith("{")]
    if not lines:
        raise SystemExit(f"{path.name} does not build by route {route.name}")
    return Cost(**json.loads(lines[-1]), gigabytes=peak.stop() / 1e9, built=child.returncode == 0)


class _Peak(threading.Thread):
    """Watches how much memory the descendants of a process hold together."""

    def __init__(self, pid: int):
        super().__init__(daemon=True)
        self._pid, self._peak, self._running = pid, 0, True
        self.start()

    def run(self) -> None:
        while self._running:
            self._peak = max(self._peak, sum(_resident(pid) for pid in _descendants(self._pid)))
            time.sleep(0.1)

    def stop(self) -> int:
        """Bytes at the highest."""
        self._running = False
        self.join()
        return self._peak


def _descendants(pid: int) -> list[int]:
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except (OSError, ValueError):
        return []
    return [found for child in children for found in (child, *_descendants(child))]


def _resident(pid: int) -> int:
    try:
        return int(Path(f"/proc/{pid}/statm").read_text().split()[1]) * resource.getpagesize()
    except (OSError, ValueError, IndexError):
        return 0


def fastest(path: Path, routes: tuple[Route, ...], folder: Path) -> tuple[str, Cost]:
    """The cost as an evaluation pays it: of every route that gave up, and of the one that served."""
    total = Cost()
    for route in routes:
        cost = build_apart(path, route, folder)
        total = Cost(total.wall + cost.wall, total.cpu + cost.cpu, max(total.gigabytes, cost.gigabytes), cost.built)
        if cost.built:
            return route.name, total
    raise SystemExit(f"{path.name} does not build")


def row(path: Path, builds: BuildCache, work: Path) -> list[str]:
    """One candidate both ways, in the columns of the table."""
    routes = backend_named("cuda").routes(path.read_text(), builds)
    # The same folder for both: names of static functions are made from that of their file.
    folder, kept = work / "build", work / "kept"
    route, fast = fastest(path, routes, folder)
    costs = [f"{fast.wall:.1f}", f"{fast.cpu:.1f}", f"{fast.gigabytes:.1f}"]
    if route != "slim":
        return [path.stem, "", "", "", route, *costs, "", "", ""]
    shutil.rmtree(kept, ignore_errors=True)
    folder.rename(kept)
    full = build_apart(path, routes[-1], folder)
    before = [f"{full.wall:.1f}", f"{full.cpu:.1f}", f"{full.gigabytes:.1f}"]
    ratios = [f"{full.wall / fast.wall:.1f}", f"{full.cpu / fast.cpu:.1f}"]
    return [path.stem, *before, route, *costs, *ratios, compared(folder, kept)]


def table(names: list[str]) -> str:
    """A Markdown table of both ways for each candidate, and the medians of their ratios."""
    builds = BuildCache(load_settings().cache / "builds")
    started = time.monotonic()
    backend_named("cuda").routes("cpp_extension", builds)
    made = time.monotonic() - started
    rows = []
    with tempfile.TemporaryDirectory() as work:
        for name in names:
            rows.append(row(CANDIDATES / f"{name}.py", builds, Path(work)))
            print(" | ".join(rows[-1]), flush=True)
    ratios = [statistics.median(float(each[column]) for each in rows if each[column]) for column in (8, 9)]
    rows.append(["**median**", *[""] * 7, *(f"{ratio:.1f}" for ratio in ratios), ""])
    head = ["candidate", "full: s", "CPU s", "GB", "route", "s", "CPU s", "GB", "times less s", "CPU s", "program"]
    lines = [head, ["---", *["---:"] * 3, "---", *["---:"] * 5, "---"], *rows]
    note = f"Slim headers and their index: {made:.0f} s, once for each PyTorch and compiler (0 if they were there).\n"
    return note + "\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n"


def main() -> None:
    """Measure and write, or be the process that is measured."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--only", default=",".join(sorted(path.stem for path in CANDIDATES.glob("*.py"))))
    parser.add_argument("--out", type=Path)
    parser.add_argument("--build", type=Path, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.build:
        build_here(options.build, options.out)
    found = table(options.only.split(","))
    where = environment(len(os.sched_getaffinity(0)))
    linked = "compiled and linked" if torch.version.cuda else "compiled, not linked (this PyTorch has no CUDA)"
    text = (
        "# What a build costs\n\n`python benchmarks/builds.py`: full headers against the fastest route that serves, "
        f"{linked}.\nBoth builds of a candidate right after each other; one that gives up counts with the next.\n"
        "On a machine that is shared with others only the ratios say something.\n\n"
        f"{where.cpu}, {where.cores} cores, torch {where.torch}, nvcc {where.cuda}, {where.compiler}, "
        f"{datetime.now(UTC).date()}\n\n{found}"
    )
    if options.out:
        options.out.write_text(text)
    print(text)


if __name__ == "__main__":
    main()

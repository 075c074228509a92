"""What the isolation layers cost at the start of a worker: milliseconds until it is ready, and until it is gone.

    python benchmarks/sealing.py [--starts 100] [--builds FOLDER]

Starts with and without isolation layers take turns, so that whatever else the machine does falls on all of them. With
--builds, also the time to bring each build of a cache (`~/.cache/kernelgauge/builds`) to a worker.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import tempfile
import time
from pathlib import Path

from kernelgauge.config import load_settings
from kernelgauge.evaluation.sides.build_files import copy_build
from kernelgauge.sandbox.hidden import WITHOUT
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.sandbox.zygote_client import Zygote

KINDS = {
    "no isolation layers": ("", False),
    "all but reads and syscalls": ("reads,syscalls", True),
    "all but reads": ("reads", True),
    "all but syscalls": ("syscalls", True),
    "all isolation layers": ("", True),
}


def started(zygote: Zygote, without: str, sealed: bool) -> tuple[float, float]:
    """Milliseconds to start one worker, and to end it."""
    os.environ[WITHOUT] = without
    begun = time.perf_counter()
    worker = WorkerProcess(zygote, "worker", sealed=sealed)
    ready = time.perf_counter()
    worker.close()
    return (ready - begun) * 1e3, (time.perf_counter() - ready) * 1e3


def brought(folder: Path) -> list[float]:
    """Milliseconds to copy each build in a cache."""
    taken = []
    for build in sorted(folder.glob("*/artifact")):
        with tempfile.TemporaryDirectory() as place:
            begun = time.perf_counter()
            copy_build(build, Path(place, "build"))
            taken.append((time.perf_counter() - begun) * 1e3)
    return taken


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=100, help="of each kind")
    parser.add_argument("--builds", type=Path, help="folder of a build cache")
    chosen = parser.parse_args()
    taken: dict[str, list[tuple[float, float]]] = {name: [] for name in KINDS}
    zygote = Zygote(load_settings())
    try:
        for round_ in range(chosen.starts + 1):
            for name, (without, sealed) in KINDS.items():
                found = started(zygote, without, sealed)
                if round_:  # the first of each works out what there is to see
                    taken[name].append(found)
    finally:
        zygote.close()
    base = statistics.median(start for start, _ in taken["all but reads and syscalls"])
    for name, pairs in taken.items():
        start, end = (statistics.median(column) for column in zip(*pairs, strict=True))
        shown = {"start_ms": round(start, 2), "end_ms": round(end, 2), "ratio": round(start / base, 3)}
        print(json.dumps({"isolation layers": name} | shown))
    if chosen.builds and (copies := brought(chosen.builds)):
        middle, worst = round(statistics.median(copies), 2), round(max(copies), 2)
        print(json.dumps({"builds": len(copies), "copy_ms": middle, "worst_ms": worst}))


if __name__ == "__main__":
    main()

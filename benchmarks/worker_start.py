"""How long does a fresh worker take until it can be given a candidate?

    python benchmarks/worker_start.py [--device cuda] [--count 20] [--out worker_start.json]

Milliseconds, each of so many processes: `forked` from the order until the sealed process says that it is ready;
`started` until it has started its device and libraries too; `preforked` is what taking one costs that was started
ahead, as an evaluation finds them; `ended` what waiting for its end takes. On a CPU `started` is `forked`, and so is
`preforked`: none is kept ready there.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time
from pathlib import Path

from kernelgauge.evaluation.sides.prefork import Kind, PreforkPool, await_device, kind_of, started
from kernelgauge.execution.local import devices_of
from kernelgauge.hardware.environment import best_device, environment
from kernelgauge.session.session import Session


def measured(session: Session, kind: Kind, count: int) -> dict[str, list[float]]:
    """Samples by name, in milliseconds."""
    supervisor = session.supervisor
    seconds = supervisor.zygote.settings.limits.load_seconds
    taken: dict[str, list[float]] = {"forked": [], "started": [], "preforked": [], "ended": []}
    prefork_pool = PreforkPool(supervisor.zygote)
    for number in range(count + 1):  # the first starts the zygote, and is no sample
        begun = time.perf_counter()
        process = started(supervisor.zygote, kind)
        forked = time.perf_counter()
        await_device(process, kind.device, seconds)
        ready = time.perf_counter()
        process.close()
        closed = time.perf_counter()
        if number:
            taken["forked"].append((forked - begun) * 1e3)
            taken["started"].append((ready - begun) * 1e3)
            taken["ended"].append((closed - ready) * 1e3)
    for number in range(count + 1):  # the first finds no preforked
        begun = time.perf_counter()
        process = prefork_pool.take(kind)
        await_device(process, kind.device, seconds)
        if number:
            taken["preforked"].append((time.perf_counter() - begun) * 1e3)
        prefork_pool.renew(kind.device)
        prefork_pool.settle(kind.device)
        process.close()
    prefork_pool.close()
    return taken


def main() -> None:
    """Measure and print, as JSON if that is asked for."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--device", choices=("cpu", "cuda"), default=best_device())
    parser.add_argument("--count", type=int, default=20)
    parser.add_argument("--out", type=Path)
    options = parser.parse_args()
    with Session() as session:
        samples = measured(session, kind_of("worker", devices_of(options.device)[0]), options.count)
    for name, each in samples.items():
        if each:
            low, median, high = min(each), statistics.median(each), max(each)
            print(f"{name:>8}  median {median:7.1f} ms, from {low:.1f} to {high:.1f}")
    if options.out:
        where = environment(len(os.sched_getaffinity(0))).model_dump(mode="json")
        found = {name: [round(ms, 2) for ms in each] for name, each in samples.items()}
        options.out.write_text(json.dumps({"environment": where, "device": options.device, "milliseconds": found}))


if __name__ == "__main__":
    main()

"""What a GPU's driver does with memory that a process has given back, and what that costs the others.

    python benchmarks/freed_memory.py --out results/h100/freed_memory.json        # half a minute on one GPU

One process takes and gives back so many gigabytes. Another one times a kernel that reads and writes 2 GB, over and
over: by itself, and behind what the evaluator waits for before each timed call (`QuietMemory`).
"""

from __future__ import annotations

import argparse
import json
import statistics
import subprocess
import sys
import time
from datetime import date
from pathlib import Path
from typing import Any

import torch

from kernelgauge.hardware.environment import environment
from kernelgauge.timing.quiet_memory import QuietMemory

_GIGABYTES = (1, 4, 16)
_SLOWER = 1.05
_GIVES_BACK = """
import sys, time, torch
time.sleep(1.0)
for _ in range(4):
    taken = torch.ones(int(float(sys.argv[1]) * 2**30), dtype=torch.uint8, device="cuda")
    torch.cuda.synchronize()
    time.sleep(0.3)
    del taken
    torch.cuda.empty_cache()
    print(time.time(), flush=True)
    time.sleep(0.4)
"""


def kernel_ms(values: torch.Tensor) -> float:
    """Milliseconds of one pass over them."""
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    start.record()
    values.add_(1)
    end.record()
    end.synchronize()
    return float(start.elapsed_time(end))


def beside(gigabytes: float, values: torch.Tensor, quiet: QuietMemory | None) -> dict[str, Any]:
    """Time the kernel while another process gives back memory four times."""
    line = [sys.executable, "-c", _GIVES_BACK, str(gigabytes)]
    with subprocess.Popen(line, stdout=subprocess.PIPE, text=True) as other:
        taken: list[tuple[float, float]] = []
        while other.poll() is None:
            if quiet is not None:
                quiet()
            taken.append((time.time(), kernel_ms(values)))
        assert other.stdout is not None
        freed = [float(each) for each in other.stdout.read().split()]
    usual = statistics.median(ms for _, ms in taken)
    # How long after each return calls were slow.
    seen = [[(at - since, ms) for at, ms in taken if 0 < at - since < 0.3] for since in freed]
    slow = [[after * 1000 for after, ms in each if ms > _SLOWER * usual] for each in seen]
    during = [ms for at, ms in taken for since in freed if 0 < at - since < 0.0015 * gigabytes]
    return {
        "gigabytes": gigabytes,
        "waits": quiet is not None,
        "usual_ms": round(usual, 4),
        "just_after_ms": round(statistics.median(during), 4) if during else None,
        "slow_for_ms": [round(max(each, default=0.0), 1) for each in slow],
        "slow_calls": [len(each) for each in slow],
    }


def main() -> None:
    """Measure, print and store."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--out", type=Path, help="a JSON file for the figures")
    options = parser.parse_args()
    values = torch.zeros(1 << 28, device="cuda")
    quiet = QuietMemory("cuda")
    rows = []
    for gigabytes in _GIGABYTES:
        for waiting in (None, quiet):
            rows.append(beside(gigabytes, values, waiting))
            print(json.dumps(rows[-1]), flush=True)
    if options.out:
        where = environment(torch.get_num_threads()).model_dump(mode="json")
        result = {"date": date.today().isoformat(), "environment": where, "rows": rows}
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.write_text(json.dumps(result, indent=1) + "\n")


if __name__ == "__main__":
    main()

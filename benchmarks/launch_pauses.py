"""How long a processor takes to launch a forward's kernels, after pauses of several lengths and beside builds.

    python -m benchmarks.launch_pauses --out results/h100/launch_pauses.json       # two minutes on one GPU
    python -m benchmarks.launch_pauses --problems 1/1,1/46 --builds 1              # the Python side, without a GPU

A timed call comes after a pause: inputs are drawn, the other side is called, outputs are compared. What that costs
its launches, a model that is called again and again does not pay.

On a GPU the medians are of the processor's time until forward has returned, of whole calls (timer `cuda_event`), and
of their kernels alone (`queued_event`). Without a GPU nothing is computed: of `expert`'s launches only that part is
timed which Triton does in Python, as in a call of a kernel's `warmup`.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from datetime import UTC, datetime
from functools import partial
from pathlib import Path
from typing import Any
from unittest.mock import patch

import torch

from kernelgauge.backends.loading import import_file
from kernelgauge.backends.triton import TritonBackend
from kernelgauge.expert.contestant import Expert
from kernelgauge.hardware.environment import environment, gpu_count
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate
from kernelgauge.timing.timers import timer_named

PROBLEMS = "1/88,1/46,1/1,1/10,2/57,2/69"
"""Two of one kernel, two matrix products and two convolutions of four."""
PAUSES_MS = (0, 1, 3, 10, 30)
_WARM_UPS = 10
_BUILD = (
    "while true; do echo '#include <regex>\nint main() {{ std::regex r(\"a\"); }}' | g++ -O2 -x c++ - -o {}; done"
)
# Niceness of builds.
_LAST = "10"

Forward = Callable[[], object]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--builds", type=int, default=12, help="how many builds run at once in the second half")
    parser.add_argument("--calls", type=int, default=40, help="of which each figure is the median")
    parser.add_argument("--out", type=Path)
    given = parser.parse_args()
    on_gpu = gpu_count() > 0
    here = environment(1)
    # One core, as a worker that is timed has; the others for builds, where there are some.
    cores = os.sched_getaffinity(0)
    own = {max(cores)}
    others = cores - own or own
    os.sched_setaffinity(0, own)
    rows = []
    with nullcontext() if on_gpu else _launching_only(), torch.no_grad():
        for key in given.problems.split(","):
            for side, forward in _sides(key, on_gpu):
                taken = [row | {"problem": key, "side": side} for row in _measured(forward, given, on_gpu, others)]
                print(_said(taken), flush=True)
                rows += taken
    if given.out is not None:
        about = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "calls": given.calls}
        about |= {"builds": given.builds, "environment": here.model_dump(mode="json")}
        given.out.write_text(json.dumps(about | {"rows": rows}, indent=1) + "\n")


def _sides(key: str, on_gpu: bool) -> Iterator[tuple[str, Forward]]:
    """The reference and the candidate of `expert`, each called on the same inputs; without a GPU the latter alone."""
    problem = load_problem(key, sizes="full" if on_gpu else "small")
    answer = Expert().complete(problem, 0, "cuda")
    assert isinstance(answer, Candidate)
    device = "cuda" if on_gpu else "cpu"
    reference = _module("reference", problem.source)
    inputs = [each.to(device) if isinstance(each, torch.Tensor) else each for each in reference.get_inputs()]
    texts = {"eager": reference.Model, "expert": _module("candidate", answer.source).ModelNew}
    for side, model in texts.items() if on_gpu else [("expert", texts["expert"])]:
        made = model(*reference.get_init_inputs()).to(device)
        yield side, partial(made, *inputs)


def _module(name: str, source: str) -> Any:
    with tempfile.TemporaryDirectory() as folder:  # Triton reads a kernel's text as its file is imported
        path = Path(folder) / f"{name}.py"
        path.write_text(source)
        return import_file(path, name)


@contextmanager
def _launching_only() -> Iterator[None]:
    """While open, a kernel that is launched goes as far as Triton does in Python."""
    from triton.runtime.jit import JITFunction

    launch = JITFunction.run

    def prepare(kernel: Any, *given: Any, grid: Any, warmup: bool = False, **options: Any) -> Any:
        return launch(kernel, *given, grid=grid, warmup=True, **options)

    os.environ.setdefault("KERNELGAUGE_ARCHITECTURE", "9.0a")
    with TritonBackend().without_device(), patch.object(JITFunction, "run", prepare):
        yield


def _measured(forward: Forward, given: argparse.Namespace, on_gpu: bool, cores: set[int]) -> Iterator[dict[str, Any]]:
    for _ in range(_WARM_UPS):
        forward()
    alone = timer_named("queued_event").samples(forward, 1, given.calls) if on_gpu else []
    for builds in dict.fromkeys((0, given.builds)):
        with _builds(builds, cores):
            for pause_ms in PAUSES_MS:
                calls = [_once(forward, pause_ms / 1e3, on_gpu) for _ in range(given.calls)]
                launch_ms, call_ms = (statistics.median(each) for each in zip(*calls, strict=True))
                row = {"builds": builds, "pause_ms": pause_ms, "launch_ms": round(launch_ms, 4)}
                yield row | (
                    {"call_ms": round(call_ms, 4), "device_ms": round(statistics.median(alone), 4)} if on_gpu else {}
                )


def _once(forward: Forward, pause_s: float, on_gpu: bool) -> tuple[float, float]:
    """Milliseconds until forward has returned, and of the whole call; without a GPU they are the same."""
    timer = timer_named("cuda_event" if on_gpu else "host_time")
    time.sleep(pause_s)
    began = time.perf_counter()
    timer.call(forward)
    launched = (time.perf_counter() - began) * 1e3
    if on_gpu:
        torch.cuda.synchronize()
    return launched, timer.elapsed_ns() / 1e6


@contextmanager
def _builds(number: int, cores: set[int]) -> Iterator[None]:
    """While open, so many compilers run on these cores, behind others there, as those of the evaluator do."""
    own = os.sched_getaffinity(0)
    with tempfile.TemporaryDirectory() as folder:
        os.sched_setaffinity(0, cores)  # children inherit it
        running = [
            subprocess.Popen(
                ["nice", "-n", _LAST, "sh", "-c", _BUILD.format(f"{folder}/{place}")],
                start_new_session=True,
                stderr=subprocess.DEVNULL,
            )
            for place in range(number)
        ]
        os.sched_setaffinity(0, own)
        try:
            time.sleep(1.0 if running else 0.0)
            yield
        finally:
            for each in running:
                os.killpg(each.pid, signal.SIGKILL)
                each.wait()


def _said(rows: list[dict[str, Any]]) -> str:
    def line(builds: int) -> str:
        return ", ".join(f"{row['pause_ms']}: {row['launch_ms']:.2f}" for row in rows if row["builds"] == builds)

    parts = [f"{builds} builds: {line(builds)}" for builds in dict.fromkeys(row["builds"] for row in rows)]
    about = f"{rows[0]['problem']} {rows[0]['side']}, ms of the processor after a pause of so many ms"
    return f"{about}; {'; '.join(parts)}"


if __name__ == "__main__":
    main()

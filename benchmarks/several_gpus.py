"""All GPUs of a machine at once: copies of references beside each other, and what a killed judge costs the others.

    python benchmarks/several_gpus.py --problems 1/1,1/2 --out several.json [--executor ray:127.0.0.1:6379]
        [--kill judge|actor] [--faults] [--protocol strict] [--device cuda] [--sizes full] [--limit-seconds 300]

Every candidate is its reference under another name, so each must pass as a tie: what is left of the ratio's distance
from 1 is the evaluator's error with all GPUs busy. With `--faults` two of them, a third and two thirds of the way
through the list, do harm instead: one hangs its GPU, one ruins its CUDA context. They have a build, so that copies
which are ready come before them. `--kill` kills (SIGKILL) a process that judges, or a Ray actor, once a third has a
verdict. Then every candidate must have one record all the same. A Ray cluster must have been begun with the same
cache folder (`KERNELGAUGE_CACHE`): only processes that have it are killed.
"""

from __future__ import annotations

import argparse
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from aa import Identical, figures, row
from gpu_busy import GpuBusy, longest_gap
from training_step import ended_by

from kernelgauge.hardware.environment import environment, gpu_count
from kernelgauge.problems.catalogue import select
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Evaluation
from kernelgauge.store.run import Run

KILLED = {"judge": "kernelgauge.execution.judge_process", "actor": "ray::JudgeActor"}
"""What the command line of the process has in it."""
COPY, HANGS, RUINS = "copy", "hangs", "ruins its context"
"""What an answer is."""
_DUE = {COPY: "passed", HANGS: "timed_out", RUINS: "runtime_error"}
_KERNEL = """

import triton
import triton.language as tl


@triton.jit
def _{name}(pointer):
    {line}


"""
_FAULTS = {
    HANGS: (
        _KERNEL.format(name="spin", line="while tl.load(pointer, volatile=True) != 12345.0:\n        pass"),
        "_spin[(1,)](torch.zeros(1, device=inputs[0].device))\nreturn _right(self, *inputs)",
    ),
    RUINS: (
        _KERNEL.format(name="stray", line="tl.store(pointer + (1 << 40), 1.0)"),
        "_stray[(1,)](inputs[0])\nreturn _right(self, *inputs)",
    ),
}
"""A kernel, and the forward that launches it."""
_POLL_SECONDS = 0.5
_LAST_WORDS_SECONDS = 60.0


def write(folder: Path, keys: Sequence[str], sizes: str, faults: bool) -> dict[str, str]:
    """Write an answer to each problem below `folder`; returns by problem what it is."""
    shutil.rmtree(folder, ignore_errors=True)
    kinds = dict.fromkeys(keys, COPY)
    if faults:
        kinds[keys[len(keys) // 3]], kinds[keys[2 * len(keys) // 3]] = HANGS, RUINS
    for key, kind in kinds.items():
        text = Identical().complete(load_problem(key, sizes=sizes), 0, "cuda").source
        if kind in _FAULTS:
            kernel, body = _FAULTS[kind]
            text = ended_by(text + kernel, body)
        level, number = key.split("/")
        place = folder / f"level{level}" / f"{number}_copy_sample_0.py"
        place.parent.mkdir(parents=True, exist_ok=True)
        place.write_text(text)
    return kinds


def processes(part: str) -> list[int]:
    """Those with our cache folder whose command line has that in it, the oldest first."""
    cache = f"KERNELGAUGE_CACHE={os.environ.get('KERNELGAUGE_CACHE', '')}".encode()
    found = []
    for place in Path("/proc").glob("[0-9]*"):
        try:
            line = (place / "cmdline").read_bytes().replace(b"\0", b" ").decode(errors="replace")
            if part in line and cache in (place / "environ").read_bytes().split(b"\0"):
                found.append((int((place / "stat").read_text().rpartition(")")[2].split()[19]), int(place.name)))
        except OSError:  # it has ended
            continue
    return [pid for _, pid in sorted(found)]


class Fault:
    """Kills one process once so many records are there."""

    def __init__(self, kind: str | None, after: int):
        self._part, self._after = KILLED.get(kind or ""), after
        self.told: dict[str, Any] | None = None

    def look(self, records: Path, began: float) -> None:
        """Called again and again while the run goes on."""
        if self._part is None or self.told is not None or not records.exists():
            return
        with records.open("rb") as lines:
            known = sum(1 for _ in lines)
        if known >= self._after and (found := processes(self._part)):
            os.kill(found[0], signal.SIGKILL)
            self.told = {"killed": self._part, "after_records": known, "at_seconds": time.monotonic() - began}


def judged(options: argparse.Namespace, fault: Fault) -> bool:
    """Run the command, and kill what is to be killed; whether it ended by itself within its time."""
    command = [sys.executable, "-m", "kernelgauge", "run", "--contestant", f"folder:{options.work / 'copies'}"]
    command += ["--device", options.device, "--sizes", options.sizes, "--protocol", options.protocol]
    command += ["--executor", options.executor, "--out", str(options.work / "run")]
    command += ["--jobs", str(options.jobs)] if options.jobs else []
    began = time.monotonic()
    with (options.work / "run.log").open("a") as log:
        process = subprocess.Popen(command, stdout=log, stderr=subprocess.STDOUT)
        while process.poll() is None and time.monotonic() - began < options.limit_seconds:
            fault.look(options.work / "run" / "evaluations.jsonl", began)
            time.sleep(_POLL_SECONDS)
        if process.poll() is not None:
            return True
        process.send_signal(signal.SIGINT)
        try:
            process.wait(_LAST_WORDS_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return False


def counted(records: Sequence[Evaluation], asked: Mapping[str, str]) -> dict[str, Any]:
    """How many records each candidate has, which did not come out as due, and what became of those that do harm."""
    times = Counter(record.problem for record in records)
    return {
        "asked": len(asked),
        "with_one_record": sum(times[key] == 1 for key in asked),
        "without": [key for key in asked if not times[key]],
        "with_more": [key for key in asked if times[key] > 1],
        "not_as_due": {
            record.problem: f"{record.outcome.value}: {record.reason}"
            for record in records
            if record.outcome.value != _DUE[asked[record.problem]]
        },
        "faults": {
            asked[record.problem]: f"{record.problem} {record.outcome.value}: {record.reason}"
            for record in records
            if asked[record.problem] != COPY
        },
    }


def stages(records: Sequence[Evaluation]) -> dict[str, float]:
    """Mean seconds of an evaluation by stage."""
    total: Counter[str] = Counter()
    for record in records:
        total.update(record.seconds)
    return {name: round(seconds / len(records), 2) for name, seconds in total.items()}


def main() -> None:
    """Judge, kill, count, and write what came of it."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems")
    parser.add_argument("--executor", default="local")
    parser.add_argument("--kill", choices=KILLED)
    parser.add_argument("--faults", action="store_true", help="one that hangs, and one that ruins its context")
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="full")
    parser.add_argument("--jobs", type=int)
    parser.add_argument("--limit-seconds", type=float, default=3600.0)
    parser.add_argument("--work", type=Path, default=Path("runs/several_gpus"))
    parser.add_argument("--out", type=Path, required=True)
    options = parser.parse_args()
    if options.kill and "KERNELGAUGE_CACHE" not in os.environ:
        parser.error("--kill needs KERNELGAUGE_CACHE: it tells our processes from others")
    options.work = options.work.absolute()
    options.work.mkdir(parents=True, exist_ok=True)
    shutil.rmtree(options.work / "run", ignore_errors=True)
    keys = select(names=options.problems.split(",")) if options.problems else select([1, 2, 3])
    asked = write(options.work / "copies", keys, options.sizes, options.faults)
    fault = Fault(options.kill, after=len(asked) // 3)
    began, started = datetime.now(UTC), time.monotonic()
    with GpuBusy() as busy:
        ended = judged(options, fault)
    wall = time.monotonic() - started
    records = list(Run.read(options.work / "run").evaluations())
    copies = [row(record) for record in records if asked[record.problem] == COPY]
    gpus = gpu_count() if options.device != "cpu" else 1
    found = {
        "date": began.isoformat(timespec="seconds"),
        "command": sys.argv,
        "environment": environment(len(os.sched_getaffinity(0))).model_dump(mode="json"),
        "gpus": gpus,
        "executor": options.executor.partition(":")[0],
        "finished": ended,
        "wall_seconds": round(wall, 1),
        "an_hour_and_gpu": round(3600 * len(records) / wall / gpus, 1),
        "gpu_busy_each": busy.shares,
        "longest_idle_seconds_each": busy.longest_idle_seconds,
        "longest_wait_for_a_verdict": round(longest_gap(sorted(each.created.timestamp() for each in records)), 1),
        "fault": fault.told,
        "records": counted(records, asked),
        "seconds": stages(records) if records else {},
        "figures": figures(copies)["all"],
        "at_seconds": [round((each.created - began).total_seconds(), 1) for each in records],
        "rows": copies,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found) + "\n")
    shown = {name: value for name, value in found.items() if name not in ("rows", "at_seconds", "environment")}
    print(json.dumps(shown, indent=1))


if __name__ == "__main__":
    main()

"""Kernels per hour: kernelgauge and the naive evaluator on the same candidates, one after the other.

    python benchmarks/throughput.py --out throughput.json [--candidates benchmarks/cuda_candidates] [--jobs 16]
        [--only N] [--phases naive,cold,warm] [--limit-seconds 280] [--work runs/throughput]
    python benchmarks/throughput.py --training-step 8 --phases naive_built,cold --out step.json
    python benchmarks/throughput.py --page throughput.json > results/h200/throughput.md

Phases: `naive` (benchmarks/naive_evaluator.py), `naive_built` (the same, all candidates compiled beforehand in
parallel), `cold` (`kernelgauge run` with an empty cache) and `warm` (again, with what `cold` left in the cache). Each
is given at most `--limit-seconds`. What is measured goes into `--out` after every phase; with the same `--out`,
`--work` and questions, a phase that ran out of time goes on where it stopped, and its time adds up. Candidates come
in an order drawn by `--seed`, so those that a phase did reach are a random subset. With `--training-step 8` they are
eight answers to each of eight problems, most of them broken (benchmarks/training_step.py), and figures go by what a
candidate is.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from gpu_busy import GpuBusy
from throughput_kinds import by_kind, latency
from throughput_page import page
from training_step import write as write_step

from kernelgauge.generation.folder import Folder, meant_by
from kernelgauge.hardware.environment import environment, gpu_count
from kernelgauge.store.run import Run

HERE = Path(__file__).parent
ASKED = ("candidates", "kinds", "problems", "device", "sizes", "protocol", "jobs", "environment")
"""What must be the same for a measurement to go on."""
PHASES = ("naive", "naive_built", "cold", "warm")
STEP_PROBLEMS = 8
"""Problems of a training step."""
_LAST_WORDS_SECONDS = 60.0


def within(command: list[str], seconds: float, log: Path, **variables: str) -> bool:
    """Run a command for at most so long, then interrupt it; True if it ended by itself."""
    with log.open("a") as file:
        process = subprocess.Popen(command, env=os.environ | variables, stdout=file, stderr=subprocess.STDOUT)
        try:
            process.wait(seconds)
            return True
        except subprocess.TimeoutExpired:
            process.send_signal(signal.SIGINT)
        try:
            process.wait(_LAST_WORDS_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        return False


def naive(options: argparse.Namespace, phase: str, keys: list[str]) -> tuple[bool, list[dict[str, Any]]]:
    """Let the naive evaluator judge these problems; whether it got through, and its new rows."""
    out = options.work / f"{phase}.jsonl"
    out.unlink(missing_ok=True)
    command = [
        sys.executable,
        str(HERE / "naive_evaluator.py"),
        "--candidates",
        str(options.candidates),
        "--out",
        str(out),
    ]
    command += ["--problems", ",".join(keys), "--device", options.device, "--sizes", options.sizes]
    command += ["--limit-seconds", str(options.limit_seconds)]
    command += ["--candidate-seconds", str(options.candidate_seconds)]
    command += ["--build-first", str(options.jobs)] * (phase == "naive_built")
    within(command, options.limit_seconds + _LAST_WORDS_SECONDS, options.work / f"{phase}.log")
    rows = [json.loads(line) for line in out.read_text().splitlines()] if out.exists() else []
    return len(rows) == sum(len(options.samples[key]) for key in keys), rows


def kernelgauge(options: argparse.Namespace, phase: str, keys: list[str]) -> tuple[bool, list[dict[str, Any]]]:
    """Let kernelgauge judge these problems in the phase's run folder; whether it got through, and the run's rows."""
    out = options.work / phase
    command = [sys.executable, "-m", "kernelgauge", "run", "--contestant", f"folder:{options.candidates}"]
    command += ["--problems", ",".join(keys), "--device", options.device, "--sizes", options.sizes]
    command += [
        "--protocol",
        options.protocol,
        "--jobs",
        str(options.jobs),
        "--out",
        str(out),
        *options.flags.split(),
    ]
    cache = {"KERNELGAUGE_CACHE": str(options.work / "cache")}
    began = datetime.now(UTC)
    ended = within(command, options.limit_seconds, options.work / f"{phase}.log", **cache)
    records = Run.read(out).latest() if (out / "run.json").exists() else []
    return ended, [
        record.summary() | {"at_seconds": round((record.created - began).total_seconds(), 3)} for record in records
    ]


def placed(rows: list[dict[str, Any]], before: dict[str, Any] | None) -> list[dict[str, Any]]:
    """Rows of a phase that went on, with `at_seconds` in its time, not in that of the command that went on."""
    if before is None:
        return rows
    known = {(row["problem"], row["sample"]): row["at_seconds"] for row in before["rows"]}
    later = before["wall_seconds"]
    return [
        row | {"at_seconds": known.get((row["problem"], row["sample"]), round(row["at_seconds"] + later, 3))}
        for row in rows
    ]


def measured(options: argparse.Namespace, phase: str, before: dict[str, Any] | None) -> dict[str, Any]:
    """One phase, begun or continued."""
    ours = phase in ("cold", "warm")
    if ours and not (options.work / phase / "run.json").exists():
        before = None  # begun in another `--work`: there is nothing to go on with
    rows = before["rows"] if before else []
    judged = {
        key for key in options.problems if sum(row["problem"] == key for row in rows) == len(options.samples[key])
    }
    rows = [row for row in rows if ours or row["problem"] in judged]
    if before is None:
        shutil.rmtree(options.work / phase, ignore_errors=True)
        if phase == "cold":
            shutil.rmtree(options.work / "cache", ignore_errors=True)
    judge: Callable[..., Any] = kernelgauge if ours else naive
    started = time.monotonic()
    with GpuBusy() as busy:
        through, found = judge(options, phase, [k for k in options.problems if ours or k not in judged])
    wall = time.monotonic() - started
    earlier = before["wall_seconds"] if before else 0.0
    shares = [(busy.share, wall)] + ([(before["gpu_busy"], earlier)] if before else [])
    known = [(share, seconds) for share, seconds in shares if share is not None]
    rows = placed(found if ours else rows + found, before)
    phase_row = {
        "finished": through and len(rows) == sum(len(samples) for samples in options.samples.values()),
        "kernels": len(rows),
        "wall_seconds": round(wall + earlier, 1),
        "gpu_busy": round(sum(a * b for a, b in known) / sum(b for _, b in known), 3) if known else None,
        "gpu_busy_missing": busy.missing,
        "gpus": gpu_count() if options.device != "cpu" else 0,
        "seconds": stages(rows),
        "rows": rows,
    }
    if options.kinds:
        phase_row |= {"kinds": by_kind(rows, options.kinds), "latency_seconds": latency(rows)}
    if len(busy.shares) > 1 and before is None:
        phase_row |= {"gpu_busy_each": busy.shares}
    return phase_row | {"kernels_per_hour": rate(phase_row, ours)}


def rate(row: dict[str, Any], ours: bool) -> float | None:
    """Kernels per hour. Of the naive evaluator, one kernel at a time, a kernel that was cut off does not count at
    all."""
    if not row["rows"]:
        return None
    if ours:
        return round(3600 * len(row["rows"]) / float(row["wall_seconds"]), 2)
    each = [float(kernel["wall_seconds"] + kernel["build_share_seconds"]) for kernel in row["rows"]]
    return round(3600 * len(each) / sum(each), 2)


def stages(rows: list[dict[str, Any]]) -> dict[str, float]:
    """Seconds by stage, summed over the kernels; of kernelgauge several kernels may be in a stage at once."""
    total: dict[str, float] = {}
    for row in rows:
        for name, seconds in row.get("seconds", {}).items():
            total[name] = round(total.get(name, 0.0) + seconds, 3)
    return total


def begun(options: argparse.Namespace) -> dict[str, Any]:
    """What an earlier command has measured of the same question, or a new file's head."""
    cores = len(os.sched_getaffinity(0))
    asked = {name: getattr(options, name) for name in ASKED if name != "environment"}
    asked |= {"candidates": str(options.candidates), "environment": environment(cores).model_dump()}
    new = {"date": datetime.now(UTC).isoformat(timespec="seconds"), "commands": [], "seed": options.seed}
    content = new | asked | {"limit_seconds": options.limit_seconds, "phases": {}}
    if options.out.exists():
        content = json.loads(options.out.read_text())
        for name in ASKED:
            if content[name] != asked[name]:
                raise SystemExit(f"{options.out} holds a measurement with another {name}: name another --out")
    content["commands"].append(sys.argv)
    return content


def training_step(options: argparse.Namespace) -> dict[str, str]:
    """Make the candidates of a training step the ones that are asked about; returns kinds by `PROBLEM SAMPLE`."""
    step = options.work / "step"
    shutil.rmtree(step, ignore_errors=True)
    problems = min(STEP_PROBLEMS, len(Folder(options.candidates).problems()))
    kinds = write_step(options.candidates, step, problems, options.training_step, options.seed)
    options.candidates = step
    places = {path: meant_by(path) for path in kinds}
    return {f"{place[0]} {place[1]}": kinds[path] for path, place in places.items() if place is not None}


def main() -> None:
    """Measure the phases asked for, or print the page of a measurement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=Path, default=HERE / "cuda_candidates")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="full")
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--jobs", type=int, default=len(os.sched_getaffinity(0)))
    parser.add_argument("--training-step", type=int, metavar="N", help="N answers to each of eight problems")
    parser.add_argument("--candidate-seconds", type=float, default=600.0, help="of the naive evaluator, for each")
    parser.add_argument("--only", type=int, metavar="N", help="so many candidates, drawn by --seed; default: all")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--phases", default="naive,cold,warm", help=f"of {', '.join(PHASES)}")
    parser.add_argument("--limit-seconds", type=float, default=3600.0, help="for each phase")
    parser.add_argument("--flags", default="", help="further flags of `kernelgauge run`, in one text")
    parser.add_argument("--work", type=Path, default=Path("runs/throughput"), help="caches, run folders, logs")
    parser.add_argument("--out", type=Path, default=Path("runs/throughput.json"))
    parser.add_argument("--page", type=Path, metavar="JSON", help="print the page of a measurement instead")
    options = parser.parse_args()
    if options.page:
        print(page(json.loads(options.page.read_text())), end="")
        return
    phases = options.phases.split(",")
    if unknown := set(phases) - set(PHASES):
        parser.error(f"there is no phase {min(unknown)}; there are {', '.join(PHASES)}")
    options.work = options.work.absolute()
    options.work.mkdir(parents=True, exist_ok=True)
    options.kinds = training_step(options) if options.training_step else {}
    answers = Folder(options.candidates)
    options.problems = sorted(answers.problems())
    random.Random(options.seed).shuffle(options.problems)
    options.problems = options.problems[: options.only]
    options.samples = {key: answers.samples(key) for key in options.problems}
    options.out.parent.mkdir(parents=True, exist_ok=True)
    content = begun(options)
    # Both start with PyTorch's files in the machine's page cache, not only the second.
    subprocess.run([sys.executable, "-c", "import torch"], check=True)
    for phase in phases:
        before = content["phases"].get(phase)
        if before and before["finished"]:
            continue
        content["phases"][phase] = row = measured(options, phase, before)
        options.out.write_text(json.dumps(content, indent=1))
        state = "all" if row["finished"] else "out of time"
        on = f" on {row['gpus']} GPUs" if row["gpus"] > 1 else ""
        print(f"{phase}: {row['kernels']} kernels ({state}), {row['kernels_per_hour']} per hour{on}", flush=True)


if __name__ == "__main__":
    main()

"""A plain evaluator by KernelBench's published procedure: what kernelgauge's throughput is compared with.

    python benchmarks/naive_evaluator.py --candidates benchmarks/cuda_candidates --out naive.jsonl [--problems
        1/19,2/1] [--device cuda] [--sizes full] [--limit-seconds 300] [--build-first N]

Written from the published description alone; no line of it comes from KernelBench. One fresh Python process a
kernel: import torch, run reference and candidate (its `load_inline` compiles into an empty build folder), construct
both under seed 42, draw inputs with `get_inputs()` on the CPU and move them to the device, compare in five trials
with new seeds (allclose at 1e-2), then three warm-ups and the mean of 100 calls between CUDA events, each after a
write of 256 MB that empties the L2 cache. The reference is not timed: its times come from a stored table in that
procedure. `--build-first N` compiles all candidates in N processes at once before the first is judged, as a user with
many cores would. `--candidate-seconds` ends a kernel that takes longer. A line of JSON a kernel.
"""

from __future__ import annotations

import argparse
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Collection, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from typing import Any

SEED = 42
TRIALS = 5
TOLERANCE = 1e-2
WARMUPS = 3
CALLS = 100
FLUSHED_BYTES = 256 * 2**20
BUILD_SECONDS = 600.0


@contextmanager
def stage(seconds: dict[str, float], name: str) -> Iterator[None]:
    """Add the time spent inside to the account of a stage."""
    started = time.monotonic()
    try:
        yield
    finally:
        seconds[name] = round(seconds.get(name, 0.0) + time.monotonic() - started, 3)


def judge(reference: Path, candidate: Path, device: str, row: dict[str, Any]) -> None:
    """Judge one kernel in this process and fill in `row`; whatever its code raises comes through."""
    seconds = row["seconds"]
    with stage(seconds, "import"):
        import torch

    known = load(reference, "Model")
    with stage(seconds, "build"):
        written = load(candidate, "ModelNew")
    row["compiled"] = True
    with stage(seconds, "construct"), torch.no_grad():
        model, new = (construct(scope, known, device) for scope in (known["Model"], written["ModelNew"]))
    torch.manual_seed(SEED)
    for seed in torch.randint(0, 2**31 - 1, (TRIALS,)).tolist():
        with stage(seconds, "draw"):
            inputs = drawn(known, seed, device)
        with stage(seconds, "compare"), torch.no_grad():
            due, got = model(*inputs), new(*inputs)
            if not agree(got, due):
                row["error"] = f"trial {row['agreed'] + 1} of {TRIALS}: outputs differ"
                return
            del due, got, inputs  # else the next ones come beside them, gigabytes each
        row["agreed"] += 1
    row["correct"] = True
    with stage(seconds, "draw"):
        inputs = drawn(known, SEED, device)
    with stage(seconds, "time"), torch.no_grad():
        samples = timed(new, inputs, device)
    row["mean_ms"], row["deviation_ms"] = statistics.mean(samples), statistics.stdev(samples)


def load(path: Path, attribute: str) -> dict[str, Any]:
    """Run a file and return its names; raises NameError if the class is not among them."""
    scope: dict[str, Any] = {"__name__": path.stem}
    exec(compile(path.read_text(), str(path), "exec"), scope)
    if attribute not in scope:
        raise NameError(f"the file defines no class {attribute}")
    return scope


def construct(made: Any, known: dict[str, Any], device: str) -> Any:
    """One side under the fixed seed, with the reference's constructor arguments, on the device."""
    import torch

    torch.manual_seed(SEED)
    arguments = [to_device(value, device) for value in known["get_init_inputs"]()]
    torch.manual_seed(SEED)
    return made(*arguments).to(device)


def drawn(known: dict[str, Any], seed: int, device: str) -> list[Any]:
    """Inputs drawn on the CPU under a seed, then moved."""
    import torch

    torch.manual_seed(seed)
    return [to_device(value, device) for value in known["get_inputs"]()]


def to_device(value: Any, device: str) -> Any:
    """Tensors moved, anything else as it is."""
    return value.to(device) if hasattr(value, "to") else value


def agree(got: Any, due: Any) -> bool:
    """Same shape, and close at the published tolerance."""
    import torch

    return got.shape == due.shape and torch.allclose(got, due, atol=TOLERANCE, rtol=TOLERANCE)


def timed(model: Any, inputs: Sequence[Any], device: str) -> list[float]:
    """Milliseconds of each of the timed calls; on a CPU by the host clock and without the flush."""
    import torch

    for _ in range(WARMUPS):
        model(*inputs)
    samples = []
    if device == "cpu":
        for _ in range(CALLS):
            started = time.perf_counter()
            model(*inputs)
            samples.append((time.perf_counter() - started) * 1e3)
        return samples
    flushed = torch.empty(FLUSHED_BYTES, dtype=torch.uint8, device=device)
    torch.cuda.synchronize()
    for _ in range(CALLS):
        start, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        flushed.zero_()
        start.record()
        model(*inputs)
        end.record()
        torch.cuda.synchronize()
        samples.append(start.elapsed_time(end))
    return samples


def in_this_process(options: argparse.Namespace) -> None:
    """What the fresh process does: judge one kernel, or only build it, and leave the row in a file."""
    row: dict[str, Any] = {"compiled": False, "correct": False, "agreed": 0, "mean_ms": None, "error": ""}
    row["seconds"] = {}
    reference, candidate = options.one
    try:
        if options.build_only:
            load(candidate, "ModelNew")
        else:
            judge(reference, candidate, options.device, row)
    except Exception as error:  # the kernel's own fault: the row says so
        row["error"] = f"{type(error).__name__}: {error}"[:500]
    (candidate.parent / "row.json").write_text(json.dumps(row))


def in_fresh_process(folder: Path, device: str, limit_seconds: float, *more: str) -> dict[str, Any] | None:
    """Judge the kernel that lies in `folder`; None if that took longer than the limit and was ended."""
    command = [sys.executable, __file__, "--one", str(folder / "reference.py"), str(folder / "candidate.py")]
    (folder / "row.json").unlink(missing_ok=True)
    started = time.monotonic()
    with (folder / "log").open("a") as log:
        process = subprocess.Popen(
            [*command, "--device", device, *more],
            env=os.environ | {"TORCH_EXTENSIONS_DIR": str(folder / "build")} | architecture(device),
            stdout=log,
            stderr=subprocess.STDOUT,
            start_new_session=True,
        )
        try:
            process.wait(limit_seconds)
        except subprocess.TimeoutExpired:
            os.killpg(process.pid, signal.SIGKILL)  # its compiler too
            process.wait()
            return None
    wall = round(time.monotonic() - started, 3)
    if not (folder / "row.json").is_file():
        return {"correct": False, "error": f"the process ended with {process.returncode}", "wall_seconds": wall}
    row: dict[str, Any] = json.loads((folder / "row.json").read_text())
    return row | {"wall_seconds": wall}


def architecture(device: str) -> dict[str, str]:
    """The GPU at hand as the only one to compile for, as kernelgauge does."""
    from kernelgauge.backends.cuda import architecture as found

    return {} if device == "cpu" else {"TORCH_CUDA_ARCH_LIST": found()}


def judge_all(options: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Rows of the kernels asked for, in that order, until the time is up."""
    began = time.monotonic()
    deadline = began + options.limit_seconds
    with tempfile.TemporaryDirectory(prefix="naive-") as root:
        folders = laid_out(Path(root), options)
        shared = built_first(folders.values(), options) if options.build_first else 0.0
        for (key, sample), folder in folders.items():
            left, longest = deadline - time.monotonic(), options.candidate_seconds
            row = in_fresh_process(folder, options.device, min(left, longest)) if left > 0 else None
            if row is None and left < longest:
                return  # cut off by the limit of the run: that says nothing about the kernel
            row = row or {"correct": False, "error": "took too long", "wall_seconds": longest}
            at = round(time.monotonic() - began, 3)
            yield {"problem": key, "sample": sample, "build_share_seconds": shared, "at_seconds": at} | row


def laid_out(root: Path, options: argparse.Namespace) -> dict[tuple[str, int], Path]:
    """A folder a kernel, by problem and sample, with reference and candidate in it."""
    from kernelgauge.generation.folder import Folder
    from kernelgauge.problems.loader import load_problem
    from kernelgauge.schema import Candidate

    answers, folders = Folder(options.candidates), {}
    for key in options.problems.split(",") if options.problems else answers.problems():
        problem = load_problem(key, sizes=options.sizes)
        for sample in answers.samples(key):
            answer = answers.complete(problem, sample, options.device)
            if not isinstance(answer, Candidate):
                raise SystemExit(answer.reason)
            folder = folders[key, sample] = root / str(len(folders))
            folder.mkdir()
            (folder / "reference.py").write_text(problem.source)
            (folder / "candidate.py").write_text(answer.source)
    return folders


def built_first(folders: Collection[Path], options: argparse.Namespace) -> float:
    """Build all candidates, several at once; seconds of wall time a kernel."""
    started = time.monotonic()
    with ThreadPoolExecutor(options.build_first) as pool:
        builds = [(folder, options.device, BUILD_SECONDS, "--build-only") for folder in folders]
        list(pool.map(lambda build: in_fresh_process(*build), builds))
    return round((time.monotonic() - started) / len(folders), 3)


def main() -> None:
    """One line of JSON a kernel on standard output and in `--out`."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--candidates", type=Path)
    parser.add_argument("--problems", help="keys such as 1/19,2/1, judged in this order; default: all")
    parser.add_argument("--device", default="cuda")
    parser.add_argument("--sizes", default="full")
    parser.add_argument("--limit-seconds", type=float, default=float("inf"))
    parser.add_argument("--candidate-seconds", type=float, default=600.0)
    parser.add_argument("--build-first", type=int, default=0, metavar="N")
    parser.add_argument("--out", type=Path)
    parser.add_argument("--one", nargs=2, type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--build-only", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        return in_this_process(options)
    if options.candidates is None:
        parser.error("--candidates is needed")
    for row in judge_all(options):
        line = json.dumps(row)
        print(line, flush=True)
        if options.out:
            with options.out.open("a") as file:
                file.write(line + "\n")


if __name__ == "__main__":
    main()

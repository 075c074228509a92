"""Are the honest candidates right, and about how fast? A quick look before the evaluator judges them.

    python benchmarks/honest_kernels_check.py [NAME ...] [--jobs 16] [--sizes full] [--device cuda] [--folder ...]
    python benchmarks/honest_kernels_check.py --expert [NAME ...]    # those of the contestant `expert`

Builds every file of `benchmarks/honest_kernels` whose path contains one of the names (all without names) into the
build cache, several at once, then runs each beside its reference in a process apart: own and standard-normal inputs,
compared with the reference in float64 where that runs and fits, else with the eager one in float32 without TF32. One
line a file: OK or FAIL, relative root mean square error (of eager in brackets), worst error over the reference's root
mean square, milliseconds of a call of the candidate and of the reference, and the ratio beside the one expected.
A file that faults costs a new process, not the run. This is no verdict: `kernelgauge run` gives those.
"""

from __future__ import annotations

import argparse
import copy
import gc
import json
import os
import queue
import re
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import torch

from kernelgauge.backends.registry import backend_named, detect
from kernelgauge.evaluation.failures import Failure
from kernelgauge.expert.contestant import Expert
from kernelgauge.generation.folder import Folder
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate

FOLDER = Path(__file__).parent / "honest_kernels"
# Sums of half a million terms in order are off by 4e-5; TF32 and bfloat16 are off by 3e-4 and more on normal inputs.
_RMS, _WORST = 1e-4, 3e-3
_OVER_EAGER = 30
_SECONDS_A_FILE = 180
_MARK = "@@"
_EXPECTED = {"slower": (0.0, 0.9), "about": (0.75, 1.3), "faster": (1.05, 1e9)}


def found(folder: Path, names: list[str]) -> list[dict[str, Any]]:
    """Problem, path, backend and expected speed of each file to be checked, those of one problem together."""
    contestant = Folder(folder)
    for ignored in contestant.ignored:
        print(f"FAIL {ignored}: not named after a problem", flush=True)
    tasks = []
    for problem in contestant.problems():
        for sample in contestant.samples(problem):
            path = contestant.file(problem, sample)
            if names and not any(name in path.relative_to(folder).as_posix() for name in names):
                continue
            text = path.read_text()
            expect = re.search(r"^# expect: (slower|about|faster)$", text, re.MULTILINE)
            style = re.search(r"^# style: \S", text, re.MULTILINE)
            if expect is None or style is None:
                print(f"FAIL {path.name}: its head lacks `# style:` or `# expect:`", flush=True)
                continue
            backend = detect(text)
            tasks.append({"problem": problem, "path": str(path), "backend": backend, "expect": expect[1]})
    return tasks


def written(folder: Path) -> Path:
    """A folder with the texts of `expert`, all expected to be faster."""
    expert = Expert()
    for problem in expert.problems():
        file = expert.file(problem, 0)
        place = folder / file.parent.name / file.name
        place.parent.mkdir(exist_ok=True)
        place.write_text(f"{expert.text(file)}\n# style: expert\n# expect: faster\n")
    return folder


def build_all(tasks: list[dict[str, Any]], jobs: int, device: str) -> list[dict[str, Any]]:
    """Those that build, with the folder of their build; the others are reported."""
    from kernelgauge.session.session import Session

    def one(task: dict[str, Any]) -> tuple[dict[str, Any], str]:
        source = Path(task["path"]).read_text()
        candidate = Candidate(problem=task["problem"], source=source, backend=task["backend"], origin=task["path"])
        try:
            built = session.supervisor.build(candidate, device)
        except Failure as failure:
            return task, f"{failure.outcome.value}: {failure.reason}"
        return task | {"build": str(built.folder) if built.folder else None}, ""

    ready = []
    with Session() as session, ThreadPoolExecutor(jobs) as pool:
        for task, why in pool.map(one, tasks):
            if why:
                print(f"FAIL {Path(task['path']).name}: {why[:300]}", flush=True)
            else:
                ready.append(task)
    return ready


def check_all(tasks: list[dict[str, Any]], sizes: str, device: str) -> int:
    """Check in processes apart, each going on where the one before it failed; the number of files that are right."""
    good, left = 0, list(tasks)
    while left:
        at: str | None = None
        done: set[str] = set()
        for line in _worker(left, sizes, device):
            word, _, rest = line.partition(" ")
            if word == "at":
                at = rest
            elif word == "done":
                path, _, rest = rest.partition(" ")
                done.add(path)
                good += rest.startswith("OK")
                print(rest, flush=True)
            else:
                print(f"FAIL {Path(at or left[0]['path']).name}: {rest[:300]}", flush=True)
                done.add(at or left[0]["path"])
        left = [task for task in left if task["path"] not in done]
    return good


def _worker(tasks: list[dict[str, Any]], sizes: str, device: str) -> Iterator[str]:
    """What a process that checks these files says, and why it ended if not all are done."""
    command = [sys.executable, __file__, "--worker", "--sizes", sizes, "--device", device]
    lines: queue.Queue[str | None] = queue.Queue()
    with tempfile.TemporaryFile("w+") as errors:
        child = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=errors, text=True)
        assert child.stdin is not None and child.stdout is not None

        def read() -> None:
            for line in child.stdout or ():
                lines.put(line.rstrip("\n"))
            lines.put(None)

        threading.Thread(target=read, daemon=True).start()
        child.stdin.write(json.dumps(tasks))
        child.stdin.close()
        why = ""
        while True:
            try:
                line = lines.get(timeout=_SECONDS_A_FILE)
            except queue.Empty:
                why = f"no end within {_SECONDS_A_FILE} s"
                child.kill()
                continue
            if line is None:
                break
            if line.startswith(f"{_MARK} "):
                yield line.removeprefix(f"{_MARK} ")
        if child.wait() != 0:
            errors.seek(0)
            last = (errors.read().strip().splitlines() or [""])[-1]
            yield f"ended {why or f'the process ended with {child.returncode}: {last}'}"


def work(sizes: str, device: str) -> None:
    """Be that process: check the files told on stdin, those of one problem side by side."""
    tasks = json.load(sys.stdin)
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = False
    while tasks:
        same = [task for task in tasks if task["problem"] == tasks[0]["problem"]]
        tasks = tasks[len(same) :]
        checked(same, sizes, device)
        gc.collect()
        if device == "cuda":
            torch.cuda.empty_cache()


def say(text: str) -> None:
    print(f"{_MARK} {text}", flush=True)


def checked(tasks: list[dict[str, Any]], sizes: str, device: str) -> None:
    """Compare the files of one problem with its reference under both kinds of input, and say how each fared."""
    problem = load_problem(tasks[0]["problem"], sizes=sizes)
    reference: dict[str, Any] = {"__name__": "reference"}
    say(f"at {tasks[0]['path']}")
    exec(compile(problem.source, "reference", "exec"), reference)
    right = made(reference["Model"], reference, device)
    models = {}
    for task in tasks:
        say(f"at {task['path']}")
        try:
            models[task["path"]] = made(load(task, device).ModelNew, reference, device)
            compare_weights(right, models[task["path"]])
        except Exception as error:  # boundary: the candidate's own code; the report says so
            report(task, f"{type(error).__name__}: {error}", device)
    told = {path: {"rms": 0.0, "eager": 0.0, "worst": 0.0, "ms": 0.0, "against": ""} for path in models}
    for variant in ("own", "normal"):
        inputs = drawn(reference, variant, problem.domains, device)
        eager = forward(right, inputs)
        truth, against = exact(right, inputs, eager)
        eager_errors = errors(eager, truth)
        slow = timed(right, inputs, device) if variant == "own" else 0.0
        del eager
        for task in [task for task in tasks if task["path"] in models]:
            entry = told[task["path"]]
            say(f"at {task['path']}")
            try:
                rms, worst = errors(forward(models[task["path"]], inputs), truth)
                if variant == "own":
                    entry["ms"], entry["reference_ms"] = timed(models[task["path"]], inputs, device), slow
            except Exception as error:  # boundary: the candidate's own code; the report says so
                report(task, f"{variant} inputs: {type(error).__name__}: {error}", device)
                del models[task["path"]]
                continue
            entry["eager"] = max(entry["eager"], eager_errors[0])
            entry["rms"], entry["worst"] = max(entry["rms"], rms), max(entry["worst"], worst)
            limits = max(_RMS, _OVER_EAGER * eager_errors[0]), max(_WORST, _OVER_EAGER * eager_errors[1])
            entry["against"] = against
            if not (rms <= limits[0] and worst <= limits[1]):
                report(task, f"{variant} inputs: rms {rms:.1e} worst {worst:.1e}, limits {limits}, {against}", device)
                del models[task["path"]]
    for task in tasks:
        if task["path"] in models:
            report(task, "", device, told[task["path"]])


def report(task: dict[str, Any], why: str, device: str, entry: dict[str, Any] | None = None) -> None:
    """One line for a file; the process ends where a fault has spoilt its context."""
    name = "/".join(Path(task["path"]).parts[-2:])
    why = " ".join(why.split())[:400]
    if entry is None:
        say(f"done {task['path']} FAIL {name}: {why}")
    else:
        ratio = entry["reference_ms"] / entry["ms"]
        low, high = _EXPECTED[task["expect"]]
        note = "" if low <= ratio <= high or device == "cpu" else f" (expected {task['expect']})"
        say(
            f"done {task['path']} OK   {name}: rms {entry['rms']:.1e} ({entry['eager']:.1e}) worst "
            f"{entry['worst']:.1e} {entry['ms']:.2f} ms, reference {entry['reference_ms']:.2f} ms, "
            f"{ratio:.2f}x{note} [{entry['against']}]"
        )
    if "CUDA error" in why or "CUBLAS_STATUS" in why or "CUDNN_STATUS" in why:
        os._exit(0)


def load(task: dict[str, Any], device: str) -> Any:
    """The candidate's module, as the evaluator's workers import it."""
    backend = backend_named(task["backend"])
    scratch = Path(tempfile.gettempdir(), f"honest-kernels-{os.getuid()}")
    os.environ.update(backend.environment(device, scratch))
    return backend.load(Path(task["path"]), Path(task["build"]) if task.get("build") else None)


def made(model: Callable[..., torch.nn.Module], reference: dict[str, Any], device: str) -> torch.nn.Module:
    """A model under the one seed, on the device; drawn there, as gigabytes of weights are."""
    with torch.device(device):
        torch.manual_seed(42)
        arguments = reference["get_init_inputs"]()
        torch.manual_seed(43)
        return model(*arguments).to(device)


def compare_weights(right: torch.nn.Module, model: torch.nn.Module) -> None:
    mine, wanted = model.state_dict(), right.state_dict()
    if list(mine) != list(wanted):
        raise ValueError(f"parameters are {list(mine)[:6]}, the reference's {list(wanted)[:6]}")
    if different := [name for name in wanted if not torch.equal(mine[name], wanted[name])]:
        raise ValueError(f"equal seeds give other values for {different[:6]}")


def drawn(reference: dict[str, Any], variant: str, domains: dict[str, str], device: str) -> list[Any]:
    """The inputs of one call, drawn on the device; those that allow no other values stay as published."""
    with torch.device(device):
        torch.manual_seed(7)
        inputs = reference["get_inputs"]()
    for place, domain in enumerate(domains.values()):
        value = inputs[place]
        if variant == "normal" and domain != "fixed" and torch.is_tensor(value) and value.is_floating_point():
            inputs[place] = value.normal_().abs_() if domain == "positive" else value.normal_()
    return inputs


def forward(model: torch.nn.Module, inputs: list[Any]) -> list[torch.Tensor]:
    torch.manual_seed(11)
    with torch.no_grad():
        output = model(*inputs)
    return list(output) if isinstance(output, tuple | list) else [output]


def exact(right: torch.nn.Module, inputs: list[Any], eager: list[torch.Tensor]) -> tuple[list[torch.Tensor], str]:
    """The reference's answer in float64, or the eager one where it does not run so or does not fit."""
    double = None
    try:
        double = copy.deepcopy(right).double()
        wide = [v.double() if torch.is_tensor(v) and v.is_floating_point() else v for v in inputs]
        return forward(double, wide), "float64"
    except (
        Exception
    ):  # boundary: the problem's own code, perhaps for float32 only, or too large; the row says "eager"
        return eager, "eager"
    finally:
        del double
        gc.collect()
        if torch.cuda.is_available():
            torch.cuda.empty_cache()


def errors(mine: list[torch.Tensor], truth: list[torch.Tensor]) -> tuple[float, float]:
    """Relative root mean square error and worst error over the root mean square, the larger of all outputs."""
    if [tuple(t.shape) for t in mine] != [tuple(t.shape) for t in truth]:
        raise ValueError(f"shapes are {[tuple(t.shape) for t in mine]}, wanted {[tuple(t.shape) for t in truth]}")
    found = [_errors(a.reshape(-1), b.reshape(-1)) for a, b in zip(mine, truth, strict=True)]
    return max(rms for rms, _ in found), max(worst for _, worst in found)


def _errors(mine: torch.Tensor, truth: torch.Tensor) -> tuple[float, float]:
    squares = total = worst = 0.0
    for a, b in zip(mine.split(1 << 27), truth.split(1 << 27), strict=True):
        a, b = a.double(), b.double()
        off = (a - b).masked_fill_((a == b) | (a.isnan() & b.isnan()), 0.0).abs_()
        squares += float(off.square().sum())
        worst = max(worst, float(off.max()) if not off.isnan().any() else float("inf"))
        total += float(b.nan_to_num(0.0, 0.0, 0.0).square().sum())
    size = max((total / max(truth.numel(), 1)) ** 0.5, 1e-30)
    return (squares / max(truth.numel(), 1)) ** 0.5 / size, worst / size


def timed(model: torch.nn.Module, inputs: list[Any], device: str) -> float:
    """Milliseconds of a call: the mean of three, by events on a GPU; warm from the comparison."""
    if device == "cpu":
        started = time.perf_counter()
        forward(model, inputs)
        return 1e3 * (time.perf_counter() - started)
    start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    torch.cuda.synchronize()
    start.record()
    for _ in range(3):
        forward(model, inputs)
    end.record()
    torch.cuda.synchronize()
    return start.elapsed_time(end) / 3


def main() -> None:
    """Build, check, count; the exit code is 1 if a file is not right."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("names", nargs="*", help="parts of paths; default: all files")
    parser.add_argument("--folder", type=Path, default=FOLDER)
    parser.add_argument("--expert", action="store_true", help="those of the contestant `expert`")
    parser.add_argument("--jobs", type=int, default=16, help="builds at once")
    parser.add_argument("--sizes", default="full")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu")
    parser.add_argument("--worker", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.worker:
        work(options.sizes, options.device)
        return
    started = time.monotonic()
    folder = written(Path(tempfile.mkdtemp())) if options.expert else options.folder.absolute()
    tasks = found(folder, options.names)
    # C++ that calls ATen runs wherever the tensors are.
    runnable = [t for t in tasks if t["backend"] == "cpp" or options.device in backend_named(t["backend"]).devices]
    if len(runnable) < len(tasks):
        print(f"{len(tasks) - len(runnable)} files need another device than {options.device}", flush=True)
    ready = build_all(runnable, options.jobs, options.device)
    built = time.monotonic()
    good = check_all(ready, options.sizes, options.device)
    spent = f"{built - started:.0f} s to build, {time.monotonic() - built:.0f} s to check"
    print(f"{good} of {len(tasks)} right, {spent}")
    sys.exit(good < len(tasks))


if __name__ == "__main__":
    main()

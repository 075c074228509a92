"""PyTorch's own modes as candidates: real compiles in the real evaluator, and the command that measures them."""

from __future__ import annotations

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from commands import command_here
from factories import quick_protocol

from kernelgauge.config import Limits, MathMode
from kernelgauge.evaluation.rehearsal import Call, key_of
from kernelgauge.generation.torch_modes import TorchModes, baseline, modes_on
from kernelgauge.hardware.environment import gpu
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import MODES, Outcome
from kernelgauge.session.session import Session
from kernelgauge.store.baselines import FILE, Baselines, read
from kernelgauge.store.run import Run

NEEDS_GPU = pytest.mark.skipif(gpu() is None, reason="no NVIDIA GPU is visible here")


def test_a_candidate_is_compiled_for_one_setting() -> None:
    problem = load_problem("1/19", sizes="small")
    texts = {
        (device, mode, math_mode, threads): TorchModes(MODES, math_mode, threads).complete(problem, i, device).source
        for device in ("cpu", "cuda")
        for i, mode in enumerate(MODES)
        for math_mode in ("ieee", "fp16", "bf16")
        for threads in (2, 4)
    }
    compiled = {key: text for key, text in texts.items() if key[1] != "eager"}
    assert len(set(compiled.values())) == len(compiled), "what is compiled for another setting is another text"
    modes = get_args(MathMode)
    candidate = TorchModes(MODES, "ieee", 2).complete(problem, 1, "cuda")
    keys = {key_of(candidate, "cuda", Call(problem, math_mode, "ModelNew", None)) for math_mode in modes}
    assert len(keys) == len(modes), "or another build: TF32 is allowed or not by the build"
    for (device, mode, *_), text in texts.items():
        graphs = device == "cuda" and mode in ("compile-reduce-overhead", "compile-max-autotune")
        assert ("clone" in text) == graphs, "only the outputs of CUDA graphs have to be copied"
        compile(text, "candidate.py", "exec")
    assert modes_on("cuda") == MODES
    assert "compile-reduce-overhead" not in modes_on("cpu")
    assert TorchModes(("compile", "eager"), "ieee", 2).samples("1/1") == [0, 1]


@pytest.mark.proof("generation/torch_modes.py", "timing")
def test_a_dropout_draws_what_eager_draws_and_is_compiled_once(session: Session) -> None:
    problem = load_problem("2/66", sizes="small")
    candidate = TorchModes(MODES, "ieee", session.settings.threads).complete(problem, 1, "cpu")
    record = session.evaluate(problem, candidate.source, backend="torch", timed=False, kernel_policy="any")
    assert record.passed, record.reason
    assert record.weight_sync == "seed"
    folder = session.supervisor.build(candidate, "cpu").folder
    assert folder is not None and list((folder / "inductor").rglob("*.so"))
    assert not (folder / "inductor" / "triton").exists()


@pytest.mark.proof("generation/torch_modes.py", "timing")
def test_a_build_autotunes_on_every_core(session: Session) -> None:
    source = """import os
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)


def compile_ahead():
    from torch._inductor.select_algorithm import get_num_workers

    assert get_num_workers() == len(os.sched_getaffinity(0)), get_num_workers()
"""
    record = session.evaluate(
        load_problem("1/19", sizes="small"), source, backend="torch", timed=False, kernel_policy="any"
    )
    assert record.passed, record.reason


@pytest.mark.proof("backends/torch.py", "evaluation/rehearsal.py", "evaluation/build.py", "worker/candidate.py")
@pytest.mark.parametrize("protocol", ["strict", "v0.1"])
def test_a_worker_finds_what_the_build_has_compiled(session: Session, protocol: str) -> None:
    """Under each arithmetic, though it is one text: TorchInductor's cache asks how PyTorch has been set."""
    problem = load_problem("1/19", sizes="small")
    source = TorchModes(MODES, "ieee", session.settings.threads).complete(problem, 1, "cpu").source
    call = "return self.compiled(*arguments)"
    assert source.count(call) == 1
    asked = """answer = self.compiled(*arguments)
        from torch._dynamo.utils import counters

        found = counters["inductor"]
        if not in_the_build and (found["fxgraph_cache_miss"] or not found["fxgraph_cache_hit"]):
            raise RuntimeError(f"compiled again: {dict(found)}")
        return answer"""
    source = source.replace(call, asked) + "\n\nin_the_build = False\n"
    source = source.replace(
        "def compile_ahead():\n", "def compile_ahead():\n    global in_the_build\n    in_the_build = True\n"
    )
    record = session.evaluate(
        problem, source, backend="torch", timed=False, kernel_policy="any", protocol=protocol, device="cpu"
    )
    assert record.passed, record.reason


@pytest.mark.proof("generation/torch_modes.py", "timing")
def test_a_mode_that_is_wrong_is_data(session: Session) -> None:
    problem = load_problem("1/19", sizes="small")
    signature = "def forward(self, x: torch.Tensor) -> torch.Tensor:\n"
    different = f"{signature}        x = x * 2 if torch.compiler.is_compiling() else x\n"
    other = problem.model_copy(update={"source": problem.source.replace(signature, different)})
    assert other.source != problem.source
    candidate = TorchModes(MODES, "ieee", session.settings.threads).complete(other, 1, "cpu")
    record = session.evaluate(other, candidate.source, backend="torch", timed=False, kernel_policy="any")
    assert record.outcome is Outcome.WRONG_VALUE
    found = baseline(record.model_copy(update={"sample": 1}))
    assert (found.mode, found.outcome, found.measured) == ("compile", Outcome.WRONG_VALUE, None)
    assert "trial 1" in found.reason


@pytest.fixture(scope="module", autouse=True)
def own_cache(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The commands below store baselines, which no other test is to find."""
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("baselines-cache")
        patch.setenv("KERNELGAUGE_CACHE", str(folder))
        yield folder


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The strict protocol with as few samples as it allows."""
    path = tmp_path_factory.mktemp("protocol") / "quick.toml"
    path.write_text(quick_protocol())
    return path


def asked(*arguments: object) -> str:
    done = command_here(*map(str, arguments), COLUMNS="160")
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.proof("generation/torch_modes.py", "timing")
def test_measured_compared_and_measured_again(quick: Path, tmp_path: Path, own_cache: Path) -> None:
    small = ("--sizes", "small", "--device", "cpu", "--protocol", quick)
    out = tmp_path / "baselines"
    printed = asked("baseline", "--out", out, "--problems", "1/19", "--modes", "eager,compile", *small)
    assert "1/19 relu" in printed and "geometric mean, level 1" in printed
    found = read(out)
    assert [each.mode for each in found] == ["eager", "compile"]
    assert all(each.measured for each in found), [each.reason for each in found]
    assert all(each in Baselines(own_cache / "baselines").all() for each in found)
    assert [record.sample for record in Run.read(out).evaluations()] == [0, 1]

    (tmp_path / "relu.py").write_text(
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n"
        "    def forward(self, x):\n        return torch.relu(x)\n"
    )
    verdict = json.loads(asked("eval", "1/19", tmp_path / "relu.py", *small, "--json"))
    # On a busy machine eager may take another time by now: then the record must say so, and nothing else.
    stale = any("no speedup over the strongest baseline" in note for note in verdict["notes"])
    assert stale == (verdict["speedup_over_strongest"] is None)
    assert stale == (verdict["strongest_baseline"] is None)

    again = tmp_path / "again"
    asked("baseline", "--out", again, "--recheck", 3, "--modes", "eager", *small)
    assert [(each.problem, each.mode) for each in read(again)] == [("1/19", "eager")]
    board = json.loads(asked("baseline", "show", again, "--json"))["boards"][0]
    assert board["rows"][0]["problem"] == "1/19"
    assert "0 of 2 baselines were new here" in asked("baseline", "add", out)


@pytest.mark.proof("generation/torch_modes.py", "timing")
def test_a_killed_measurement_goes_on(quick: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    arguments = ["baseline", "--out", str(out), "--problems", "1/19,1/20,1/21", "--modes", "eager"]
    arguments += ["--sizes", "small", "--device", "cpu", "--protocol", str(quick)]
    line = [sys.executable, "-m", "kernelgauge", *arguments]
    journal = out / "evaluations.jsonl"
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    deadline = time.monotonic() + 120
    while not (journal.exists() and journal.read_bytes().count(b"\n")):
        assert time.monotonic() < deadline and running.poll() is None
        time.sleep(0.02)
    running.send_signal(signal.SIGKILL)
    running.communicate()
    kept = Run.read(out).evaluations()
    assert not (out / FILE).exists()
    asked(*arguments)
    assert Run.read(out).evaluations()[: len(kept)] == kept
    assert sorted(each.problem for each in read(out)) == ["1/19", "1/20", "1/21"]


@pytest.mark.gpu
@NEEDS_GPU
@pytest.mark.parametrize(
    ("mode", "key"),
    # 3/8 has several kernels, and 3/33 some C++ for tensors that stay on the CPU.
    [*((mode, "2/76") for mode in MODES), ("compile", "3/8"), ("compile", "3/33")],
)
def test_every_mode_passes_on_a_gpu(mode: str, key: str) -> None:
    problem = load_problem(key, sizes="medium")
    with Session(limits=Limits(build_seconds=1800, call_seconds=300)) as session:
        contestant = TorchModes(MODES, "ieee", session.settings.threads)
        candidate = contestant.complete(problem, MODES.index(mode), "cuda")  # type: ignore[arg-type]
        record = session.evaluate(problem, candidate.source, backend="torch", device="cuda", kernel_policy="any")
        assert record.passed, f"{record.reason}\n{record.log}"


@pytest.mark.gpu
@NEEDS_GPU
def test_without_the_copy_a_cuda_graph_returns_the_same_memory(session: Session) -> None:
    problem = load_problem("2/76", sizes="medium")
    candidate = TorchModes(MODES, "ieee", session.settings.threads).complete(problem, 2, "cuda")
    bare = re.sub(r"return torch\.utils\._pytree.*", "return self.compiled(*arguments)", candidate.source)
    assert bare != candidate.source
    record = session.evaluate(problem, bare, backend="torch", device="cuda", timed=False, kernel_policy="any")
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "output_reused"), record.reason

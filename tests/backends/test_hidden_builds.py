"""Builds beside somebody else's timing: they see no GPU, make way, and wait for one only where they ask for it."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernelgauge.backends.hidden_device import DeviceAsked, hidden_device
from kernelgauge.backends.parts import parts
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import load_protocol
from kernelgauge.evaluation.job import Job
from kernelgauge.evaluation.progress import Progress
from kernelgauge.hardware.environment import environment
from kernelgauge.schema import Candidate, Outcome, Problem
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.processes

CANDIDATES = Path(__file__).parents[2] / "benchmarks" / "cuda_candidates"

needs_nvcc = pytest.mark.skipif(
    backend_named("cuda").cannot_build() is not None, reason=backend_named("cuda").cannot_build() or ""
)

REFERENCE = """
import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return x * 2.5


def get_inputs():
    return [torch.rand(33, 65)]


def get_init_inputs():
    return []
"""

# Without PyTorch's headers an extension compiles in a second.
CANDIDATE = '''
import os

import torch
from torch.utils.cpp_extension import load_inline

KERNEL = r"""
__global__ void scale(const float* x, float* y, int count) {
    int i = blockIdx.x * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] * 2.5f;
}
"""
FIRST
kernels = load_inline(name="scaled", cpp_sources="", cuda_sources=KERNEL, no_implicit_headers=True)
THEN


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x * 2.5
'''

EXTENSION = '''
import torch
from torch.utils.cpp_extension import load_inline

CUDA = r"""
#include <torch/extension.h>

__global__ void scale_kernel(const float* x, float* y, int64_t count) {
    const int64_t i = static_cast<int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
    if (i < count) y[i] = x[i] * 2.5f;
}

torch::Tensor scale(torch::Tensor x) {
    TORCH_CHECK(x.is_cuda() && x.is_contiguous(), "a dense tensor on a GPU");
    auto y = torch::empty_like(x);
    scale_kernel<<<(x.numel() + 255) / 256, 256>>>(x.data_ptr<float>(), y.data_ptr<float>(), x.numel());
    return y;
}
"""
kernels = load_inline(name="scaled", cpp_sources="torch::Tensor scale(torch::Tensor x);", cuda_sources=CUDA,
                      functions=["scale"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return kernels.scale(x.contiguous())
'''


def job_of(source: str) -> Job:
    problem = Problem(key="scaled", name="scaled", source=REFERENCE)
    candidate = Candidate(problem="scaled", source=source, backend="cuda")
    return Job(problem, candidate, load_protocol("strict"), "cuda", environment(1))


def prepared(session: Session, first: str = "", then: str = "") -> Progress:
    return session.supervisor.prepare(job_of(CANDIDATE.replace("FIRST", first).replace("THEN", then)))


@pytest.mark.parametrize(
    "question", [torch.cuda.is_available, torch.cuda.device_count, lambda: torch.zeros(1, device="cuda")]
)
def test_a_question_about_the_gpu_is_no_answer(question: object) -> None:
    if torch.cuda.is_initialized():
        pytest.skip("this process has a GPU already")
    name = getattr(question, "__name__", "")
    with pytest.raises(DeviceAsked), hidden_device():
        getattr(torch.cuda, name, question)()  # type: ignore[operator]
    with pytest.raises(DeviceAsked), hidden_device():
        try:
            torch.cuda.device_count()
        except BaseException:
            pass
    assert isinstance(torch.cuda.is_available(), bool)


@needs_nvcc
def test_a_build_beside_others_sees_no_gpu_and_makes_way(session: Session) -> None:
    progress = prepared(session, 'assert os.environ["CUDA_VISIBLE_DEVICES"] == "" and os.nice(0) >= 10')
    assert progress.failure is None, progress.failure
    assert progress.build_dir is not None


@needs_nvcc
@pytest.mark.parametrize("first", ["torch.cuda.is_available()", 'raise RuntimeError("CUDA error: no device")'])
def test_a_candidate_that_needs_the_gpu_is_left_to_when_it_has_one(session: Session, first: str) -> None:
    progress = prepared(session, first)
    assert (progress.failure, progress.built) == (None, None)


@needs_nvcc
def test_a_question_after_the_first_extension_counts_too(session: Session) -> None:
    progress = prepared(session, then="torch.cuda.device_count()" if torch.version.cuda else "")
    assert progress.failure is None
    assert (progress.built is not None) is (torch.version.cuda is None)


@needs_nvcc
@pytest.mark.parametrize(
    ("change", "outcome"),
    [({"x[i] * 2.5f;": "x[i] * 2.5f"}, Outcome.BUILD_FAILED), ({"FIRST": "no_such_name"}, Outcome.LOAD_FAILED)],
)
def test_a_candidates_own_fault_is_found_without_a_gpu(
    session: Session, change: dict[str, str], outcome: Outcome
) -> None:
    source = CANDIDATE
    for old, new in change.items():
        source = source.replace(old, new)
    job = job_of(source.replace("FIRST", "").replace("THEN", ""))
    failure = session.supervisor.prepare(job).failure
    assert failure is not None
    assert failure.outcome is outcome, failure


@pytest.mark.gpu
def test_an_extension_with_slim_headers_passes_on_the_device(session: Session) -> None:
    problem = Problem(key="scaled", name="scaled", source=REFERENCE)
    record = session.evaluate(problem, EXTENSION, device="cuda", timed=False)
    assert record.passed, record.reason
    built = session.supervisor.build(Candidate(problem="scaled", source=EXTENSION, backend="cuda"), "cuda")
    assert built.folder is not None and not built.made
    assert [part.route for part in parts(built.folder)] == ["slim"]


@pytest.mark.gpu
def test_a_candidate_that_asks_for_the_gpu_passes_there(session: Session) -> None:
    problem = Problem(key="scaled", name="scaled", source=REFERENCE)
    asking = EXTENSION.replace("kernels =", "assert torch.cuda.is_available()\nkernels =", 1)
    record = session.evaluate(problem, asking, device="cuda", timed=False)
    assert record.passed, record.reason


@pytest.mark.gpu
def test_a_run_builds_the_next_candidates_while_it_judges(tmp_path: Path) -> None:
    """One of four asks for the GPU as it is imported, one does not compile; every one gets its record."""
    answers = tmp_path / "answers"
    answers.mkdir()
    candidates = {
        "19_relu": "",
        "22_tanh": "",
        "26_gelu": "torch.cuda.synchronize()\n",
        "29_softplus": "no_such_name\n",
    }
    for number, (name, more) in enumerate(candidates.items()):
        source = (CANDIDATES / "level1" / f"{name}.py").read_text()
        (answers / f"1_{name}.py").write_text(f"{source}\n# build {number} of this run\n{more}")
    out = tmp_path / "run"
    command = [sys.executable, "-m", "kernelgauge", "run", "--contestant", f"folder:{answers}", "--device", "cuda"]
    subprocess.run([*command, "--sizes", "medium", "--out", str(out)], check=True)
    outcomes = {record.problem: record.outcome for record in Run.read(out).evaluations()}
    passed = dict.fromkeys(("1/19", "1/22", "1/26"), Outcome.PASSED)
    assert outcomes == passed | {"1/29": Outcome.LOAD_FAILED}

"""Records as the evaluator would make them, for tests of what comes after it."""

from __future__ import annotations

import math
import random
import re
from datetime import UTC, datetime
from importlib import resources
from typing import Any

from kernelgauge.schema import (
    Baseline,
    Bound,
    Candidate,
    Environment,
    Evaluation,
    Measured,
    Mode,
    Outcome,
    RunHeader,
    Timing,
    Trial,
    Work,
)

PROTOCOL_DIGEST = "0123456789abcdef"
NAMES = ("Square_matrix_multiplication", "Softmax", "LayerNorm", "Conv2d_ReLU_BiasAdd", "ResNet18", "GELU")


WORK = Work(flops=2_000_000, inputs=400_000, parameters=0, outputs=100_000)
BOUND = Bound(
    bound_ms=0.5,
    bytes_ms=0.5,
    flops_ms=0.25,
    binding="memory",
    share=0.5,
    headroom=4.0,
    work=WORK,
    rate="fp32",
    peaks="measured",
)


REFERENCE = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x) * 2 + 1


def get_inputs():
    return [torch.rand(33, 65)]


def get_init_inputs():
    return []
"""
"""A problem that takes no time."""


def make_environment(**changes: Any) -> Environment:
    values: dict[str, Any] = {
        "kernelgauge": "0.1.0",
        "python": "3.12.3",
        "torch": "2.11.0+cu130",
        "triton": "3.6.0",
        "compiler": "nvcc 13.0",
        "cuda": "13.0",
        "platform": "Linux-6.8-x86_64",
        "cpu": "AMD EPYC 9654",
        "cores": 16,
        "threads": 16,
        "memory_gb": 128.0,
        "gpu": "NVIDIA H200",
        "driver": "580.65",
    }
    return Environment(**{**values, **changes})


def make_header(**changes: Any) -> RunHeader:
    values: dict[str, Any] = {
        "kernelgauge": "0.1.0",
        "contestant": "folder:answers",
        "problems": ("1/1", "1/2"),
        "sizes": "full",
        "device": "cuda",
        "protocol": "strict",
        "protocol_digest": PROTOCOL_DIGEST,
    }
    return RunHeader(**{**values, **changes})


def make_timing(speedup: float, spread: float = 0.01, samples: int = 20, seed: int = 0) -> Timing:
    """A timing whose interval reaches `spread`, relative, to both sides of `speedup`."""
    draw = random.Random(seed)
    reference = [2.0 * (1 + spread * draw.gauss(0, 1)) for _ in range(samples)]
    candidate = [2.0 / speedup * (1 + spread * draw.gauss(0, 1)) for _ in range(samples)]
    return Timing(
        clock="parent",
        reference_ms=2.0,
        candidate_ms=2.0 / speedup,
        speedup=speedup,
        interval=(speedup * (1 - spread), speedup * (1 + spread)),
        confidence=0.95,
        overhead_ms=0.3,
        reference_samples_ms=tuple(reference),
        candidate_samples_ms=tuple(candidate),
        stopped="precise",
    )


def make_candidate(problem: str = "1/1", source: str = "class ModelNew: ...\n", **changes: Any) -> Candidate:
    values: dict[str, Any] = {"problem": problem, "source": source, "backend": "triton"}
    return Candidate(**{**values, **changes})


def make_evaluation(
    problem: str = "1/1",
    speedup: float | None = 1.5,
    outcome: Outcome | str = Outcome.PASSED,
    *,
    spread: float = 0.01,
    seed: int = 0,
    **changes: Any,
) -> Evaluation:
    """A pass with `speedup`; or, with another `outcome`, a failure with a reason and no time."""
    outcome = Outcome(outcome)
    passed = outcome is Outcome.PASSED
    level = int(problem.split("/")[0]) if problem[0].isdigit() else None
    error = 2e-7 if passed else math.inf
    values: dict[str, Any] = {
        "problem": problem,
        "level": level,
        "problem_name": NAMES[sum(map(ord, problem)) % len(NAMES)],
        "problem_digest": "fedcba9876543210",
        "sizes": "full",
        "contestant": "folder:answers",
        "sample": 0,
        "backend": "triton",
        "candidate_digest": make_candidate(problem).digest,
        "protocol": "strict",
        "protocol_digest": PROTOCOL_DIGEST,
        "device": "cuda",
        "environment": make_environment(),
        "isolation": ("network", "pid", "ipc", "mount", "limits", "files", "reads", "syscalls"),
        "outcome": outcome,
        "reason": "" if passed else f"the candidate was {outcome.value} in trial 2",
        "rule": "calls-reference" if outcome is Outcome.REJECTED else None,
        "trials": (Trial(variant="own", error=error, allowed=1e-6, reference_error=1e-7, worst=9e-7, agreed=passed),),
        "timing": make_timing(speedup, spread, seed=seed) if passed and speedup is not None else None,
        "seconds": {"build": 1.25, "check": 0.5, "time": 2.0},
        "log": "nvcc warning #177-D: variable was declared but never referenced\n",
    }
    if changes.get("trivial_answers"):
        values["scored"] = False
    return Evaluation(**{**values, **changes})


FIVE = [
    make_evaluation("1/1", 2.5),
    make_evaluation("1/2", 1.005, spread=0.02),
    make_evaluation("1/3", 0.6),
    make_evaluation("2/1", outcome="wrong_value"),
    make_evaluation("2/2", outcome="rejected"),
]
"""Faster; a tie whose estimate is above 1; slower; two failures."""


def make_baseline(
    problem: str = "1/1", mode: Mode = "compile", speedup: float | None = 1.25, spread: float = 0.01, **changes: Any
) -> Baseline:
    """A mode measured where `make_evaluation` judges, with eager at 2 ms; without a speedup, one that fails."""
    measured = None
    if speedup is not None:
        measured = Measured(
            milliseconds=2.0 / speedup,
            speedup=speedup,
            interval=(speedup * (1 - spread), speedup * (1 + spread)),
            confidence=0.95,
            eager_ms=2.0,
            eager_interval_ms=(1.99, 2.01),
        )
    values: dict[str, Any] = {
        "created": datetime(2026, 11, 20, tzinfo=UTC),
        "problem": problem,
        "level": int(problem.split("/")[0]),
        "problem_name": "Softmax",
        "problem_digest": "fedcba9876543210",
        "sizes": "full",
        "device": "cuda",
        "protocol": "strict",
        "protocol_digest": PROTOCOL_DIGEST,
        "math": "ieee",
        "environment": make_environment(),
        "mode": mode,
        "outcome": "passed" if measured else "build_failed",
        "reason": "" if measured else "build: InductorError",
        "measured": measured,
    }
    return Baseline(**{**values, **changes})


def make_answer(problem: str = "1/1", source: str | None = None, **changes: Any) -> tuple[Evaluation, Candidate]:
    """An evaluation and the candidate it belongs to, ready for `Run.append`."""
    candidate = make_candidate(problem, source or f"# answer to {problem}\nclass ModelNew: ...\n")
    return make_evaluation(problem, candidate_digest=candidate.digest, **changes), candidate


KERNEL = '''import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = """
#include <cuda_runtime.h>

// One row a block; the maximum first, so that the exponent cannot overflow.
__global__ void softmax(const float* __restrict__ x, float* y, int columns) {
    __shared__ float shared[256];
    float most = -1e30f;
    for (int i = threadIdx.x; i < columns; i += blockDim.x) {
        most = fmaxf(most, x[blockIdx.x * columns + i]);
    }
    y[blockIdx.x] = most;
}
"""


class ModelNew(nn.Module):
    """Answer NUMBER."""

    def __init__(self):
        super().__init__()
        self.scale = 0.5  # folded into the kernel

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return x if x.numel() == 0 else softmax(x, self.scale)
'''

FAILURES = ("wrong_value", "wrong_precision", "wrong_shape", "build_failed", "runtime_error", "timed_out")


def make_run(problems: int = 250, samples: int = 1, seed: int = 1) -> list[tuple[Evaluation, Candidate]]:
    """A plausible run over four levels: two thirds pass, log-normal speedups, some of everything else."""
    draw = random.Random(seed)
    answers = []
    for number in range(problems):
        problem = f"{1 + number * 4 // problems}/{1 + number}"
        for sample in range(samples):
            luck = draw.random()
            outcome = "passed" if luck < 0.66 else "rejected" if luck < 0.69 else draw.choice(FAILURES)
            candidate = make_candidate(problem, KERNEL.replace("NUMBER", f"{number}.{sample}"), sample=sample)
            evaluation = make_evaluation(
                problem,
                round(2 ** draw.gauss(0.25, 0.7), 4),
                outcome,
                spread=draw.choice((0.004, 0.01, 0.05)),
                seed=number,
                sample=sample,
                candidate_digest=candidate.digest,
                backend=draw.choice(("cuda", "triton")),
                trivial_answers=("zeros",) if draw.random() < 0.02 else (),
            )
            answers.append((evaluation, candidate))
    return answers


def make_log(verdicts: list[tuple[Any, str | None]]) -> Any:
    """A log of Inspect with these verdicts, as our scorer writes them."""
    from inspect_ai.log import EvalConfig, EvalDataset, EvalLog, EvalSample, EvalSpec
    from inspect_ai.scorer import Score

    samples = [
        EvalSample(
            id=verdict.problem,
            epoch=1,
            input="",
            target="",
            store={"spent": {"calls": 2, "tokens_read": 10}},
            scores={"kernel": Score(value=1, answer=answer, metadata={"verdict": verdict.model_dump(mode="json")})},
        )
        for verdict, answer in verdicts
    ]
    spec = EvalSpec(
        created="2026-11-22T00:00:00+00:00",
        task="kernelbench",
        dataset=EvalDataset(sample_ids=[sample.id for sample in samples]),
        model="mockllm/model",
        config=EvalConfig(),
    )
    return EvalLog(eval=spec, status="success", samples=samples)


def quick_protocol() -> str:
    """The text of the strict protocol with as few samples as it allows, by the name of `few`."""
    text = resources.files("kernelgauge.protocols").joinpath("strict.toml").read_text()
    text = text.replace('name = "strict"', 'name = "few"')
    for name, value in (("processes", 1), ("min_samples", 4), ("budget_seconds", 1.0)):
        text, count = re.subn(rf"(?m)^{name} = [\d.]+", f"{name} = {value}", text)
        assert count == 2, "for a CPU and for a GPU"
    return text

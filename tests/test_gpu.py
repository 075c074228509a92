"""The evaluator on a GPU: memory shared by CUDA IPC, faults that cost one worker, times nobody can talk down."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelgauge.config import Limits, MathMode, load_protocol
from kernelgauge.evaluation.specimens import problem as specimen_problem
from kernelgauge.evaluation.specimens import specimens
from kernelgauge.schema import Candidate, Evaluation, Outcome, Problem
from kernelgauge.session import Session
from kernelgauge.timing.timers import timer_named, timer_names

pytestmark = pytest.mark.gpu

RELU = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5) * x


def get_inputs():
    return [torch.rand(8192, 8192)]


def get_init_inputs():
    return []
"""

GEMM = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, x, index):
        return torch.relu(self.linear(x)) + 0 * index[:, None]


def get_inputs():
    return [torch.randn(512, 1024), torch.randint(0, 5, (512,))]


def get_init_inputs():
    return [1024]
"""

FAULTS = {
    "out_of_bounds": (
        """
import torch
import triton
import triton.language as tl


@triton.jit
def stray(pointer, distance):
    tl.store(pointer + distance, 1.0)


class ModelNew(torch.nn.Module):
    def forward(self, x):
        stray[(1,)](x, 1 << 40)
        return torch.relu(x - 0.5) * x
""",
        Outcome.RUNTIME_ERROR,
        "memory violation",
    ),
    "device_assert": (
        """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        wild = torch.full((8,), 1 << 20, device=x.device)
        return torch.relu(x - 0.5) * x + x[wild].sum() * 0
""",
        Outcome.RUNTIME_ERROR,
        "device-side assert",
    ),
    "out_of_memory": (
        """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.empty(1 << 42, device=x.device)
""",
        Outcome.OUT_OF_MEMORY,
        "out of memory",
    ),
    "memory_hog": (
        """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hoard = []
        for size in (2**30, 2**25):
            try:
                while True:
                    self.hoard.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
            except torch.OutOfMemoryError:
                pass

    def forward(self, x):
        return torch.relu(x - 0.5) * x
""",
        Outcome.OUT_OF_MEMORY,
        "memory",
    ),
    "endless_kernel": (
        """
import torch
import triton
import triton.language as tl


@triton.jit
def spin(pointer):
    while tl.load(pointer, volatile=True) != 12345.0:
        pass


class ModelNew(torch.nn.Module):
    def forward(self, x):
        spin[(1,)](torch.zeros(1, device=x.device))
        return torch.relu(x - 0.5) * x
""",
        Outcome.TIMED_OUT,
        "no answer within",
    ),
}

FORGERIES = {
    "events": """
import torch

torch.cuda.Event.elapsed_time = lambda self, other: 0.01


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5) * x
""",
    "synchronize": """
import torch

torch.cuda.Event.elapsed_time = lambda self, other: 0.01
torch.cuda.synchronize = lambda *ignored: None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5) * x
""",
    "side_stream": """
import torch


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.stream = torch.cuda.Stream()

    def forward(self, x):
        out = torch.empty_like(x)
        with torch.cuda.stream(self.stream):
            out.copy_(torch.relu(x - 0.5) * x)
        return out
""",
}

ONLY_QUEUED = """
import torch
from kernelgauge.evaluation import worker

torch.cuda.Event.elapsed_time = lambda self, other: 0.01
worker._wait_for_device = lambda *ignored: None


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5) * x
"""


@pytest.fixture(scope="module")
def gpu_session(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(tmp_path_factory.mktemp("gpu-cache")))
        with Session(limits=Limits(call_seconds=10.0)) as session:
            yield session


def identical(source: str) -> str:
    return source.replace("class Model(", "class ModelNew(")


def judged(session: Session, source: str, text: str = RELU, timed: bool = False) -> Evaluation:
    return session.evaluate(Problem(key="own", name="own", source=text), source, device="cuda", timed=timed)


def under(session: Session, math: MathMode, source: str, text: str = GEMM) -> Evaluation:
    """One evaluation without timing under the strict protocol in another arithmetic."""
    candidate = Candidate(problem="own", source=source, backend="torch")
    rules = load_protocol("strict").under(math=math)
    job = session.job(Problem(key="own", name="own", source=text), candidate, rules, "cuda")
    session.supervisor.prepare(job)
    session.supervisor.judge(job, timed=False)
    return job.record()


def test_a_copy_is_right_and_neither_faster_nor_slower(gpu_session: Session) -> None:
    record = judged(gpu_session, identical(RELU), timed=True)
    assert record.outcome is Outcome.PASSED, record.reason
    timing = record.timing
    assert timing is not None and record.standing == "tie", timing
    assert timing.timer == "cuda_event"
    assert timing.excess_ms < 0.05 * timing.reference_ms, "one call in thirty may have been disturbed"
    # 256 MB read and written again: no GPU of today does it faster than 10 TB/s, so the flush works.
    assert timing.reference_ms > 0.05
    assert timing.device_reference_ms is not None and timing.device_reference_ms <= timing.reference_ms * 1.2
    assert timing.gpu is not None and timing.gpu.sm_mhz[1] > 0
    assert "network" in record.isolation


@pytest.mark.parametrize("name", FAULTS)
def test_a_fault_costs_one_worker_and_nothing_else(gpu_session: Session, name: str) -> None:
    source, outcome, reason = FAULTS[name]
    record = judged(gpu_session, source)
    assert record.outcome is outcome, record.reason
    assert reason in record.reason
    after = judged(gpu_session, identical(RELU))
    assert after.outcome is Outcome.PASSED, after.reason


@pytest.mark.parametrize("name", FORGERIES)
def test_a_time_talked_down_is_made_up_for(gpu_session: Session, name: str) -> None:
    record = judged(gpu_session, FORGERIES[name], timed=True)
    assert record.outcome is Outcome.PASSED, record.reason
    timing = record.timing
    assert timing is not None and timing.excess_ms + timing.late_work_ms > 0.3 * timing.reference_ms
    assert record.standing != "faster", timing


def test_who_leaves_the_gpu_at_work_is_refused(gpu_session: Session) -> None:
    record = judged(gpu_session, ONLY_QUEUED, timed=True)
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "work_after_the_clock"), (record.reason, record.timing)


@pytest.mark.parametrize("math", ["ieee", "tf32", "fp16", "bf16"])
def test_both_sides_compute_in_the_mode_asked_for(gpu_session: Session, math: MathMode) -> None:
    record = under(gpu_session, math, identical(GEMM))
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.math == math
    sizes = {"ieee": (0, 1e-5), "tf32": (5e-5, 2e-3), "fp16": (5e-5, 2e-3), "bf16": (5e-4, 2e-2)}
    low, high = sizes[math]
    assert low <= max(trial.reference_error for trial in record.trials) < high


@pytest.mark.parametrize(("math", "narrower"), [("ieee", "tf32"), ("tf32", "bfloat16"), ("fp16", "bfloat16")])
def test_a_silent_downgrade_is_refused(gpu_session: Session, math: MathMode, narrower: str) -> None:
    flags = "torch.backends.cuda.matmul.allow_tf32 = True\n        "
    body = "return torch.relu(self.linear(x)) + 0 * index[:, None]"
    cast = "self.linear.to(torch.bfloat16)(x.bfloat16()).to(x.dtype)"
    cheaper = flags + body if narrower == "tf32" else body.replace("self.linear(x)", cast)
    assert cheaper != body
    record = under(gpu_session, math, identical(GEMM).replace(body, cheaper))
    assert record.outcome is Outcome.WRONG_PRECISION, (record.outcome, record.reason)


@pytest.mark.parametrize("name", [name for name in timer_names() if "cuda" in timer_named(name).devices])
def test_each_timer_of_the_published_procedure(gpu_session: Session, name: str) -> None:
    problem = Problem(key="own", name="own", source=RELU)
    candidate = Candidate(problem="own", source=identical(RELU), backend="torch")
    job = gpu_session.job(problem, candidate, load_protocol("v0.1").under(timer=name), "cuda")
    gpu_session.supervisor.prepare(job)
    gpu_session.supervisor.judge(job)
    timing = job.record().timing
    assert timing is not None and timing.timer == name, job.failure
    assert 0.7 < timing.speedup < 1.4
    assert 0.1 < timing.reference_ms < 5


def test_a_graph_is_replayed_on_both_sides_on_fresh_inputs(gpu_session: Session) -> None:
    candidate = Candidate(problem="own", source=identical(RELU), backend="torch")
    rules = load_protocol("strict").under(timer="cuda_graph")
    job = gpu_session.job(Problem(key="own", name="own", source=RELU), candidate, rules, "cuda")
    gpu_session.supervisor.prepare(job)
    gpu_session.supervisor.judge(job)
    record = job.record()
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.timing is not None and record.timing.timer == "cuda_graph" and record.standing == "tie"


@pytest.mark.parametrize("name", [s.name for s in specimens()])
def test_each_specimen_gets_its_verdict_on_a_gpu_too(gpu_session: Session, name: str) -> None:
    specimen = next(each for each in specimens() if each.name == name)
    if not specimen.runs_on("cuda"):
        pytest.skip(f"backend {specimen.backend} does not run on a GPU")
    asked = {"backend": specimen.backend, "rules": specimen.rules}
    timed = specimen.kind == "cheats"
    record = gpu_session.evaluate(specimen_problem(), specimen.source, device="cuda", timed=timed, **asked)
    assert (record.outcome, record.rule) == (specimen.outcome, specimen.rule), record.reason

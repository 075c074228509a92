"""The evaluator on a GPU: memory shared by CUDA IPC, faults that cost one worker, times nobody can talk down."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch

from kernelgauge.config import Limits, MathMode, load_protocol
from kernelgauge.schema import Candidate, Evaluation, Outcome, Problem
from kernelgauge.selftest.self_test import LIMITS, SpecimenResult, selftest
from kernelgauge.selftest.specimens import problem as specimen_problem
from kernelgauge.selftest.specimens import specimens
from kernelgauge.session.session import Session
from kernelgauge.timing.cache_flush import CacheFlush
from kernelgauge.timing.timers import timer_named, timer_names

pytestmark = pytest.mark.gpu

RELU = specimen_problem("large_map", "cuda").source
FEW_ROWS = specimen_problem("few_rows", "cuda").source

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

SPECIMENS = {specimen.name: specimen for specimen in specimens()}


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
    protocol = load_protocol("strict").under(math=math)
    job = session.job(Problem(key="own", name="own", source=text), candidate, protocol, "cuda")
    return session.supervisor.judge(job, session.supervisor.prepare(job), timed=False)


def test_a_copy_is_right_and_neither_faster_nor_slower(gpu_session: Session) -> None:
    record = judged(gpu_session, identical(RELU), timed=True)
    assert record.outcome is Outcome.PASSED, record.reason
    timing = record.timing
    assert timing is not None and record.standing == "tie", timing
    assert timing.timer == "cuda_event"
    assert timing.unreported_ms < 0.05 * timing.reference_ms, "one call in thirty may have been disturbed"
    assert timing.device_reference_ms is not None and timing.device_reference_ms <= timing.reference_ms * 1.2
    assert timing.gpu is not None and timing.gpu.sm_mhz[1] > 0
    assert "network" in record.isolation


def test_what_a_timed_call_reads_is_in_no_cache(gpu_session: Session, monkeypatch: pytest.MonkeyPatch) -> None:
    """24 MB fit the second-level cache, where staging has just written them: without a flush they are found there."""
    if torch.cuda.get_device_properties(0).L2_cache_size < 40 * 2**20:
        pytest.skip("the second-level cache does not hold them")
    rows = RELU.replace("return torch.relu(x - 0.5) * x", "return x.view(-1, 1024).sum(dim=1)")
    rows = rows.replace("torch.rand(8192, 8192)", "torch.rand(6144, 1024)")
    assert "6144" in rows and "sum" in rows

    def took() -> float:
        timing = judged(gpu_session, identical(rows), rows, timed=True).timing
        assert timing is not None
        return timing.reference_ms

    cold = took()
    monkeypatch.setattr(CacheFlush, "__call__", lambda _: None)
    assert cold > 1.1 * took()


@pytest.mark.parametrize("name", ["forged_events", "forged_synchronize", "side_stream"])
def test_a_time_talked_down_is_made_up_for(gpu_session: Session, name: str) -> None:
    record = judged(gpu_session, SPECIMENS[name].source, timed=True)
    assert record.outcome is Outcome.PASSED, record.reason
    timing = record.timing
    assert timing is not None
    assert timing.unreported_ms + timing.post_call_ms + timing.underreported_ms > 0.3 * timing.reference_ms
    assert record.standing != "faster", timing


def test_a_time_shaved_a_little_is_no_win(gpu_session: Session) -> None:
    """Less than a message scatters by: only many calls in one bracket show that."""
    record = judged(gpu_session, SPECIMENS["shaved_events"].source, timed=True)
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.timing is not None and record.standing != "faster", record.timing
    assert record.timing.batched_speedup == pytest.approx(1, abs=0.1)


def test_an_honest_win_on_a_short_call_is_left_as_it_is(gpu_session: Session) -> None:
    twice = RELU.replace("return torch.relu(x - 0.5) * x", "return torch.relu(torch.relu(x)) + 0.25")
    once = identical(twice).replace("torch.relu(torch.relu(x))", "torch.relu(x)")
    assert once != identical(twice)
    record = judged(gpu_session, once, twice, timed=True)
    assert record.outcome is Outcome.PASSED, record.reason
    timing = record.timing
    assert timing is not None and record.standing == "faster" and timing.batch_calls >= 2, timing
    assert timing.underreported_ms == 0, timing


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
    record = gpu_session.supervisor.judge(job, gpu_session.supervisor.prepare(job))
    timing = record.timing
    assert timing is not None and timing.timer == name, record.reason
    assert 0.7 < timing.speedup < 1.4
    assert 0.1 < timing.reference_ms < 5
    assert timing.gpu is not None and timing.gpu.sm_mhz[1] > 0


def test_a_graph_is_replayed_on_both_sides_on_fresh_inputs(gpu_session: Session) -> None:
    candidate = Candidate(problem="own", source=identical(RELU), backend="torch")
    protocol = load_protocol("strict").under(timer="cuda_graph")
    job = gpu_session.job(Problem(key="own", name="own", source=RELU), candidate, protocol, "cuda")
    record = gpu_session.supervisor.judge(job, gpu_session.supervisor.prepare(job))
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.timing is not None and record.timing.timer == "cuda_graph" and record.standing == "tie"


def test_a_missing_barrier_shows(gpu_session: Session) -> None:
    """With warm caches its warps are done at the same moment, and it passes. A third of those with cold ones sees
    it: untimed, one evaluation in six does not."""
    right = SPECIMENS["waits_for_its_warps"].source
    racing = right.replace("__syncthreads();", "", 1)
    untimed = (judged(gpu_session, racing, FEW_ROWS) for _ in range(8))
    assert any(record.outcome in (Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION) for record in untimed)
    assert not judged(gpu_session, racing, FEW_ROWS, timed=True).passed
    assert judged(gpu_session, right, FEW_ROWS, timed=True).passed


@pytest.fixture(scope="module")
def findings(gpu_session: Session) -> dict[str, SpecimenResult]:
    """All specimens in one run: an honest one after a fault shows that it cost one worker and nothing else."""
    with Session(limits=LIMITS) as session:
        found = selftest(session, list(SPECIMENS.values()), "cuda")
    return {finding.name: finding for finding in found}


@pytest.mark.timeout(3600)
@pytest.mark.parametrize("name", SPECIMENS)
def test_each_specimen_gets_its_verdict_on_a_gpu_too(findings: dict[str, SpecimenResult], name: str) -> None:
    finding = findings[name]
    if finding.verdict == "skipped":
        pytest.skip(finding.why)
    assert finding.verdict == "as due", "\n".join([finding.why, finding.reason, finding.log])


AUTOTUNED = """
import torch
import triton
import triton.language as tl


def tuned():
    configurations = [
        triton.Config({"BLOCK": block, "STEPS": steps}, num_warps=warps)
        for block in (512, 1024, 2048) for steps in (4, 8, 16) for warps in (2, 4, 8, 16)
    ]

    @triton.autotune(configurations, key=["n"])
    @triton.jit
    def kernel(x, y, n, BLOCK: tl.constexpr, STEPS: tl.constexpr):
        for step in tl.static_range(STEPS):
            i = (tl.program_id(0).to(tl.int64) * STEPS + step) * BLOCK + tl.arange(0, BLOCK)
            value = tl.load(x + i, mask=i < n, other=0.0)
            tl.store(y + i, tl.where(value > 0.5, (value - 0.5) * value, 0.0), mask=i < n)

    return kernel


kernel = tuned()


class ModelNew(torch.nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernel[lambda given: (triton.cdiv(x.numel(), given["BLOCK"] * given["STEPS"]),)](x, y, x.numel())
        return y
"""


def test_a_first_call_that_compiles_and_tunes_is_no_hang() -> None:
    """36 configurations, in a session in which no other call may take longer than a few of them."""
    with Session(limits=Limits(call_seconds=6.0, first_call_seconds=300.0)) as session:
        record = judged(session, AUTOTUNED, timed=True)
    assert record.passed, record.reason
    assert record.first_call_s is not None and record.first_call_s > 6.0, "it shows nothing if it is that fast"
    assert record.timing is not None


def test_cpp_that_calls_aten_is_a_candidate_on_a_gpu(gpu_session: Session) -> None:
    source = SPECIMENS["calls_torch_from_cpp"].source
    problem = specimen_problem("linear_norm_relu", "cuda")
    record = gpu_session.evaluate(problem, source, device="cuda", timed=False)
    assert record.passed and record.backend == "cpp", record.reason
    refused = gpu_session.evaluate(problem, source, device="cuda", timed=False, kernel_policy="kernel-required")
    assert (refused.outcome, refused.rule) == (Outcome.REJECTED, "no_own_kernel"), refused.reason

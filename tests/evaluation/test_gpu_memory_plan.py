"""Judging with as little memory as possible, on a GPU of which most is held back."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
import torch
from factories import quick_protocol

from kernelgauge.checks.memory_plan import TIGHT, TIGHTEST, USUAL, MemoryPlan
from kernelgauge.checks.numerics import distances
from kernelgauge.config import Limits, Protocol, load_protocol
from kernelgauge.evaluation.sides.kept_outputs import PassingOutputs, StayingOutputs
from kernelgauge.schema import Outcome, Problem
from kernelgauge.session.session import Session
from kernelgauge.wire.regions import lay_out
from kernelgauge.wire.shared_memory import create, create_on_host

pytestmark = pytest.mark.gpu

CAP = 16.0
SIGMOID = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return torch.sigmoid(x)


def get_inputs():
    return [torch.rand(ROWS, 16384)]


def get_init_inputs():
    return []
"""
# A gigabyte and more in and out: as usual 15 times as much, then 11 times, then 9 times; and contexts.
SIZES = {TIGHT: 16384, TIGHTEST: 21000}
SAME = SIGMOID.replace("class Model(", "class ModelNew(")
WRONG = SAME.replace("torch.sigmoid(x)", "torch.sigmoid(x).mul_(1.1)")
IN_PLACE = SAME.replace("torch.sigmoid(x)", "x.sigmoid_().clone()")
ONE_BUFFER = SAME.replace(
    "return torch.sigmoid(x)",
    "self.kept = getattr(self, 'kept', None)\n        answer = torch.sigmoid(x)\n"
    "        self.kept = answer if self.kept is None else self.kept.copy_(answer)\n        return self.kept",
)
# Keeps more than a copy does: under the first of the tight plans right outputs are in its way, under the next not.
KEEPS = SAME.replace(
    "return torch.sigmoid(x)",
    "if not hasattr(self, 'between'):\n"
    "            self.between = torch.ones(int(GIGABYTES * 2**28), device=x.device)\n"
    "        return torch.sigmoid(x).mul_(self.between[0])",
)
HALF = SAME.replace("torch.sigmoid(x)", "torch.sigmoid(x).half().float()")


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(tmp_path_factory.mktemp("capped-cache")))
        with Session(limits=Limits(call_seconds=20.0, gpu_memory_gb=CAP)) as session:
            yield session


@pytest.fixture(scope="module")
def few(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    path = tmp_path_factory.mktemp("protocol") / "few.toml"
    path.write_text(quick_protocol())
    return load_protocol(str(path))


def sized(plan: MemoryPlan) -> Problem:
    return Problem(key="own", name="own", source=SIGMOID.replace("ROWS", str(SIZES[plan])))


@pytest.mark.parametrize("plan", [TIGHT, TIGHTEST], ids=lambda plan: plan.name)
@pytest.mark.parametrize(
    ("source", "outcome", "rule"),
    [
        (SAME, Outcome.PASSED, None),
        (WRONG, Outcome.WRONG_VALUE, None),
        (HALF, Outcome.WRONG_PRECISION, None),
        (IN_PLACE, Outcome.REJECTED, "input_mutated"),
        (ONE_BUFFER, Outcome.REJECTED, "output_reused"),
    ],
    ids=["same", "wrong", "half", "in place", "one buffer"],
)
def test_verdicts_are_as_usual(
    capped: Session, plan: MemoryPlan, source: str, outcome: Outcome, rule: str | None
) -> None:
    problem = sized(plan)
    assert capped.memory.plan(problem, load_protocol("strict"), "cuda", capped.environment) is plan
    record = capped.evaluate(problem, source.replace("ROWS", str(SIZES[plan])), device="cuda", timed=False)
    assert plan.note in record.notes and not any("ran out" in note for note in record.notes), record.notes
    wrong = (Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION)
    assert record.rule == rule and (record.outcome in wrong if outcome in wrong else record.outcome is outcome)
    memory = record.gpu_memory
    assert memory is not None and memory.needed_gb is not None and memory.peak_gb <= CAP
    if outcome is Outcome.PASSED:
        print(f"\n{plan.name}: floor {memory.needed_gb:.2f}, peak {memory.peak_gb:.2f} GB, {record.seconds}")


@pytest.mark.parametrize("plan", [TIGHT, TIGHTEST], ids=lambda plan: plan.name)
def test_a_copy_is_as_fast_as_its_reference(capped: Session, few: Protocol, plan: MemoryPlan) -> None:
    record = capped.evaluate(sized(plan), SAME.replace("ROWS", str(SIZES[plan])), device="cuda", protocol=few)
    assert record.outcome is Outcome.PASSED, record.reason
    assert plan.note in record.notes
    assert record.speedup == pytest.approx(1.0, abs=0.05)
    print(f"\n{plan.name}: speedup {record.speedup}, {record.seconds}")


@pytest.mark.parametrize(("gigabytes", "outcome"), [(2.4, Outcome.PASSED), (9, Outcome.OUT_OF_MEMORY)])
def test_a_candidate_that_takes_more_than_a_copy_gets_what_there_is(
    capped: Session, few: Protocol, gigabytes: float, outcome: Outcome
) -> None:
    problem, text = sized(TIGHT), KEEPS.replace("ROWS", str(SIZES[TIGHT])).replace("GIGABYTES", str(gigabytes))
    record = capped.evaluate(problem, text, device="cuda", protocol=few)
    print(f"\n{gigabytes} GB more: {record.outcome}, {record.reason} {record.gpu_memory} {record.seconds}")
    assert record.outcome is outcome, record.reason
    assert TIGHTEST.note in record.notes and TIGHT.note not in record.notes, record.notes
    assert record.gpu_memory is not None and record.gpu_memory.peak_gb <= CAP + 0.01
    copy = capped.evaluate(problem, SAME.replace("ROWS", str(SIZES[TIGHT])), device="cuda", timed=False)
    assert TIGHT.note in copy.notes, "others are judged as before"


def test_what_fits_is_judged_as_ever(capped: Session) -> None:
    problem = Problem(key="own", name="own", source=SIGMOID.replace("ROWS", "2000"))
    assert capped.memory.plan(problem, load_protocol("strict"), "cuda", capped.environment) is USUAL
    record = capped.evaluate(problem, SAME.replace("ROWS", "2000"), device="cuda", timed=False)
    assert record.outcome is Outcome.PASSED and TIGHT.note not in record.notes, record.reason


def test_what_is_put_aside_leaves_its_memory_and_comes_back() -> None:
    expected = lay_out([((3, 1 << 26), "float32")])
    region = create(3 << 28, "cuda:0")
    try:
        region.tensors(expected)[0].uniform_()
        staying, passing = StayingOutputs(region, expected), PassingOutputs(region, expected)
        staying.take()
        passing.take()
        torch.cuda.synchronize()
        due = region.tensors(expected)[0].cpu()
        region.bytes.zero_()
        torch.cuda.empty_cache()
        before = torch.cuda.memory_reserved()
        staying.put_aside(keep=True)
        torch.cuda.empty_cache()
        assert before - torch.cuda.memory_reserved() >= 3 << 28
        staying.put_back()
        assert torch.equal(staying.tensors[0].cpu(), due)
    finally:
        region.close()


@pytest.mark.parametrize("shape", [(5000, 7001), (3, 1 << 23)])
def test_outputs_are_compared_with_the_host_as_on_the_device(shape: tuple[int, int]) -> None:
    due = torch.randn(shape, dtype=torch.float64, device="cuda")
    got = (due * (1 + 1e-5 * torch.randn_like(due))).float()
    got[2, 17] += 1
    specs = lay_out([(shape, "float64")])
    region = create_on_host(due.numel() * 8, "cuda:0")
    try:
        (host,) = region.tensors(specs)
        host.copy_(due)
        assert host.is_pinned(), "else a copy takes several times as long"
        (near,), (far,) = distances([got], [due]), distances([got], [host])
        assert far.rms == pytest.approx(near.rms, rel=1e-6) and far.worst == pytest.approx(near.worst, rel=1e-6)
        assert far.where == near.where
        labels = torch.randint(0, 9, shape, device="cuda")
        assert distances([labels], [labels.cpu()])[0].rms == 0
        assert distances([labels], [labels.cpu() + 1])[0].rms == 2
    finally:
        region.close()

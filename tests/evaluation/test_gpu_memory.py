"""Memory of a GPU: a smaller card simulated on a larger one, who is to blame for it, and what a record says of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
import torch
from factories import quick_protocol

from kernelgauge.config import Limits, Protocol, load_protocol
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.schema import GB, Candidate, Evaluation, Outcome, Problem, RunHeader
from kernelgauge.session.contest import judge_all
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.gpu

CAP = 10.0

# 256 MiB in and out: with the float64 oracle some 3 GB, and three CUDA contexts.
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

# 4 GB of inputs: nothing that has them three times fits 10 GB.
WIDE = RELU.replace("8192, 8192", "32768, 32768")

# Small inputs and outputs, and 3.7 GB between them that no shape tells of, kept for the next call: two processes have
# room for them, three have not.
GREEDY = RELU.replace(
    "return torch.relu(x - 0.5) * x",
    "if not hasattr(self, 'between'):\n"
    "            self.between = torch.ones(55 * 2**26, dtype=torch.uint8, device=x.device)\n"
    "        return torch.relu(x - 0.5) * x * self.between[0]",
).replace("8192, 8192", "64, 64")

# As much, but let go after each call: PyTorch keeps it until the room is wanted, and so it fits.
PASSING = GREEDY.replace("if not hasattr(self, 'between'):\n    ", "if True:\n    ").replace(
    "self.between", "between"
)

RAW = '''
import ctypes

import torch

path = next(line.split()[-1] for line in open("/proc/self/maps") if "libcudart.so" in line)
cudart = ctypes.CDLL(path)


def take(size):
    """The address of so many bytes from the driver, which PyTorch knows nothing of; None if it has none."""
    torch.cuda.synchronize()
    pointer = ctypes.c_void_p()
    status = cudart.cudaMalloc(ctypes.byref(pointer), ctypes.c_size_t(size))
    cudart.cudaGetLastError()
    return None if status else pointer
'''

RAW_HOG = (
    RAW
    + """

class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.hoard = []
        for size in (2**30, 2**26, 2**21):
            while (taken := take(size)) is not None:
                self.hoard.append(taken)

    def forward(self, x):
        return torch.relu(x - 0.5) * x
"""
)

TORCH_HOG = """
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
"""

RAW_FOR_A_MOMENT = (
    RAW
    + """

class ModelNew(torch.nn.Module):
    def forward(self, x):
        taken = take(SIZE)
        if taken is None:
            raise RuntimeError("cudaMalloc: out of memory")
        cudart.cudaFree(taken)
        return torch.relu(x - 0.5) * x
"""
)

CRIES_WOLF = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 400.00 GiB")
"""


@pytest.fixture(scope="module")
def capped(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Session]:
    """A session that may use 10 GB of whatever the card has."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(tmp_path_factory.mktemp("capped-cache")))
        with Session(limits=Limits(call_seconds=20.0, gpu_memory_gb=CAP)) as session:
            yield session


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Protocol:
    path = tmp_path_factory.mktemp("protocol") / "quick.toml"
    path.write_text(quick_protocol())
    return load_protocol(str(path))


def identical(source: str) -> str:
    return source.replace("class Model(", "class ModelNew(")


def judged(session: Session, source: str, text: str = RELU, protocol: str | Protocol = "strict") -> Evaluation:
    timed = protocol != "strict"
    problem = Problem(key="own", name="own", source=text)
    return session.evaluate(problem, source, device="cuda", timed=timed, protocol=protocol)


def test_an_honest_candidate_is_judged_under_a_cap_and_its_memory_is_on_record(
    capped: Session, quick: Protocol
) -> None:
    record = judged(capped, identical(RELU), protocol=quick)
    assert record.outcome is Outcome.PASSED, record.reason
    assert record.timing is not None
    memory = record.gpu_memory
    assert memory is not None, record
    assert memory.available_gb == memory.cap_gb == CAP
    assert memory.needed_gb is not None and memory.needed_gb <= memory.peak_gb <= CAP + 0.01, memory.line
    # Inputs three times, two regions of outputs, the float64 truth; and once more that while shortcuts are tried.
    assert 7 * 256 / 1024 <= memory.regions_gb <= 10 * 256 / 1024, memory.line
    for held, claim in (
        (memory.reference_gb, memory.reference_claim_gb),
        (memory.candidate_gb, memory.candidate_claim_gb),
    ):
        # Two outputs at the least; and the driver, where it tells, sees the context too.
        assert claim is not None and 0.5 <= claim < 5, memory.line
        assert held is None or claim < held < 5, memory.line


def test_without_a_cap_there_is_all_that_the_card_has(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_CACHE", str(tmp_path))
    with Session() as session:
        record = judged(session, identical(RELU))
    assert record.outcome is Outcome.PASSED and record.gpu_memory is not None
    assert record.gpu_memory.cap_gb is None and record.gpu_memory.available_gb > CAP


def test_the_rest_is_given_back(capped: Session) -> None:
    judged(capped, identical(RELU))
    free, total = torch.cuda.mem_get_info(0)
    # What stands ready for the next evaluation takes some; what a cap of 10 GB holds back of any card here is more.
    assert total - free < 10 * GB and total > 30 * GB


@pytest.mark.parametrize("source", [TORCH_HOG, RAW_HOG], ids=["torch", "raw"])
def test_a_hog_is_out_of_memory_however_it_takes_it(capped: Session, source: str) -> None:
    record = judged(capped, source)
    assert record.outcome is Outcome.OUT_OF_MEMORY, (record.outcome, record.reason)
    assert "a copy of the reference has room enough" in record.reason
    memory = record.gpu_memory
    assert memory is not None and memory.candidate_gb is not None, record.reason
    assert memory.candidate_gb > 1.5 and f"its process held {memory.candidate_gb:.2f} GB" in record.reason
    assert memory.before_gb is not None
    assert f"{memory.before_gb:.2f} GB of the device were in use before it began" in record.reason
    after = judged(capped, identical(RELU))
    assert after.outcome is Outcome.PASSED, after.reason


@pytest.mark.parametrize(("size", "outcome"), [(2**28, Outcome.PASSED), (9 * GB, Outcome.OUT_OF_MEMORY)])
def test_memory_taken_for_a_moment_counts_as_on_a_smaller_card(capped: Session, size: int, outcome: Outcome) -> None:
    record = judged(capped, RAW_FOR_A_MOMENT.replace("SIZE", str(size)))
    assert record.outcome is outcome, record.reason


def test_a_candidate_cannot_talk_a_problem_out_of_the_score(capped: Session) -> None:
    record = judged(capped, CRIES_WOLF)
    assert record.outcome is Outcome.OUT_OF_MEMORY
    assert "a copy of the reference has room enough" in record.reason


def test_what_cannot_fit_by_its_shapes_never_comes_to_the_device(capped: Session) -> None:
    with pytest.raises(ReferenceTooLarge, match=r"takes at least \d\d\.\d GB of GPU memory, and there are 10 GB"):
        judged(capped, identical(WIDE), WIDE)


def test_a_copy_without_room_is_the_problems_fault(capped: Session) -> None:
    """Alone the reference fits; beside it and the oracle a copy does not: that says nothing of a candidate."""
    with pytest.raises(ReferenceTooLarge, match="judging it takes more GPU memory than the 10 GB") as refused:
        judged(capped, identical(GREEDY), GREEDY)
    assert refused.value.needed_gb is not None and refused.value.needed_gb < CAP
    after = judged(capped, identical(RELU))
    assert after.outcome is Outcome.PASSED, after.reason


def test_what_is_let_go_after_each_call_fits(capped: Session) -> None:
    record = judged(capped, identical(PASSING), PASSING)
    assert record.outcome is Outcome.PASSED, record.reason


def test_a_run_judges_what_fits_and_lists_what_does_not(capped: Session, quick: Protocol, tmp_path: Path) -> None:
    texts = {"fits.py": RELU, "wide.py": WIDE, "greedy.py": GREEDY}
    for name, text in texts.items():
        (tmp_path / name).write_text(text)

    class Identical:
        name = "identical"

        def samples(self, key: str) -> list[int]:
            return [0]

        def complete(self, problem: Problem, sample: int, device: str) -> Candidate:
            return Candidate(problem=problem.key, source=identical(problem.source), backend="torch")

    keys = [str(tmp_path / name) for name in texts]
    header = RunHeader(
        kernelgauge="0",
        contestant="identical",
        problems=tuple(keys),
        sizes="full",
        device="cuda",
        protocol=quick.name,
        protocol_digest=quick.digest,
        gpu_memory_gb=CAP,
    )
    with Run.create(tmp_path / "run", header) as run:
        assert judge_all(capped, Identical(), run, keys, protocol=quick) == []
        assert [record.problem for record in run.latest()] == keys[:1]
        assert {found.problem for found in run.too_large()} == set(keys[1:])

"""The contestant `expert`: texts that stand alone, and kernels that the evaluator finds right."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from h100_kernels import SHARED_MEMORY, compiled, two_trials

from kernelgauge.backends.cuda import cuda_home
from kernelgauge.backends.registry import detect
from kernelgauge.config import Limits
from kernelgauge.expert.contestant import Expert
from kernelgauge.expert.inlining import whole
from kernelgauge.generation.contestants import contestant_named
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate
from kernelgauge.session.session import Session

pytest.importorskip("triton", reason="the extra triton is not installed")

EXPERT = Expert()
PROBLEMS = EXPERT.problems()


@cache
def text_of(problem: str) -> str:
    return EXPERT.text(EXPERT.file(problem, 0))


def test_it_is_there_by_name_and_every_file_answers_a_problem() -> None:
    expert = contestant_named("expert")
    assert expert.name == "expert" and EXPERT.ignored == [] and len(PROBLEMS) >= 60
    answer = expert.complete(load_problem("2/76", "small"), 0, "cuda")
    assert isinstance(answer, Candidate) and answer.contestant == "expert"


def test_a_part_stands_in_a_text_once_and_behind_what_it_uses() -> None:
    source = '"""A note."""\n\nimport torch\n\nfrom kernelgauge.expert.parts.linear import linear\n'
    source += "from kernelgauge.expert.parts.split_gemm import plus_bias\n\nanswer = linear, plus_bias\n"
    text = whole(source)
    assert text.startswith('"""A note."""') and "kernelgauge.expert" not in text
    assert text.count("def split(") == text.count("from __future__") == 1
    assert (
        text.index("def plus_bias")
        < text.index("def skinny_product")
        < text.index("def linear")
        < text.index("answer")
    )


@pytest.mark.parametrize("problem", PROBLEMS)
def test_a_text_stands_alone_and_says_what_bounds_it(problem: str) -> None:
    text = text_of(problem)
    tree = ast.parse(text)
    assert "Bound by" in (ast.get_docstring(tree) or "") and "from kernelgauge" not in text
    assert detect(text) in ("triton", "cuda")


def code_of(problem: str) -> str:
    """The text after its note: a note changes nothing of what has been proven."""
    text = text_of(problem)
    note = ast.parse(text).body[0]
    return "".join(text.splitlines(keepends=True)[note.end_lineno :])


TRITON, CUDA = ([key for key in PROBLEMS if detect(text_of(key)) == name] for name in ("triton", "cuda"))


def as_a_proof(key: str) -> Any:
    return pytest.param(key, marks=pytest.mark.proof(text=code_of(key), family="expert", days=60))


@pytest.fixture(scope="module")
def patient(cache_folder: Path) -> Iterator[Session]:
    """The interpreter takes seconds for what a GPU does in microseconds."""
    with Session(device="cpu", limits=Limits(hang_seconds=60.0)) as made:
        yield made


@pytest.fixture(scope="module")
def protocol(tmp_path_factory: pytest.TempPathFactory) -> str:
    return two_trials(tmp_path_factory.mktemp("protocol"))


@pytest.mark.processes
@pytest.mark.parametrize("problem", [as_a_proof(key) for key in TRITON])
def test_it_is_right(problem: str, patient: Session, protocol: str) -> None:
    """By the interpreter, at sizes that fill no tile. `any`: what ran is not the question, and is not watched."""
    record = patient.evaluate(
        load_problem(problem, "odd"),
        text_of(problem),
        backend="triton",
        timed=False,
        protocol=protocol,
        kernel_policy="any",
    )
    assert record.passed, record.reason


@pytest.mark.processes
@pytest.mark.parametrize("problem", [as_a_proof(key) for key in TRITON])
def test_every_kernel_compiles_for_an_h100_and_fits(problem: str, tmp_path: Path) -> None:
    """The interpreter takes what a compiler refuses: a branch with None in it, more shared memory than there is."""
    kernels = compiled(problem, text_of(problem), tmp_path)
    assert kernels and max(kernels.values()) <= SHARED_MEMORY, kernels


@pytest.mark.processes
@pytest.mark.skipif(cuda_home() is None, reason="nvcc is neither on the path nor under CUDA_HOME")
@pytest.mark.parametrize("problem", [as_a_proof(key) for key in CUDA])
def test_cuda_compiles(problem: str, patient: Session) -> None:
    candidate = Candidate(problem=problem, source=text_of(problem), backend="cuda")
    assert patient.supervisor.build(candidate, "cuda").folder is not None


@pytest.mark.gpu
@pytest.mark.parametrize("sizes", ["odd", "small"])
@pytest.mark.parametrize("problem", CUDA)
def test_cuda_is_right_where_nothing_divides(problem: str, sizes: str, cache_folder: Path) -> None:
    """On a GPU, since CUDA has no interpreter."""
    with Session(device="cuda") as session:
        record = session.evaluate(load_problem(problem, sizes), text_of(problem), backend="cuda", timed=False)
    assert record.passed, record.reason

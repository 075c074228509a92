"""The contestant `expert`: texts that stand alone, and kernels that the evaluator finds right."""

from __future__ import annotations

import ast
import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from typing import Any

import pytest
from factories import quick_protocol

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
SHARED_MEMORY = 227 * 1024
"""Bytes that a block may have on an H100."""


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


def as_a_proof(key: str) -> Any:
    return pytest.param(key, marks=pytest.mark.proof(text=text_of(key), family="expert", days=60))


@pytest.fixture(scope="module")
def patient(cache_folder: Path) -> Iterator[Session]:
    """The interpreter takes seconds for what a GPU does in microseconds."""
    with Session(device="cpu", limits=Limits(hang_seconds=60.0)) as made:
        yield made


@pytest.fixture(scope="module")
def two_trials(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of `strict` with two kinds of inputs only."""
    text = quick_protocol().replace('weak_problems = "excluded"', 'weak_problems = "counted"')
    text, count = re.subn(r"(?m)^variants = .*$", 'variants = ["own", "signed"]', text)
    assert count == 1 and "counted" in text
    path = tmp_path_factory.mktemp("protocol") / "two.toml"
    path.write_text(text)
    return str(path)


@pytest.mark.processes
@pytest.mark.parametrize("problem", [as_a_proof(key) for key in PROBLEMS])
def test_it_is_right(problem: str, patient: Session, two_trials: str) -> None:
    """By the interpreter, at sizes that fill no tile. `any`: what ran is not the question, and is not watched."""
    record = patient.evaluate(
        load_problem(problem, "odd"),
        text_of(problem),
        backend="triton",
        timed=False,
        protocol=two_trials,
        kernel_policy="any",
    )
    assert record.passed, record.reason


# Tensors without contents stand for those of the published sizes, and no driver is asked.
COMPILE = """
import importlib.util, json, sys
import torch
from triton.runtime.jit import JITFunction
from kernelgauge.backends.registry import backend_named

def module(name, path):
    spec = importlib.util.spec_from_file_location(name, path)
    made = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(made)
    return made

compiled = {}
run = JITFunction.run

def only_compile(kernel, *given, grid, warmup, **options):
    made = run(kernel, *given, grid=grid, warmup=True, **options)
    grid = grid(options) if callable(grid) else grid
    assert made.asm["cubin"] and all(0 < each < 65536 for each in grid[1:]) and 0 < grid[0] < 2**31
    compiled[kernel.__name__] = max(made.metadata.shared, compiled.get(kernel.__name__, 0))

with backend_named("triton").without_device(), torch.no_grad():
    reference, candidate = module("reference", sys.argv[1]), module("candidate", sys.argv[2])
    if hasattr(candidate, "together"):
        candidate.together = lambda x, members: members <= 132
    JITFunction.run = only_compile
    with torch.device("meta"):
        model, inputs = candidate.ModelNew(*reference.get_init_inputs()), reference.get_inputs()
    model(*inputs)
print(json.dumps(compiled))
"""


@pytest.mark.processes
@pytest.mark.parametrize("problem", [as_a_proof(key) for key in PROBLEMS])
def test_every_kernel_compiles_for_an_h100_and_fits(problem: str, tmp_path: Path) -> None:
    """The interpreter takes what a compiler refuses: a branch with None in it, more shared memory than there is."""
    reference, candidate = tmp_path / "reference.py", tmp_path / "candidate.py"
    reference.write_text(load_problem(problem).source)
    candidate.write_text(text_of(problem))
    told = {"KERNELGAUGE_ARCHITECTURE": "9.0a", "TRITON_CACHE_DIR": str(tmp_path / "cache")}
    command = [sys.executable, "-c", COMPILE, str(reference), str(candidate)]
    done = subprocess.run(command, env={**os.environ, **told}, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-3000:]
    kernels = json.loads(done.stdout)
    assert kernels and max(kernels.values()) <= SHARED_MEMORY, kernels

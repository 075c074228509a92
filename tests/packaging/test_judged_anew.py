"""Variants are of one computation: the first one's reference is judged at the shapes of the others."""

from __future__ import annotations

from pathlib import Path

import pytest
from factories import make_evaluation
from packages import PROBLEMS

from kernelgauge.packaging.calls import Call, call_of
from kernelgauge.packaging.judged_anew import other_reference
from kernelgauge.packaging.winners import Winner
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.sizes import with_constants
from kernelgauge.schema import Problem
from kernelgauge.session.session import Session

pytestmark = [pytest.mark.processes, pytest.mark.proof("packaging", unit="package")]
SUM = """
import torch

batch = 4
width = 8
dim = 1


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.sum(x.sin(), dim=dim)


def get_inputs():
    return [torch.rand(batch, width, width)]


def get_init_inputs():
    return []
"""


def problem(folder: Path, text: str) -> Problem:
    path = folder / f"p{len(list(folder.iterdir()))}.py"
    path.write_text(text)
    return load_problem(path)


def reason(session: Session, first: Problem, later: Problem) -> str | None:
    call = call_of(session.describe(later, "ieee"))
    assert isinstance(call, Call)
    record = make_evaluation(problem=later.key, math="ieee", device="cpu", backend="torch")
    return other_reference(session, first, Winner(record, later, ""), call)


def test_a_constant_that_shapes_do_not_explain(session: Session, tmp_path: Path) -> None:
    first = problem(tmp_path, SUM)
    assert reason(session, first, problem(tmp_path, with_constants(SUM, {"batch": 2, "width": 5}))) is None
    other = reason(session, first, problem(tmp_path, with_constants(SUM, {"batch": 2, "dim": 2})))
    assert other is not None and other.startswith("answers another computation than the first variant"), other


def test_weights_of_other_shapes_are_those_of_the_call(session: Session, tmp_path: Path) -> None:
    text = (PROBLEMS / "rms_norm.py").read_text()
    first = problem(tmp_path, with_constants(text, {"batch": 2, "tokens": 3, "width": 16}))
    later = with_constants(text, {"batch": 2, "tokens": 3, "width": 32})
    assert reason(session, first, problem(tmp_path, later)) is None
    assert reason(session, first, problem(tmp_path, later.replace("1e-6", "1e-1"))) is not None

"""What the defences cost: every step is found in the evaluator, the account adds up, and builds are told apart."""

from __future__ import annotations

import argparse
import json
import re
import signal
import subprocess
import sys
import time
from importlib import import_module
from pathlib import Path
from typing import Any

import pytest
from factories import make_environment
from import_graph import program
from waiting import comes_true

from benchmarks import defences_page, defences_steps
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import load_protocol
from kernelgauge.errors import MachineError, ReferenceTooLarge
from kernelgauge.evaluation.kernel_rules import Rules
from kernelgauge.evaluation.measurement import measure
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Candidate, Problem
from kernelgauge.session.session import Session

ROOT = Path(__file__).parents[2]
PROOF = pytest.mark.proof(*program("defences.py"))

# Without PyTorch's headers it compiles in about a second.
RELU = '''
import torch
import torch.nn as nn
from torch.utils.cpp_extension import load_inline

SOURCE = r"""
#include <Python.h>
static PyObject* relu(PyObject*, PyObject* args) {
    unsigned long long x, y;
    long long count;
    if (!PyArg_ParseTuple(args, "KKL", &x, &y, &count)) return nullptr;
    const float* from = reinterpret_cast<const float*>(x);
    float* to = reinterpret_cast<float*>(y);
    for (long long i = 0; i < count; ++i) to[i] = from[i] < 0 ? 0 : from[i];
    Py_RETURN_NONE;
}
static PyMethodDef methods[] = {{"relu", relu, METH_VARARGS, ""}, {nullptr, nullptr, 0, nullptr}};
static PyModuleDef module = {PyModuleDef_HEAD_INIT, "relu", nullptr, -1, methods};
PyMODINIT_FUNC PyInit_relu() { return PyModule_Create(&module); }
"""

kernels = load_inline(name="relu", cpp_sources=SOURCE, no_implicit_headers=True, extra_cflags=["-O2"])


class ModelNew(nn.Module):
    def forward(self, x):
        y = torch.empty_like(x)
        kernels.relu(x.data_ptr(), y.data_ptr(), x.numel())
        return y
'''


def test_a_step_inside_another_is_counted_there_only() -> None:
    account = defences_steps.Account()
    with account.within("outer"):
        time.sleep(0.05)
        with account.within("inner"):
            time.sleep(0.2)
    assert 0.2 <= account.seconds["inner"] < account.seconds["inner"] + account.seconds["outer"] < 2
    assert account.seconds["outer"] < account.seconds["inner"]


@PROOF
def test_the_account_of_an_evaluation_adds_up_and_leaves_no_stopwatch(session: Session, quick: str) -> None:
    problem = load_problem("1/36", "small")
    before = Side.stage, measure.verify, Rules.read
    copy = defences_steps.copy_of(problem)
    row = defences_steps.measured(session, problem, copy, load_protocol(quick), "cpu", 1)
    assert (Side.stage, measure.verify, Rules.read) == before
    steps = {label: seconds for label, seconds in row.items() if label not in ("total", "build")}
    assert sum(steps.values()) == pytest.approx(row["total"], rel=0.2)
    expected = {label for _, _, label, _, _ in defences_steps.STEPS} - {
        "answers without the work tried",  # learnt by the evaluation before
        "float64 oracle on timed calls",  # only where eager's answer is not near enough
    }
    assert expected | {defences_steps.RULES} <= set(steps)
    assert row["build"] < 0.1  # there is nothing to build


def test_a_page_tells_the_share_with_and_without_the_build() -> None:
    row = {"float64 oracle": 4.0, "checked calls": 5.0, "total": 10.0, "build": 30.0}
    content = {
        "commands": ["python benchmarks/defences.py"],
        "date": "2026-11-22",
        "environment": make_environment().model_dump(mode="json"),
        "sizes": "full",
        "candidates": "benchmarks/cuda_candidates",
        "rows": {"1/36": row, "1/47": row | {"total": 30.0, "build": 10.0}},
        "left_out": {"1/88": "wrong_value"},
    }
    shown = defences_page.page(content, defences_steps.kinds())
    assert "| 1/36 | 10.00 | 40.0% | 30.00 | 10.0% |" in shown
    assert "| 1/47 | 30.00 | 13.3% | 10.00 | 10.0% |" in shown
    assert "| **all** | 20.00 | 20.0% | 20.00 | 10.0% |" in shown
    assert "| nothing of these | any evaluator | 11.0000 | 55.0% |" in shown and "| build | any" not in shown
    assert "1/88 (wrong_value)" in shown


@pytest.mark.processes
def test_a_problem_that_cannot_be_measured_is_left_out(
    session: Session, quick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.syspath_prepend(str(ROOT / "benchmarks"))  # a program, which finds its neighbours so
    defences = import_module("defences")
    options = argparse.Namespace(sizes="small", folder=None, device="cpu", protocol=quick, repeats=1)
    content: dict[str, Any] = {"rows": {}, "left_out": {}}
    ends = {"1/19": ReferenceTooLarge("it needs 9 GB"), "1/22": MachineError("no process could be started")}

    def judged(session: Session, problem: Problem, *_: Any) -> dict[str, float]:
        if problem.key in ends:
            raise ends[problem.key]
        return {"total": 1.0, "build": 0.0}

    monkeypatch.setattr(defences, "measured", judged)
    for key in ("1/19", "1/22", "1/36"):
        defences.measure(options, session, content, key)
    assert content["left_out"] == {"1/19": "too large", "1/22": "the machine failed"}
    assert list(content["rows"]) == ["1/36"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A right candidate that must be built, one that need not, and one that is wrong on both accounts."""
    folder = tmp_path_factory.mktemp("answers") / "level1"
    folder.mkdir()
    (folder / "19_relu.py").write_text(RELU)
    (folder / "22_tanh.py").write_text(RELU)
    (folder / "23_softmax.py").write_text(defences_steps.copy_of(load_problem("1/23", "small")).source)
    return folder.parent


def command(out: Path, quick: str, *more: str) -> list[str]:
    asked = ["--sizes", "small", "--repeats", "1", "--protocol", quick, "--out", str(out)]
    return [sys.executable, str(ROOT / "benchmarks" / "defences.py"), *asked, *more]


def rows_of(out: Path) -> dict[str, dict[str, float]]:
    file = out.with_suffix(".json")
    return json.loads(file.read_text())["rows"] if file.exists() else {}


@PROOF
@pytest.mark.skipif(backend_named("cpp").missing("cpu") is not None, reason="no C++ compiler")
def test_candidates_are_built_once_and_an_interrupted_command_goes_on(
    session: Session, answers: Path, quick: str, tmp_path: Path
) -> None:
    relu = Candidate(problem="1/19", source=RELU, backend="cpp")
    assert session.supervisor.build(relu, "cpu").folder  # the command must not find this one
    out = tmp_path / "new" / "defences"
    first = subprocess.Popen(command(out, quick, "--candidates", str(answers)), stderr=subprocess.PIPE, text=True)
    assert comes_true(lambda: bool(rows_of(out)) or first.poll() is not None, 120)
    first.send_signal(signal.SIGINT)
    _, said = first.communicate(timeout=60)
    kept = rows_of(out)
    assert list(kept) == ["1/19"] and first.returncode != 0, said
    assert "| 1/19 |" in out.with_suffix(".md").read_text()

    on = command(out, quick, "--candidates", str(answers), "--problems", "1/22,1/19,1/23")
    second = subprocess.run(on, capture_output=True, text=True, timeout=300)
    assert second.returncode == 0, second.stderr
    assert re.search(r"^1/22: left out, .*wrong_value", second.stderr, re.MULTILINE)
    rows = rows_of(out)
    assert rows["1/19"] == kept["1/19"] and list(rows) == ["1/19", "1/23"]
    # A build is a process and a compiler; that what was built is only looked up afterwards shows in the total.
    assert rows["1/19"]["build"] > 0.3 and rows["1/23"]["build"] < 0.1
    steps = sum(seconds for label, seconds in rows["1/19"].items() if label not in ("total", "build"))
    assert steps == pytest.approx(rows["1/19"]["total"], rel=0.2)
    page = out.with_suffix(".md").read_text()
    assert page in second.stdout and "1/22 (wrong_value)" in page
    built, lone = (
        re.search(rf"(?m)^\| {key} .*\| ([\d.]+)% \| .*\| ([\d.]+)% \|$", page) for key in ("1/19", "1/23")
    )
    assert built and lone and float(built[2]) < float(built[1]) and lone[1] == lone[2]

    other = subprocess.run(command(out, quick), capture_output=True, text=True, timeout=60)
    assert other.returncode != 0 and "another candidates" in other.stderr and rows_of(out) == rows
    unknown = subprocess.run([*on, "--problems", "1/1"], capture_output=True, text=True, timeout=60)
    assert unknown.returncode != 0 and "no candidate for 1/1" in unknown.stderr

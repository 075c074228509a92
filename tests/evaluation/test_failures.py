"""What went wrong on a side, in the words of a record."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from kernelgauge.checks.stand_alone import explained, imports, lent
from kernelgauge.config import Limits, load_protocol
from kernelgauge.evaluation.failures import claimed_failure
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.schema import Outcome, Problem
from kernelgauge.session.session import Session
from kernelgauge.wire.messages import Claim

pytestmark = pytest.mark.processes

NO_MEMORY = """Traceback (most recent call last):
  File "candidate.py", line 9, in forward
    y = torch.empty_like(x)
torch.OutOfMemoryError: CUDA out of memory. Tried to allocate 8.00 GiB. GPU 0 has a total capacity of 139.80 GiB of \
which 6.59 GiB is free. Process 2342 has 119.79 GiB memory in use. If reserved but unallocated memory is large try \
setting PYTORCH_CUDA_ALLOC_CONF=expandable_segments:True
"""


def test_memory_that_ran_out_is_said_without_the_card_and_everybody_elses() -> None:
    found = claimed_failure("forward", Claim(event="failed", kind="OutOfMemory", message=NO_MEMORY))
    assert found.outcome is Outcome.OUT_OF_MEMORY
    said = "CUDA out of memory. Tried to allocate 8.00 GiB."
    assert found.reason == f"forward: torch.OutOfMemoryError: {said}"


PROBLEM = """
import math
import torch
import torch.nn as nn
import torch.nn.functional as F
from collections import OrderedDict as Ordered


class Model(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.scale = 1 / math.sqrt(width)

    def forward(self, x):
        return F.gelu(self.linear(x)) * self.scale


width = 32


def get_inputs():
    return [torch.rand(64, width)]


def get_init_inputs():
    return [width]
"""
ALONE = PROBLEM.split("\n\nwidth = 32")[0].replace("class Model(", "class ModelNew(")
BUILT = """
from torch.utils.cpp_extension import load_inline
C = "#include <Python.h>\\nstatic struct PyModuleDef d = {PyModuleDef_HEAD_INIT, \\"n\\", NULL, -1, NULL};"
C += "\\n#define J(a, b) a##b\\n#define I(n) J(PyInit_, n)\\nPyMODINIT_FUNC I(TORCH_EXTENSION_NAME)(void)"
C += "{ return PyModule_Create(&d); }" + " " * int(math.sqrt(4))
extension = load_inline(name="n", cpp_sources=C, no_implicit_headers=True)
"""
WITHOUT_MATH = ALONE.replace("import math\n", "")
WITHOUT_F = ALONE.replace("import torch.nn.functional as F\n", "")


@pytest.mark.parametrize(
    ("source", "stage", "statement"),
    [
        (WITHOUT_MATH + "\nROOT = math.sqrt(2.0)\n", "load", "import math"),
        (WITHOUT_MATH + BUILT, "load", "import math"),
        (WITHOUT_MATH, "construct", "import math"),
        (WITHOUT_F, "forward", "import torch.nn.functional as F"),
        (ALONE + "\nnames = Ordered()\n", "", ""),
    ],
    ids=["import", "build", "construct", "forward", "alone"],
)
def test_an_import_of_the_references_is_missing_under_strict_and_there_under_v01(
    session: Session, source: str, stage: str, statement: str
) -> None:
    problem = Problem(key="imports", name="imports", source=PROBLEM)
    strict = session.evaluate(problem, source, timed=False)
    if not stage:
        assert strict.passed and not strict.notes, strict.reason
    else:
        assert strict.outcome is (Outcome.RUNTIME_ERROR if stage == "forward" else Outcome.LOAD_FAILED)
        name = statement.split()[-1]
        assert strict.reason == (
            f"{stage}: NameError: name '{name}' is not defined: the file must stand alone under strict; "
            f"add `{statement}` (the reference's text has it)"
        )
    published = session.evaluate(problem, source, timed=False, protocol="v0.1")
    assert published.passed, published.reason
    relied = (f"the file relies on the reference's `{statement}`",) if stage else ()
    assert published.notes == relied


CHAINED = ALONE.replace(
    "return F.gelu(self.linear(x)) * self.scale",
    "try:\n            return self.linear(x) + {}['no']\n        except KeyError as error:\n"
    "            raise RuntimeError('gave up') from error",
)


@pytest.mark.parametrize(
    ("source", "frames"),
    [
        (WITHOUT_MATH + "\nROOT = math.sqrt(2.0)\n", ["in <module>"]),
        (WITHOUT_MATH, ["in __init__"]),
        (CHAINED, ["in forward", "in forward"]),
    ],
    ids=["import", "construct", "chained"],
)
def test_the_log_of_an_exception_begins_in_the_candidates_file(
    session: Session, source: str, frames: list[str]
) -> None:
    problem = Problem(key="frames", name="frames", source=PROBLEM)
    record = session.evaluate(problem, source, timed=False)
    assert record.outcome in (Outcome.RUNTIME_ERROR, Outcome.LOAD_FAILED), record.reason
    shown = [line for line in record.log.splitlines() if line.startswith('  File "')]
    assert len(shown) == len(frames), record.log
    assert all("candidate.py" in line and frame in line for frame, line in zip(frames, shown, strict=True))


def test_nothing_but_imports_of_the_reference_crosses() -> None:
    reference = (
        "import math, os.path\nfrom torch import nn as net\nfrom . import near\nfrom random import *\nsize = 3\n"
    )
    reference += "try:\n    import json\nexcept ImportError:\n    pass\ndef f():\n    import re\n"
    assert imports(reference) == {"math": "import math", "os": "import os.path", "net": "from torch import nn as net"}
    assert lent("math.pi; os.sep; net.ReLU; near; size; json; re; f()", reference) == (
        "import math",
        "import os.path",
        "from torch import nn as net",
    )
    assert lent("import math\nmath.pi\nclass net: pass\nnet()", reference) == ()
    assert lent("not python at all", reference) == ()
    said = "load: NameError: name 'size' is not defined"
    assert explained(said, reference, "strict") == said
    told = "forward: NameError: name 'math' is not defined. Did you forget to import 'math'?"
    assert explained(told, reference, "mine").startswith(
        "forward: NameError: name 'math' is not defined: the file must"
    )
    assert "Did you forget" not in explained(told, reference, "mine")


BUSY = """
import time
import torch
import torch.nn.functional as F


class ModelNew(torch.nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = torch.nn.Linear(width, width)
        self.calls = 0

    def forward(self, x):
        self.calls += 1
        step = 0
        while self.calls == SLOW and step < STEPS:
            time.sleep(0.5)
            step += 1
            if WRITES:
                with open(f"kernel{self.calls}.{step}", "w") as file:
                    file.write("as a compiler leaves them")
        return F.gelu(self.linear(x)) / x.shape[1] ** 0.5
"""


@pytest.fixture(scope="module")
def impatient() -> Iterator[Session]:
    limits = Limits(call_seconds=4.0, first_call_seconds=12.0, hang_seconds=2.5, hang_times=1.0)
    with Session(limits=limits, device="cpu") as session:
        yield session


@pytest.mark.proof
@pytest.mark.parametrize(
    ("slow", "steps", "writes", "waited"),
    [
        (1, 13, True, None),
        (1, 60, False, "4 s"),
        (1, 60, True, "12 s"),
        (2, 60, True, "4 s"),
        (2, 60, False, "2.5 s"),
    ],
    ids=["compiles", "hangs", "compiles-for-ever", "later", "hangs-later"],
)
def test_a_first_call_may_take_longer_as_long_as_it_leaves_files(
    impatient: Session, slow: int, steps: int, writes: bool, waited: str | None
) -> None:
    source = f"SLOW, STEPS, WRITES = {slow}, {steps}, {writes}\n{BUSY}"
    problem = Problem(key="imports", name="imports", source=PROBLEM)
    record = impatient.evaluate(problem, source, timed=False)
    if waited is None:
        assert record.passed, record.reason
        assert record.first_call_s is not None and record.first_call_s >= 0.5 * steps
        assert record.summary()["first_call_s"] == record.first_call_s
    else:
        assert record.outcome is Outcome.TIMED_OUT
        assert record.reason.startswith(f"forward: no answer within {waited}; the reference's slowest call took ")


OPENING = """
import time

import torch


def wait():
    for step in range(100):
        time.sleep(0.3)
        if WRITES:
            open(str(step), "w").close()


if WHERE == "load":
    wait()


class ModelNew(torch.nn.Module):
    def __init__(self):
        super().__init__()
        if WHERE == "construct":
            wait()

    def forward(self, x):
        return torch.relu(x)
"""


@pytest.mark.proof
@pytest.mark.parametrize(
    ("where", "writes", "waited"),
    [("load", False, "2 s"), ("construct", False, "2 s"), ("construct", True, "7 s")],
    ids=["imports-for-ever", "constructs-for-ever", "leaves-files"],
)
def test_an_import_and_a_construction_may_hang(where: str, writes: bool, waited: str) -> None:
    source = f"WHERE, WRITES = {where!r}, {writes}\n{OPENING}"
    limits = Limits(load_seconds=7.0, opening_hang_seconds=2.0, hang_times=0.0)
    with Session(limits=limits, device="cpu") as session:
        record = session.evaluate("1/19", source, sizes="small", timed=False)
    assert record.outcome is Outcome.TIMED_OUT
    assert record.reason.startswith(f"{where}: no answer within {waited}"), record.reason


PROBLEM_WITH_IMPORTS = Problem(key="imports", name="imports", source=PROBLEM)


def test_a_call_is_no_hang_by_what_the_reference_takes(session: Session) -> None:
    with Reference(session._zygote, PROBLEM_WITH_IMPORTS, load_protocol("strict"), "cpu") as reference:
        side, limits = reference.side, session.settings.limits
        assert side.hang_seconds == limits.call_seconds, "nobody knows yet"
        for slowest, limit in ((0.001, 10.0), (0.0, 10.0), (2.0, 40.0), (30.0, 60.0)):
            side.allow(slowest)
            assert side.hang_seconds == limit

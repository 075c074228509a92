"""The compiler contestant, with real compiles: its files stand alone and compute what the reference does."""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
import torch
from torch._dynamo.exc import Unsupported
from waiting import comes_true

from kernelgauge.errors import MachineError, UsageError
from kernelgauge.generation import inductor
from kernelgauge.generation.inductor import Inductor
from kernelgauge.generation.inductor_capture import _Recorder, _settings
from kernelgauge.schema import Candidate, NoCandidate, Problem

pytestmark = pytest.mark.processes

REDUCTION = """
import torch
import torch.nn as nn

rows, columns = 12, 33


class Model(nn.Module):
    def forward(self, x: torch.Tensor, scale: float = 1.0):
        return torch.sum(torch.tanh(x) * scale + 1, dim=1)


def get_inputs():
    return [torch.rand(rows, columns), 2.5]


def get_init_inputs():
    return []
"""

NORM = '''
from typing import Optional

import torch
import torch.nn as nn

features = 8
UNUSED = "gone"


class Block(nn.Module):
    """A helper whose forward must not survive."""

    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self._start()

    def _start(self):
        nn.init.normal_(self.linear.bias)

    def forward(self, x):
        return self.linear(x)


class Model(nn.Module):
    def __init__(self, width: int, depth: Optional[int] = None):
        super(Model, self).__init__()
        self.block = Block(width)
        self.norm = nn.BatchNorm1d(width)
        self.last = torch.zeros(width)

    def forward(self, x):
        y = self.norm(self.block(x))
        self.last = y[0] + self.last
        return y


def get_inputs():
    return [torch.rand(16, features)]


def get_init_inputs():
    return [features]
'''

DROPOUT = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self):
        super().__init__()
        self.drop = nn.Dropout(0.5)

    def forward(self, x):
        y = self.drop(x)
        return y * 2, {"largest": torch.max(x, dim=1), "turned": x.t()}


def get_inputs():
    return [torch.randn(6, 40)]


def get_init_inputs():
    return []
"""

BREAK = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x * 2 if x.sum() > 0 else x


def get_inputs():
    return [torch.rand(4)]


def get_init_inputs():
    return []
"""

DECIDES = REDUCTION.replace("        return", "        if scale > 2:\n            x = x.abs()\n        return")
# The compiler takes an epsilon from a tensor, and writes it into the text.
BAKED = REDUCTION.replace("torch.tanh(x)", "torch.nn.functional.layer_norm(x, (columns,), eps=scale)")
# Integers times a tensor of float64 are float64, times a number they are float32; so is a mask.
WHOLE = REDUCTION.replace("torch.tanh(x)", "(x * 9).int()")
MASKED = REDUCTION.replace("torch.tanh(x)", "(x > 0.5)")

# Its second call takes another path: one file cannot hold both.
REMEMBERS = REDUCTION.replace(
    "        return torch.sum(torch.tanh(x) * scale + 1, dim=1)",
    "        last = getattr(self, 'last', None)\n"
    "        self.last = x * scale if last is None else x * scale + last\n"
    "        return self.last",
)

COMPARE = """
import importlib.util, json, sys
import torch
from torch.utils._pytree import tree_flatten

def load(name):
    spec = importlib.util.spec_from_file_location(name, name + ".py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module

candidate, reference = load("candidate"), load("reference")
models = []
for model in (reference.Model, candidate.ModelNew):
    torch.manual_seed(3)
    models.append(model(*reference.get_init_inputs()))
outputs = []
for model in models:
    torch.manual_seed(4)
    calls = [model(*reference.get_inputs()) for _ in range(2)]
    leaves, tree = tree_flatten((calls, list(model.state_dict().items()), getattr(model, "last", None)))
    outputs.append((leaves, str(tree)))
(expected, tree), (actual, other) = outputs
assert tree == other, (tree, other)
for one, two in zip(expected, actual, strict=True):
    torch.testing.assert_close(two, one) if isinstance(one, torch.Tensor) else None
print(json.dumps({"kernelgauge": "kernelgauge" in sys.modules, "leaves": len(expected)}))
"""


def _complete(source: str) -> Candidate | NoCandidate:
    return Inductor(threads=2).complete(Problem(key="own", name="own", source=source), 0, "cpu")


def _candidate(source: str) -> Candidate:
    answer = _complete(source)
    assert isinstance(answer, Candidate), answer
    return answer


@pytest.fixture(scope="module")
def reduction() -> Candidate:
    return _candidate(REDUCTION)


def _run(script: str, folder: Path, **settings: str) -> str:
    environment = os.environ | {"TORCHINDUCTOR_CACHE_DIR": str(folder / "cache")} | settings
    done = subprocess.run([sys.executable, "-c", script], cwd=folder, env=environment, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout


def _compare(candidate: Candidate, reference: str, folder: Path) -> None:
    (folder / "candidate.py").write_text(candidate.source)
    (folder / "reference.py").write_text(reference)
    answer = json.loads(_run(COMPARE, folder))
    assert not answer["kernelgauge"]


@pytest.mark.proof
def test_reduction_equals_the_reference_and_is_written_the_same_twice(reduction: Candidate, tmp_path: Path) -> None:
    candidate = reduction
    assert (candidate.backend, candidate.contestant, candidate.problem) == ("cpp", "inductor", "own")
    assert 'extern "C"' in candidate.source
    assert str(Path.home()) not in candidate.source and "/tmp" not in candidate.source
    _compare(candidate, REDUCTION, tmp_path)
    assert _candidate(REDUCTION) == candidate


@pytest.mark.proof
def test_a_number_is_an_argument_of_the_code(reduction: Candidate, tmp_path: Path) -> None:
    (tmp_path / "candidate.py").write_text(reduction.source)
    script = "import torch, candidate\nx = torch.rand(12, 33)\nfound = candidate.ModelNew()(x, -0.7)\n"
    script += "print(torch.allclose(found, (x.tanh() * -0.7 + 1).sum(1)))"
    assert _run(script, tmp_path).strip() == "True"


@pytest.mark.proof
@pytest.mark.parametrize("reference", ["DECIDES", "BAKED", "WHOLE", "MASKED"])
def test_another_value_of_a_number_that_must_be_known_is_an_error_not_a_wrong_answer(
    reference: str, tmp_path: Path
) -> None:
    (tmp_path / "candidate.py").write_text(_candidate(globals()[reference]).source)
    script = "import torch, candidate\ntry:\n    candidate.ModelNew()(torch.rand(12, 33), 3.0)\n"
    assert "scale = 2.5" in _run(script + "except ValueError as error:\n    print(error)", tmp_path)


@pytest.mark.proof
def test_a_forward_with_a_number_that_remembers_is_no_candidate() -> None:
    answer = _complete(REMEMBERS)
    assert isinstance(answer, NoCandidate), answer
    assert "another graph on its second call" in answer.reason


@pytest.mark.proof
def test_parameters_buffers_and_state_go_where_the_reference_has_them(tmp_path: Path) -> None:
    candidate = _candidate(NORM)
    for gone in ("UNUSED", "get_inputs", "class Model(", "self.linear(x)"):
        assert gone not in candidate.source
    _compare(candidate, NORM, tmp_path)


@pytest.mark.proof
def test_the_second_import_does_not_compile(reduction: Candidate, tmp_path: Path) -> None:
    (tmp_path / "candidate.py").write_text(reduction.source)
    _run("import candidate", tmp_path)
    (tmp_path / "cache").rename(tmp_path / "moved")
    tools = tmp_path / "tools"
    tools.mkdir()
    compiler = tools / "g++"
    # Asking for the version is all that an import may do.
    compiler.write_text('#!/bin/sh\n[ "$*" = --version ] && exec /usr/bin/g++ --version\nexit 1\n')
    compiler.chmod(0o755)
    _run(
        "import candidate",
        tmp_path,
        TORCHINDUCTOR_CACHE_DIR=str(tmp_path / "moved"),
        PATH=f"{tools}:{os.environ['PATH']}",
    )


@pytest.mark.proof
def test_dropout_draws_what_eager_draws_and_outputs_keep_their_tree(tmp_path: Path) -> None:
    _compare(_candidate(DROPOUT), DROPOUT, tmp_path)


def test_a_graph_break_is_no_candidate_with_a_reason() -> None:
    answer = _complete(BREAK)
    assert isinstance(answer, NoCandidate)
    assert answer.contestant == "inductor"
    assert "Data-dependent" in answer.reason


def test_a_compile_that_takes_too_long_is_no_candidate() -> None:
    answer = Inductor(timeout=0.1).complete(Problem(key="own", name="own", source=REDUCTION), 0, "cpu")
    assert isinstance(answer, NoCandidate)
    assert "0.1 s" in answer.reason


def test_a_search_path_is_that_of_whoever_set_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The compile runs in another folder: what is relative there would be another module, or none."""
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine" / "reduction_sizes.py").write_text("rows, columns = 12, 33\n")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", "mine", prepend=os.pathsep)
    _candidate(REDUCTION.replace("rows, columns = 12, 33", "from reduction_sizes import columns, rows"))


def test_a_reference_that_ends_the_compile_says_so_in_its_first_line() -> None:
    ends = "import os\nimport sys\n\nprint('a disk is missing', file=sys.stderr)\nos._exit(3)\n"
    answer = _complete(REDUCTION + ends)
    assert isinstance(answer, NoCandidate)
    assert answer.reason.splitlines()[0] == "The Inductor compile ended with status 3: a disk is missing"


def test_an_unknown_device_is_wrong_use() -> None:
    with pytest.raises(UsageError, match="cpu and cuda"):
        Inductor().complete(Problem(key="own", name="own", source=REDUCTION), 0, "tpu")


def test_compiles_under_way_can_be_ended() -> None:
    endless = Problem(key="own", name="own", source=REDUCTION + "\nwhile True:\n    pass\n")
    with ThreadPoolExecutor(2) as pool:
        waiting = [pool.submit(Inductor().complete, endless, 0, "cpu") for _ in range(2)]
        assert comes_true(lambda: len(inductor._UNDER_WAY) == 2)
        Inductor().abandon()
        for each in waiting:
            with pytest.raises(MachineError, match="killed from outside"):
                each.result(60)


def test_recurrent_layers_are_written_for_a_cpu_and_refused_for_a_gpu() -> None:
    layer, inputs = torch.nn.LSTM(4, 4), [torch.rand(3, 2, 4)]
    for on_gpu in (False, True):
        torch.compiler.reset()
        with torch.no_grad(), _settings(_Recorder(), None, on_gpu):
            compiled = torch.compile(layer, backend="eager", fullgraph=True)
            with pytest.raises(Unsupported, match="LSTM") if on_gpu else contextlib.nullcontext():
                assert compiled(*inputs)[0].shape == (3, 2, 4)

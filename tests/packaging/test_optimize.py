"""A model cut into problems, answered by the compiler, packaged, and measured before and after."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
import torch
from commands import command_here
from packages import PROBLEMS, complaints

from kernelgauge.packaging.cutting import cuts_of, loaded_model
from kernelgauge.packaging.runtime.graphs import read
from kernelgauge.packaging.runtime.patching import module_trace
from kernelgauge.problems.loader import load_problem

pytestmark = [pytest.mark.processes, pytest.mark.proof("packaging", unit="package")]
MODEL = PROBLEMS / "two_blocks.py"


def test_a_model_is_cut_at_its_outermost_small_modules(tmp_path: Path) -> None:
    model, inputs = loaded_model(MODEL, "cpu")
    found = cuts_of(model, inputs, most=12, limit=8)
    assert {cut["name"]: cut["modules"] for cut in found["cuts"]} == {
        "norm": ["blocks.0.norm", "blocks.1.norm"],
        "gate": ["blocks.0.act", "blocks.1.act"],
    }
    assert {each["module"] for each in found["skipped"]} >= {"blocks.0.up", "blocks.1.down"}
    for cut in found["cuts"]:
        path = tmp_path / f"{cut['name']}.py"
        path.write_text(cut["source"])
        assert load_problem(path).source == cut["source"]
        scope: dict = {}
        exec(cut["source"], scope)
        problem, given = scope["Model"](), scope["get_inputs"]()
        own = model.get_submodule(cut["modules"][0])
        with torch.no_grad():
            torch.testing.assert_close(problem(*given).shape, own(*given).shape)
    (gate,) = (cut for cut in found["cuts"] if cut["name"] == "gate")
    scope = {}
    exec(gate["source"], scope)
    with torch.no_grad():
        given = scope["get_inputs"]()
        torch.testing.assert_close(scope["Model"]()(*given), model.blocks[0].act(*given))
    whole = cuts_of(model, inputs, most=200, limit=8)
    assert [cut["modules"] for cut in whole["cuts"]] == [["blocks"]]


class Attending(torch.nn.Module):
    """A layer as a transformer's, on two heads of eight values."""

    def __init__(self, dropout: float = 0.0) -> None:
        super().__init__()
        self.both, self.dropout = torch.nn.Linear(16, 48), dropout

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        heads = self.both(x).view(*x.shape[:2], 3, 2, 8).permute(2, 0, 3, 1, 4)
        answer = torch.nn.functional.scaled_dot_product_attention(*heads, dropout_p=self.dropout, is_causal=True)
        return answer.transpose(1, 2).reshape(x.shape)


def test_attention_is_written_as_every_device_and_type_has_it() -> None:
    """PyTorch's kernel for it counts as a random one, and has no float64; without dropout neither matters."""
    torch.manual_seed(0)
    model, given = torch.nn.Sequential(Attending(), torch.nn.Linear(16, 4)), torch.randn(2, 5, 16)
    found = cuts_of(model.eval(), [given], most=20, limit=8)
    (cut,) = found["cuts"]
    assert cut["modules"] == ["0"] and "aten.scaled_dot_product_attention" in cut["source"]
    scope: dict = {}
    exec(cut["source"], scope)
    problem = scope["Model"]().eval()
    own = [model[0].both.weight, model[0].both.bias]
    with torch.no_grad():
        for mine, theirs in zip(problem.parameters(), own, strict=True):
            mine.copy_(theirs)
        torch.testing.assert_close(problem(given), model[0](given))
        torch.testing.assert_close(problem.double()(given.double()).float(), model[0](given))
    same = [module_trace(each.float(), (given,), {}, 20) for each in (problem, model[0])]
    assert len({read(trace).text for trace in same if trace}) == 1, "apply would not find it"


class Gated(torch.nn.Module):
    """A gate, with a weight for each channel."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.rand(8, 4, 4))

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return torch.tanh(x) * x * self.weight


def test_a_module_whose_tensors_are_not_contiguous_is_no_problem() -> None:
    """Kernels are judged on tensors that are: the guard would refuse every call of the model."""
    model, given = torch.nn.Sequential(Gated()), torch.randn(4, 8, 4, 4)
    assert [cut["modules"] for cut in cuts_of(model, [given], most=20, limit=8)["cuts"]] == [["0"]]
    for other in (given.to(memory_format=torch.channels_last), given.transpose(0, 1).contiguous().transpose(0, 1)):
        found = cuts_of(model, [other], most=20, limit=8)
        assert not found["cuts"] and "not contiguous" in found["skipped"][0]["reason"], found
    model[0].weight.data = model[0].weight.data.transpose(0, 2).contiguous().transpose(0, 2)
    assert not cuts_of(model, [given], most=20, limit=8)["cuts"]


def test_attention_that_drops_at_random_is_no_problem() -> None:
    model = torch.nn.Sequential(Attending(dropout=0.5)).eval()
    found = cuts_of(model, [torch.randn(2, 5, 16)], most=100, limit=8)
    assert not found["cuts"] and "draws at random" in found["skipped"][0]["reason"], found


def test_one_call_is_a_problem_where_it_is_asked_for() -> None:
    model = torch.nn.Sequential(torch.nn.Linear(16, 48), torch.nn.Identity(), torch.nn.ReLU())
    given = torch.randn(64, 16)
    assert not cuts_of(model, [given], most=20, limit=8)["cuts"]
    found = cuts_of(model, [given], most=20, limit=8, single=True)
    assert {cut["modules"][0] for cut in found["cuts"]} <= {"0", "2"} and found["cuts"]
    assert {"module": "1", "reason": "moves no values"} in found["skipped"]


@pytest.mark.nightly
def test_the_compilers_kernels_speed_up_a_model(patient: str, tmp_path: Path) -> None:
    out = tmp_path / "faster"
    asked = ("optimize", str(MODEL), "--out", str(out), "--most-calls", "12", "--name", "faster_blocks")
    done = command_here(*asked, "--protocol", patient, "--device", "cpu", "--pairs", "8", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert complaints("optimized", said) == []
    assert {cut["name"] for cut in said["cuts"]} == {"norm", "gate"}
    won = [cut for cut in said["cuts"] if cut["speedup"]]
    assert won, f"the compiler wins by much where nothing else is at work: {said['cuts']}"
    low, high = said["interval"]
    assert low <= said["speedup"] <= high and said["pairs"] == 8
    assert said["error"] < 1e-5
    assert {swap["operator"] for swap in said["swaps"]} == {cut["name"] for cut in won}
    assert len(said["swaps"]) == 2 * len(won)
    assert json.loads((out / "optimized.json").read_text())["speedup"] == said["speedup"]


@pytest.mark.nightly
def test_an_experts_kernels_are_named_after_the_cuts(patient: str, tmp_path: Path) -> None:
    answers = tmp_path / "answers"
    answers.mkdir()
    kernel = (PROBLEMS / "llama_gate_c.py").read_text().replace("#pragma omp simd", "#pragma omp parallel for simd")
    # Eager PyTorch uses every core here, and so must who is to be faster.
    (answers / "gate.py").write_text(
        kernel.replace('"-fopenmp-simd"', '"-fopenmp"').replace('"-lm"', '"-lm", "-lgomp"')
    )
    asked = ("optimize", str(MODEL), "--out", str(tmp_path / "out"), "--most-calls", "12", "--name", "expert_blocks")
    done = command_here(
        *asked,
        "--contestant",
        f"folder:{answers}",
        "--protocol",
        patient,
        "--device",
        "cpu",
        "--pairs",
        "6",
        "--json",
    )
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    won = {cut["name"]: cut["speedup"] for cut in said["cuts"]}
    assert won["norm"] is None and won["gate"] > 1, said["cuts"]
    assert [swap["module"] for swap in said["swaps"]] == ["blocks.0.act", "blocks.1.act"]


def test_what_cannot_be_optimized_says_why(tmp_path: Path) -> None:
    plain = "import torch\n\nclass Model(torch.nn.Module):\n    def forward(self, x):\n        return x\n\n"
    plain += "def get_inputs():\n    return [torch.rand(2)]\n\ndef get_init_inputs():\n    return []\n"
    for text, sentence in (
        ("x = 1\n", "does not define a class `Model`"),
        (plain, "no part of it can be a problem"),
        (plain.replace("return x", "raise ValueError('broken')"), "fails: ValueError: broken"),
    ):
        path = tmp_path / "model.py"
        path.write_text(text)
        done = command_here("optimize", str(path), "--out", str(tmp_path / "out"), "--device", "cpu")
        assert done.returncode == 2 and sentence in done.stderr, done.stderr

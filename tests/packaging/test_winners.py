"""What goes into a package and what stays out; and how names, schemas and shapes are read."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
import torch
from factories import BOUND, make_candidate, make_environment, make_evaluation, make_header, make_timing
from packages import PROBLEMS

from kernelgauge.errors import UsageError
from kernelgauge.packaging import package as packaging
from kernelgauge.packaging.calls import Call, call_of
from kernelgauge.packaging.names import check_package_name, operator_name
from kernelgauge.packaging.shapes import read_shapes
from kernelgauge.packaging.weights_as_inputs import (
    candidate_with_weights,
    problem_with_weights,
    reference_with_weights,
)
from kernelgauge.packaging.winners import Winner, why_not, winners
from kernelgauge.problems.loader import load_problem
from kernelgauge.report.runs import FolderRun
from kernelgauge.schema import Evaluation, Finding
from kernelgauge.store.run import Run

FINDING = Finding(rule="torch_fallback", severity="review", line=1, column=1, reason="it may call the library")
UNTOLD = make_timing(4.0).model_copy(update={"interval": (1.5, 9.0)})
NORM, GATE = (str(PROBLEMS / f"{name}.py") for name in ("rms_norm", "gated"))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"outcome": "wrong_value"}, "is wrong_value: "),
        ({"findings": (FINDING,), "kernel_policy": "default"}, "has a flag that somebody must look at: it may call"),
        ({"bound": BOUND.model_copy(update={"review": "close to the bound"})}, "has a flag"),
        ({"trivial_answers": ("zeros",)}, "answers a problem that does not count: strict would accept zeros"),
        ({"speedup": None}, "was not timed"),
        ({"speedup": 1.005, "spread": 0.02}, "is not surely faster than its reference: tie"),
        ({"speedup": 0.5}, "is not surely faster than its reference: slower"),
        ({"timing": UNTOLD}, "is not surely faster than its reference: unclear"),
        ({"protocol": "v0.1"}, "was judged under v0.1, whose inputs anybody can know"),
        ({"math": "torch"}, "was judged in arithmetic 'torch'"),
    ],
)
def test_a_record_says_why_its_candidate_is_left_out(changes: dict[str, Any], reason: str) -> None:
    """Records of cheats, ties and weak problems, which no honest kernel makes here: by hand."""
    assert str(why_not(make_evaluation(**{"math": "ieee", **changes}))).startswith(reason)
    assert why_not(make_evaluation(math="ieee")) is None


def run_of(folder: Path, *records: Evaluation) -> FolderRun:
    with Run.create(folder, make_header(problems=tuple(each.problem for each in records))) as run:
        for record in records:
            source = f"# {record.problem} {record.sample}\nclass ModelNew: ...\n"
            candidate = make_candidate(record.problem, source, sample=record.sample)
            run.append(record.model_copy(update={"candidate_digest": candidate.digest}), candidate)
    return FolderRun.read(folder)


def right(problem: str, **changes: Any) -> Evaluation:
    """A pass on the text of a problem that is here."""
    given = {"level": None, "math": "ieee", "problem_digest": load_problem(problem).digest}
    return make_evaluation("1/1", **{**given, **changes}).model_copy(update={"problem": problem})


def test_the_surest_of_each_problem_comes_first_and_one_class_of_machine_stays(tmp_path: Path) -> None:
    other = make_environment(gpu="NVIDIA H100")
    run = run_of(
        tmp_path / "run",
        right(NORM, sample=0, speedup=1.5),
        right(NORM, sample=1, speedup=2.0, spread=0.35),
        right(GATE, sample=0, speedup=9.0, environment=other),
        right(GATE, sample=1, speedup=1.2),
    )
    found, left = winners([run])
    assert [[w.evaluation.sample for w in those] for those in found.values()] == [[0, 1], [1]]
    (only,) = left
    assert only.reason == (
        "was judged on NVIDIA H100 with PyTorch 2.11.0, and the rest on NVIDIA H200 with PyTorch 2.11.0"
    )


def test_a_problem_that_changed_or_went_is_left_out(tmp_path: Path) -> None:
    changed = right(NORM, problem_digest="0" * 16)
    gone = right(GATE).model_copy(update={"problem": str(tmp_path / "gone.py")})
    found, left = winners([run_of(tmp_path / "run", changed, gone)])
    assert not found
    assert "was judged on another text of its problem" in left[0].reason
    assert "answers a problem that is not here any more: there is no file" in left[1].reason


@pytest.mark.parametrize("name", ["", "2fast", "torch", "json", "kernelgauge", "With-Dash", "class"])
def test_names_that_python_or_pytorch_has_are_refused(name: str) -> None:
    with pytest.raises(UsageError, match="cannot name a package"):
        check_package_name(name)


def test_operators_are_called_after_their_problems() -> None:
    assert operator_name("Softmax", "1/23", ()) == "softmax"
    assert operator_name("Softmax", "1/24", {"softmax"}) == "softmax_1_24"
    assert operator_name("4D tensor @ matrix", "1/11", ()) == "op_4d_tensor_matrix"
    assert operator_name("apply", "x.py", ()) == "op_apply"


def described(**changes: Any) -> dict[str, Any]:
    layout = {
        "state": [{"name": "norm.weight", "shape": [4], "dtype": "float32"}],
        "strides": [[4, 1]],
        "changed": [],
        "random": [],
    }
    given = [{"name": "x", "shape": [2, 4], "dtype": "float32"}, {"name": "n", "value": 3}]
    return {
        "inputs": changes.get("inputs", given),
        "output": [{"shape": [2, 4], "dtype": "float32"}],
        "layout": layout | changes if changes.get("layout", layout) else None,
    }


def test_a_schema_names_inputs_and_weights() -> None:
    call = call_of(described())
    assert not isinstance(call, str)
    assert call.schema == "(Tensor x, int n, Tensor norm_weight) -> Tensor"
    assert (call.inputs, call.state) == (2, ("norm.weight",))


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"layout": None}, "its forward looks at values"),
        ({"changed": ["running_mean"]}, "a call changes its own running_mean"),
        ({"random": ["Dropout"]}, "drawn at random"),
        ({"inputs": [{"name": "words", "value": ["a"]}]}, "its input words is neither a tensor nor a number"),
    ],
)
def test_what_cannot_be_an_operator_says_why(changes: dict[str, Any], reason: str) -> None:
    assert reason in str(call_of(described(**changes)))


def test_weights_become_inputs_without_touching_texts_in_strings() -> None:
    source = 'class ModelNew:\n    """Not a Model or ModelNew."""\n    x = super(ModelNew, self)\n'
    found = candidate_with_weights(source, ["x"], ["a.b"])
    assert 'class _WholeNew:\n    """Not a Model or ModelNew."""\n    x = super(_WholeNew, self)\n' in found
    problem = problem_with_weights(load_problem(NORM), ["hidden"], ["weight"])
    assert "def forward(self, hidden, _weight_0):" in problem.source
    compile(problem.source, "problem.py", "exec")


def test_shapes_are_read_from_json_and_toml(tmp_path: Path) -> None:
    (tmp_path / "shapes.json").write_text(json.dumps({"1/19": [{"batch_size": 16, "dim": 4096}]}))
    (tmp_path / "shapes.toml").write_text('"1/19" = [{batch_size = 16, dim = 4096}]\n')
    assert read_shapes(tmp_path / "shapes.json") == read_shapes(tmp_path / "shapes.toml")
    for name, text in (("a.json", "["), ("b.json", "{}"), ("c.json", '{"1/19": 3}'), ("d.toml", "= 3")):
        (tmp_path / name).write_text(text)
        with pytest.raises(UsageError, match=f"{name} "):
            read_shapes(tmp_path / name)
    with pytest.raises(UsageError, match="there is no file"):
        read_shapes(tmp_path / "none.json")


def test_what_lies_beside_the_module_tree_is_cast_and_moved_with_it() -> None:
    norm = load_problem(NORM)
    candidate = norm.source.replace("class Model", "class ModelNew")
    texts = (
        ("Model", problem_with_weights(norm, ["hidden"], ["weight"]).source),
        ("ModelNew", candidate_with_weights(candidate, ["hidden"], ["weight"])),
        ("ModelNew", reference_with_weights(norm.source, ["hidden"], ["weight"])),
    )
    for name, text in texts:
        scope: dict[str, Any] = {}
        exec(text, scope)
        made = scope[name](8, 1e-6).double().to("meta")
        assert made._whole.weight.dtype == torch.float64 and made._whole.weight.is_meta
        assert not list(made.parameters())


@pytest.mark.parametrize("every", [False, True])
def test_without_further_shapes_the_first_fit_winner_is_the_last_that_is_judged(
    monkeypatch: pytest.MonkeyPatch, every: bool
) -> None:
    problem, asked = load_problem(GATE), []
    group = [Winner(right(GATE, candidate_digest=str(n), sample=n), problem, "") for n in range(4)]
    call = Call(("gate", "up"), 2, (), (), ())
    monkeypatch.setattr(packaging, "_call", lambda session, winner: call)
    reasons = iter(["is not fit", None, None, None])
    monkeypatch.setattr(packaging, "_unfit", lambda *given: asked.append(given) or next(reasons))
    making = packaging._Making("x", "MIT", None, [])
    found = packaging._usable(making, None, group, every)  # type: ignore[arg-type]
    assert [w.evaluation.sample for w, _ in found] == ([1, 2, 3] if every else [1])
    assert len(asked) == (4 if every else 2)
    assert [each.sample for each in making.left] == ([0] if every else [0, 2, 3])

"""`problems verify`: sound problems pass, each way of being broken or weak is found, nothing has silently changed."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest
from typer.testing import CliRunner

from kernelgauge.cli import problems
from kernelgauge.config import load_protocol
from kernelgauge.errors import ProblemError
from kernelgauge.problems import catalogue
from kernelgauge.problems.facts import facts
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.verified import verified, with_earlier
from kernelgauge.schema import ROUNDING, ParameterDraws, Problem
from kernelgauge.session.session import Session
from kernelgauge.verification.facts import differences, fingerprint_differences
from kernelgauge.verification.verify import verify

pytestmark = pytest.mark.processes

DOCS = Path(__file__).parents[2] / "docs"

OWN = """import torch
import torch.nn as nn


class Model(nn.Module):
    def __init__(self, width: int):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.norm = nn.BatchNorm1d(width)

    def forward(self, x):
        return {forward}


width = 16


def get_inputs():
    return [torch.randn(24, width)]


def get_init_inputs():
    return [width]
"""
HONEST = "self.norm(self.linear(x))"


def own(folder: Path, forward: str) -> str:
    path = folder / "own_problem.py"
    path.write_text(OWN.replace("{forward}", forward))
    return str(path)


def test_only_a_forward_that_looks_at_values_may_fail_on_the_meta_device(session: Session, tmp_path: Path) -> None:
    shapes = load_problem(own(tmp_path, "self.linear(x.T)"))
    with pytest.raises(ProblemError, match=r"same reduction dim|cannot be multiplied"):
        session.describe(shapes)
    looks = session.describe(load_problem(own(tmp_path, "x * float(x.sum().item())")))
    assert looks["output"] is None and looks["flops"] is None
    assert looks["state"]["linear.weight"] == [16, 16]


@pytest.mark.parametrize("level", [1, 2, 3, 4])
def test_no_text_has_changed_since_it_was_verified(level: int) -> None:
    for key in catalogue.keys([level]):
        recorded = verified(key)
        assert recorded is not None and recorded.digest == load_problem(key).digest, (
            f"{key} is another text: run `kernelgauge problems verify {key} --record`"
        )


def test_what_would_pass_without_the_work_was_recorded_under_todays_rules() -> None:
    today = {name: load_protocol(name).judgement_digest for name in ("strict", "v0.1")}
    for key in catalogue.select():
        recorded = verified(key)
        assert recorded is not None and recorded.protocols == today, (
            f"{key}: what decides which answers are right has changed: run `kernelgauge problems verify --record`"
        )


def test_every_problem_of_the_facts_is_there() -> None:
    assert [len(catalogue.keys([level])) for level in (1, 2, 3, 4)] == [100, 100, 50, 20]
    for key in catalogue.keys([1, 2, 3]):
        entry = catalogue.entry(key)
        found = facts(entry.level, entry.number)
        assert found is not None and found.name == entry.name


def test_what_does_not_count_under_strict_is_in_the_docs_with_its_reason() -> None:
    weak = {}
    for key in catalogue.select():
        recorded = verified(key)
        assert recorded is not None, key
        if recorded.trivial_answers["strict"] or recorded.shortcuts["strict"]:
            weak[key] = (*recorded.trivial_answers["strict"], *recorded.shortcuts["strict"])
    rows = re.findall(r"^\| (\d/\d+)_\w+ \|", (DOCS / "reference" / "problems.md").read_text(), re.MULTILINE)
    assert sorted(rows) == sorted(weak)


def test_a_problem_known_to_accept_a_cut_corner_does_not_count(session: Session) -> None:
    accepted = {"strict": ("without bias",)}
    problem = load_problem("1/100", sizes="small").model_copy(update={"shortcuts": accepted})
    source = problem.source.replace("class Model(", "class ModelNew(")
    for protocol in ("strict", "quick"):  # of which nothing is on record
        record = session.evaluate(problem, source, timed=False, protocol=protocol)
        assert record.passed and not record.scored
        assert record.trivial_answers == problem.shortcuts["strict"]
    published = session.evaluate(problem, source, timed=False, protocol="v0.1")
    assert published.scored and not published.trivial_answers


def test_drawn_parameters_make_work_visible_that_pytorchs_own_draws_hide(session: Session) -> None:
    """2/9 subtracts 2 from values that hardly reach it, then shuts what is below zero."""
    problem = load_problem("2/9", sizes="small")
    source = problem.source.replace("class Model(", "class ModelNew(")
    record = session.evaluate(problem, source, timed=False)
    assert record.passed and record.scored, (record.reason, record.trivial_answers)
    zeros = source.replace("torch.relu(x)", "torch.zeros_like(x)")
    assert zeros != source
    assert session.evaluate(problem, zeros, timed=False).outcome == "wrong_value"
    as_pytorch_draws = problem.model_copy(update={"parameters": ParameterDraws(), "shortcuts": {}})
    assert "zeros" in session.evaluate(as_pytorch_draws, source, timed=False).trivial_answers


def test_low_precision_is_no_cut_corner_where_nothing_is_multiplied(session: Session) -> None:
    """Inputs are float32 all the same: nothing would be saved. One number hides the rounding of thousands."""
    strict = load_protocol("strict")
    loss = session.screen(load_problem("1/95", sizes="small"), strict, [], (3, 10))
    assert loss.shortcuts == ()
    product = Problem(key="own", name="own", source=PRODUCT)
    assert "tf32" in session.screen(product, strict, [], (3, 10)).shortcuts


PRODUCT = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x, y):
        return torch.log(torch.matmul(x, y).abs() + 1e9)


def get_inputs():
    return [torch.rand(64, 32), torch.rand(32, 16)]


def get_init_inputs():
    return []
"""
CHAOTIC = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        for _ in range(90):
            x = 3.9 * x * (1 - x)
        return x


def get_inputs():
    return [torch.rand(16, 32)]


def get_init_inputs():
    return []
"""
DRAWS = CHAOTIC.replace("for _ in range(90):", "for _ in range(1):").replace(
    "x = 3.9 * x * (1 - x)", "x = torch.normal(x, 1.0)"
)


@pytest.mark.parametrize(("source", "decides"), [(CHAOTIC, True), (DRAWS, False)], ids=["chaotic", "draws at random"])
def test_where_rounding_decides_nobody_is_held_to_the_answer(session: Session, source: str, decides: bool) -> None:
    """Neither agrees with a float64 run, but only of one do other roundings of the inputs say something else."""
    problem = Problem(key="own", name="own", source=source)
    record = session.evaluate(problem, source.replace("class Model(", "class ModelNew("), timed=False)
    assert record.passed and record.scored is not decides, record.reason
    assert (ROUNDING in record.trivial_answers) is decides
    said = "rounding decides the answer" if decides else "the float64 run draws other random numbers"
    assert any(note.startswith(said) for note in record.notes), record.notes
    assert not session.evaluate(
        problem, source.replace("class Model(", "class ModelNew("), protocol="v0.1"
    ).trivial_answers


def test_an_honest_own_file_is_sound(session: Session, tmp_path: Path) -> None:
    finding = verify(session, own(tmp_path, HONEST), [load_protocol("strict"), load_protocol("v0.1")])
    assert finding.broken == ()
    assert finding.trivial_answers == {"strict": (), "v0.1": ()}
    assert finding.idle == ("linear.bias",), "a bias before a batch norm changes nothing"
    assert finding.shortcuts["strict"] == ()
    assert {"without norm.weight", "without norm.bias", "tf32"} <= set(finding.shortcuts["v0.1"])
    assert "without linear.bias" not in finding.shortcuts["v0.1"]
    assert finding.flops == 2 * 24 * 16 * 16
    assert finding.bytes == 4 * (24 * 16 * 2 + 16 * 16 + 3 * 16)


def test_rounding_that_differs_from_call_to_call_is_no_fault(session: Session, tmp_path: Path) -> None:
    """As that of a library that adds up in another order where memory lies elsewhere."""
    differs = f"{HONEST} * (1 + __import__('time').time_ns() % 7 * 1.2e-7)"
    assert verify(session, own(tmp_path, differs)).broken == ()


@pytest.mark.parametrize(
    ("forward", "complaint"),
    [
        (f"{HONEST} + torch.rand(())", "two calls on the same inputs differ"),
        (f"{HONEST} / 0", "not finite"),
        (f"{HONEST} + __import__('time').time_ns() % 1e6", "another result"),
        ("x[:1].repeat(1 + __import__('time').time_ns() // 100 % 9973, 1)", "another result"),
        ("self.no_such(x)", "no_such"),
        ("__import__('os')._exit(3)", "ended the process"),
        ("None", "returned None"),
        ("[]", "returns no tensor"),
        ("__import__('os').closerange(3, 200)", "its own code"),
    ],
)
def test_broken_own_files_are_told_apart(session: Session, tmp_path: Path, forward: str, complaint: str) -> None:
    finding = verify(session, own(tmp_path, forward))
    assert any(complaint in each for each in finding.broken), finding.broken


@pytest.mark.parametrize(
    ("forward", "answer"),
    [
        ("(self.linear(x) - self.linear(x)).relu()", "zeros"),
        ("torch.ones_like(x)", "ones"),
        ("self.norm(x) * 0 + self.linear.bias", "replay"),
        ("x * 1.0", "input 0"),
    ],
)
def test_weak_own_files_are_found_under_both_protocols(
    session: Session, tmp_path: Path, forward: str, answer: str
) -> None:
    finding = verify(session, own(tmp_path, forward), [load_protocol("strict"), load_protocol("v0.1")])
    assert answer in finding.trivial_answers["strict"]
    assert answer in finding.trivial_answers["v0.1"]


def test_a_forward_whose_shapes_depend_on_values_is_sound(session: Session, tmp_path: Path) -> None:
    finding = verify(session, own(tmp_path, "self.linear(x)[self.linear(x) > 0].sum()"))
    assert finding.broken == () and finding.flops is None


def test_one_random_element_is_not_taken_for_a_constant(session: Session, tmp_path: Path) -> None:
    """Set to its own value it would seem to be ignored without effect."""
    path = Path(own(tmp_path, "self.linear(x)"))
    path.write_text(path.read_text().replace("nn.Linear(width, width)", "nn.Linear(width, 1)"))
    finding = verify(session, str(path), [load_protocol("strict")])
    assert finding.idle == ("norm.weight", "norm.bias")
    assert not finding.shortcuts["strict"]


def test_a_parameter_with_an_effect_on_some_inputs_only_is_not_idle(session: Session, tmp_path: Path) -> None:
    finding = verify(
        session,
        own(tmp_path, "torch.where(x.min() >= 0, self.linear(x), self.norm(self.linear(x)))"),
        [load_protocol("strict"), load_protocol("v0.1")],
    )
    assert "norm.weight" not in finding.idle
    assert "without norm.weight" in finding.shortcuts["v0.1"], "its inputs are never negative"
    assert "without norm.weight" not in finding.shortcuts["strict"]


@pytest.mark.proof("verification", "evaluation/correctness")
def test_what_the_constructor_sets_is_neither_idle_nor_ignored(session: Session) -> None:
    finding = verify(session, "2/50", [load_protocol("strict")])
    assert not {"scale1", "scale2"} & set(finding.idle)
    assert not finding.shortcuts["strict"]


def test_a_difference_from_the_facts_is_named(session: Session) -> None:
    known = facts(2, 39)
    assert known is not None
    found = session.describe(load_problem("2/39"))
    assert list(differences(found, known)) == []
    state = dict(found["state"])
    swapped = dict(reversed(state.items()))
    for changed, complaint in [
        ({"constants": {**found["constants"], "batch_size": 1}}, "batch_size"),
        ({"state": swapped}, "another order"),
        ({"state": {**state, "extra": [1]}}, "too many"),
        ({"state": {name: shape for name, shape in state.items() if name != "scale"}}, "lacks scale"),
        ({"state": {**state, "scale": [4095]}}, "scale has shape"),
        ({"output": [{"shape": [1], "dtype": "float32"}]}, "output"),
        ({"flops": 7}, "FLOPs"),
        ({"init_args": []}, "constructor arguments"),
    ]:
        complaints = list(differences({**found, **changed}, known))
        assert len(complaints) == 1 and complaint in complaints[0]


def test_a_changed_draw_or_result_shows_in_the_fingerprint() -> None:
    before = {"inputs": [0.5, 0.25], "parameters": [0.1, -1.5], "output": [3.0, 0.01]}
    assert list(fingerprint_differences(before, before)) == []
    for what in before:
        for change in ([before[what][0] * 1.001, before[what][1]], [before[what][0], before[what][1] + 0.01]):
            assert list(fingerprint_differences({**before, what: change}, before)) != []


@pytest.mark.proof("verification", "evaluation/correctness")
def test_command_prints_a_table_and_says_by_its_exit_code_whether_all_are_sound(
    tmp_path: Path, cache_folder: Path
) -> None:
    import subprocess
    import sys

    command = [sys.executable, "-m", "kernelgauge", "problems", "verify"]
    done = subprocess.run([*command, "1/1", "2/39", "--json"], capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    rows = json.loads(done.stdout)
    assert [row["problem"] for row in rows] == ["1/1", "2/39"]
    assert rows[0]["flops"] == 137438953472
    broken = own(tmp_path, "self.no_such(x)")
    done = subprocess.run([*command, "1/1", broken], capture_output=True, text=True, timeout=120)
    assert done.returncode == 3
    assert "1 broken" in done.stdout and "no_such" in done.stderr


def test_what_was_found_earlier_of_the_same_text_and_protocol_is_kept() -> None:
    found = verified("1/1")
    assert found is not None
    earlier = found.model_copy(update={"shortcuts": {"strict": ("tf32",), "v0.1": ("tf32",)}})
    now = found.model_copy(update={"shortcuts": {"strict": (), "v0.1": ("bfloat16",)}})
    assert with_earlier(now, None) == now
    assert with_earlier(now, earlier).shortcuts == {"strict": ("tf32",), "v0.1": ("bfloat16", "tf32")}
    assert with_earlier(now.model_copy(update={"digest": "other"}), earlier).shortcuts == now.shortcuts
    other = earlier.model_copy(update={"protocols": {**earlier.protocols, "strict": "other"}})
    assert with_earlier(now, other).shortcuts == {"strict": (), "v0.1": ("bfloat16", "tf32")}


def test_without_transformers_all_problems_are_those_of_three_levels(monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []
    monkeypatch.setattr(problems, "find_spec", lambda _: None)
    monkeypatch.setattr("kernelgauge.verification.verify.verify_all", lambda _, keys, *__: asked.extend(keys) or [])
    done = CliRunner().invoke(problems.app, ["verify"])
    assert "level 4 is left out" in done.stderr
    assert asked == catalogue.keys([1, 2, 3])

"""The mutation benchmark: its operators, its honest rewrites, its witnesses, and the evaluator's verdicts on both."""

from __future__ import annotations

import ast
import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.mutations import page
from benchmarks.mutations.algorithms import ALGORITHMS
from benchmarks.mutations.compiled import CUDA_CANDIDATES
from benchmarks.mutations.ledger import Ledger
from benchmarks.mutations.mutants import GENERAL, SELDOM, edits, honest, mutants
from benchmarks.mutations.operators import OPERATORS
from benchmarks.mutations.processes import Text, examine
from benchmarks.mutations.trees import CandidateTree
from benchmarks.mutations.witness import SAME
from kernelgauge.pairs.mutations import NATIVE_OPERATORS, changes
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Outcome
from kernelgauge.session.session import Session

ROOT = Path(__file__).parents[2]
# Together they hold every kind of call that an operator looks for.
PROBLEMS = ("1/24", "1/32", "1/36", "1/42", "1/44", "1/48", "1/49", "1/51", "1/88", "1/91", "1/97", "2/1",
            "2/11", "2/13", "2/22", "2/27", "2/37", "2/39", "2/66", "2/70", "2/72", "2/92", "2/97", "3/8",
            "3/43")  # fmt: skip


def _fault(key: str, operator: str, what: str, style: str = "lowered", sizes: str = "small") -> str:
    """The text of one known mutant."""
    tree = CandidateTree(honest(load_problem(key, sizes), style))
    return next(text for edit, text in edits(tree, OPERATORS[operator]) if edit.what == what)


@pytest.fixture(scope="module")
def trees() -> list[CandidateTree]:
    texts = [honest(load_problem(key, "odd"), style) for key in PROBLEMS for style in ("lowered", "rewritten 0")]
    return [CandidateTree(text) for text in texts]


@pytest.mark.parametrize("name", OPERATORS)
def test_every_operator_finds_a_place_and_changes_the_text_there(name: str, trees: list[CandidateTree]) -> None:
    found = [(tree, edit) for tree in trees for edit in list(OPERATORS[name].finds(tree))[:2]]
    assert found
    assert OPERATORS[name].summary.endswith(".")
    for tree, edit in found[:6]:
        changed = tree.changed(edit)
        assert edit.what
        assert changed != ast.unparse(tree.tree) + "\n"
        compile(changed, name, "exec")
        constructors = [
            [
                ast.unparse(n)
                for n in ast.walk(ast.parse(text))
                if isinstance(n, ast.FunctionDef) and n.name == "__init__"
            ]
            for text in (changed, ast.unparse(tree.tree))
        ]
        assert constructors[0] == constructors[1], "both must draw the same parameters"


@pytest.mark.parametrize("name", NATIVE_OPERATORS)
def test_every_native_operator_changes_a_kernel_and_nothing_around_it(name: str) -> None:
    texts = [file.read_text() for file in sorted(CUDA_CANDIDATES.glob("level*/*.py"))]
    found = [(text, change, changed) for text in texts for change, changed in changes(text, name)]
    assert found
    for text, change, changed in found:
        assert changed != text
        python = [ast.unparse(node) for node in ast.parse(text).body if isinstance(node, ast.ClassDef)]
        assert python == [ast.unparse(node) for node in ast.parse(changed).body if isinstance(node, ast.ClassDef)]
        assert change.what


def test_the_sample_is_the_same_every_time_and_general_operators_do_not_fill_it() -> None:
    problem = load_problem("2/39", "odd")
    first, second = ([each.text for each in mutants(problem, "rewritten 0", 1, 8)] for _ in range(2))
    assert first == second
    assert len(set(first)) == len(first) == 8
    names = [each.operator for each in mutants(problem, "rewritten 0", 1, 8)]
    assert sum(name in GENERAL for name in names) <= 1
    assert set(OPERATORS) >= GENERAL | SELDOM


@pytest.mark.proof("benchmarks/mutations", "benchmarks/cuda_candidates")
@pytest.mark.parametrize("key", ["1/14", "1/49", "1/97", "2/11", "2/50", "2/92", "3/8", "3/43"])
def test_honest_rewrites_are_the_reference_in_float64(key: str) -> None:
    problem = load_problem(key, "odd")
    texts = [honest(problem, style) for style in ("lowered", "rewritten 0", "rewritten 1", "rewritten 2")]
    assert len(set(texts)) > 1
    for finding in examine(problem, map(Text, texts)):
        assert (finding.verdict, finding.deviation < SAME) == ("equivalent", True), finding


def test_rewrites_call_no_library_for_what_they_have_an_algorithm_for() -> None:
    text = honest(load_problem("2/11", "small"), "rewritten 0")
    forward = next(n for n in ast.walk(ast.parse(text)) if isinstance(n, ast.FunctionDef) and n.name == "forward")
    called = {ast.unparse(n.func) for n in ast.walk(forward) if isinstance(n, ast.Call)}
    assert not called & set(ALGORITHMS)


def test_witnesses_tell_faults_from_equivalents_and_from_what_does_not_run() -> None:
    problem = load_problem("1/23", "odd")
    right = honest(problem, "lowered")
    assert "F.softmax(x, dim=1)" in right
    texts = {
        "stillborn": ("F.softmax(x, dim=5)", "x[:1]", "__import__('os')._exit(0)"),
        "equivalent": ("torch.exp(F.log_softmax(x, dim=1))",),
        "witnessed": ("F.softmax(x, dim=1) * 1.00001", "torch.exp(x) / torch.exp(x).sum(1, keepdim=True)"),
    }
    for verdict, changed in texts.items():
        written = [Text(right.replace("F.softmax(x, dim=1)", each)) for each in changed]
        assert [finding.verdict for finding in examine(problem, written)] == [verdict] * len(changed)


@pytest.mark.proof("benchmarks/mutations", "benchmarks/cuda_candidates")
@pytest.mark.parametrize(
    ("key", "operator", "what"),
    [
        ("1/36", "wrong_epsilon", "eps * 0.1"),
        ("2/39", "ignored_parameter", "self.bn.bias -> zeros"),
        ("2/76", "low_precision_operands", "F.linear to_tf32"),
        ("1/26", "wrong_activation", "GELU with approximate=tanh"),
        ("1/23", "no_max_subtraction", "F.softmax without the maximum"),
        ("1/49", "wrong_identity", "torch.amax from zero"),
        ("1/28", "missing_bound", "torch.clamp without upper bound"),
    ],
)
def test_strict_refuses_known_faults_that_v01_accepts(key: str, operator: str, what: str, session: Session) -> None:
    problem = load_problem(key, "odd")
    text = _fault(key, operator, what, "rewritten 0" if key == "1/28" else "lowered", "odd")
    (finding,) = examine(problem, [Text(text)])
    assert finding.verdict == "witnessed"
    assert session.evaluate(problem, text, protocol="v0.1", timed=False).outcome is Outcome.PASSED
    strict = session.evaluate(problem, text, timed=False)
    assert strict.outcome in (Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION), strict.reason


def test_a_ledger_goes_on_after_a_line_that_was_cut(tmp_path: Path) -> None:
    path = tmp_path / "ledger.jsonl"
    path.write_text('{"id": "a", "n": 1}\n{"id": "a", "n": 2}\n{"id": "b", "n"')
    ledger = Ledger(path)
    assert ledger.rows == {"a": {"id": "a", "n": 2}}
    ledger.add({"id": "b", "n": 3})
    assert Ledger(path).rows["b"] == {"id": "b", "n": 3}
    assert "b" in ledger and "c" not in ledger
    ledger.add({"id": "b", "strict": {"outcome": "failed"}})
    assert "b" not in ledger, "the machine failed: to be tried again"


def _command(*arguments: str) -> str:
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(ROOT), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.mutations", *arguments],
        env=environment,
        cwd=ROOT,
        capture_output=True,
        text=True,
        check=True,
    )
    return done.stdout


@pytest.mark.proof("benchmarks/mutations", "benchmarks/cuda_candidates")
def test_a_run_goes_on_and_its_page_says_what_was_accepted(tmp_path: Path) -> None:
    run, shown = tmp_path / "run", tmp_path / "mutations"
    _command("faults", "--problems", "1/36", "--most", "2", "--out", str(run))
    _command("honest", "--problems", "1/36", "--out", str(run))
    before = (run / "faults.jsonl").read_text(), (run / "honest.jsonl").read_text()
    _command("faults", "--problems", "1/36", "--most", "2", "--out", str(run))
    _command("honest", "--problems", "1/36", "--out", str(run))
    assert before == ((run / "faults.jsonl").read_text(), (run / "honest.jsonl").read_text())
    rows = Ledger(run / "faults.jsonl").rows.values()
    witnessed = [row for row in rows if row["verdict"] == "witnessed"]
    assert witnessed and not any(page.accepted(row, "strict") for row in witnessed)
    _command("page", str(run), str(shown))
    text = shown.with_suffix(".md").read_text()
    assert f"Of {len(witnessed)} witnessed faults on problems that count, `strict` accepts 0 (0.0%)" in text
    assert "8 evaluations of right candidates" in text and "0 refused" in text
    assert len(json.loads(shown.with_suffix(".json").read_text())["faults"]) == len(rows)


def test_the_upper_end_of_a_share_is_wilsons() -> None:
    assert page.upper(0, 1000) == pytest.approx(0.00383, abs=1e-5)
    assert page.upper(50, 100) == pytest.approx(0.5962, abs=1e-4)

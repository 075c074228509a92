"""What counts as a kernel: leads and what was seen to run, in records, on the command line and in reports."""

from __future__ import annotations

import json
from io import StringIO
from pathlib import Path
from typing import Any

import pytest
from factories import make_evaluation, make_header
from rich.console import Console
from typer.testing import CliRunner

from kernelgauge.checks import rules
from kernelgauge.checks.rules import SETS, Read, Seen
from kernelgauge.checks.source.lead import Lead
from kernelgauge.cli.main import app
from kernelgauge.config import load_protocol
from kernelgauge.errors import StoreError
from kernelgauge.report.figures.scores import score
from kernelgauge.report.terminal import render
from kernelgauge.schema import KERNEL_POLICIES, Executed, ExecutedWork, Finding, Outcome
from kernelgauge.selftest.specimens import problem, specimens
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

PLACE = (10, 12)
SOURCES = {specimen.name: specimen.source for specimen in specimens()}

RELU = """
import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp_min(0)
"""


def lead(rule: Any, **changes: Any) -> Lead:
    return Lead(rule, 9, 5, "something stands there", **changes)


def seen(owns: bool | None = True, graphs: int = 0, share: float | None = None, **changes: Any) -> Seen:
    own = (Executed(name="mine", calls=1, time_us=5.0),) if owns else ()
    others = (Executed(name="aten::mm", calls=1, time_us=5.0),)
    executed = ExecutedWork(own=own, others=others, own_share=share, compiled_graphs=graphs)
    return Seen(executed=executed, owns=owns, works=("aten::mm",), **changes)


IN_FORWARD = {"reached": {PLACE: "forward"}}
ON_LOAD = {"reached": {PLACE: "load"}}
INSIDE = {"reached": {PLACE: "forward"}, "inside": {PLACE: ("aten::relu",)}}

# The lead, what was seen, the rule set, and what comes of it: `refuse`, `review` or nothing.
CASES = [
    (lead("imports_evaluator", certain=True), None, "default", "refuse"),
    (lead("imports_evaluator", weak=True, place=PLACE), None, "default", None),
    (lead("imports_evaluator", weak=True, place=PLACE), seen(), "default", None),
    (lead("imports_evaluator", weak=True, place=PLACE), seen(**ON_LOAD), "default", "refuse"),
    (lead("inherits_reference", certain=True), None, "kernel-required", "refuse"),
    (lead("torch_compile"), None, "default", "review"),
    (lead("torch_compile"), seen(), "default", "review"),
    (lead("torch_compile"), seen(graphs=2), "default", "refuse"),
    (lead("torch_compile", weak=True), seen(), "default", None),
    (lead("torch_compile", weak=True), seen(graphs=1), "default", "refuse"),
    (lead("inherits_reference", place=PLACE), seen(), "default", "review"),
    (lead("inherits_reference", place=PLACE), seen(**ON_LOAD), "default", "review"),
    (lead("inherits_reference", place=PLACE), seen(**IN_FORWARD), "default", "refuse"),
    (lead("inherits_reference", place=PLACE, weak=True), seen(), "default", None),
    (lead("torch_fallback", place=PLACE), seen(), "default", "review"),
    (lead("torch_fallback", place=PLACE), seen(owns=False), "default", "review"),
    (lead("torch_fallback", place=PLACE), seen(**IN_FORWARD), "default", "review"),
    (lead("torch_fallback", place=PLACE), seen(**INSIDE), "default", "refuse"),
    (lead("torch_fallback", place=PLACE), seen(owns=False, **IN_FORWARD), "default", "refuse"),
    (lead("torch_fallback", place=PLACE), seen(owns=None, **IN_FORWARD), "default", "review"),
    (lead("torch_fallback", place=PLACE, weak=True), seen(owns=False, **ON_LOAD), "default", "refuse"),
    (lead("torch_fallback", place=PLACE, weak=True), seen(**ON_LOAD), "default", None),
    (lead("torch_fallback"), seen(owns=False), "default", "refuse"),
    (lead("torch_fallback"), seen(), "default", "review"),
    (lead("no_own_kernel"), None, "default", "review"),
    (lead("no_own_kernel"), seen(owns=False), "default", "review"),
    (lead("no_own_kernel"), seen(owns=False), "kernel-required", "refuse"),
    (lead("no_own_kernel"), seen(), "kernel-required", None),
    (lead("dynamic_code"), seen(), "default", "review"),
    (lead("dynamic_code", weak=True), seen(), "default", None),
]


@pytest.mark.parametrize(("found", "facts", "name", "due"), CASES)
def test_a_lead_is_settled_by_the_run(found: Lead, facts: Seen | None, name: Any, due: str | None) -> None:
    findings = rules.settle(Read((found,), makes_kernels=True), facts, SETS[name])
    assert [each.severity for each in findings if each.line] == ([due] if due else [])
    assert all(each.evidence for each in findings) == (facts is not None or not findings)


def test_the_run_refuses_what_no_line_accounts_for() -> None:
    (compiled,) = rules.settle(Read(), seen(graphs=1), SETS["default"])
    assert (compiled.rule, compiled.severity, compiled.line) == ("torch_compile", "refuse", None)
    (without,) = rules.settle(Read(), seen(owns=False), SETS["kernel-required"])
    assert (without.rule, without.severity) == ("no_own_kernel", "refuse")
    (untold,) = rules.settle(Read(), seen(owns=None), SETS["kernel-required"])
    assert untold.severity == "review"
    (little,) = rules.settle(Read(), seen(share=0.01, alone=True), SETS["kernel-required"])
    assert little.severity == "review" and "1.0 %" in little.reason
    assert rules.settle(Read(), seen(share=0.01), SETS["kernel-required"]) == ()
    (other,) = rules.settle(Read(), seen(share=0.9, times_longer=3.0), SETS["kernel-required"])
    assert other.severity == "review" and "3.0 times" in other.reason
    assert rules.settle(Read(), seen(owns=False, graphs=3), SETS["any"]) == ()


def test_the_gravest_rule_comes_first() -> None:
    leads = (lead("torch_compile"), lead("torch_fallback"), lead("dynamic_code"))
    findings = rules.settle(Read(leads, makes_kernels=True), seen(owns=False, graphs=1), SETS["kernel-required"])
    assert [each.rule for each in findings] == ["torch_compile", "torch_fallback", "no_own_kernel", "dynamic_code"]


def test_only_what_a_run_can_settle_costs_one() -> None:
    assert not rules.needs_run(Read(), SETS["default"])
    assert not rules.needs_run(Read((lead("no_own_kernel"),)), SETS["default"])
    assert not rules.needs_run(Read((lead("imports_evaluator", certain=True),)), SETS["default"])
    assert rules.needs_run(Read((lead("dynamic_code", weak=True),)), SETS["default"])
    assert rules.needs_run(Read(), SETS["kernel-required"])


def test_protocols_name_their_rules_beside_their_digest() -> None:
    strict = load_protocol("strict")
    assert (strict.kernel_policy, load_protocol("v0.1").kernel_policy) == ("default", "any")
    assert {strict.under(kernel_policy=name).digest for name in KERNEL_POLICIES} == {strict.digest}
    assert tuple(SETS) == KERNEL_POLICIES


def test_records_refuse_findings_that_contradict_them() -> None:
    finding = Finding(rule="torch_compile", severity="refuse", line=1, column=1, reason="names torch.compile")
    refused = make_evaluation(outcome="rejected", rule="torch_compile", kernel_policy="default", findings=(finding,))
    assert refused.summary()["findings"][0]["line"] == 1
    with pytest.raises(ValueError, match="rejected for"):
        make_evaluation(kernel_policy="default", findings=(finding,))
    with pytest.raises(ValueError, match="nothing to find"):
        make_evaluation(kernel_policy="any", findings=(finding.model_copy(update={"severity": "review"}),))
    with pytest.raises(ValueError, match="evidence"):
        Finding(rule="torch_compile", severity="refuse", reason="seen")


def test_a_run_is_of_one_rule_set(tmp_path: Path) -> None:
    with Run.create_or_resume(tmp_path / "run", make_header(kernel_policy="default")):
        pass
    with pytest.raises(StoreError, match="kernel_policy"):
        Run.create_or_resume(tmp_path / "run", make_header(kernel_policy="kernel-required"))


def test_reports_show_refusals_beside_fast_p() -> None:
    review = Finding(rule="torch_fallback", severity="review", line=3, column=1, reason="swallows")
    found = score(
        [
            make_evaluation("1/1", kernel_policy="default"),
            make_evaluation("1/2", outcome="rejected", rule="torch_fallback", kernel_policy="default"),
            make_evaluation("1/3", outcome="rejected", rule="output_reused", kernel_policy="default"),
            make_evaluation("2/1", kernel_policy="default", findings=(review,)),
        ]
    )
    refused = found.overall.refused
    assert (refused.samples, refused.share) == (2, 0.5)
    assert refused.by_rule == {"torch_fallback": 0.25, "output_reused": 0.25}
    assert refused.by_class == {"rules": 0.25, "correctness": 0.25}
    assert refused.samples_by_class == {"rules": 1, "correctness": 1}
    assert found.levels["2"].refused.share == 0
    assert found.overall.review == {"torch_fallback": 1}
    assert json.loads(found.model_dump_json())["overall"]["refused"]["share"] == 0.5
    printed = as_text(found)
    assert (
        "refused" in printed and "rules 1 (25.0 %): torch_fallback 1 (25.0 %)" in printed and "to review" in printed
    )
    mixed = score([make_evaluation("1/1", kernel_policy="default"), make_evaluation("1/2", kernel_policy="any")])
    assert any("mix kernel_policy" in warning for warning in mixed.warnings)


def as_text(found: Any) -> str:
    console = Console(width=120, file=StringIO())
    with console.capture() as caught:
        console.print(render(found))
    return caught.get()


@pytest.mark.processes
def test_the_verdict_depends_on_the_rules(session: Session) -> None:
    """The same text: right, refused where an own kernel must run, and not even looked at where any way is right."""
    source = SOURCES["no_own_kernel"]
    due = {"default": (Outcome.PASSED, None), "kernel-required": (Outcome.REJECTED, "no_own_kernel")}
    for name in KERNEL_POLICIES:
        record = session.evaluate(problem(), source, timed=False, kernel_policy=name)
        assert (record.outcome, record.rule) == due.get(name, (Outcome.PASSED, None)), record.reason
        assert record.kernel_policy == name
        assert (record.executed is not None) == (name == "kernel-required")


@pytest.mark.processes
def test_what_is_refused_by_its_text_is_never_built_or_run(session: Session) -> None:
    record = session.evaluate(problem(), SOURCES["inherits_reference"], timed=False)
    assert record.rule == "inherits_reference"
    assert not {"build", "open", "check"} & set(record.seconds)
    assert record.findings[0].severity == "refuse" and record.findings[0].line is not None


@pytest.mark.processes
def test_an_unused_fallback_is_left_for_review(session: Session) -> None:
    record = session.evaluate(problem(), SOURCES["unused_fallback"], timed=False)
    assert record.outcome is Outcome.PASSED, record.reason
    (finding,) = record.findings
    assert (finding.rule, finding.severity) == ("torch_fallback", "review")
    assert "did not run" in finding.evidence and finding.excerpt.startswith("except RuntimeError")
    assert record.executed is not None and [each.name for each in record.executed.own] == ["norm_relu"]
    assert "aten::addmm" in [each.name for each in record.executed.others]


@pytest.mark.processes
def test_a_wrong_answer_is_wrong_before_it_is_against_the_rules(session: Session) -> None:
    source = SOURCES["no_own_kernel"].replace("torch.relu(", "torch.tanh(")
    record = session.evaluate(problem(), source, timed=False, kernel_policy="kernel-required")
    assert record.outcome is Outcome.WRONG_VALUE and record.executed is None


@pytest.mark.processes
def test_a_candidate_that_fails_only_when_watched_is_not_let_off(session: Session) -> None:
    source = SOURCES["no_own_kernel"].replace("import torch\n", "import torch, sys\n", 1)
    source = source.replace(
        "        return torch.relu(", "        assert not sys.getprofile()\n        return torch.relu("
    )
    record = session.evaluate(problem(), source, timed=False, kernel_policy="kernel-required")
    assert record.outcome is Outcome.RUNTIME_ERROR, record.reason
    assert record.reason.startswith("observe")


@pytest.mark.processes
def test_a_custom_operator_counts_by_what_it_runs(session: Session) -> None:
    """An operator of the candidate's own, written in Python, is PyTorch's work under another name."""
    source = SOURCES["no_own_kernel"].replace(
        "class ModelNew",
        "@torch.library.custom_op('mine::relu', mutates_args=())\n"
        "def own_relu(x: torch.Tensor) -> torch.Tensor:\n    return torch.relu(x)\n\n\nclass ModelNew",
    )
    source = source.replace("return torch.relu(self", "return own_relu(self")
    record = session.evaluate(problem(), source, timed=False, kernel_policy="kernel-required")
    assert (record.outcome, record.rule) == (Outcome.REJECTED, "no_own_kernel"), record.reason
    assert record.executed is not None and "aten::relu" in [each.name for each in record.executed.others]


@pytest.mark.processes
def test_machine_code_that_nobody_sees_called_is_left_for_review(session: Session) -> None:
    pytest.importorskip("numba")
    source = SOURCES["no_own_kernel"].replace(
        "class ModelNew",
        "import numba\n\n\n@numba.njit\ndef relu(x, y):\n    for i in range(x.size):\n"
        "        y[i] = max(x[i], 0.0)\n\n\nclass ModelNew",
    )
    source = source.replace("return torch.relu(self", "y = (self").replace(
        ".t())))", ".t())))\n        relu(y.numpy().reshape(-1), y.numpy().reshape(-1))\n        return y"
    )
    record = session.evaluate(problem(), source, timed=False, kernel_policy="kernel-required")
    assert record.outcome is Outcome.PASSED, record.reason
    assert [(each.rule, each.severity) for each in record.findings] == [("no_own_kernel", "review")]


@pytest.mark.proof
def test_the_command_line(tmp_path: Path, session: Session) -> None:
    reference, candidate = tmp_path / "reference.py", tmp_path / "candidate.py"
    reference.write_text(problem().source)
    candidate.write_text(SOURCES["no_own_kernel"])
    command = ["eval", str(reference), str(candidate), "--device", "cpu", "--no-timing"]
    done = CliRunner().invoke(app, [*command, "--kernel-policy", "kernel-required", "--json"])
    assert done.exit_code == 1, done.output
    row = json.loads(done.output)
    assert (row["kernel_policy"], row["rule"], row["outcome"]) == ("kernel-required", "no_own_kernel", "rejected")
    assert row["findings"][0]["severity"] == "refuse" and row["executed"]["own"] == []
    shown = CliRunner().invoke(app, [*command, "--kernel-policy", "kernel-required"])
    assert "no_own_kernel" in shown.output and "aten::addmm" in shown.output
    assert CliRunner().invoke(app, [*command, "--kernel-policy", "any"]).exit_code == 0
    assert CliRunner().invoke(app, [*command, "--kernel-policy", "no-such-policy"]).exit_code == 2


@pytest.mark.proof
def test_reeval_keeps_the_rules_of_the_run_unless_told(tmp_path: Path, session: Session) -> None:
    answers, out = tmp_path / "answers", tmp_path / "run"
    answers.mkdir()
    (answers / "1_19.py").write_text(RELU)
    common = ["--device", "cpu", "--sizes", "small"]
    run = [
        "run",
        "--contestant",
        f"folder:{answers}",
        "--out",
        str(out),
        "--kernel-policy",
        "kernel-required",
        *common,
    ]
    assert CliRunner().invoke(app, run).exit_code == 0
    assert Run.read(out).header.kernel_policy == "kernel-required"
    assert [record.rule for record in Run.read(out).latest()] == ["no_own_kernel"]
    other = CliRunner().invoke(app, ["reeval", str(out), "--kernel-policy", "any"])
    assert other.exit_code == 2 or "kernel_policy" in str(other.exception)
    again = ["reeval", str(out), "--kernel-policy", "any", "--out", str(tmp_path / "any")]
    assert CliRunner().invoke(app, again).exit_code == 0
    assert [record.outcome for record in Run.read(tmp_path / "any").latest()] == [Outcome.PASSED]

"""How much memory a judgement takes, what is refused because of it, and how a run tells: as far as a CPU shows."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
from factories import make_answer, make_environment, make_evaluation, make_header
from rich.console import Console
from typer.testing import CliRunner

from kernelgauge.checks.memory import Call, least, surplus
from kernelgauge.checks.memory_plan import USUAL
from kernelgauge.cli.main import app
from kernelgauge.config import Limits, load_protocol
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.resources.memory_use import MemoryUse
from kernelgauge.hardware import environment
from kernelgauge.problems.facts import facts
from kernelgauge.problems.loader import load_problem
from kernelgauge.report.figures.scores import score_run
from kernelgauge.report.page.document import write_html
from kernelgauge.report.terminal import render
from kernelgauge.schema import GB, GpuMemory, Problem, RunHeader, TooLarge
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

CONTEXTS = 3 * 400 * 2**20

OWN = """
import torch
import torch.nn as nn


class Model(nn.Module):
    def forward(self, x):
        return x.argmax(dim=1), x + 1


def get_inputs():
    return [torch.rand(1024, 1024)]


def get_init_inputs():
    return []
"""


@pytest.fixture(scope="module")
def small() -> Iterator[Session]:
    """A session on a machine that pretends to have 24 GB."""
    with Session(threads=1, limits=Limits(gpu_memory_gb=24)) as session:
        yield session


@pytest.mark.processes
def test_a_call_is_measured_from_what_the_problem_says_of_itself(small: Session) -> None:
    problem = Problem(key="own", name="own", source=OWN)
    call = small.bounds.call(problem, "ieee", small.environment)
    mib = 2**20
    assert (call.inputs, call.outputs, call.parameters) == (4 * mib, 8 * 1024 + 4 * mib, 0)
    assert (call.precise_inputs, call.precise_outputs) == (8 * mib, 8 * 1024 + 8 * mib)
    assert call.largest_output == mib
    halved = small.bounds.call(problem, "bf16", small.environment)
    assert (halved.inputs, halved.precise_inputs) == (2 * mib, 8 * mib)


def test_parameters_count_in_both_workers_and_in_float64() -> None:
    call = Call(0, 0, 4 * GB, 0, 0, 8 * GB, 0)
    assert least(call, precise=True).whole == CONTEXTS + 2 * 4 * GB + 8 * GB
    assert least(call, precise=False).whole == CONTEXTS + 3 * 4 * GB


def test_the_floor_is_what_the_parts_add_up_to() -> None:
    call = Call(GB, GB, 0, 2 * GB, 2 * GB, 0, GB // 4)
    compared = 2 * 8 * 2**26
    assert least(call, precise=True).whole == CONTEXTS + (3 + 4 + 2 + 2 + 4) * GB + compared
    # With 64 KB to compare nothing is looked at in pieces.
    tiny = Call(GB, 8192 * 4, 0, 2 * GB, 8192 * 8, 0, 8192)
    assert least(tiny, precise=True).whole == CONTEXTS + 5 * GB + 6 * 8192 * 4 + 2 * 8192 * 8 + 2 * 8 * 8192


@pytest.mark.parametrize(("free", "cap", "held"), [(139, 24, 115), (24, 24, 0), (20, 24, 0)])
def test_what_is_held_back_leaves_the_cap_free(free: int, cap: int, held: int) -> None:
    assert surplus(free * GB, cap * GB) == held * GB


@pytest.mark.processes
def test_recorded_facts_agree_with_what_the_examiner_finds(small: Session) -> None:
    """The largest inputs of the suite, by shapes recorded elsewhere."""
    known = facts(1, 45)
    assert known is not None
    call = small.bounds.call(load_problem("1/45"), "ieee", small.environment)
    assert call.inputs == sum(4 * math.prod(each["shape"]) for each in known.inputs if "shape" in each)
    assert call.outputs == sum(4 * math.prod(each["shape"]) for each in known.output)


@pytest.mark.processes
def test_what_cannot_fit_is_refused_with_figures_and_a_size_that_fits(small: Session) -> None:
    protocol = load_protocol("strict")
    with pytest.raises(ReferenceTooLarge) as refused:
        small.memory.check(load_problem("1/23"), protocol, "cuda", small.environment)
    message = str(refused.value)
    assert "1/23 softmax at sizes full does not fit" in message
    assert "24 GB (--gpu-memory)" in message and "--sizes medium" in message
    assert refused.value.available_gb == 24
    assert refused.value.needed_gb is not None and 50 < refused.value.needed_gb < 60
    assert f"{refused.value.needed_gb:.1f} GB" in message
    parts = {
        what: float(size) for what, size in re.findall(r"(?:: |, )([A-Za-z][^,;:]*?) (\d+\.\d)(?=[,;])", message)
    }
    assert set(parts) == {
        *("the reference", "a candidate like it", "copies of inputs and outputs out of their reach"),
        *("the oracle in float64", "CUDA contexts"),
    }
    assert sum(parts.values()) == pytest.approx(refused.value.needed_gb, abs=0.4)
    (own,) = re.findall(r"of these, (\d+\.\d) GB are the evaluator's own", message)
    assert float(own) == pytest.approx(refused.value.needed_gb - 2 * parts["the reference"], abs=0.2)
    assert "a GPU with more memory" in message and "v0.1" not in message, "it takes as much"
    small.memory.check(load_problem("1/23", sizes="medium"), protocol, "cuda", small.environment)
    small.memory.check(load_problem("1/23"), protocol, "cpu", small.environment)


@pytest.mark.processes
def test_the_published_rules_need_less_than_a_float64_oracle() -> None:
    """Of a problem that is nearly all parameters: the oracle's are in float64."""
    problem = load_problem("3/2")
    with Session(threads=1, limits=Limits(gpu_memory_gb=28)) as session:
        session.memory.check(problem, load_protocol("v0.1"), "cuda", session.environment)
        with pytest.raises(ReferenceTooLarge, match=r"v0\.1, which keeps no float64 oracle, takes at least 25"):
            session.memory.check(problem, load_protocol("strict"), "cuda", session.environment)


@pytest.mark.processes
def test_what_was_found_out_by_trying_is_remembered(small: Session) -> None:
    problem = Problem(key="own", name="own", source=OWN + "# found out by trying\n")
    asked = (problem, load_protocol("strict"), "cuda:1", small.environment)
    small.memory.check(*asked)
    found = small.memory.explained(*asked, ReferenceTooLarge("problem own: expect: no room; try smaller --sizes"))
    message = str(found)
    assert "more GPU memory than the 24 GB (--gpu-memory) there are (expect: no room); without" in message
    assert re.search(r"results it is 1\.\d GB: the reference 0\.0, a candidate", message), message
    assert "; make its inputs smaller, or judge it on a GPU with more memory" in message
    with pytest.raises(ReferenceTooLarge, match="no room"):
        small.memory.check(problem, load_protocol("strict"), "cuda", small.environment)
    small.memory.check(problem, load_protocol("v0.1"), "cuda", small.environment)


@pytest.mark.processes
def test_whether_a_copy_has_room_is_tried_once(small: Session) -> None:
    tried: list[bool] = []

    def no_room() -> bool:
        tried.append(True)
        return False

    problem = Problem(key="own", name="own", source=OWN + "# a copy\n")
    for _ in range(2):
        assert not small.memory.has_room(problem, load_protocol("strict"), "cuda", USUAL, no_room)
    assert len(tried) == 1


@pytest.mark.proof
def test_a_run_leaves_out_what_does_not_fit_and_goes_on(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a card of 24 GB: the run ends well, and the report counts and lists the problem."""
    monkeypatch.setattr(environment, "missing_device", lambda _: None)  # nothing of these problems comes to one
    answers = tmp_path / "answers"
    answers.mkdir()
    for name in ("1_23_softmax.py", "1_38_l1_norm.py"):
        (answers / name).write_text("class ModelNew: ...\n")
    out = tmp_path / "run"
    command = ["run", "--contestant", f"folder:{answers}", "--out", str(out), "--device", "cuda", "--sizes", "full"]
    for _ in range(2):  # asked again, and known already
        done = CliRunner().invoke(app, [*command, "--gpu-memory", "24"], catch_exceptions=False)
        assert done.exit_code == 0, done.output
        assert "2 too large for the 24 GB of GPU memory there were" in done.output
    run = Run.read(out)
    assert sorted(found.problem for found in run.too_large()) == ["1/23", "1/38"]
    assert run.header.gpu_memory_gb == 24 and run.done() == set()
    scores = score_run(run)
    assert [each.problem for each in scores.too_large] == ["1/23", "1/38"]
    assert scores.pending == () and scores.overall.problems == 0
    write_html(run, tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "2 too large for the 24 GB" in page and "1/38 l1_norm at sizes full does not fit" in page
    other = CliRunner().invoke(app, [*command, "--gpu-memory", "48"])
    assert "gpu_memory_gb 24.0, not 48.0" in str(other.exception)


def test_an_answer_stands_before_a_refusal(tmp_path: Path) -> None:
    refusal = TooLarge(problem="1/1", level=1, sizes="full", needed_gb=30, available_gb=24, reason="no room")
    with Run.create(tmp_path / "run", make_header()) as run:
        for problem in ("1/1", "1/2"):
            run.append_too_large(refusal.model_copy(update={"problem": problem}))
        run.append(*make_answer("1/1"))
        scores = score_run(run)
    assert [each.problem for each in scores.too_large] == ["1/2"]
    assert scores.overall.problems == 1 and scores.pending == ()
    console = Console(width=100, record=True, file=(tmp_path / "text").open("w"))
    console.print(render(scores))
    assert "1 too large for the 24 GB of GPU memory there were, in no figure above: 1/2" in console.export_text()


def test_a_header_from_before_there_was_a_cap_can_be_read() -> None:
    old = json.loads(make_header().model_dump_json())
    del old["gpu_memory_gb"]
    assert RunHeader.model_validate(old).gpu_memory_gb is None


def test_a_record_says_whose_word_each_figure_is() -> None:
    memory = GpuMemory(
        available_gb=24,
        cap_gb=24,
        before_gb=0.75,
        peak_gb=9.5,
        regions_gb=2.25,
        reference_gb=1.5,
        candidate_gb=3.75,
        candidate_claim_gb=0.5,
    )
    assert memory.line == (
        "9.50 of 24 GB (cap) at most; 0.75 in use before; regions 2.25; reference's worker held 1.50; "
        "candidate's worker held 3.75, 0.50 by its own word"
    )
    row = make_evaluation(gpu_memory=memory).summary()
    assert (row["gpu_memory_peak_gb"], row["gpu_memory_available_gb"]) == (9.5, 24)
    assert make_evaluation(environment=make_environment()).summary()["gpu_memory_peak_gb"] is None
    with pytest.raises(ValueError, match="cannot be available under a cap"):
        GpuMemory(available_gb=80, cap_gb=24, peak_gb=1, regions_gb=1)


def test_who_runs_out_of_memory_is_told_what_others_held() -> None:
    assert MemoryUse("cuda", before=2 * GB).blame() == (
        "; a copy of the reference has room enough; 2.00 GB of the device were in use before it began"
    )


def test_a_cap_needs_a_gpu_to_cap() -> None:
    done = CliRunner().invoke(app, ["eval", "1/23", "-", "--device", "cpu", "--gpu-memory", "4"], input="x = 1\n")
    assert "--gpu-memory goes with --device cuda" in str(done.exception)

"""The study of runs: failures by category, errors over turns, winners, and its page in a real browser."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER, Browser
from commands import command_here
from factories import make_candidate, make_environment, make_evaluation, make_header

from kernelgauge.problems.loader import load_problem
from kernelgauge.report.figures.study.turns import evolution
from kernelgauge.report.figures.study.winners import difference, right, winners
from kernelgauge.schema import (
    Attempt,
    AttemptRecord,
    Counters,
    Evaluation,
    NoCandidate,
    Profile,
    ProfileRow,
    Step,
)
from kernelgauge.store.run import Run

SHARED = '''from torch.utils.cpp_extension import load_inline
k = load_inline(name="k", cpp_sources="", cuda_sources="""
__global__ void one(float* x) { __shared__ float tile[32]; x[0] = tile[0]; }
""", functions=["one"])
'''
PLAIN = (
    "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
)
EVIL = "<script>document.title = 'owned'</script>"


def tried(number: int, after: int | None, outcome: str = "passed", **changes: Any) -> AttemptRecord:
    """An attempt that goes on from another one; outcome `refused` or `ideas` is none of an evaluation."""
    step = Step(after=after) if outcome != "ideas" else Step(asks="ideas", after=after)
    evaluation = None
    if outcome not in ("refused", "ideas"):
        evaluation = make_evaluation("1/1", 2.0 if outcome == "passed" else None, outcome)
    attempt = Attempt(
        step=Step() if changes.get("given") else step,
        answer="a",
        source="x",
        evaluation=evaluation,
        refusal="it has no kernel" if outcome == "refused" else "",
        **changes,
    )
    return AttemptRecord(problem="1/1", problem_digest="d", sample=0, number=number, attempt=attempt)


def test_turns_and_changes_by_hand() -> None:
    history = [
        tried(0, None, "build_failed"),
        tried(1, 0, "build_failed"),
        tried(2, 1, "refused"),
        tried(3, 2, "wrong_value"),
        tried(4, 3, "passed"),
    ]
    found = evolution((0, each) for each in history)
    assert found is not None and found.samples == 1
    assert [(turn.number, turn.classes) for turn in found.turns] == [
        (0, {"broke": 1}),
        (1, {"broke": 1}),
        (2, {"refused": 1}),
        (3, {"wrong": 1}),
        (4, {"passed": 1}),
    ]
    assert {change.before: change.after for change in found.changes} == {
        "wrong": {"passed": 1},
        "broke": {"broke": 1, "refused": 1},
        "refused": {"wrong": 1},
    }
    assert found.same_failure == 1
    assert [change.passed for change in found.changes if change.before == "wrong"] == [1.0]
    assert (found.turns[4].faster, found.turns[4].speedup) == (1, 2.0)


def test_ideas_are_no_turn_and_neither_is_what_was_given() -> None:
    found = evolution(
        (0, each)
        for each in (
            tried(0, None, "wrong_value", given="inductor"),
            tried(1, 0, "ideas", ideas=("tile it",)),
            tried(2, 1, "passed"),
        )
    )
    assert found is not None
    assert [(turn.number, turn.answers) for turn in found.turns] == [(0, 2)]
    assert [(change.before, change.after) for change in found.changes] == [("wrong", {"passed": 1})]


def test_samples_of_different_runs_are_not_mixed() -> None:
    found = evolution([(0, tried(0, None, "wrong_value")), (1, tried(1, 0, "passed"))])
    assert found is None  # the second run lacks the attempt that its answer goes on from


def test_answers_that_go_on_from_nothing_have_no_evolution() -> None:
    assert evolution([(0, tried(0, None)), (0, tried(1, None, "wrong_value"))]) is None


def profile(digest: str | None, launches: float, tensor: float | None = None) -> Profile:
    counters = Counters(
        name="k",
        launches=1,
        time_us=1.0,
        dram_gb_s=None,
        dram_percent=None,
        sm_percent=None,
        tensor_percent=tensor,
        occupancy_percent=None,
        registers=None,
        stalls=(),
    )
    return Profile(
        problem="1/1",
        problem_name="softmax",
        problem_digest="d",
        sizes="full",
        backend="cuda",
        candidate_digest=digest,
        device="cuda",
        environment=make_environment(),
        rows_are="kernels",
        forwards=1,
        wall_us=10.0,
        busy_us=5.0,
        launches=launches,
        rows=(ProfileRow(name="k", calls=launches, time_us=5.0, share=1.0),),
        counters=(counters,) if tensor is not None else (),
    )


def evaluated(speed: float) -> Evaluation:
    return make_evaluation("1/1", speed)


def test_what_winners_have_in_common_by_hand() -> None:
    found = [right(evaluated(2.0), SHARED, None) for _ in range(8)] + [right(evaluated(2.0), PLAIN, None)] * 2
    found += [right(evaluated(0.5), SHARED, None)] + [right(evaluated(1.0), PLAIN, None) for _ in range(9)]
    result = winners(found)
    assert result is not None and (result.winners, result.others) == (10, 10)
    means = {mean.name: mean for mean in result.means}
    shared = means["shared memory"]
    assert (shared.winners_with, shared.others_with, shared.evidence) == (8, 1, "text")
    assert shared.difference == pytest.approx(0.7)
    assert shared.interval is not None and shared.interval[0] > 0
    assert (shared.speedup_with, shared.speedup_without) == (2.0, 1.0)
    assert result.means[-1].name == "library calls"  # those who are not faster have it
    assert "tensor cores" not in means


def test_newcombes_interval() -> None:
    # His own example (a) for method 10: 56/70 against 48/80, 0.2000 with 0.0524 to 0.3339.
    gap, (low, high) = difference(56, 70, 48, 80)
    assert (gap, low, high) == pytest.approx((0.2, 0.0524, 0.3339), abs=5e-5)


def test_fusion_is_told_by_text_and_rather_by_profile() -> None:
    reference = load_problem("2/1").source  # a convolution and two operators more
    one = SHARED
    assert right(evaluated(2.0), one, reference).fuses is True
    assert right(evaluated(2.0), PLAIN, reference).fuses is False
    assert right(evaluated(2.0), one, load_problem("1/19").source).fuses is None  # one operator cannot be fused
    assert right(evaluated(2.0), one, None).fuses is None
    assert right(evaluated(2.0), one, reference, profile("c", 4), profile(None, 3)).fuses is False
    assert right(evaluated(2.0), PLAIN, reference, profile("c", 1), profile(None, 3)).fuses is True


def test_tensor_cores_are_told_by_counters_where_there_are_some() -> None:
    assert right(evaluated(2.0), PLAIN, None, profile("c", 1, tensor=40.0)).tensor_cores
    assert not right(evaluated(2.0), PLAIN, None, profile("c", 1, tensor=0.0)).tensor_cores
    assert not right(evaluated(2.0), PLAIN, None, profile("c", 1)).tensor_cores


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run of refinements: right and fast with shared memory, wrong, and no candidate; a contestant with markup."""
    path = tmp_path_factory.mktemp("study") / "run"
    keys = ("1/19", "1/20", "2/1", "2/2")
    run = Run.create(path, make_header(problems=keys, contestant=EVIL))
    for number, (key, outcome, source) in enumerate(
        (("1/19", "passed", SHARED), ("1/20", "passed", PLAIN), ("2/1", "wrong_value", PLAIN))
    ):
        candidate = make_candidate(key, f"{source}# {number}\n")
        record = make_evaluation(
            key,
            (2.5 if source == SHARED else 0.8) if outcome == "passed" else None,
            outcome,
            candidate_digest=candidate.digest,
            problem_digest=load_problem(key).digest,
            contestant=EVIL,
        )
        run.append(record, candidate)
        first = make_evaluation(key, outcome="build_failed")
        for place, (after, judged) in enumerate(((None, first), (0, record))):
            run.append_attempt(
                AttemptRecord(
                    problem=key,
                    problem_digest=record.problem_digest,
                    sample=0,
                    number=place,
                    attempt=Attempt(step=Step(after=after), answer="a", source=source, evaluation=judged),
                )
            )
    run.append_skip(NoCandidate(problem="2/2", contestant=EVIL, sample=0, reason="it gave up"))
    run.close()
    return path


def test_a_study_is_printed_and_is_json(folder: Path) -> None:
    done = command_here("report", str(folder), "--study", COLUMNS="100")
    assert done.returncode == 0, done.stderr
    for words in (
        "failure classes by kind of problem",
        "errors over turns, 3 samples",
        "what 1 faster candidates have",
    ):
        assert words in done.stdout
    said = json.loads(command_here("report", str(folder), "--study", "--json").stdout)
    everything = said["categories"][0]
    assert everything["classes"] == {"passed": 2, "wrong": 1, "missing": 1}
    assert (everything["answers"], everything["failed"]) == (4, 0.5)
    assert [turn["classes"] for turn in said["evolution"]["turns"]] == [{"broke": 3}, {"passed": 2, "wrong": 1}]
    assert said["winners"]["means"][0]["difference"] == 1.0
    twice = json.loads(command_here("report", str(folder), str(folder), "--study", "--json").stdout)
    assert twice["categories"][0]["answers"] == 8 and len(twice["runs"]) == 2


def test_several_runs_have_a_study_and_no_report(folder: Path) -> None:
    done = command_here("report", str(folder), str(folder))
    assert done.returncode == 2 and "or add --study" in done.stderr


def test_a_run_without_answers_has_an_empty_study(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", make_header()).close()
    done = command_here("report", str(tmp_path / "run"), "--study", "--html", str(tmp_path / "page.html"))
    assert done.returncode == 0, done.stderr
    assert "there are no turns" in done.stdout and "there are no winners" in done.stdout
    assert (tmp_path / "page.html").exists()


def in_a_browser(test: Any) -> Any:
    """A test that starts a browser, where there is one."""
    skipped = pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is on PATH")
    return pytest.mark.processes(skipped(test))


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    with Browser() as made:
        yield made


@pytest.fixture(scope="module")
def page(folder: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("page") / "study.html"
    done = command_here("report", str(folder), "--study", "--html", str(out))
    assert done.returncode == 0 and done.stdout.endswith(f"study written to {out}\n"), done.stderr
    return out


@in_a_browser
def test_it_shows_all_sections_and_runs_nothing(browser: Browser, page: Path) -> None:
    browser.said.clear()
    browser.open(page)
    assert browser.js("document.title") == "Study – kernelgauge"  # and not owned
    assert browser.js("document.querySelector('h1').textContent") == EVIL
    assert browser.js("document.querySelectorAll('#evolution tbody tr').length") == 2
    assert browser.js("document.querySelector('#categories tbody tr th').textContent") == "all"
    assert browser.js("document.querySelector('#means tbody tr th').firstChild.textContent") in (
        "own kernel",
        "one kernel",
        "shared memory",
    )
    assert browser.said == []


@in_a_browser
def test_the_parts_of_a_bar_are_as_long_as_they_are_many(browser: Browser, page: Path) -> None:
    browser.open(page)
    widths = browser.js(
        "[...document.querySelectorAll('#categories tbody tr:first-child .bar i')]"
        ".map((part) => [part.title.split(':')[0], Math.round(part.getBoundingClientRect().width)])"
    )
    by_name = dict(widths)
    assert list(by_name) == ["passed", "wrong", "missing"]
    assert abs(by_name["passed"] - 2 * by_name["wrong"]) <= 3


@in_a_browser
@pytest.mark.parametrize(("width", "dark"), [(390, False), (1400, True)])
def test_it_fits_a_phone_and_a_dark_screen(browser: Browser, page: Path, width: int, dark: bool) -> None:
    browser.open(page, width=width, dark=dark)
    assert browser.js("document.documentElement.scrollWidth") <= width
    paper = browser.js("getComputedStyle(document.body).backgroundColor")
    assert (paper == "rgb(20, 23, 26)") == dark

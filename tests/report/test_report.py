"""Scores against numbers worked by hand, and their tables."""

from __future__ import annotations

import ast
import io
import json
import math
import re
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any, get_args

import pytest
from factories import (
    FIVE,
    make_answer,
    make_candidate,
    make_environment,
    make_evaluation,
    make_header,
    make_run,
    make_timing,
)
from rich.console import Console

from kernelgauge.evaluation import failures
from kernelgauge.report import Scores, fast_p, score, score_run
from kernelgauge.report.figures.answers import by_point
from kernelgauge.report.figures.cost import duration, evaluation_cost, in_words
from kernelgauge.report.figures.curves import curves
from kernelgauge.report.figures.estimators import from_to, geometric_mean, pass_at_k, wilson
from kernelgauge.report.figures.funnel import STEPS, funnel
from kernelgauge.report.figures.published import LEVELS, beside, published
from kernelgauge.report.figures.refusals import CLASSES, by_class, class_of
from kernelgauge.report.page.document import bar, write_html
from kernelgauge.report.terminal import show
from kernelgauge.schema import (
    Attempt,
    AttemptRecord,
    Evaluation,
    Generation,
    KernelRule,
    NoCandidate,
    Outcome,
    Spent,
)
from kernelgauge.selftest.specimens import specimens
from kernelgauge.store import Run

# Estimators


def test_wilson_against_a_worked_example() -> None:
    # 8 of 10 with z = 1.96: centre (0.8 + 0.19207) / 1.38415 = 0.71674, reach 0.22655.
    assert wilson(8, 10) == pytest.approx((0.4902, 0.9433), abs=5e-5)
    # None of 10: the upper end is z^2 / (n + z^2) = 3.8415 / 13.8415.
    assert wilson(0, 10) == pytest.approx((0.0, 0.27753), abs=5e-5)
    assert wilson(10, 10)[1] == 1.0
    assert wilson(0, 0) == (0.0, 1.0)


def test_pass_at_k_against_worked_examples() -> None:
    # 5 samples, 2 right, 3 drawn: 1 - C(3,3) / C(5,3) = 1 - 1/10.
    assert pass_at_k(5, 2, 3) == pytest.approx(0.9)
    assert pass_at_k(5, 2, 1) == pytest.approx(0.4)
    assert pass_at_k(5, 3, 3) == 1.0
    assert pass_at_k(5, 0, 5) == 0.0
    with pytest.raises(ValueError, match="no estimate of pass@6"):
        pass_at_k(5, 2, 6)


def test_geometric_mean_against_a_worked_example() -> None:
    # Logs -ln 2, 0, ln 2: mean 0, deviation ln 2, t(2, 0.975) = 4.302653, reach 4.302653 ln 2 / sqrt 3.
    found = geometric_mean([0.5, 1.0, 2.0])
    assert found is not None and found[1] is not None
    reach = 4.302653 * math.log(2) / math.sqrt(3)
    assert found[0] == pytest.approx(1.0)
    assert found[1] == pytest.approx((math.exp(-reach), math.exp(reach)), rel=1e-6)
    assert geometric_mean([3.0]) == (pytest.approx(3.0), None)
    assert [from_to(each) for each in ((0.981, 1.25), (0.0, 3.4e15))] == ["0.98 to 1.25", "0.00 to more than 1000"]
    assert geometric_mean([]) is None


# Scores


def test_known_fast_p_by_interval_and_by_point() -> None:
    overall = score(FIVE).overall
    assert overall.fast_p == {"0": 0.6, "0.5": 0.6, "0.8": 0.4, "1": 0.2, "1.5": 0.2, "2": 0.2}
    assert overall.fast_p_point == {"0": 0.6, "0.5": 0.6, "0.8": 0.4, "1": 0.4, "1.5": 0.2, "2": 0.2}
    assert overall.fast_p_interval["1"] == wilson(1, 5)
    assert overall.standing == {"faster": 1, "tie": 1, "slower": 1, "unclear": 0}
    assert overall.outcomes == {"passed": 3, "wrong_value": 1, "rejected": 1}
    assert overall.rules == {"calls-reference": 1}
    assert (overall.problems, overall.samples, overall.correct) == (5, 5, 3)
    assert overall.geomean_speedup == pytest.approx((2.5 * 1.005 * 0.6) ** (1 / 3))


def test_levels_have_their_own_denominators() -> None:
    levels = score([*FIVE, make_evaluation("mine.py", 3.0)]).levels
    assert list(levels) == ["1", "2", "own"]
    assert levels["1"].fast_p["1"] == pytest.approx(1 / 3)
    assert levels["2"].fast_p["0"] == 0.0
    assert levels["2"].geomean_speedup is None
    assert levels["own"].fast_p["2"] == 1.0


def test_the_function_takes_the_total_from_the_caller() -> None:
    assert fast_p(FIVE, 1, total=10) == pytest.approx(0.1)
    assert fast_p(FIVE, 1, total=10, rule=by_point) == pytest.approx(0.2)
    assert fast_p([], 1, total=0) is None
    with pytest.raises(ValueError, match="5 problems were evaluated"):
        fast_p(FIVE, 1, total=4)


def test_an_interval_that_touches_p_is_not_above_it() -> None:
    touching = make_evaluation("1/1", 1.25, spread=0.2)
    assert touching.timing is not None and touching.timing.interval[0] == 1.0
    assert score([touching]).overall.fast_p["1"] == 0.0


def test_an_interval_too_wide_to_tell_is_neither_faster_nor_in_a_mean() -> None:
    """As a busy CPU gave it under `v0.1`: 1.35 to 135."""
    wild = make_timing(13.5).model_copy(update={"interval": (1.35, 135.0)})
    evaluations = [make_evaluation("1/1", 2.0), make_evaluation("1/2").model_copy(update={"timing": wild})]
    overall = score(evaluations).overall
    assert overall.standing == {"faster": 1, "tie": 0, "slower": 0, "unclear": 1}
    assert (overall.fast_p["1"], overall.fast_p_point["1"], overall.fast_p["0"]) == (0.5, 1.0, 1.0)
    assert overall.geomean_speedup == pytest.approx(2.0)
    assert ("passed", "unclear", 1) in bar(overall)
    assert [(loss.why, loss.candidates) for loss in funnel(overall)[-1].lost] == [("unclear", 1)]
    assert "unclear" in shown(score(evaluations))
    assert 1.35 not in dict(curves(evaluations)["all"])


def test_weak_problems_are_left_out_and_listed() -> None:
    found = score([*FIVE, make_evaluation("1/4", 9.0, trivial_answers=("zeros", "an input"))])
    assert found.overall == score(FIVE).overall
    assert [(left.problem, left.trivial_answers) for left in found.left_out] == [("1/4", ("zeros", "an input"))]
    assert [row["problem"] for row in found.problems] == ["1/1", "1/2", "1/3", "1/4", "2/1", "2/2"]


def test_no_answer_is_not_passed_and_pending_is_in_no_denominator() -> None:
    skips = [NoCandidate(problem="2/3", contestant="folder:answers", reason="refused")]
    header = make_header(problems=("1/1", "2/3", "3/1"))
    found = score(FIVE, skips, header)
    assert found.overall.problems == 6
    assert found.overall.no_candidate == 1
    assert found.overall.fast_p["0"] == pytest.approx(3 / 6)
    assert found.levels["2"].problems == 3
    assert found.pending == ("3/1",)


def test_several_samples_are_averaged_within_their_problem() -> None:
    evaluations = [
        make_evaluation("1/1", 2.0, sample=0),
        make_evaluation("1/1", outcome="build_failed", sample=1),
        make_evaluation("1/2", 8.0, sample=0),
        make_evaluation("1/2", 2.0, sample=1),
    ]
    overall = score(evaluations).overall
    assert overall.fast_p["0"] == pytest.approx((0.5 + 1) / 2)
    assert overall.fast_p_at_k["1"]["0"] == pytest.approx(0.75)
    assert overall.fast_p_at_k["2"]["0"] == 1.0
    assert list(overall.fast_p_at_k) == ["1", "2"]
    assert overall.geomean_speedup == pytest.approx(math.sqrt(2 * 4))
    assert (overall.problems, overall.samples, overall.correct) == (2, 4, 2)


def test_the_last_record_of_a_sample_stands_before_any_skip() -> None:
    skip = NoCandidate(problem="1/1", contestant="folder:answers", reason="too slow")
    found = score([make_evaluation("1/1", outcome="timed_out"), make_evaluation("1/1", 1.2)], [skip])
    assert found.overall.fast_p["0"] == 1.0
    assert found.overall.samples == 1
    assert found.no_candidates == ()


def test_an_empty_run_and_only_failures_have_no_speeds() -> None:
    empty = score([])
    assert set(empty.overall.fast_p.values()) == {None}
    assert empty.overall.fast_p_interval["0"] == (0.0, 1.0)
    assert (empty.levels, empty.environment, empty.problems) == ({}, None, ())
    failed = score([make_evaluation("1/1", outcome="wrong_shape")]).overall
    assert failed.fast_p["0"] == 0.0
    assert (failed.geomean_speedup, failed.geomean_interval) == (None, None)


def test_the_json_is_standard_and_has_the_documented_keys() -> None:
    data = json.loads(score(FIVE, header=make_header()).model_dump_json(), parse_constant=pytest.fail)
    assert {"overall", "levels", "left_out", "problems", "header", "environment"} <= data.keys()
    assert list(data["overall"]["fast_p"]) == ["0", "0.5", "0.8", "1", "1.5", "2"]
    assert data["problems"][3]["trials"][0]["error"] is None
    assert json.dumps(score(FIVE).model_dump(mode="json"), allow_nan=False)


def test_figures_of_two_machines_come_with_a_warning() -> None:
    other = make_evaluation("1/2", environment=make_environment(gpu="NVIDIA H100", driver="570"))
    assert score([make_evaluation("1/1"), other]).warnings == (
        "the figures come from 2 environments that differ in gpu, driver",
    )


def test_scores_of_a_run_folder_say_that_a_line_was_torn(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", make_header()) as run:
        run.append(*make_answer("1/1", speedup=2.0))
    with (tmp_path / "run" / "evaluations.jsonl").open("a") as file:
        file.write('{"half')
    found = score_run(Run.read(tmp_path / "run"))
    assert found.overall.fast_p["1.5"] == 1.0
    assert "unfinished" in found.warnings[0]


def test_cost_for_each_problem_solved(tmp_path: Path) -> None:
    run = Run.create(tmp_path / "run", make_header(problems=("1/1", "1/2", "1/3")))
    for problem, speedup in (("1/1", 2.0), ("1/2", 0.5)):
        run.append(*make_answer(problem, speedup=speedup))
    assert score_run(run).spending is None
    first = Spent(calls=1, tokens_read=100, tokens_written=20, seconds=1.0, usd=0.5)
    for number, problem in enumerate(("1/1", "1/2", "1/3", "1/1")):
        digest = "fedcba9876543210"
        kept = {"problem": problem, "problem_digest": digest, "sample": 0, "number": number}
        run.append_attempt(AttemptRecord(**kept, attempt=Attempt(answer="a", spent=first)))
        judged = Attempt(answer="a", spent=first + Spent(evaluations=1), evaluation=make_evaluation(problem))
        run.append_attempt(AttemptRecord(**kept, attempt=judged))
    run.close()
    assert len(Run.read(run.path).attempts()) == 4
    found = score_run(Run.read(run.path))
    assert found.spending is not None
    assert found.spending.spent == Spent(
        calls=4, tokens_read=400, tokens_written=80, evaluations=4, seconds=4.0, usd=2.0
    )
    assert (found.spending.solved.tokens, found.spending.solved.usd) == (240.0, 1.0)
    assert (found.spending.faster.problems, found.spending.faster.usd) == (1, 2.0)
    out = io.StringIO()
    show(found, Console(file=out, width=200))
    assert (
        "4 calls, 400 tokens read, 80 written, $2.00; for each problem solved (2): 240 tokens, $1" in out.getvalue()
    )
    write_html(Run.read(run.path), tmp_path / "report.html")
    assert "for each problem faster (1): 480 tokens, $2" in (tmp_path / "report.html").read_text()


def test_what_a_search_added_to_its_start(tmp_path: Path) -> None:
    """Worked by hand: both intervals are a factor about their speedup, so that of the gain is their hypotenuse."""
    generation = Generation(
        backend="cpp", option="zero_shot", max_regenerations=0, prompt_digest="", start="inductor"
    )
    problems = tuple(f"1/{number}" for number in range(1, 6))
    with Run.create(tmp_path / "run", make_header(problems=problems, generation=generation)) as run:
        for problem, speedup in zip(problems, (3.0, 2.0, 1.0, 4.0, 1.0), strict=True):
            record, candidate = make_answer(problem, speedup=speedup)
            run.append(timed(record, speedup, 1.2), candidate)
        same = make_answer("1/2")[0].candidate_digest
        starts = {"1/1": timed(make_evaluation("1/1"), 2.0, 1.1), "1/4": make_evaluation("1/4", None, "wrong_value")}
        starts |= {"1/2": timed(make_evaluation("1/2", candidate_digest=same), 2.5, 1.1)}
        starts |= {"1/3": timed(make_evaluation("1/3"), 1.5, 1.1)}
        for problem, verdict in starts.items():
            attempt = Attempt(given="torch", answer="a", source="x", evaluation=verdict)
            kept = {"problem": problem, "problem_digest": "fedcba9876543210", "sample": 0, "number": 0}
            run.append_attempt(AttemptRecord(**kept, attempt=attempt))
            asked = AttemptRecord(**{**kept, "number": 1}, attempt=Attempt(answer="a", evaluation=verdict))
            run.append_attempt(asked)
    found = score_run(Run.read(tmp_path / "run")).added
    assert found is not None
    assert (found.answers, found.begun_with_nothing, found.kept, found.mended) == (5, 1, 1, 1)
    assert (found.faster, found.slower) == (1, 1)
    first, second, third, fourth = found.gains
    assert first.gain == pytest.approx(1.5) and first.gain_interval == pytest.approx((1.2211, 1.8427), abs=1e-3)
    assert (second.kept, second.gain, second.gain_interval) == (True, 1.0, (1.0, 1.0))
    assert third.gain == pytest.approx(1 / 1.5) and (fourth.gain, fourth.start_outcome) == (None, "wrong_value")
    assert found.gain == pytest.approx(1.0), "the third root of 1.5, 1 and 1 over 1.5"
    out = io.StringIO()
    show(score_run(Run.read(tmp_path / "run")), Console(file=out, width=300))
    line = "begun with inductor: of 5 answers 1 kept as it was, 1 faster, 1 slower, 1 right where it was not"
    assert line in out.getvalue()
    write_html(Run.read(tmp_path / "run"), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    assert "1.22 to 1.84" in page and "the same" in page and "wrong value" in page


def timed(record: Evaluation, speedup: float, factor: float) -> Evaluation:
    """It with this speedup, whose interval reaches from it divided to it multiplied by the factor."""
    timing = make_timing(speedup).model_copy(
        update={"speedup": speedup, "interval": (speedup / factor, speedup * factor)}
    )
    return record.model_copy(update={"timing": timing})


def test_curves_agree_with_fast_p() -> None:
    evaluations = [evaluation for evaluation, _ in make_run(60, samples=2)]
    found = score(evaluations).overall
    corners = curves(evaluations)["all"]
    for name, share in found.fast_p.items():
        at = [y for p, y in corners if p <= float(name)][-1]
        assert at == pytest.approx(share)
    assert corners[-1][1] == pytest.approx(0.0)
    assert curves([]) == {}


def test_outcome_bars_hold_every_candidate() -> None:
    untimed = make_evaluation("1/9", None)
    parts = bar(score([*FIVE, untimed]).overall)
    assert sum(count for _, _, count in parts) == 6
    assert ("passed", "untimed", 1) in parts


# Terminal


def shown(scores: Scores) -> str:
    console = Console(width=100, file=io.StringIO())
    with console.capture() as capture:
        show(scores, console)
    return capture.get()


@pytest.mark.parametrize("evaluations", [[], FIVE, [e for e, _ in make_run(200)]], ids=["empty", "few", "many"])
def test_the_tables_fit_100_columns(evaluations: list[Evaluation]) -> None:
    text = shown(score(evaluations, header=make_header(problems=("1/1", "4/999"))))
    assert "fast_p" in text and "4/999" in text
    assert max(len(line) for line in text.splitlines()) <= 100
    assert "…" not in text


def test_the_terminal_prints_markup_in_names_as_text() -> None:
    assert "[red]no[/red] 1" in shown(score([make_evaluation("1/1", outcome="rejected", rule="[red]no[/red]")]))


# Where candidates are lost, and what it cost


def test_every_candidate_is_left_or_lost_at_one_step() -> None:
    skips = [NoCandidate(problem="2/3", contestant="folder:answers", reason="refused")]
    late = make_evaluation("1/8", outcome="rejected", rule="late_output", seconds={"build": 1.0, "open": 0.5})
    steps = funnel(score([*FIVE, late, make_evaluation("1/9", None)], skips).overall)
    assert [(step.name, step.left) for step in steps] == [
        *(("answered", 7), ("admitted", 6), ("built", 6), ("ran", 6), ("allowed", 5), ("right", 4), ("faster", 1)),
    ]
    assert [(step.name, loss.why, loss.candidates) for step in steps for loss in step.lost] == [
        *(("answered", "no_candidate", 1), ("admitted", "rejected", 1), ("allowed", "rejected", 1)),
        *(("right", "wrong_value", 1), ("faster", "untimed", 1), ("faster", "slower", 1), ("faster", "tie", 1)),
    ]
    assert all(step.left == 0 for step in funnel(score([]).overall))


def test_every_outcome_ends_a_step() -> None:
    ends = {end for ends in STEPS.values() for end in ends} - {"rejected_running"}
    assert ends == {outcome.value for outcome in Outcome} - {"passed"} | {
        "no_candidate",
        "untimed",
        "slower",
        "tie",
        "unclear",
    }


def test_refusals_are_told_by_class() -> None:
    found = by_class({"torch_compile": 2, "late_output": 4, "input_mutated": 1, "no_own_kernel": 1, "of_old": 1})
    assert list(found) == ["timing", "rules", "correctness", "other"]
    assert found["rules"] == {"torch_compile": 2, "no_own_kernel": 1}


def test_every_rule_for_which_a_specimen_is_rejected_is_in_one_class() -> None:
    rules = [rule for each in CLASSES.values() for rule in each]
    assert len(set(rules)) == len(rules)
    due = {specimen.rule for specimen in specimens() if specimen.rule}
    assert due and {class_of(rule) for rule in due} == set(CLASSES)


def test_every_rule_that_a_record_can_name_is_in_one_class() -> None:
    """Those of the schema, and those that the evaluator rejects for in its own words."""
    calls = [
        node
        for path in Path(failures.__file__).parent.rglob("*.py")
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8")))
        if isinstance(node, ast.Call) and ast.unparse(node).startswith("Failure(Outcome.REJECTED")
    ]
    named = {call.args[2].value for call in calls if isinstance(call.args[2], ast.Constant)}
    assert len(named) >= 9
    assert named | set(get_args(KernelRule)) == {rule for each in CLASSES.values() for rule in each}


def test_the_classes_are_those_of_the_threat_model() -> None:
    text = (Path(__file__).parents[2] / "docs" / "explanation" / "threat-model.md").read_text(encoding="utf-8")
    headings = {line[3:].lower() for line in text.splitlines() if line.startswith("## ")}
    assert set(CLASSES) <= headings


REFUSED = [
    make_evaluation("1/1", 2.5),
    make_evaluation("1/2", outcome="rejected", rule="torch_compile"),
    make_evaluation("1/2", outcome="rejected", rule="no_own_kernel", sample=1),
    make_evaluation("1/3", outcome="rejected", rule="late_output"),
    make_evaluation("1/3", 1.5, sample=1),
    make_evaluation("2/1", outcome="wrong_value"),
]
"""Of four problems one is refused wholly and one by half; of the two samples of the latter one passes."""


def test_classes_have_the_denominator_of_the_total_and_of_fast_p() -> None:
    found = score(REFUSED)
    refused = found.overall.refused
    assert (refused.share, refused.samples) == (pytest.approx(1.5 / 4), 3)
    assert refused.by_class == {"rules": pytest.approx(1 / 4), "timing": pytest.approx(0.5 / 4)}
    assert refused.samples_by_class == {"rules": 2, "timing": 1}
    assert sum(refused.by_class.values()) == pytest.approx(refused.share)
    assert found.levels["1"].refused.by_class == {"rules": pytest.approx(1 / 3), "timing": pytest.approx(0.5 / 3)}
    assert json.loads(found.model_dump_json())["levels"]["2"]["refused"]["samples_by_class"] == {}


def test_terminal_and_page_have_a_share_and_a_number_for_each_class(tmp_path: Path) -> None:
    lines = [line.split() for line in shown(score(REFUSED)).splitlines()]
    first = lines.index(["level", "rules", "timing", "refused"])
    assert lines[first + 2 : first + 5] == [
        ["1", "33.3", "(2)", "16.7", "(1)", "50.0", "(3)"],
        ["2", "0.0", "(0)", "0.0", "(0)", "0.0", "(0)"],
        ["all", "25.0", "(2)", "12.5", "(1)", "37.5", "(3)"],
    ]
    assert "by class of the rule" not in shown(score(FIVE[:3]))
    with Run.create(tmp_path / "run", make_header(problems=("1/1", "1/2"))) as run:
        run.append(*make_answer("1/1", outcome="rejected", rule="torch_compile"))
        run.append(*make_answer("1/2"))
    write_html(Run.read(run.path), tmp_path / "report.html")
    page = (tmp_path / "report.html").read_text()
    (table,) = re.findall(r'<table class="figures" id="refused">.*?</table>', page, re.DOTALL)
    assert re.findall(r"<th scope=.col.>(\w+)", table) == ["Level", "rules", "refused"]
    assert re.findall(r"<td>([\d.]+)<small>(\d+)", table) == [("50.0", "1")] * 4
    assert "refused: rules 1 (50.0&nbsp;%)" in page


def test_effort_against_a_worked_example() -> None:
    begun = datetime(2026, 11, 22, tzinfo=UTC)
    records = [
        make_evaluation(
            f"1/{n}", seconds={"build": 6.0, "check": float(n)}, created=begun + timedelta(seconds=20 * n)
        )
        for n in range(1, 4)
    ]
    copied = records[0].model_copy(update={"id": "0" * 32, "sample": 1})
    found = evaluation_cost([*records, copied, make_evaluation("1/9", seconds={})])
    assert found is not None
    assert (found.candidates, found.seconds, found.per_hour) == (3, 24.0, 450.0)
    assert (found.clock_seconds, found.clock_per_hour) == (40.0, 180.0)
    build, check = found.stages
    assert (build.name, build.share, build.median) == ("build", 0.75, 6.0)
    assert (check.total, check.median, check.p95) == (6.0, 2.0, pytest.approx(2.9))
    assert evaluation_cost([]) is None
    assert in_words(found).endswith("450 an hour (build 75 %, check 25 %); 180 an hour by the clock")
    # On several GPUs the clock sees more than one after the other would give.
    quick = [e.model_copy(update={"created": begun + timedelta(seconds=2 * n)}) for n, e in enumerate(records)]
    found = evaluation_cost(quick)
    assert found is not None and found.at_once == 6.0
    assert in_words(found).endswith("1,800 an hour by the clock, 6.0 at once on average")


def test_effort_counts_every_evaluation_and_says_which_were_attempts(tmp_path: Path) -> None:
    """Two attempts, of which one was judged twice and one became the answer; the answer before it was replaced."""
    begun = datetime(2026, 11, 22, tzinfo=UTC)

    def judged(number: int, seconds: float) -> Evaluation:
        digest = make_candidate(source=f"x = {number}\n").digest
        created = begun + timedelta(minutes=number)
        return make_evaluation("1/1", candidate_digest=digest, seconds={"check": seconds}, created=created)

    asked = {"problem": "1/1", "problem_digest": "fedcba9876543210", "sample": 0}
    with Run.create(tmp_path / "run", make_header()) as run:
        for number, seconds in ((0, 1.0), (2, 4.0)):
            run.append(judged(number, seconds), make_candidate(source=f"x = {number}\n"))
        for place, each in ((0, judged(1, 2.0)), (0, judged(3, 8.0)), (1, judged(2, 4.0))):
            attempt = Attempt(answer="?", evaluation=each, spent=Spent(calls=1, evaluations=1))
            run.append_attempt(AttemptRecord(**asked, number=place, attempt=attempt))
    found = score_run(Run.read(tmp_path / "run")).evaluation_cost
    assert found is not None
    assert (found.candidates, found.attempts, found.seconds) == (4, 2, 15.0)
    assert found.stages[0].candidates == 4 and found.clock_seconds == 180.0
    assert "4 candidates, 2 of them attempts, in 15 s of its own time" in in_words(found)


@pytest.mark.parametrize(
    "seconds, said", [(0.0123, "0.0123 s"), (48, "48 s"), (720, "12 min"), (12000, "3 h 20 min")]
)
def test_durations_in_words(seconds: float, said: str) -> None:
    assert duration(seconds) == said


# Published figures


def test_published_figures_come_with_what_differs() -> None:
    h100 = make_environment(gpu="NVIDIA H100 80GB HBM3")
    header = make_header(protocol="v0.1", math="torch")
    found = beside(score([make_evaluation("1/1", 1.02, spread=0.05, environment=h100)], header=header))
    assert not isinstance(found, str)
    assert found.own.fast_1 == {"1": 100.0}, "by the point rule, as those figures are"
    assert found.whole == {"1": "1 of 100"}
    assert found.sets[0].set.title.startswith("KernelBench v0.1 leaderboard") and not found.sets[0].other
    paper = next(each for each in found.sets if each.set.source == "arXiv 2502.10517")
    assert paper.other >= {"gpu", "protocol", "sizes"}


def test_a_figure_over_all_levels_stands_beside_published_ones_over_the_same() -> None:
    """The figures most alike those of a v0.1 run are stated over all three levels only."""
    header = make_header(protocol="v0.1", math="torch", problems=("1/1", "2/1", "3/1", "4/1"))
    three = [make_evaluation("1/1", 2.0), make_evaluation("2/1", 0.5), make_evaluation("3/1", 0.5)]
    found = beside(score(three, header=header))
    assert not isinstance(found, str)
    assert found.own.fast_1["all"] == pytest.approx(100 / 3) and found.whole["all"] == "3 of 250"
    for others in (three[:2], [*three, make_evaluation("4/1", 2.0)]):
        found = beside(score(others, header=header))
        assert not isinstance(found, str)
        assert "all" not in found.own.fast_1 and "all" not in found.whole


@pytest.mark.parametrize(
    ("strategy", "attempts"),
    [
        ("", "one sample"),
        ("sample,attempts=1", "one sample"),
        ("sample,attempts=5", "best of 5 samples"),
        ("refine,turns=10,feedback=G+E+P", "10 turns"),
        ("tree,ideas=4,beam=2,rounds=3,feedback=G+E", "tree,ideas=4,beam=2,rounds=3,feedback=G+E"),
        ("own:Mine,note=a, b", "own:Mine,note=a, b"),
    ],
)
def test_one_shot_figures_stand_beside_one_shot_alone(strategy: str, attempts: str) -> None:
    asked = Generation(
        backend="triton", option="one_shot", max_regenerations=10, prompt_digest="0" * 16, strategy=strategy
    )
    found = beside(score([make_evaluation("1/1")], header=make_header(generation=asked)))
    assert not isinstance(found, str)
    alike = {each.set.title for each in found.sets if "attempts" not in each.other}
    assert alike == {each.title for each in published() if each.attempts == attempts}
    assert bool(alike) is not ("," in attempts)


@pytest.mark.parametrize(
    "changes, said",
    [
        ({"device": "cpu"}, "on a CPU"),
        ({"sizes": "medium"}, "at medium sizes"),
        ({"problems": ("mine:1/1",)}, "levels 1 to 3"),
    ],
)
def test_where_nothing_is_comparable_it_says_so(changes: dict[str, Any], said: str) -> None:
    found = beside(score([make_evaluation("1/1")], header=make_header(**changes)))
    assert isinstance(found, str) and said in found


def test_published_figures_are_percent_of_known_levels() -> None:
    for each in published():
        for row in each.rows:
            assert row.fast_0 or row.fast_1
            for level, share in [*row.fast_0.items(), *row.fast_1.items()]:
                assert level in (*LEVELS, "all") and 0 <= share <= 100
            for level in row.fast_0.keys() & row.fast_1.keys():
                assert row.fast_1[level] <= row.fast_0[level]

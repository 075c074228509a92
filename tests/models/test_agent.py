"""An agent with tools: scripted tool calls, the real evaluator on a CPU."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import (
    RIGHT,
    USAGE,
    WRONG,
    asked,
    close_judges,
    fenced,
    only,
    replaying,
    score_of,
    scripted,
    verdict_in,
    whole,
)
from inspect_ai import eval
from inspect_ai.agent import react
from inspect_ai.log import EvalSample
from inspect_ai.model import Model, ModelOutput, get_model

from kernelgauge.errors import MachineError
from kernelgauge.models.asking.tools import kernel_tools
from kernelgauge.models.budget.prices import use_prices
from kernelgauge.models.judging.judge import TaskJudge
from kernelgauge.models.task.task import kernelbench
from kernelgauge.session.default import default_session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.processes

Call = tuple[str, dict[str, Any]]


def working(*calls: Call, name: str = "model") -> Model:
    """A model that makes these calls one after the other, and the last again and again."""
    at = iter([*calls, *[calls[-1]] * 50])

    def output(*_: Any) -> ModelOutput:
        made = ModelOutput.for_tool_call("scripted", *next(at))
        made.usage = USAGE.model_copy()
        return made

    return get_model(f"mockllm/{name}", custom_outputs=output)


def messages_of_tools(sample: EvalSample) -> list[str]:
    return [message.text for message in sample.messages if message.role == "tool"]


@pytest.mark.proof("models", "search", "generation")
def test_an_agent_reads_evaluates_profiles_and_submits(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    model = working(
        ("read_problem", {}),
        ("evaluate", {"source": WRONG}),
        ("evaluate", {"source": fenced(RIGHT)}),
        ("profile", {"source": RIGHT}),
        ("submit", {"answer": RIGHT}),
    )
    log = asked(model, tmp_path / "logs", problem, quick, strategy="react", out=str(out))
    sample = only(log)
    read, wrong, right, profiled = messages_of_tools(sample)[:4]
    assert "torch.relu(x) * 2 + 1" in read
    assert "Verdict: wrong_value" in wrong and "plus 1" in wrong
    assert "Verdict: passed" in right
    assert "aten::clamp" in profiled
    assert verdict_in(sample)["outcome"] == "passed"
    spent = sample.store["spent"]
    assert (spent["calls"], spent["evaluations"], spent["tokens_read"]) == (5, 2, 35), "a profile is no evaluation"
    shown = [
        str(event.data) for event in whole(log).events if event.event == "info" and event.source == "kernelgauge"
    ]
    assert ["**wrong_value**" in shown[0], "**passed**" in shown[1]] == [True, True] and "### Checked calls" in shown[
        1
    ]
    kept = Run.read(out).attempts()
    seen = [record.attempt.evaluation for record in kept if record.attempt.passed]
    (record,) = Run.read(out).evaluations()
    assert len(seen) == 1 and seen[0] is not None
    assert record.id != seen[0].id and record.candidate_digest == seen[0].candidate_digest, "judged anew"
    assert sum(each.attempt.spent.calls for each in kept) == 5


@pytest.mark.proof("models", "search", "generation")
def test_what_an_agent_has_seen_does_not_count(tmp_path: Path, problem: str, quick: str) -> None:
    model = working(("evaluate", {"source": RIGHT}), ("submit", {"answer": WRONG}))
    sample = only(asked(model, tmp_path, problem, quick, strategy="react"))
    assert verdict_in(sample)["outcome"] == "wrong_value" and score_of(sample).value["correct"] == 0  # type: ignore[index,call-overload]


@pytest.mark.proof("models", "search", "generation")
def test_evaluations_run_out_before_the_agent_does(tmp_path: Path, problem: str, quick: str) -> None:
    model = working(
        ("evaluate", {"source": WRONG}),
        ("evaluate", {"source": RIGHT}),
        ("profile", {"source": RIGHT}),
        ("submit", {"answer": RIGHT}),
    )
    sample = only(asked(model, tmp_path, problem, quick, strategy="react", budget="evaluations=1,calls=9"))
    first, second, third = (message for message in sample.messages if message.role == "tool")
    assert "Evaluations left: 0" in first.text
    assert second.error is not None and "Submit your best file now" in second.error.message
    assert "aten::clamp" in third.text
    assert verdict_in(sample)["outcome"] == "passed"


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize(
    ("budget", "calls"), [("evaluations=1,tokens=30", 3), ("evaluations=1,usd=0.3", 3), ("evaluations=1", 50)]
)
def test_spent_evaluations_hide_no_other_limit(
    tmp_path: Path, problem: str, quick: str, budget: str, calls: int
) -> None:
    """A call costs 12 tokens, and a token a cent."""
    use_prices("10000,10000", "mockllm/model")
    model = working(("evaluate", {"source": WRONG}), *[("read_problem", {})] * 60)
    sample = only(asked(model, tmp_path, problem, quick, strategy="react", budget=budget))
    assert sample.store["spent"]["calls"] == calls


def test_a_budget_in_dollars_needs_prices(tmp_path: Path, problem: str, quick: str) -> None:
    model = working(("read_problem", {}), name="unpriced")
    log = asked(model, tmp_path, problem, quick, strategy="react", budget="usd=1")
    assert log.samples and log.samples[0].error
    assert "the price of this model is not known" in log.samples[0].error.message


def test_an_agent_that_never_submits_is_judged_by_the_best_it_tried(tmp_path: Path, problem: str, quick: str) -> None:
    model = working(("evaluate", {"source": RIGHT}), ("evaluate", {"source": WRONG}))
    sample = only(asked(model, tmp_path, problem, quick, strategy="react", budget="calls=4"))
    assert score_of(sample).answer == RIGHT and verdict_in(sample)["outcome"] == "passed"
    assert sample.store["spent"]["calls"] == 4
    nothing = only(asked(working(("read_problem", {})), tmp_path, problem, quick, strategy="react", budget="calls=2"))
    assert "no candidate" in (score_of(nothing).explanation or "")


def test_the_budget_of_the_run_ends_agents_too(tmp_path: Path, problem: str, quick: str) -> None:
    model = working(("evaluate", {"source": RIGHT}), ("read_problem", {}))
    sample = only(asked(model, tmp_path, problem, quick, strategy="react", budget_tokens=30))
    assert sample.store["spent"]["calls"] == 3 and verdict_in(sample)["outcome"] == "passed"


@pytest.mark.proof("models", "search", "generation")
def test_an_agent_that_the_budget_of_the_run_ended_goes_on_with_a_larger_one(
    tmp_path: Path, problem: str, quick: str
) -> None:
    """Three calls are paid for; with more money the fourth is the first that is asked."""
    calls: list[Call] = [
        ("evaluate", {"source": WRONG}),
        *[("read_problem", {})] * 2,
        ("evaluate", {"source": RIGHT}),
        ("submit", {"answer": RIGHT}),
    ]
    out = tmp_path / "run"

    def run(budget: int, *left: Call) -> EvalSample:
        task = {"strategy": "react", "out": str(out), "budget_tokens": budget}
        sample = only(asked(working(*left), tmp_path / "logs", problem, quick, **task))
        close_judges()
        return sample

    first = run(30, *calls)
    assert verdict_in(first)["outcome"] == "wrong_value" and first.store["spent"]["calls"] == 3
    second = run(30, ("submit", {"answer": "asked in spite of the budget"}))
    assert second.store["restored"] and verdict_in(second)["outcome"] == "wrong_value"
    third = run(1000, *calls[3:])
    assert verdict_in(third)["outcome"] == "passed" and third.store["spent"]["calls"] == 5
    assert [record.outcome.value for record in Run.read(out).evaluations()] == ["wrong_value", "passed"]
    fourth = run(1000, ("submit", {"answer": "asked though it had submitted"}))
    assert fourth.store["spent"] == third.store["spent"] and len(fourth.store["attempts"]) == 7
    assert fourth.store["restored"] and verdict_in(fourth)["outcome"] == "passed"


def test_an_agent_that_had_nothing_when_the_money_ended_has_no_score(
    tmp_path: Path, problem: str, quick: str
) -> None:
    out = tmp_path / "run"
    task = {"strategy": "react", "out": str(out), "budget_tokens": 20}
    sample = only(asked(working(("read_problem", {})), tmp_path / "logs", problem, quick, **task))
    assert score_of(sample).reason == "out_of_budget" and not Run.read(out).done()


@pytest.mark.proof("models", "search", "generation")
def test_a_limit_of_inspect_leaves_the_best_that_an_agent_evaluated(tmp_path: Path, problem: str, quick: str) -> None:
    """A call costs 12 tokens; the last answer exceeds the limit, and is kept all the same."""
    out = tmp_path / "run"
    calls: list[Call] = [("evaluate", {"source": RIGHT}), ("evaluate", {"source": WRONG}), ("read_problem", {})]
    task = {"strategy": "react", "out": str(out)}
    limits = {"token_limit": 30}
    sample = only(asked(working(*calls), tmp_path / "logs", problem, quick, limits=limits, **task))
    assert sample.limit and sample.limit.type == "token"
    assert verdict_in(sample)["outcome"] == "passed" and score_of(sample).answer == RIGHT
    assert sample.store["spent"]["calls"] == 3
    assert sum(record.attempt.spent.calls for record in Run.read(out).attempts()) == 3
    close_judges()
    again = only(asked(working(("submit", {"answer": WRONG})), tmp_path / "logs", problem, quick, **task))
    assert again.store["spent"]["calls"] == 4 and verdict_in(again)["outcome"] == "wrong_value"


def test_what_an_agent_submits_beyond_a_limit_is_its_answer(tmp_path: Path, problem: str, quick: str) -> None:
    model = working(("evaluate", {"source": WRONG}), ("submit", {"answer": RIGHT}))
    sample = only(asked(model, tmp_path, problem, quick, strategy="react", limits={"token_limit": 20}))
    assert score_of(sample).answer == RIGHT and verdict_in(sample)["outcome"] == "passed"


def test_an_agent_that_had_nothing_at_a_limit_has_no_score(tmp_path: Path, problem: str, quick: str) -> None:
    task = {"strategy": "react", "out": str(tmp_path / "run")}
    model = working(("read_problem", {}), ("submit", {"answer": RIGHT}))
    sample = only(asked(model, tmp_path / "logs", problem, quick, limits={"token_limit": 10}, **task))
    assert score_of(sample).reason == "unanswered" and not Run.read(tmp_path / "run").done()
    close_judges()
    again = only(asked(model, tmp_path / "logs", problem, quick, **task))
    assert verdict_in(again)["outcome"] == "passed" and again.store["spent"]["calls"] == 2


def test_what_an_agent_only_says_is_its_answer_where_it_submits_nothing(
    tmp_path: Path, problem: str, quick: str
) -> None:
    answers = iter([fenced(WRONG), f"This is it.\n{fenced(RIGHT)}", "I am done.", "Really."])
    sample = only(
        asked(scripted(lambda _: next(answers)), tmp_path, problem, quick, strategy="react", budget="calls=4")
    )
    assert score_of(sample).answer == RIGHT and verdict_in(sample)["outcome"] == "passed"


def test_what_ends_at_the_length_of_the_context_gives_what_there_is(tmp_path: Path, problem: str, quick: str) -> None:
    said = [
        ModelOutput.for_tool_call("scripted", "evaluate", {"source": RIGHT}),
        ModelOutput.from_content("scripted", "And so on", stop_reason="model_length"),
    ]
    for output in said:
        output.usage = USAGE.model_copy()
    model = get_model("mockllm/model", custom_outputs=said)
    sample = only(asked(model, tmp_path, problem, quick, strategy="react"))
    assert score_of(sample).answer == RIGHT and verdict_in(sample)["outcome"] == "passed"


@pytest.mark.proof("models", "search", "generation")
def test_what_an_agent_evaluated_without_timing_is_timed_where_that_is_measured(
    tmp_path: Path, problem: str, quick: str
) -> None:
    task = {"strategy": "react", "out": str(tmp_path / "run")}
    model = working(("evaluate", {"source": RIGHT}), ("submit", {"answer": RIGHT}))
    only(asked(model, tmp_path / "logs", problem, quick, **task))
    before = [record.number for record in Run.read(tmp_path / "run").attempts()]
    close_judges()
    sample = only(asked(model, tmp_path / "logs", problem, quick, measure_performance=True, **task))
    assert sample.store["attempts"][1]["speedup"] and not any(event.event == "model" for event in sample.events)
    kept = Run.read(tmp_path / "run").attempts()
    assert [record.number for record in kept] == before
    assert all(each.attempt.evaluation.timing for each in kept if each.attempt.evaluation)


def test_an_output_without_choices_is_an_empty_answer(tmp_path: Path, problem: str, quick: str) -> None:
    said = [ModelOutput(model="scripted"), ModelOutput.for_tool_call("scripted", "submit", {"answer": RIGHT})]
    for output in said:
        output.usage = USAGE.model_copy()
    task = {"strategy": "react", "out": str(tmp_path / "run")}
    model = get_model("mockllm/model", custom_outputs=said)
    sample = only(asked(model, tmp_path / "logs", problem, quick, **task))
    assert verdict_in(sample)["outcome"] == "passed" and sample.store["spent"]["calls"] == 2
    nothing = get_model("mockllm/model", custom_outputs=lambda *_: said[0])
    task = {"strategy": "react", "out": str(tmp_path / "none"), "budget": "calls=2"}
    for calls in (2, 0):  # the second time from the run folder
        silent = only(asked(nothing, tmp_path / "logs", problem, quick, **task))
        assert "no candidate" in (score_of(silent).explanation or "")
        assert sum(event.event == "model" for event in silent.events) == calls
        close_judges()


@pytest.mark.proof("models", "search", "generation")
def test_an_agent_that_was_interrupted_does_not_pay_twice(tmp_path: Path, problem: str, quick: str) -> None:
    calls: list[Call] = [
        ("evaluate", {"source": WRONG}),
        ("profile", {"source": RIGHT}),
        ("evaluate", {"source": RIGHT}),
        ("submit", {"answer": RIGHT}),
    ]
    out, asked_for = tmp_path / "run", []

    def model(fails_at: int) -> Model:
        def output(*_: Any) -> ModelOutput:
            if len(asked_for) == fails_at:
                raise RuntimeError("the provider has gone")
            asked_for.append(calls[len(asked_for)])
            made = ModelOutput.for_tool_call("scripted", *asked_for[-1])
            made.usage = USAGE.model_copy()
            return made

        return get_model("mockllm/model", custom_outputs=output)

    task = {"strategy": "react", "out": str(out), "budget": "calls=4,evaluations=2"}
    log = asked(model(3), tmp_path / "logs", problem, quick, **task)
    assert log.status == "error" and len(asked_for) == 3
    first = {record.number: record.attempt for record in Run.read(out).attempts()}
    close_judges()
    sample = only(asked(model(4), tmp_path / "logs", problem, quick, **task))
    assert asked_for == calls and verdict_in(sample)["outcome"] == "passed"
    spent = sample.store["spent"]
    assert (spent["calls"], spent["evaluations"]) == (4, 2)
    again = {record.number: record.attempt for record in Run.read(out).attempts()}
    assert len(first) == 6 and {number: again[number] for number in first} == first and len(again) == 7


@pytest.mark.proof("models", "search", "generation")
def test_what_the_machine_did_wrong_is_tried_again_where_it_happened(
    tmp_path: Path, problem: str, quick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any) -> None:
        raise MachineError("the machine has failed")

    out = tmp_path / "run"
    task = {"strategy": "react", "out": str(out), "budget": "calls=3"}
    calls: list[Call] = [
        ("evaluate", {"source": WRONG}),
        ("evaluate", {"source": RIGHT}),
        ("submit", {"answer": RIGHT}),
    ]
    with monkeypatch.context() as patch:
        patch.setattr(TaskJudge, "settle", fail)
        log = asked(working(*calls), tmp_path / "logs", problem, quick, **task)
    assert log.samples and log.samples[0].error and "the machine has failed" in log.samples[0].error.message
    close_judges()
    sample = only(asked(working(*calls[1:]), tmp_path / "logs", problem, quick, **task))
    assert [bool(each["output"]) for each in sample.store["attempts"]] == [True, False, True, False, True]
    assert "wrong_value" in messages_of_tools(sample)[0] and verdict_in(sample)["outcome"] == "passed"


@pytest.mark.proof("models", "search", "generation")
def test_waiting_for_the_device_is_no_time_spent_on_a_profile(tmp_path: Path, problem: str, quick: str) -> None:
    lease, asked_for = threading.Event(), threading.Event()
    waited = 5.0

    def hold() -> None:
        with default_session().leases.exclusive("cpu"):
            lease.set()
            asked_for.wait(60)
            time.sleep(waited)

    def output(*_: Any) -> ModelOutput:
        call = ("submit", {"answer": "none"}) if asked_for.is_set() else ("profile", {"source": RIGHT})
        asked_for.set()
        made = ModelOutput.for_tool_call("scripted", *call)
        made.usage = USAGE.model_copy()
        return made

    holder = threading.Thread(target=hold)
    holder.start()
    lease.wait(60)
    model = get_model("mockllm/model", custom_outputs=output)
    began = time.monotonic()
    sample = only(asked(model, tmp_path, problem, quick, strategy="react"))
    passed = time.monotonic() - began
    holder.join()
    assert 0 < sample.store["spent"]["seconds"] <= passed - waited


def test_the_tools_work_in_an_agent_of_one_s_own(tmp_path: Path, problem: str, quick: str) -> None:
    given = {"device": "cpu", "backend": "torch", "protocol": quick, "measure_performance": False}
    made = kernelbench(problems=problem, **given)  # type: ignore[arg-type]
    model = working(("evaluate", {"source": "no file"}), ("submit", {"answer": fenced(RIGHT)}))
    own = react(tools=kernel_tools())
    (log,) = eval(made, solver=own, model=model, log_dir=str(tmp_path), display="none", log_level="error")
    sample = only(log)
    assert "It was not judged" in messages_of_tools(sample)[0]
    assert verdict_in(sample)["outcome"] == "passed"


def test_a_profile_of_the_reference_and_of_no_file(tmp_path: Path, problem: str, quick: str) -> None:
    model = working(
        ("profile", {"source": ""}),
        ("profile", {"source": "I would rather not."}),
        ("submit", {"answer": RIGHT}),
    )
    sample = only(asked(model, tmp_path, problem, quick, strategy="react"))
    first, second = (message for message in sample.messages if message.role == "tool")
    assert "the reference of" in first.text and "aten::relu" in first.text
    assert second.error is not None and "no Python file" in second.error.message


# ---------------------------------------------------------------- answers given before


@pytest.mark.proof("models", "search", "generation")
def test_the_replay_works_as_an_agent(tmp_path: Path, problem: str, quick: str) -> None:
    """It has every answer but its last evaluated, and submits that; each sample its own."""
    path = tmp_path / "a.jsonl"
    said = [(0, "No file."), (0, fenced(WRONG)), (0, fenced(RIGHT)), (1, fenced(WRONG))]
    rows = [{"problem": problem, "sample": sample, "answer": answer} for sample, answer in said]
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    out = tmp_path / "run"
    task = {"strategy": "react", "out": str(out)}
    log = asked(replaying(str(path)), tmp_path / "logs", problem, quick, epochs=2, **task)
    assert log.status == "success", log.error
    first, second = sorted(log.samples or [], key=lambda sample: sample.epoch)
    assert verdict_in(first)["outcome"] == "passed" and verdict_in(second)["outcome"] == "wrong_value"
    assert (first.store["spent"]["calls"], first.store["spent"]["evaluations"]) == (3, 1)
    assert second.store["spent"]["calls"] == 1
    tried = messages_of_tools(first)
    assert "It was not judged" in tried[0] and "Verdict: wrong_value" in tried[1]
    close_judges()
    for number, source in enumerate((log.location, out)):
        again = asked(replaying(str(source)), tmp_path / f"again{number}", problem, quick, epochs=2, strategy="react")
        assert again.status == "success", again.error
        one, two = sorted(again.samples or [], key=lambda sample: sample.epoch)
        assert [verdict_in(each)["outcome"] for each in (one, two)] == ["passed", "wrong_value"]
        assert one.store["spent"]["calls"] == 3 and two.store["spent"]["calls"] == 1


@pytest.fixture(autouse=True)
def _closed_judges() -> Iterator[None]:
    yield
    close_judges()

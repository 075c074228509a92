"""Strategies driven through Inspect: scripted models and the replay contestant, the real evaluator on a CPU."""

from __future__ import annotations

import json
import os
import signal
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import anyio
import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import (
    RIGHT,
    WRONG,
    asked,
    close_judges,
    elsewhere,
    fenced,
    only,
    replaying,
    run_arguments,
    score_of,
    scripted,
    verdict_in,
    whole,
)
from commands import command_here
from inspect_ai import eval
from inspect_ai.log import EvalSample, read_eval_log
from inspect_ai.model import ChatMessage, ModelOutput, ModelUsage, get_model
from inspect_ai.solver import Solver, solver

from kernelgauge.errors import MachineError
from kernelgauge.generation.prompts.prompt import Templates
from kernelgauge.models.asking.solver import Screen, driven
from kernelgauge.models.budget.prices import use_prices
from kernelgauge.models.task.task import kernelbench
from kernelgauge.schema import Attempt, AttemptRecord, Step
from kernelgauge.session.session import Session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.processes

RAISES = RIGHT.replace("return x", "return x.nope()")
IDEAS = "1. Use clamp.\n2. Add in place.\n3. Do nothing."
STRATEGIES = ("sample,attempts=4", "refine,turns=4", "evolve,attempts=4,islands=2", "tree,ideas=2,beam=1,rounds=2")


def by_turn(*answers: str) -> Any:
    """A model that says the n-th of these when it is asked for a candidate the n-th time, and has ideas."""

    def answer(messages: list[ChatMessage]) -> str:
        said = next(message.metadata for message in messages if message.metadata)
        return IDEAS if said["asks"] == "ideas" else answers[min(said["turn"], len(answers) - 1)]

    return scripted(answer)


def attempts_of(sample: EvalSample) -> list[dict[str, Any]]:
    return list(sample.store["attempts"])


# ---------------------------------------------------------------- every strategy


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_keeps_the_best_answer(tmp_path: Path, problem: str, quick: str, strategy: str) -> None:
    out = tmp_path / "run"
    model = by_turn(fenced(RAISES), "No.", fenced(WRONG), fenced(RIGHT), fenced(WRONG))
    sample = only(asked(model, tmp_path / "logs", problem, quick, strategy=strategy, out=str(out)))
    assert verdict_in(sample)["outcome"] == "passed" and score_of(sample).answer == RIGHT
    outcomes = [attempt["outcome"] for attempt in attempts_of(sample)]
    assert "passed" in outcomes and "runtime_error" in outcomes and None in outcomes
    assert sample.messages[-1].text == fenced(RIGHT)
    kept = Run.read(out).attempts()
    assert [record.number for record in sorted(kept, key=lambda r: r.number)] == list(range(len(outcomes)))
    (record,) = Run.read(out).evaluations()
    judged = [each.attempt.evaluation for each in kept if each.attempt.passed]
    assert judged and record.id not in {each.id for each in judged if each}, "what was chosen is judged anew"
    spent = sample.store["spent"]
    assert spent["calls"] == len(outcomes) and spent["tokens_read"] == 7 * spent["calls"]
    assert spent["evaluations"] == sum(outcome is not None for outcome in outcomes)


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize("strategy", STRATEGIES)
def test_every_strategy_replays_from_its_log_and_from_its_run_folder(
    tmp_path: Path, problem: str, quick: str, strategy: str
) -> None:
    out = tmp_path / "run"
    model = by_turn(fenced(WRONG), "No.", fenced(RIGHT), fenced(RAISES))
    first = only(asked(model, tmp_path / "logs", problem, quick, strategy=strategy, out=str(out)))
    (log,) = (tmp_path / "logs").glob("*.eval")
    for number, source in enumerate((log, out)):
        again = only(asked(replaying(str(source)), tmp_path / f"again{number}", problem, quick, strategy=strategy))
        short = [[(a["answer"], a["step"], a["outcome"]) for a in attempts_of(each)] for each in (first, again)]
        assert short[0] == short[1]


@pytest.mark.proof("models", "search", "generation")
def test_the_viewer_shows_a_verdict_for_each_attempt(tmp_path: Path, problem: str, quick: str) -> None:
    model = by_turn(fenced(WRONG), "No.", fenced(RIGHT))
    sample = whole(asked(model, tmp_path, problem, quick, strategy="refine,turns=3"))
    spans = [event.name for event in sample.events if event.event == "span_begin" and event.type == "attempt"]
    assert spans == [f"attempt {number}" for number in range(1, 5)]
    shown = [str(event.data) for event in sample.events if event.event == "info" and event.source == "kernelgauge"]
    assert "**wrong_value**" in shown[0] and "**refused**" in shown[1] and "**passed**" in shown[2]


def test_feedback_reaches_the_model(tmp_path: Path, problem: str, quick: str) -> None:
    model = by_turn(fenced(RAISES), fenced(WRONG), fenced(RIGHT))
    sample = only(asked(model, tmp_path, problem, quick, strategy="refine,turns=3"))
    said = [message.text for message in sample.messages if message.role == "user"]
    assert "runtime_error" in said[1] and ">    6 |" in said[1] and "nope" in said[1]
    assert "wrong_value" in said[2] and "The output is the right output plus 1." in said[2]


@pytest.mark.proof("models", "search", "generation")
def test_the_profile_is_told_where_it_is_asked_for(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    faster = RIGHT.replace("x.clamp(min=0) * 2 + 1", "x.clamp(min=0).mul(2).add(1)")
    sample = whole(
        asked(
            by_turn(fenced(RIGHT), fenced(faster)),
            tmp_path / "logs",
            problem,
            quick,
            strategy="refine,turns=2,feedback=G+E+P",
            out=str(out),
        )
    )
    (first, _) = sorted(Run.read(out).attempts(), key=lambda record: record.number)
    assert "aten::clamp" in first.attempt.profile
    last = [event for event in sample.events if event.event == "model"][-1]
    assert "aten::clamp" in last.input[-1].text and "Where its time goes" in last.input[-1].text


@pytest.mark.proof("models", "search", "generation")
def test_a_profile_that_the_machine_failed_at_is_made_another_time(
    tmp_path: Path, problem: str, quick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: Any, **__: Any) -> None:
        raise MachineError("the machine has failed")

    task = {"strategy": "refine,turns=2,feedback=G+E+P", "out": str(tmp_path / "run")}
    model = by_turn(fenced(RIGHT), fenced(WRONG))
    with monkeypatch.context() as patch:
        patch.setattr(Session, "profile", fail)
        log = asked(model, tmp_path / "logs", problem, quick, **task)
    assert log.samples and log.samples[0].error and "the machine has failed" in log.samples[0].error.message
    (kept,) = Run.read(tmp_path / "run").attempts()
    assert kept.attempt.passed and not kept.attempt.profile
    close_judges()
    sample = only(asked(model, tmp_path / "logs", problem, quick, **task))
    assert "aten::clamp" in attempts_of(sample)[0]["profile"] and sample.store["spent"]["calls"] == 2


def test_what_cannot_run_here_is_told_as_a_refusal(tmp_path: Path, problem: str, quick: str) -> None:
    elsewhere = "from torch.utils.cpp_extension import load_inline\nModelNew = load_inline('k', cuda_sources='x')\n"
    task = {"strategy": "refine,turns=2,regenerations=1", "check_kernel": False}
    sample = only(asked(by_turn(fenced(elsewhere), fenced(RIGHT)), tmp_path, problem, quick, **task))
    assert "only on cuda" in sample.messages[2].text and verdict_in(sample)["outcome"] == "passed"


def test_equal_prompts_are_asked_each_for_itself_even_with_a_cache(
    tmp_path: Path, problem: str, quick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("INSPECT_CACHE_DIR", str(tmp_path / "cache"))
    given = {"device": "cpu", "backend": "torch", "protocol": quick, "measure_performance": False}
    model = by_turn(fenced(RIGHT), fenced(WRONG))
    use_prices("10000,10000", "mockllm/model")
    for usd in (0.24, 0.0):
        made = kernelbench(problems=problem, strategy="sample,attempts=2", **given)  # type: ignore[arg-type]
        (log,) = eval(made, model=model, cache=True, log_dir=str(tmp_path), display="none", log_level="error")
        assert [each["outcome"] for each in attempts_of(only(log))] == ["passed", "wrong_value"]
        spent = only(log).store["spent"]
        assert (spent["calls"], spent["usd"]) == (2, pytest.approx(usd)), "what comes from the cache is not paid for"
        assert spent["tokens_read"] == (14 if usd else 0)
    assert [event.cache for event in only(log).events if event.event == "model"] == ["read", "read"]


# ---------------------------------------------------------------- a strategy of one's own


@dataclass(frozen=True)
class UntilRight:
    """Goes on from each answer that did not pass."""

    judges: bool = True

    def plan(self, history: Sequence[Attempt]) -> Sequence[Step]:
        if not history:
            return [Step()]
        return [] if history[-1].passed or len(history) == 3 else [Step(after=len(history) - 1)]

    def choose(self, history: Sequence[Attempt]) -> int:
        return len(history) - 1


@solver
def until_right() -> Solver:
    return driven(UntilRight(), Screen("torch", Templates()))


@pytest.mark.proof("models", "search", "generation")
def test_a_strategy_of_one_s_own_drives_the_same_solver(tmp_path: Path, problem: str, quick: str) -> None:
    given = {"device": "cpu", "backend": "torch", "protocol": quick, "measure_performance": False}
    made = kernelbench(problems=problem, **given)  # type: ignore[arg-type]
    model = by_turn("No.", fenced(WRONG), fenced(RIGHT))
    logs = eval(made, solver=until_right(), model=model, log_dir=str(tmp_path), display="none", log_level="error")
    assert [each["outcome"] for each in attempts_of(only(logs[0]))] == [None, "wrong_value", "passed"]
    sample = only(asked(model, tmp_path, problem, quick, strategy=f"{__name__}:UntilRight"))
    assert len(attempts_of(sample)) == 3


# ---------------------------------------------------------------- budgets


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize(
    ("budget", "calls"),
    [("calls=3", 3), ("evaluations=2", 2), ("tokens=25", 3), ("seconds=0.000001", 1), ("calls=9,tokens=12", 1)],
)
def test_the_budget_of_a_sample_ends_its_search(
    tmp_path: Path, problem: str, quick: str, budget: str, calls: int
) -> None:
    sources = [fenced(f"# {n}\n{WRONG}") for n in range(8)]
    sample = only(asked(by_turn(*sources), tmp_path, problem, quick, strategy="refine,turns=6", budget=budget))
    assert len(attempts_of(sample)) == calls
    assert verdict_in(sample)["outcome"] == "wrong_value"


def test_a_batch_is_no_larger_than_the_budget(tmp_path: Path, problem: str, quick: str) -> None:
    model = by_turn(*(fenced(f"# {n}\n{RIGHT}") for n in range(8)))
    sample = only(asked(model, tmp_path, problem, quick, strategy="sample,attempts=8", budget="calls=3"))
    assert len(attempts_of(sample)) == 3


def many(tmp_path: Path, count: int) -> str:
    """Problems that differ, by their names."""
    paths = [tmp_path / f"p{number}.py" for number in range(count)]
    for number, path in enumerate(paths):
        from factories import REFERENCE

        path.write_text(REFERENCE.replace("* 2 + 1", f"* 2 + {number}"))
    return ",".join(str(path) for path in paths)


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize("limit", [{"budget_tokens": 40}, {"budget_usd": 0.4}])
def test_the_budget_of_the_run_stops_it_and_a_larger_one_goes_on(
    tmp_path: Path, quick: str, limit: dict[str, Any]
) -> None:
    """A call costs 12 tokens, and a token a cent."""
    problems, out = many(tmp_path, 8), tmp_path / "run"
    use_prices("10000,10000", "mockllm/model")
    given = {"device": "cpu", "backend": "torch", "protocol": quick, "measure_performance": False, "out": str(out)}
    calls = []

    def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        calls.append(1)
        made = ModelOutput.from_content("scripted", fenced(RIGHT))
        made.usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
        return made

    def run(**task: Any) -> Any:
        made = kernelbench(problems=problems, **given, **task)
        (log,) = eval(
            made,
            model=get_model("mockllm/model", custom_outputs=output),
            log_dir=str(tmp_path / "logs"),
            display="none",
            log_level="error",
            max_samples=8,
        )
        close_judges()
        assert log.status == "success", log.error
        return [score_of(sample).reason for sample in log.samples or []]

    reasons = run(**limit)
    assert len(calls) in (3, 4), "at most one call beyond the budget"
    assert reasons.count("out_of_budget") == 8 - len(calls)
    assert len(Run.read(out).evaluations()) == len(calls)
    before = len(calls)
    assert run(**limit).count("out_of_budget") == 8 - before and len(calls) == before, "nothing is asked again"
    assert "out_of_budget" not in run() and len(calls) == 8


@pytest.mark.proof("models", "search", "generation")
def test_what_was_paid_before_its_price_was_known_is_priced(tmp_path: Path, problem: str, quick: str) -> None:
    """A call costs 12 tokens, and a token a cent."""
    out = tmp_path / "run"
    model = scripted(fenced(WRONG), name="priced-later")
    first = only(asked(model, tmp_path / "logs", problem, quick, strategy="refine,turns=2", out=str(out)))
    assert first.store["spent"]["usd"] is None and Run.read(out).spent().usd is None
    close_judges()
    use_prices("10000,10000", "mockllm/priced-later")
    only(asked(model, tmp_path / "logs", problem, quick, strategy="refine,turns=2", out=str(out), budget_usd=1))
    spent = Run.read(out).spent()
    assert (spent.calls, spent.usd) == (2, pytest.approx(0.24))


def test_a_paid_answer_is_kept_though_its_price_is_not_known(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    model = scripted(fenced(RIGHT), name="without-a-price")
    log = asked(model, tmp_path / "logs", problem, quick, out=str(out), budget_usd=1)
    assert log.samples and log.samples[0].error
    assert "the price of this model is not known" in log.samples[0].error.message
    assert [record.attempt.answer for record in Run.read(out).attempts()] == [fenced(RIGHT)]


@pytest.mark.proof("models", "search", "generation")
def test_a_search_that_ran_out_of_money_gives_its_best_and_goes_on_later(
    tmp_path: Path, problem: str, quick: str
) -> None:
    out = tmp_path / "run"
    model = by_turn(fenced(WRONG), fenced(RAISES), fenced(RIGHT))
    task = {"strategy": "refine,turns=3", "out": str(out)}
    first = only(asked(model, tmp_path / "logs", problem, quick, budget_tokens=20, **task))
    assert verdict_in(first)["outcome"] == "wrong_value" and len(attempts_of(first)) == 2
    close_judges()
    second = only(asked(model, tmp_path / "logs", problem, quick, **task))
    assert verdict_in(second)["outcome"] == "passed" and len(attempts_of(second)) == 3
    assert sum(event.event == "model" for event in second.events) == 1
    assert [record.outcome.value for record in Run.read(out).evaluations()] == ["wrong_value", "passed"]


@pytest.mark.proof("models", "search", "generation")
def test_what_was_judged_without_timing_is_judged_again_where_that_is_measured(
    tmp_path: Path, problem: str, quick: str
) -> None:
    task = {"strategy": "refine,turns=2", "out": str(tmp_path / "run")}
    model = by_turn(fenced(RIGHT), fenced(f"{RIGHT}# again\n"))
    first = only(asked(model, tmp_path / "logs", problem, quick, **task))
    assert [each["speedup"] for each in attempts_of(first)] == [None, None]
    close_judges()
    second = only(asked(model, tmp_path / "logs", problem, quick, measure_performance=True, **task))
    assert all(each["speedup"] for each in attempts_of(second)), "so that the fastest can be chosen"
    assert not any(event.event == "model" for event in second.events)
    kept = [record.attempt for record in answers_in(tmp_path / "run")]
    assert all(each.evaluation and each.evaluation.speedup for each in kept) and len(kept) == 2
    assert [each.spent.calls for each in kept] == [1, 1]


# ---------------------------------------------------------------- limits of Inspect's


def test_a_limit_of_inspect_leaves_the_best_answer_and_the_search_goes_on_later(
    tmp_path: Path, problem: str, quick: str
) -> None:
    """A call costs 12 tokens."""
    out = tmp_path / "run"
    task = {"strategy": "refine,turns=3", "out": str(out)}
    model = by_turn(fenced(RIGHT), fenced(WRONG), fenced(RAISES))
    first = only(asked(model, tmp_path / "logs", problem, quick, limits={"token_limit": 20}, **task))
    assert first.limit and first.limit.type == "token"
    assert verdict_in(first)["outcome"] == "passed" and score_of(first).answer == RIGHT
    assert [each["outcome"] for each in attempts_of(first)] == ["passed", None] and first.store["spent"]["calls"] == 2
    assert [record.attempt.answer for record in answers_in(out)] == [fenced(RIGHT), fenced(WRONG)]
    close_judges()
    second = only(asked(model, tmp_path / "logs", problem, quick, **task))
    assert [each["outcome"] for each in attempts_of(second)] == ["passed", "wrong_value", "runtime_error"]
    assert sum(event.event == "model" for event in second.events) == 1 and not Run.read(out).skips()


def answers_in(out: Path) -> list[AttemptRecord]:
    return sorted(Run.read(out).attempts(), key=lambda record: record.number)


@pytest.mark.parametrize("strategy", ["sample", "sample,attempts=2", "refine,turns=2"])
def test_the_answer_that_exceeds_a_limit_is_kept_and_judged(
    tmp_path: Path, problem: str, quick: str, strategy: str
) -> None:
    """Those that are under way together are all paid for."""
    out, count = tmp_path / "run", 2 if strategy == "sample,attempts=2" else 1

    async def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        await anyio.sleep(0.2)
        assert messages[0].metadata
        made = ModelOutput.from_content("scripted", fenced(f"{RIGHT}# {messages[0].metadata['turn']}\n"))
        made.usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
        return made

    model = get_model("mockllm/model", custom_outputs=output)
    task = {"strategy": strategy, "out": str(out)}
    sample = only(asked(model, tmp_path / "logs", problem, quick, limits={"token_limit": 10}, **task))
    assert sample.limit and verdict_in(sample)["outcome"] == "passed"
    kept = [record.attempt for record in answers_in(out)]
    assert [each.answer for each in kept] == [fenced(f"{RIGHT}# {number}\n") for number in range(count)]
    assert sample.store["spent"]["calls"] == count and kept[0].spent.tokens == 12


@pytest.mark.proof("models", "search", "generation")
def test_what_came_before_the_time_was_up_is_the_answer(tmp_path: Path, problem: str, quick: str) -> None:
    """The second of two answers that are asked for at once never comes."""

    async def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        if messages[0].metadata and messages[0].metadata["turn"]:
            await anyio.sleep_forever()
        made = ModelOutput.from_content("scripted", fenced(RIGHT))
        made.usage = ModelUsage(input_tokens=7, output_tokens=5, total_tokens=12)
        return made

    task = {"strategy": "sample,attempts=2", "out": str(tmp_path / "run")}
    model = get_model("mockllm/model", custom_outputs=output)
    sample = only(asked(model, tmp_path / "logs", problem, quick, limits={"time_limit": 20}, **task))
    assert sample.limit and sample.limit.type == "time"
    assert verdict_in(sample)["outcome"] == "passed" and len(attempts_of(sample)) == 1


@pytest.mark.parametrize("strategy", ["sample", "refine,turns=2"])
def test_who_could_not_answer_for_a_limit_has_no_score_and_is_asked_again(
    tmp_path: Path, problem: str, quick: str, strategy: str
) -> None:
    task = {"strategy": strategy, "out": str(tmp_path / "run")}
    model = by_turn(fenced(RIGHT), fenced(RIGHT))
    none = only(asked(model, tmp_path / "logs", problem, quick, limits={"message_limit": 1}, **task))
    assert none.limit and score_of(none).reason == "unanswered" and not Run.read(tmp_path / "run").done()
    close_judges()
    assert verdict_in(only(asked(model, tmp_path / "logs", problem, quick, **task)))["outcome"] == "passed"


# ---------------------------------------------------------------- crashes


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize(
    "strategy", [pytest.param(each, marks=[pytest.mark.nightly] * (each != STRATEGIES[1])) for each in STRATEGIES]
)
def test_a_killed_run_does_not_pay_twice_for_an_answer(
    tmp_path: Path, problem: str, quick: str, strategy: str
) -> None:
    """The process is killed at its third verdict; the answers are in a file that shrinks by what was said."""
    gate, out, path = tmp_path / "gate", tmp_path / "run", tmp_path / "a.jsonl"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.02)\n"
    answers = [fenced(WRONG), fenced(RAISES), fenced(wait + RIGHT), fenced(WRONG + "# again\n")]
    rows = [{"problem": problem, "answer": answer} for answer in answers]
    rows.append({"problem": problem, "asks": "ideas", "answer": IDEAS})
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    command = run_arguments(out, str(path), problem, quick, "--strategy", strategy, "--budget", "calls=5")
    running = elsewhere(command)
    while not (out.exists() and waiting(out)):
        assert running.poll() is None, running.communicate()
        time.sleep(0.1)
    os.killpg(running.pid, signal.SIGKILL)
    running.communicate()
    paid = {record.number: record.attempt.answer for record in Run.read(out).attempts()}
    gate.touch()
    done = command_here(*command)
    assert done.returncode == 0, done.stderr
    run = Run.read(out)
    after = {record.number: record.attempt for record in run.attempts()}
    assert {number: after[number].answer for number in paid} == paid
    assert all(attempt.spent.calls == 1 for attempt in after.values())
    (log,) = sorted((out / "inspect").glob("*.eval"))[-1:]
    (sample,) = read_eval_log(str(log)).samples or []
    assert sum(event.event == "model" for event in sample.events) == len(after) - len(paid)
    (record,) = run.evaluations()
    assert record.passed


def waiting(out: Path) -> bool:
    """Whether the answer that waits has come, and is the only one without a verdict."""
    if not (out / "run.json").exists():
        return False
    found = [r.attempt for r in Run.read(out).attempts() if r.attempt.step.asks == "candidate"]
    open_ones = [each for each in found if not each.refusal and each.evaluation is None]
    return any("os.path.exists" in each.answer for each in open_ones)


# ---------------------------------------------------------------- the command


@pytest.mark.proof("models", "search", "generation")
def test_run_takes_a_strategy_and_budgets(tmp_path: Path, problem: str, quick: str) -> None:
    out, path = tmp_path / "run", tmp_path / "a.jsonl"
    path.write_text("".join(json.dumps({"problem": problem, "answer": fenced(s)}) + "\n" for s in (WRONG, RIGHT)))
    command = run_arguments(out, str(path), problem, quick, "--strategy", "refine,turns=2", "--budget", "calls=9")
    done = command_here(*command)
    assert done.returncode == 0, done.stderr
    header = Run.read(out).header
    assert header.generation is not None
    assert header.generation.strategy == "refine,turns=2,feedback=G+E,regenerations=10"
    assert header.generation.budget.calls == 9
    other = command_here(*command, "--strategy", "tree")
    assert other.returncode == 2 and "strategy" in other.stderr
    for extra, said in (
        (["--strategy", "anneal"], "unknown strategy"),
        (["--budget", "calls=none"], "this is no budget"),
        (["--budget-usd", "1"], "the price of this model is not known"),
        (["--budget", "usd=1"], "the price of this model is not known"),
    ):
        wrong = command_here(*run_arguments(tmp_path / "other", str(path), problem, quick, *extra))
        assert wrong.returncode == 2 and said in wrong.stderr and "Traceback" not in wrong.stderr
        assert not (tmp_path / "other").exists()


@pytest.fixture(autouse=True)
def _closed_judges() -> Iterator[None]:
    yield
    close_judges()

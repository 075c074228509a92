"""The benchmark as a task of Inspect: scripted models and our own contestants, the real evaluator on a CPU."""

from __future__ import annotations

import inspect
import json
import math
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from factories import REFERENCE, make_evaluation

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

import anyio
import inspect_ai
from asking import (
    RIGHT,
    USAGE,
    WRONG,
    asked,
    close_judges,
    elsewhere,
    eval_command,
    fenced,
    inspect_command,
    lines,
    metrics_of,
    only,
    replaying,
    run_arguments,
    score_of,
    scripted,
    verdict_in,
)
from commands import command_here
from inspect_ai import Epochs
from inspect_ai.log import read_eval_log
from inspect_ai.model import ChatMessage, ChatMessageUser, GenerateConfig, ModelOutput, get_model
from inspect_ai.scorer import SampleScore, pass_at

from kernelgauge.config import load_protocol
from kernelgauge.errors import ReferenceTooLarge, UsageError
from kernelgauge.generation.extraction import Extracted
from kernelgauge.judging import device_of
from kernelgauge.models.asking.solver import LAST
from kernelgauge.models.contestants.providers import Asked, Compiler, Contestants
from kernelgauge.models.contestants.replay import Given, recorded
from kernelgauge.models.judging.metrics import by_level, geometric_mean, overall
from kernelgauge.models.judging.scorer import as_score
from kernelgauge.models.task.task import benchmark, kernelbench
from kernelgauge.report.figures.estimators import pass_at_k
from kernelgauge.schema import Evaluation, NoCandidate
from kernelgauge.session.default import default_session
from kernelgauge.store.run import Run

pytestmark = pytest.mark.processes

# ---------------------------------------------------------------- the task


def test_parameters_and_defaults_are_those_of_the_published_task() -> None:
    defaults = {name: p.default for name, p in inspect.signature(kernelbench).parameters.items()}
    assert tuple(defaults.pop("splits")) == ("level_1", "level_2", "level_3")
    assert {name: defaults[name] for name in defaults} == {
        **{"limit": None, "option": "one_shot", "precision": "fp32", "include_hardware": False, "gpu_name": None},
        **{"backend": None, "check_kernel": True, "max_regenerations": 10, "num_correct_trials": 5},
        **{"num_perf_trials": 100, "measure_performance": True, "timing_method": None, "verbose": False},
        **{"build_dir": None, "device": None, "p": 1.0, "temperature": 0.0, "protocol": "strict", "sizes": None},
        **{
            "suite": None,
            "kernel_policy": None,
            "problems": None,
            "math": None,
            "templates": None,
            "out": None,
            "jobs": None,
        },
        **{"gpu_memory_gb": None, "strategy": "sample", "start": None},
        **{"budget": None, "budget_tokens": None, "budget_usd": None},
    }


def test_a_split_is_a_level_and_a_sample_is_a_problem() -> None:
    made = kernelbench(splits="level_2,level_3", limit=101, device="cpu", backend="torch", sizes="small")
    ids = [sample.id for sample in made.dataset]
    assert ids[:2] == ["2/1", "2/2"] and ids[100] == "3/1" and len(ids) == 101
    assert made.dataset[0].metadata["level"] == 2 and made.dataset[0].metadata["sizes"] == "small"
    assert "class Model(" in made.dataset[0].input[0].text
    assert made.config.temperature == 0.0


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"splits": "level_9"}, "no split"),
        ({"option": "many_shot"}, "option"),
        ({"precision": "fp8"}, "precision"),
        ({"backend": "fortran"}, "unknown backend"),
        ({"backend": "cuda"}, "only on cuda"),
        ({"device": "tpu"}, "no device"),
        ({"sizes": "huge"}, "no sizes"),
        ({"protocol": "loose"}, "unknown protocol"),
        ({"timing_method": "cuda_event"}, "does not work on cpu"),
        ({"kernel_policy": "all"}, "no kernel policy"),
        ({"gpu_name": "H1000"}, "did you mean H100"),
        ({"gpu_name": "H100"}, "is a GPU, and candidates are to run on the CPU"),
        ({"problems": "1/999"}, "1/999"),
        ({"precision": "fp16", "math": "bf16"}, "two different"),
    ],
)
def test_wrong_arguments_are_refused_in_a_sentence(wrong: dict[str, Any], said: str) -> None:
    known = {name: p.default for name, p in inspect.signature(kernelbench).parameters.items()}
    with pytest.raises(UsageError, match=said):
        benchmark(**{**known, "device": "cpu", "sizes": "small", "limit": 1, **wrong})


def test_devices_by_name_and_number() -> None:
    known = {"cpu": "cpu", "cuda": "cuda", "cuda:1": "cuda:1", 2: "cuda:2", "3": "cuda:3"}
    assert {each: device_of(each) for each in known} == known
    for wrong in ("cuda:x", "cpu:", "", "gpu"):
        with pytest.raises(UsageError):
            device_of(wrong)


def test_counts_of_calls_are_exact_where_the_protocol_counts_and_the_least_where_it_decides() -> None:
    strict, published = load_protocol("strict"), load_protocol("v0.1")
    assert strict.counting(5, 100).digest == strict.digest
    assert published.counting(5, 100).digest == published.digest
    assert len(strict.counting(9, 100).inputs.variants) == 9
    assert strict.counting(9, 1000).timing_on("cpu").max_samples == 1000
    assert strict.counting(1, 1).digest == strict.digest
    fixed = published.counting(2, 10)
    assert fixed.inputs.variants == ("own", "own")
    assert (
        [fixed.timing_on(d).min_samples for d in ("cpu", "cuda")]
        == [10, 10]
        == [fixed.timing_on(d).max_samples for d in ("cpu", "cuda")]
    )


# ---------------------------------------------------------------- one sample


def test_a_right_answer_is_judged_and_explained(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    log = asked(
        scripted(f"First a draft.\n{fenced(WRONG)}\nBetter:\n{fenced(RIGHT)}"),
        tmp_path / "logs",
        problem,
        quick,
        measure_performance=True,
        out=str(out),
    )
    sample = only(log)
    score = score_of(sample)
    assert score.value["correct"] == 1 and score.value["fast_0"] == 1  # type: ignore[index,call-overload]
    assert score.answer == RIGHT
    text = score.explanation or ""
    for part in ("**passed", "x eager", "### Checked calls", "### Samples", "reference (ms):", "2 blocks of the"):
        assert part in text
    (record,) = Run.read(out).evaluations()
    assert verdict_in(sample) == record.model_dump(mode="json")
    assert Run.read(out).source(record.candidate_digest) == RIGHT
    header = Run.read(out).header
    assert header.contestant == "mockllm/model" and header.generation is not None
    assert header.generation.option == "zero_shot" and header.generation.backend == "torch"
    assert set(score.value) == {  # type: ignore[arg-type]
        *("correct", "fast_0", "fast_0.5", "fast_0.8", "fast_1", "fast_1.5", "fast_2", "fast_1_point", "speedup")
    }


def test_what_cannot_be_right_is_asked_for_again_with_the_reason(tmp_path: Path, problem: str, quick: str) -> None:
    def answer(messages: list[ChatMessage]) -> str:
        turn = sum(message.role == "assistant" for message in messages)
        return ("I think so.", fenced("class ModelNew(:"), fenced(RIGHT))[turn]

    sample = only(asked(scripted(answer), tmp_path, problem, quick))
    assert score_of(sample).value["correct"] == 1  # type: ignore[index,call-overload]
    said = [message.text for message in sample.messages if message.role == "user"]
    assert len(said) == 3
    assert "no code block" in said[1] and "line 1" in said[2]
    attempts = sample.store["attempts"]
    assert [bool(attempt["refusal"]) for attempt in attempts] == [True, True, False]
    assert [attempt["step"]["after"] for attempt in attempts] == [None, 0, 1]


@pytest.mark.parametrize(("task", "calls"), [({"max_regenerations": 2}, 3), ({"check_kernel": False}, 1)])
def test_after_the_last_try_the_evaluator_has_the_word(
    tmp_path: Path, problem: str, quick: str, task: dict[str, Any], calls: int
) -> None:
    sample = only(asked(scripted(fenced("class ModelNew(:")), tmp_path, problem, quick, **task))
    assert sum(message.role == "assistant" for message in sample.messages) == calls
    assert verdict_in(sample)["outcome"] == "load_failed"
    assert score_of(sample).value["correct"] == 0  # type: ignore[index,call-overload]


def test_no_candidate_at_all_counts_as_not_passed(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    log = asked(scripted("No."), tmp_path, problem, quick, max_regenerations=1, out=str(out))
    score = score_of(only(log))
    assert score.value == {"correct": 0, "fast_0": 0} and score.reason == "invalid_response_format"
    assert "no code block" in (score.explanation or "")
    (skip,) = Run.read(out).skips()
    assert (skip.problem, skip.sample) == (problem, 0)


def test_an_answer_at_its_length_limit_is_asked_for_again_and_told_so(
    tmp_path: Path, problem: str, quick: str
) -> None:
    """What there is of it parses, and is not what its author meant."""
    cut = fenced(RIGHT).removesuffix("\n```").removesuffix(" * 2 + 1\n```")
    sample = only(asked(scripted(cut, stop="max_tokens"), tmp_path, problem, quick, max_regenerations=1))
    assert "answer more briefly" in sample.messages[2].text


def test_a_candidate_for_another_device_is_no_candidate(tmp_path: Path, problem: str, quick: str) -> None:
    source = "from torch.utils.cpp_extension import load_inline\nModelNew = load_inline('k', cuda_sources='x')\n"
    sample = only(asked(scripted(fenced(source)), tmp_path, problem, quick, max_regenerations=0))
    assert "only on cuda" in verdict_in(sample)["reason"]


# ---------------------------------------------------------------- many samples


@pytest.mark.proof("models", "search", "generation")
def test_epochs_give_unbiased_shares_and_pass_at_k(tmp_path: Path, problem: str, quick: str) -> None:
    """Each candidate is judged once, however often it is given."""
    other = tmp_path / "other.py"
    other.write_text(REFERENCE.replace("* 2", "* 3"))
    given = {(problem, n): fenced(RIGHT if n in (1, 2) else WRONG) for n in range(4)}
    given |= {(str(other), n): fenced(RIGHT) for n in range(4)}
    out = tmp_path / "run"
    log = asked(
        replaying(lines(tmp_path / "answers.jsonl", given)),
        tmp_path / "logs",
        f"{problem},{other}",
        quick,
        epochs=Epochs(4, ["mean", "pass_at_2"]),
        out=str(out),
    )
    assert log.status == "success"
    expected = {"mean": [0.5, 0.0], "pass_at_2": [pass_at_k(4, 2, 2), 0.0]}
    for reducer, (first, second) in expected.items():
        found = metrics_of(log, reducer)
        assert found["correct"] == found["fast_0"] == found["correct_own"] == pytest.approx((first + second) / 2)
        assert found["correct_stderr"] == pytest.approx(abs(first - second) / 2)
    records = Run.read(out).evaluations()
    assert {(r.problem, r.sample) for r in records} == set(given)
    assert sum("judged once" in " ".join(record.notes) for record in records) == 5
    assert len({record.id for record in records}) == 8


@pytest.mark.proof("models", "search", "generation")
def test_what_the_run_folder_holds_is_not_asked_again(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    first = asked(scripted(fenced(RIGHT)), tmp_path / "logs", problem, quick, out=str(out))

    def answer(messages: list[ChatMessage]) -> str:
        raise AssertionError("asked again")

    second = asked(scripted(answer), tmp_path / "logs", problem, quick, out=str(out))
    assert verdict_in(only(first)) == verdict_in(only(second))
    assert only(second).store["restored"] is True
    assert len(Run.read(out).evaluations()) == 1
    other = asked(scripted(answer), tmp_path / "logs", problem, quick, out=str(out), option="one_shot")
    assert other.samples and other.samples[0].error
    assert "option 'zero_shot', not 'one_shot'" in other.samples[0].error.message
    close_judges()
    timed = asked(scripted(fenced(RIGHT)), tmp_path / "logs", problem, quick, out=str(out), measure_performance=True)
    assert verdict_in(only(timed))["timing"], "what was only checked before is judged again to be timed"


def test_a_problem_that_fails_by_itself_stops_nothing_and_is_never_scored(
    tmp_path: Path, problem: str, quick: str
) -> None:
    broken = tmp_path / "broken.py"
    broken.write_text(REFERENCE.replace("torch.relu(x)", "x.nothing_of_the_kind()"))
    log = asked(scripted(fenced(RIGHT)), tmp_path, f"{broken},{problem}", quick)
    assert log.status == "error" and log.samples is not None
    by_id = {sample.id: sample for sample in log.samples}
    assert by_id[str(broken)].error is not None and not by_id[str(broken)].scores
    assert score_of(by_id[problem]).value["correct"] == 1  # type: ignore[index,call-overload]


def test_a_problem_that_does_not_count_is_in_no_share(tmp_path: Path, problem: str, quick: str) -> None:
    weak = tmp_path / "weak.py"
    weak.write_text(REFERENCE.replace("torch.relu(x) * 2 + 1", "x - x"))
    source = RIGHT.replace("x.clamp(min=0) * 2 + 1", "x - x")
    answers = {(problem, 0): fenced(WRONG), (str(weak), 0): fenced(source)}
    log = asked(replaying(lines(tmp_path / "a.jsonl", answers)), tmp_path, f"{problem},{weak}", quick)
    by_id = {sample.id: score_of(sample) for sample in log.samples or []}
    assert math.isnan(by_id[str(weak)].as_float()) and by_id[str(weak)].reason == "not_counted"
    assert "not counted" in (by_id[str(weak)].explanation or "")
    assert metrics_of(log)["correct"] == 0.0


def test_two_models_with_the_same_answer_keep_their_names(tmp_path: Path, problem: str, quick: str) -> None:
    models = [scripted(fenced(RIGHT), name=name) for name in ("first", "second")]
    given = {"device": "cpu", "backend": "torch", "protocol": quick, "measure_performance": False}
    made = kernelbench(problems=problem, **given)  # type: ignore[arg-type]
    logs = inspect_ai.eval(made, model=models, log_dir=str(tmp_path), display="none", log_level="error")
    verdicts = {log.eval.model: verdict_in(only(log)) for log in logs}
    assert {name: verdict["contestant"] for name, verdict in verdicts.items()} == {name: name for name in verdicts}
    (note,) = (note for verdict in verdicts.values() for note in verdict["notes"])
    assert note.startswith("the same text as sample 0 of mockllm/") and len(verdicts) == 2


@pytest.mark.proof("models", "search", "generation")
def test_judging_does_not_hold_back_asking(tmp_path: Path, problem: str, quick: str) -> None:
    """Nothing can be judged until every sample has been answered, and yet every sample is."""
    count, given = 80, threading.Semaphore(0)
    lease, answered = threading.Event(), threading.Event()

    def hold() -> None:
        with default_session().leases.exclusive("cpu"):
            lease.set()
            for _ in range(count):
                if not given.acquire(timeout=120):
                    return
            answered.set()

    def answer(messages: list[ChatMessage]) -> str:
        given.release()
        return fenced(f"# {messages[0].metadata['sample'] % 3}\n{RIGHT}")  # type: ignore[index]

    holder = threading.Thread(target=hold)
    holder.start()
    lease.wait(60)
    log = asked(scripted(answer), tmp_path, problem, quick, epochs=count)
    holder.join()
    assert answered.is_set()
    assert log.status == "success" and metrics_of(log)["correct"] == 1.0


@pytest.mark.proof("models", "search", "generation")
def test_what_waits_for_the_device_keeps_no_answer_from_the_disk(tmp_path: Path, problem: str, quick: str) -> None:
    """Many samples have no candidate, and wait to learn whether the problem counts, while others are still asked."""
    waiting, asking, out = 45, 15, tmp_path / "run"
    lease, kept = threading.Event(), threading.Event()

    def hold() -> None:
        with default_session().leases.exclusive("cpu"):
            lease.set()
            deadline = time.monotonic() + 300
            while time.monotonic() < deadline and not kept.is_set():
                time.sleep(0.5)
                if (out / "run.json").exists() and len(Run.read(out).attempts()) == waiting + 11 * asking:
                    kept.set()

    def output(messages: list[ChatMessage], *_: Any) -> ModelOutput:
        made = ModelOutput.from_content("scripted", "No.")
        made.usage = USAGE.model_copy()
        made.metadata = {LAST: messages[0].metadata["sample"] < waiting}  # type: ignore[index]
        return made

    holder = threading.Thread(target=hold)
    holder.start()
    lease.wait(60)
    model = get_model("mockllm/model", custom_outputs=output)
    log = asked(model, tmp_path / "logs", problem, quick, epochs=waiting + asking, out=str(out))
    holder.join()
    assert kept.is_set(), "answers that were paid for were not on disk"
    assert log.status == "success" and metrics_of(log)["correct"] == 0.0


def test_what_is_known_of_a_problem_waits_for_no_device(problem: str, quick: str) -> None:
    session, found = default_session(), []
    skip = NoCandidate(problem=problem, level=None, contestant="nobody", sample=0, reason="none came")

    def count() -> None:
        found.append(session.counted(skip, "small", "cpu", load_protocol(quick)))

    count()
    with session.leases.exclusive("cpu"):
        asking = threading.Thread(target=count)
        asking.start()
        asking.join(30)
        known = len(found)
    asking.join()
    assert known == 2 and found[0] == found[1]


def test_a_problem_too_large_for_the_device_is_asked_of_nobody(
    tmp_path: Path, problem: str, quick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    def check(*_: Any) -> None:
        raise ReferenceTooLarge("judging it takes at least 30 GB", 30.0, 24.0)

    def answer(messages: list[ChatMessage]) -> str:
        raise AssertionError("asked")

    monkeypatch.setattr(default_session().memory, "check", check)
    out = tmp_path / "run"
    score = score_of(only(asked(scripted(answer), tmp_path, problem, quick, out=str(out))))
    assert score.reason == "too_large" and "30 GB" in (score.explanation or "")
    assert [found.problem for found in Run.read(out).too_large()] == [problem]


# ---------------------------------------------------------------- metrics and scores


def scored(problem: str, level: int, speedup: float | None, passed: bool = True) -> SampleScore:
    verdict: Evaluation | NoCandidate = make_evaluation(problem, speedup, "passed" if passed else "wrong_value")
    score = as_score(verdict, Extracted("x"), p=1.1, timed=True)
    return SampleScore(score=score, sample_id=problem, sample_metadata={"level": level})


def test_metrics_per_level_and_over_all() -> None:
    scores = [scored("1/1", 1, 4.0), scored("1/2", 1, 1.0), scored("2/1", 2, None, passed=False)]
    shares, levels = overall()(scores), by_level()(scores)
    assert isinstance(shares, dict) and isinstance(levels, dict)
    assert shares["correct"] == pytest.approx(2 / 3) and shares["fast_1"] == pytest.approx(1 / 3)
    assert shares["fast_1.1"] == shares["fast_1.1_point"] == shares["fast_2"] == pytest.approx(1 / 3)
    assert shares["fast_0.8"] == pytest.approx(2 / 3)
    assert shares["correct_stderr"] == pytest.approx(1 / 3)
    assert levels["correct_L1"] == 1.0 and levels["correct_L2"] == 0.0 and levels["fast_2_L1"] == 0.5
    assert math.isnan(levels["correct_L2_stderr"])  # type: ignore[arg-type]


def test_the_geometric_mean_weighs_problems_and_not_samples() -> None:
    scores = [scored("1/1", 1, 4.0), scored("1/1", 1, 1.0), scored("2/1", 2, 8.0)]
    scores.append(scored("2/2", 2, None, passed=False))
    found = geometric_mean()(scores)
    assert isinstance(found, dict)
    assert found["geomean"] == pytest.approx(4.0)
    assert found["geomean_L1"] == pytest.approx(2.0) and found["geomean_L2"] == pytest.approx(8.0)
    spread = (math.log(8) - math.log(2)) / 2
    assert found["geomean_stderr"] == pytest.approx(4.0 * spread)


def test_metrics_stand_what_inspect_reduces_to_in_the_middle_of_a_run() -> None:
    reduced = pass_at(2)([scored("1/1", 1, 4.0).score])
    found = overall()([SampleScore(score=reduced, sample_id="1/1"), scored("1/2", 1, 1.0)])
    assert isinstance(found, dict) and found["correct"] == 1.0
    nothing = overall()([])
    assert isinstance(nothing, dict) and math.isnan(nothing["fast_1"])  # type: ignore[arg-type]
    assert geometric_mean()([]) == {}


# ---------------------------------------------------------------- contestants without a key


def test_answers_come_from_files_logs_runs_and_folders(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    asked(scripted(fenced(RIGHT)), tmp_path / "logs", problem, quick, out=str(out))
    (log,) = (tmp_path / "logs").glob("*.eval")
    folder = tmp_path / "folder"
    folder.mkdir()
    (folder / "1_19_relu_sample_2.py").write_text(RIGHT)
    assert recorded(Path(log)) == {(problem, 0): Given([fenced(RIGHT)])}
    assert recorded(out) == {(problem, 0): Given([fenced(RIGHT)])}
    (out / "attempts.jsonl").unlink()  # as of a contestant that no model is behind
    assert recorded(out) == {(problem, 0): Given([fenced(RIGHT + "\n")])}
    assert recorded(folder) == {("1/19", 2): Given([fenced(RIGHT + "\n")])}
    rows = '{"problem": "level1/19", "answer": "a"}\n\n{"problem": "1/19", "answer": "b"}\n'
    rows += '{"problem": "1/19", "asks": "ideas", "answer": "1. c"}\n'
    (tmp_path / "a.jsonl").write_text(rows)
    assert recorded(tmp_path / "a.jsonl") == {("1/19", 0): Given(["a", "b"], ["1. c"])}
    for name, content in (("b.jsonl", "{}"), ("c.eval", "no log"), ("d.jsonl", "")):
        (tmp_path / name).write_text(content)
        with pytest.raises(UsageError):
            recorded(tmp_path / name)
    with pytest.raises(UsageError):
        recorded(tmp_path / "missing")


def test_the_replay_gives_its_answers_in_turn_and_then_has_no_other(tmp_path: Path, problem: str, quick: str) -> None:
    path = tmp_path / "answers.jsonl"
    path.write_text("".join(json.dumps({"problem": problem, "answer": a}) + "\n" for a in ("No.", "Never.")))
    sample = only(asked(replaying(str(path)), tmp_path, problem, quick))
    assert [m.text for m in sample.messages if m.role == "assistant"] == ["No.", "Never."]


def test_unknown_contestants_of_ours_are_named() -> None:
    with pytest.raises(Exception, match="replay, inductor"):
        Contestants("somebody")


def test_contestants_take_no_more_calls_than_they_can_work_on(monkeypatch: pytest.MonkeyPatch) -> None:
    """Inspect may send any number: each compile takes a core and a quarter of a gigabyte."""
    at_once: list[int] = []
    going = 0

    def answer(self: Compiler, asked: Asked) -> tuple[str, bool]:
        nonlocal going
        going += 1
        at_once.append(going)
        time.sleep(0.01)
        going -= 1
        return "No.", True

    async def ask() -> None:
        model = Contestants("inductor")
        said = ChatMessageUser(
            content="", metadata={"problem": "1/19", "sizes": "small", "device": "cpu", "math": "ieee"}
        )
        async with anyio.create_task_group() as group:
            for _ in range(20):
                group.start_soon(model.generate, [said], [], "auto", GenerateConfig())

    monkeypatch.setattr(Compiler, "answer", answer)
    monkeypatch.setattr(Compiler, "at_once", 2)
    anyio.run(ask)
    assert len(at_once) == 20
    assert max(at_once) <= Compiler.at_once


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.parametrize("math", ["ieee", "bf16"])
def test_the_compiler_is_a_model(tmp_path: Path, quick: str, math: str) -> None:
    sample = only(asked("kernelgauge/inductor", tmp_path, "1/19", quick, backend="cpp", math=math))
    assert score_of(sample).value["correct"] == 1, score_of(sample).explanation  # type: ignore[index,call-overload]
    assert (verdict_in(sample)["backend"], verdict_in(sample)["math"]) == ("cpp", math)
    assert verdict_in(sample)["contestant"] == "kernelgauge/inductor"


# ---------------------------------------------------------------- the commands


@pytest.mark.proof("models", "search", "generation")
def test_inspect_finds_the_task_and_scores_its_log_again(tmp_path: Path, problem: str, quick: str) -> None:
    done = eval_command(tmp_path, problem, quick, fenced(RIGHT))
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (tmp_path / "logs").glob("*.eval")
    assert metrics_of(read_eval_log(str(log)))["correct"] == 1.0
    again = ["--scorer", "kernelgauge/kernel", "-S", "protocol=v0.1", "--action", "overwrite", "--overwrite"]
    done = inspect_command("score", str(log), *again, cwd=tmp_path)
    assert done.returncode == 0, done.stdout + done.stderr
    sample = (read_eval_log(str(log)).samples or [])[0]
    assert verdict_in(sample)["protocol"] == "v0.1" and verdict_in(sample)["outcome"] == "passed"
    wrong = eval_command(tmp_path, problem, quick, fenced(RIGHT), "-T", "backend=fortran")
    assert wrong.returncode != 0 and "unknown backend" in wrong.stdout and "Traceback" not in wrong.stdout


@pytest.mark.proof("models", "search", "generation")
def test_run_model_writes_a_run_folder_with_the_log_in_it(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    path = lines(tmp_path / "a.jsonl", {(problem, 0): fenced(RIGHT), (problem, 1): fenced(WRONG)})
    command = run_arguments(out, path, problem, quick, "--samples", "2")
    done = command_here(*command)
    assert done.returncode == 0, done.stderr
    assert "passed" in done.stderr and "wrong_value" in done.stderr and "inspect view" in done.stdout
    run = Run.read(out)
    assert {(r.sample, r.outcome.value) for r in run.evaluations()} == {(0, "passed"), (1, "wrong_value")}
    assert run.header.samples == 2
    (log,) = (out / "inspect").glob("*.eval")
    assert metrics_of(read_eval_log(str(log)), "pass_at_2")["correct"] == 1.0
    again = command_here(*command)
    assert again.returncode == 0 and "nothing left to judge" in again.stderr
    other = command_here(*command, "--hardware")
    assert other.returncode == 2 and "choose another folder" in other.stderr
    scores = json.loads(command_here("report", str(out), "--json").stdout)
    assert scores["overall"]["fast_p"]["0"] == 0.5


def test_wrong_uses_of_ask_leave_no_folder(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    for model, extra, said in (
        ("nobody/nothing", [], "nobody"),
        ("kernelgauge/replay", ["--model-arg", "path"], "NAME=VALUE"),
        ("kernelgauge/replay", ["--model-arg", "path=missing"], "no answers at missing"),
        ("kernelgauge/replay", ["--contestant", "inductor"], "no such option: --contestant"),
    ):
        verb, _, *given = run_arguments(out, "missing", problem, quick, *extra)
        done = command_here(verb, model, *given)
        assert done.returncode == 2, done.stderr
        assert said in done.stderr and "Traceback" not in done.stderr
        assert not out.exists()


@pytest.mark.proof("models", "search", "generation")
def test_an_interrupted_run_goes_on_where_it_stopped(tmp_path: Path, problem: str, quick: str) -> None:
    """One of two samples is judged and the other waits for a file, whichever of them comes first."""
    gate, out = tmp_path / "gate", tmp_path / "run"
    wait = f"import os, time\nwhile not os.path.exists({str(gate)!r}):\n    time.sleep(0.02)\n"
    path = lines(tmp_path / "a.jsonl", {(problem, 0): fenced(WRONG), (problem, 1): fenced(wait + RIGHT)})
    command = run_arguments(out, path, problem, quick, "--samples", "2", "--jobs", "2")
    running = elsewhere(command)
    while not (out / "evaluations.jsonl").exists():
        assert running.poll() is None, running.communicate()
        time.sleep(0.1)
    running.send_signal(signal.SIGINT)
    _, said = running.communicate()
    assert running.returncode == 130, said
    assert "1 records are kept" in said and "Traceback" not in said
    assert [(r.sample, r.passed) for r in Run.read(out).evaluations()] == [(0, False)]
    gate.touch()
    again = command_here(*command)
    assert again.returncode == 0, again.stderr
    assert [(r.sample, r.passed) for r in Run.read(out).evaluations()] == [(0, False), (1, True)]


def test_nothing_below_knows_inspect() -> None:
    """The evaluator, the command line and the prompts work where Inspect is not installed."""
    code = (
        "import sys\n"
        "sys.modules['inspect_ai'] = None\n"
        "import kernelgauge.session.session, kernelgauge.cli.main, kernelgauge.generation.prompts.prompt\n"
        "import kernelgauge.generation.extraction, kernelgauge.search.sample\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True)
    command = [sys.executable, "-X", "importtime", "-m", "kernelgauge", "--help"]
    said = subprocess.run(command, capture_output=True, text=True, check=True).stderr
    assert "kernelgauge.cli.run" in said
    imported = {line.split("|")[-1].strip() for line in said.splitlines()}
    assert not imported & {"inspect_ai", "torch", "jinja2"}


@pytest.fixture(autouse=True)
def _closed_judges() -> Iterator[None]:
    """Run folders are given back, so that the next test can open its own."""
    yield
    close_judges()

"""What the parameters of the task do, on the command lines of Inspect and of our own."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import (
    RIGHT,
    WRONG,
    asked,
    close_judges,
    eval_command,
    fenced,
    lines,
    metrics_of,
    only,
    run_arguments,
    score_of,
    scripted,
)
from commands import command_here
from factories import REFERENCE
from inspect_ai import eval
from inspect_ai.log import EvalLog, read_eval_log
from inspect_ai.model import ChatMessage

from kernelgauge.cli.model import _much_the_same
from kernelgauge.config import load_protocol
from kernelgauge.errors import UsageError
from kernelgauge.models.task.task import budget_of, kernelbench, named
from kernelgauge.problems.importing.importer import import_suite
from kernelgauge.redaction import arguments_without, command_without
from kernelgauge.schema import Budget
from kernelgauge.store.run import Run

RELU = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
"""
CPP = '''import torch
from torch.utils.cpp_extension import load_inline

SOURCE = """
torch::Tensor f(torch::Tensor x) {
    return torch::relu(x) * (NUMBER) + 1;
}
"""
kernels = load_inline(name="f", cpp_sources=SOURCE, functions=["f"])


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return kernels.f(x)
'''
OWN = {"device": "cpu", "sizes": "small", "backend": "torch", "limit": 1}


def by_inspect(folder: Path, problem: str, quick: str, *said: str) -> EvalLog:
    """The log of `inspect eval` with the replay contestant, in a process of its own."""
    done = eval_command(folder, problem, quick, fenced(WRONG), *said)
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (folder / "logs").glob("*.eval")
    return read_eval_log(str(log))


def setting_of(**task: Any) -> dict[str, Any]:
    made = kernelbench(**{**OWN, "problems": "1/19", **task})
    return made.dataset[0].metadata["setting"]  # type: ignore[index,no-any-return]


# ---------------------------------------------------------------- lists


@pytest.mark.proof("models", "search", "generation")
def test_inspect_takes_the_parameters_of_a_strategy_and_of_a_budget(tmp_path: Path, problem: str, quick: str) -> None:
    """Inspect splits what `-T` says at every comma, in quotes or not."""
    out = tmp_path / "run"
    said = ["-T", "strategy=refine,turns=5,feedback=G+E", "-T", "budget=calls=20,tokens=2000", "-T", f"out={out}"]
    assert by_inspect(tmp_path, problem, quick, *said).status == "success"
    asked = Run.read(out).header.generation
    assert asked is not None
    assert asked.strategy == "refine,turns=5,feedback=G+E,regenerations=10"
    assert asked.budget == Budget(calls=20, tokens=2000)


def test_a_budget_in_parts_in_a_text_and_by_name_is_the_same() -> None:
    for given in ("calls=20, tokens=2000", ["calls=20", "tokens=2000"], {"calls": 20, "tokens": 2000}):
        assert budget_of(given) == Budget(calls=20, tokens=2000)
    assert budget_of(None) == Budget()
    with pytest.raises(UsageError, match="LIMIT=NUMBER"):
        budget_of(["calls=20", "tokens"])


# ---------------------------------------------------------------- counts of calls


def test_a_protocol_from_a_file_keeps_its_counts_unless_others_are_given(tmp_path: Path) -> None:
    own = tmp_path / "own.toml"
    published = load_protocol("v0.1")
    many = published.counting(10, 30).model_dump() | {"name": "own"}
    own.write_text(as_toml(many))
    digest = load_protocol(str(own)).digest

    def chosen(**task: Any) -> Any:
        from kernelgauge.models.setting import TaskSetting

        return TaskSetting.model_validate(setting_of(**task)).chosen_protocol()

    assert chosen(protocol=str(own)).digest == digest
    assert len(chosen(protocol=str(own), num_correct_trials=5).inputs.variants) == 5
    assert chosen(protocol=str(own), num_correct_trials=5).timing.max_samples == 30
    assert chosen(protocol=str(own), num_perf_trials=100).timing.min_samples == 100
    for shipped in ("strict", "v0.1"):
        assert chosen(protocol=shipped).digest == load_protocol(shipped).digest
    assert published.counting() == published and len(published.inputs.variants) == 5


def as_toml(protocol: dict[str, Any]) -> str:
    """A protocol as the text of its file."""
    import json

    plain = {name: value for name, value in protocol.items() if not isinstance(value, dict)}
    tables = {name: value for name, value in protocol.items() if isinstance(value, dict)}
    said = [f"{name} = {json.dumps(value)}" for name, value in plain.items()]
    for table, values in tables.items():
        said += [f"[{table}]", *(f"{name} = {json.dumps(value)}" for name, value in values.items())]
    return "\n".join(said) + "\n"


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.processes
def test_models_and_contestants_are_judged_by_the_same_protocol(tmp_path: Path) -> None:
    own, folder = tmp_path / "few.toml", tmp_path / "folder"
    own.write_text(as_toml(load_protocol("v0.1").counting(2, 4).model_dump() | {"name": "few"}))
    folder.mkdir()
    (folder / "1_19_relu.py").write_text(RELU)
    path = lines(tmp_path / "a.jsonl", {("1/19", 0): fenced(RELU)})
    given = ["--sizes", "small", "--device", "cpu", "--protocol", str(own), "--problems", "1/19"]
    for verb in (["ask", "kernelgauge/replay", "-M", f"path={path}"], ["run", "--contestant", f"folder:{folder}"]):
        done = command_here(*verb, "--out", str(tmp_path / verb[0]), "--backend", "torch", *given)
        assert done.returncode == 0, done.stderr
    digests = {Run.read(tmp_path / verb).header.protocol_digest for verb in ("ask", "run")}
    assert digests == {load_protocol(str(own)).digest}
    (record,) = Run.read(tmp_path / "ask").evaluations()
    assert record.timing is not None and len(record.timing.candidate_samples_ms) == 4


# ---------------------------------------------------------------- problems


def test_problems_and_splits_together_are_those_in_both(problem: str) -> None:
    some = "1/19,2/14,3/1"
    assert named(["level_1", "level_3"], None, some) == ["1/19", "3/1"]
    assert named("level_2", None, f"{some},{problem}") == ["2/14", problem]
    assert [sample.id for sample in kernelbench(**{**OWN, "limit": None, "problems": some}).dataset] == some.split(
        ","
    )


@pytest.mark.parametrize(
    "wrong",
    [{"limit": 0}, {"limit": -3}, {"p": -1}, {"p": float("nan")}, {"temperature": -0.5}, {"max_regenerations": -1}],
    ids=str,
)
def test_a_number_that_means_nothing_is_said_in_a_sentence(wrong: dict[str, Any]) -> None:
    ((name, value),) = wrong.items()
    with pytest.raises(Exception, match=f"^{name} is {value}: it is a number") as raised:
        kernelbench(**{**OWN, "problems": "1/19", **wrong})
    assert isinstance(raised.value.__cause__, UsageError), "Inspect prints it without a traceback"


def test_no_problem_in_both_is_said_in_a_sentence() -> None:
    with pytest.raises(Exception, match="there are no such problems") as raised:
        kernelbench(**{**OWN, "problems": "1/19", "splits": "level_2"})
    assert isinstance(raised.value.__cause__, UsageError)


# ---------------------------------------------------------------- what models are told


@pytest.mark.proof("models", "search", "generation")
def test_the_model_receives_what_the_command_prints(tmp_path: Path, quick: str) -> None:
    """Every option that changes a prompt, through the real task."""
    own = tmp_path / "few.toml"
    own.write_text(as_toml(load_protocol("v0.1").counting(2, 4).model_dump() | {"name": "few"}))
    (tmp_path / "task.md.j2").write_text("Speed up {{ problem.name }}.\n")
    variants: list[tuple[list[str], dict[str, Any]]] = [
        ([], {}),
        (["--backend", "cpp", "--hardware"], {"backend": "cpp", "include_hardware": True}),
        (
            ["--shots", "few_shot", "--kernel-policy", "kernel-required"],
            {"option": "few_shot", "kernel_policy": "kernel-required"},
        ),
        (["--protocol", str(own)], {"protocol": str(own)}),
        (["--protocol", "v0.1", "--num-perf-trials", "7"], {"protocol": "v0.1", "num_perf_trials": 7}),
        (["--protocol", "v0.1", "--num-correct-trials", "3"], {"protocol": "v0.1", "num_correct_trials": 3}),
        (["--precision", "bf16", "--sizes", "medium"], {"precision": "bf16", "sizes": "medium"}),
        (["--templates", str(tmp_path)], {"templates": str(tmp_path)}),
        (["--strategy", "tree,ideas=3"], {"strategy": "tree,ideas=3"}),
        (["--strategy", "react"], {"strategy": "react"}),
    ]
    received: list[list[str]] = []

    def answer(messages: list[ChatMessage]) -> str:
        received.append([message.text for message in messages])
        return "No."

    for said, task in variants:
        given = {"protocol": "strict", "option": "one_shot", "budget": "calls=1", "max_regenerations": 0, **task}
        only(asked(scripted(answer), tmp_path / "logs", "1/19", quick, **given))
        texts = received[-1]
        backend = [] if "--backend" in said else ["--backend", "torch"]
        sizes = [] if "--sizes" in said else ["--sizes", "small"]
        printed = command_here("prompt", "1/19", "--device", "cpu", *backend, *sizes, *said)
        assert printed.returncode == 0, printed.stderr
        assert printed.stdout == (texts[0] if len(texts) == 1 else f"[system]\n{texts[0]}\n[user]\n{texts[1]}"), said
    assert len({tuple(texts) for texts in received}) == len(variants), "each option changes what is sent"


@pytest.mark.processes
def test_options_of_inspect_reach_the_model_and_the_header(tmp_path: Path, problem: str, quick: str) -> None:
    out, path = tmp_path / "run", lines(tmp_path / "a.jsonl", {(problem, 0): fenced(RIGHT)})
    extra = [
        "--no-timing",
        "--threshold",
        "1.2",
        "-G",
        "max_tokens=900",
        "--generate",
        "reasoning-effort=low",
        "-G",
        "timeout=60",
    ]
    command = run_arguments(out, path, problem, quick)
    done = command_here(*command, *extra)
    assert done.returncode == 0, done.stderr
    (log,) = (read_eval_log(str(path)) for path in (out / "inspect").iterdir())
    event = next(event for event in only(log).events if event.event == "model")
    assert (event.config.max_tokens, event.config.reasoning_effort, event.config.timeout) == (900, "low", 60)
    (record,) = Run.read(out).evaluations()
    assert record.passed and record.timing is None
    told = Run.read(out).header.generation
    assert told is not None and told.options == {"max_tokens": 900, "reasoning_effort": "low"}
    assert command_here(*command, *extra[:-1], "timeout=90").returncode == 0, "how calls are made may differ"
    assert "with options" in command_here(*command).stderr, "what decides the answers may not"
    for wrong, said in (
        ("max_token=9", "max_token"),
        ("max_tokens=many", "max_tokens"),
        ("temperature=1", "--temperature instead"),
        ("extra_headers={}", "may hold a key"),
        ("seed", "NAME=VALUE"),
    ):
        done = command_here(*run_arguments(tmp_path / "other", path, problem, quick, "-G", wrong))
        assert done.returncode == 2 and said in done.stderr and "Traceback" not in done.stderr, done.stderr
        assert not (tmp_path / "other").exists()


@pytest.mark.proof("models", "search", "generation")
def test_the_header_says_how_inspect_was_told_to_ask(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    said = ["--temperature", "0.9", "--max-tokens", "500", "--epochs", "2", "--timeout", "60", "-T", f"out={out}"]
    key = ["-M", "api_key=hidden", "--extra-headers", '{"X-Mine": "hidden"}']
    assert by_inspect(tmp_path, problem, quick, *said, *key).status == "success"
    header = Run.read(out).header
    told = header.generation
    assert told is not None and (told.temperature, told.options, header.samples) == (0.9, {"max_tokens": 500}, 2)
    assert told.model_args == {"path": str(tmp_path / "answers.jsonl")}
    assert header.command.startswith("inspect eval kernelgauge/kernelbench --model kernelgauge/replay -M path=")
    assert "--epochs 2" in header.command and "hidden" not in (out / "run.json").read_text()


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.processes
def test_a_run_goes_on_only_as_inspect_asked_before(tmp_path: Path, problem: str, quick: str) -> None:
    out, answers = tmp_path / "run", lines(tmp_path / "a.jsonl", {(problem, n): fenced(RIGHT) for n in range(3)})
    given = {"device": "cpu", "sizes": "small", "protocol": quick, "backend": "torch", "measure_performance": False}

    def log(path: str = answers, epochs: int = 1, **asked: Any) -> EvalLog:
        close_judges()
        made = kernelbench(problems=problem, out=str(out), **given)  # type: ignore[arg-type]
        options = {"log_dir": str(tmp_path / "logs"), "display": "none", "log_level": "error", **asked}
        (done,) = eval(made, model="kernelgauge/replay", model_args={"path": path}, epochs=epochs, **options)
        return done

    def complaint(done: EvalLog) -> str:
        assert done.samples and done.samples[0].error is not None
        return done.samples[0].error.message

    assert log(temperature=0.9).status == "success"
    assert log(temperature=0.9, epochs=3, max_retries=1).status == "success"
    assert Run.read(out).header.samples == 3
    assert "temperature 0.9, not 0.0" in complaint(log())
    assert "with options {}, not {'max_tokens': 500}" in complaint(log(temperature=0.9, max_tokens=500))
    other = lines(tmp_path / "b.jsonl", {(problem, 0): fenced(WRONG)})
    assert "with model_args" in complaint(log(other, temperature=0.9))


@pytest.mark.processes
def test_a_run_goes_on_only_with_the_same_model_arguments(tmp_path: Path, problem: str, quick: str) -> None:
    out = tmp_path / "run"
    paths = [lines(tmp_path / name, {(problem, 0): fenced(RIGHT)}) for name in ("a.jsonl", "b.jsonl")]
    first, second = (run_arguments(out, path, problem, quick, "--no-timing") for path in paths)
    assert command_here(*first).returncode == 0
    refused = command_here(*second)
    assert refused.returncode != 0 and "with model_args" in refused.stderr and "Traceback" not in refused.stderr
    header = json.loads((out / "run.json").read_text())
    assert header["generation"].pop("model_args") == {"path": paths[0]}
    (out / "run.json").write_text(json.dumps(header))
    assert command_here(*second).returncode == 0, "a folder from before they were kept goes on"
    assert "with model_args" in command_here(*first).stderr


def test_no_key_of_a_model_is_kept() -> None:
    given = {
        "path": "a.jsonl",
        "max_tokens": 9,
        "tokenizer": "own",
        "base_url": "https://me:hidden@host/v1",
        "api_key": "hidden",
        "aws_access_key_id": "hidden",
        "default_headers": {"X": "hidden"},
        "client": {"timeout": 5, "auth": "hidden", "list": ("a", 1)},
        "outputs": lambda: None,
    }
    assert arguments_without(given) == {
        "path": "a.jsonl",
        "max_tokens": 9,
        "tokenizer": "own",
        "base_url": "https://...@host/v1",
        "client": {"timeout": 5, "list": ["a", 1]},
    }
    words = ["inspect", "-M", "api_key=hidden", "--extra-body=hidden", "--extra-headers", "hidden a", "--epochs", "2"]
    assert command_without(words) == "inspect -M api_key=... --extra-body=... --extra-headers ... --epochs 2"


def test_equal_questions_at_temperature_0_are_warned_of() -> None:
    for strategy, samples, count in (("sample", 10, 10), ("sample,attempts=4", 2, 8), ("evolve,islands=3", 1, 3)):
        said = _much_the_same("openai/gpt", samples, strategy, 0.0)
        assert f"asked {count} times at temperature 0" in said and "--temperature" in said
        assert _much_the_same("openai/gpt", samples, strategy, 0.7) == ""
        assert _much_the_same("kernelgauge/replay", samples, strategy, 0.0) == ""
    for strategy in ("sample", "refine", "tree", "react"):
        assert _much_the_same("openai/gpt", 1, strategy, 0.0) == ""


# ---------------------------------------------------------------- what the task does with the rest


@pytest.mark.proof("models", "search", "generation")
def test_temperature_threshold_and_build_folder_take_effect(tmp_path: Path, problem: str, quick: str) -> None:
    builds = tmp_path / "builds"
    source = CPP.replace("NUMBER", "2")
    task = {"backend": "cpp", "temperature": 0.7, "p": 1.25, "build_dir": str(builds), "measure_performance": True}
    log = asked(scripted(fenced(source)), tmp_path / "logs", problem, quick, verbose=True, **task)
    sample = only(log)
    event = next(event for event in sample.events if event.event == "model")
    assert event.config.temperature == 0.7
    values = score_of(sample).value
    assert isinstance(values, dict) and {"fast_1.25", "fast_1.25_point"} <= values.keys() and values["correct"] == 1
    assert log.eval.scorers and "fast_1.25" in metrics_of(log)
    assert list(builds.rglob("*.so")), "its build lies where it was asked to"


@pytest.mark.processes
def test_verbose_shows_every_sample(tmp_path: Path, problem: str, quick: str) -> None:
    for verbose, count in ((False, 20), (True, 30)):
        task = {"verbose": verbose, "measure_performance": True, "protocol": "v0.1", "num_perf_trials": 30}
        score = score_of(only(asked(scripted(fenced(RIGHT)), tmp_path / "logs", problem, quick, **task)))
        (shown,) = re.findall(r"reference \(ms\): (.*)", score.explanation or "")
        assert len(shown.partition(" ... ")[0].split()) == count
        assert ("(30 in all)" in (score.explanation or "")) is not verbose


@pytest.mark.processes
def test_the_command_passes_on_the_build_folder_and_how_much_is_shown(
    tmp_path: Path, problem: str, quick: str
) -> None:
    path = lines(tmp_path / "a.jsonl", {(problem, 0): fenced(RIGHT)})
    said = ["--no-timing", "--verbose", "--build-dir", str(tmp_path / "builds")]
    done = command_here(*run_arguments(tmp_path / "run", path, problem, quick, *said))
    assert done.returncode == 0, done.stderr
    (log,) = (read_eval_log(str(path)) for path in (tmp_path / "run" / "inspect").iterdir())
    told = log.eval.task_args
    assert (told["verbose"], told["build_dir"]) == (True, str(tmp_path / "builds"))


def test_a_suite_is_asked_whole_and_by_its_own_levels(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(tmp_path / "suites"))
    folder = tmp_path / "own"
    for name in ("level1/1_first.py", "level1/2_second.py", "level7/1_other.py"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(REFERENCE.replace("* 2", f"* {len(name)}"))
    import_suite(folder, "asked")
    own = {**OWN, "limit": None, "sizes": "full", "suite": "asked"}
    for task, ids in (({}, ["1/1", "1/2", "7/1"]), ({"splits": "level_7"}, ["7/1"]), ({"problems": "1/2"}, ["1/2"])):
        assert [sample.id for sample in kernelbench(**{**own, **task}).dataset] == [f"asked:{each}" for each in ids]


@pytest.mark.proof("models", "search", "generation")
@pytest.mark.processes
def test_the_display_says_how_many_are_asked_waiting_and_judged(
    tmp_path: Path, problem: str, quick: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernelgauge.cli.progress import RunProgress

    said: list[str] = []
    monkeypatch.setattr(RunProgress, "stage", lambda self, name: said.append(name))
    answers = {(problem, number): fenced(f"# {number}\n{RIGHT}") for number in range(4)}
    path = lines(tmp_path / "a.jsonl", answers)
    done = command_here(*run_arguments(tmp_path / "run", path, problem, quick, "--samples", "4", "--no-timing"))
    assert done.returncode == 0, done.stderr
    found = [re.match(r"(\d+) asked, (\d+) waiting, (\d+) being judged", each) for each in said]
    assert found and all(found)
    counts = [tuple(map(int, match.groups())) for match in found if match]
    assert [max(each) >= least for each, least in zip(zip(*counts, strict=True), (2, 1, 1), strict=True)] == [
        True
    ] * 3
    assert all(waiting + judging <= 4 for _, waiting, judging in counts) and (0, 0, 0) in counts


@pytest.fixture(autouse=True)
def _closed_judges() -> Iterator[None]:
    yield
    close_judges()

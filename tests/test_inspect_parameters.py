"""What the parameters of the task do, on the command lines of Inspect and of our own."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import WRONG, close_judges, command_here, fenced, inspect_command, lines
from inspect_ai.log import EvalLog, read_eval_log

from kernelgauge.config import load_protocol
from kernelgauge.errors import UsageError
from kernelgauge.inspect.task import budget_of, kernelbench, named
from kernelgauge.schema import Budget
from kernelgauge.store.run import Run

RELU = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return x.clamp(min=0)
"""
OWN = {"device": "cpu", "sizes": "small", "backend": "torch", "limit": 1}


def by_inspect(folder: Path, problem: str, quick: str, *said: str) -> EvalLog:
    """The log of `inspect eval` with the replay contestant, in a process of its own."""
    path = lines(folder / "answers.jsonl", {(problem, 0): fenced(WRONG)})
    task = {
        "problems": problem,
        "backend": "torch",
        "device": "cpu",
        "protocol": quick,
        "measure_performance": "false",
    }
    given = [part for name, value in task.items() for part in ("-T", f"{name}={value}")]
    where = ["--model", "kernelgauge/replay", "-M", f"path={path}", "--log-dir", "logs", "--display", "plain"]
    done = inspect_command("eval", "kernelgauge/kernelbench", *where, *given, *said, cwd=folder)
    assert done.returncode == 0, done.stdout + done.stderr
    (log,) = (folder / "logs").glob("*.eval")
    return read_eval_log(str(log))


def setting_of(**task: Any) -> dict[str, Any]:
    made = kernelbench(**{**OWN, "problems": "1/19", **task})
    return made.dataset[0].metadata["setting"]  # type: ignore[index,no-any-return]


# ---------------------------------------------------------------- lists


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
        from kernelgauge.inspect.setting import Setting

        return Setting.model_validate(setting_of(**task)).chosen_protocol()

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


def test_models_and_contestants_are_judged_by_the_same_protocol(tmp_path: Path) -> None:
    own, folder = tmp_path / "few.toml", tmp_path / "folder"
    own.write_text(as_toml(load_protocol("v0.1").counting(2, 4).model_dump() | {"name": "few"}))
    folder.mkdir()
    (folder / "1_19_relu.py").write_text(RELU)
    path = lines(tmp_path / "a.jsonl", {("1/19", 0): fenced(RELU)})
    given = ["--sizes", "small", "--device", "cpu", "--protocol", str(own), "--problems", "1/19"]
    for who, extra in (("model", ["kernelgauge/replay", "-M", f"path={path}"]), ("contestant", [f"folder:{folder}"])):
        out = ["--out", str(tmp_path / who), "--backend", "torch"]
        done = command_here("run", f"--{who}", *extra, *out, *given)
        assert done.returncode == 0, done.stderr
    digests = {Run.read(tmp_path / who).header.protocol_digest for who in ("model", "contestant")}
    assert digests == {load_protocol(str(own)).digest}
    (record,) = Run.read(tmp_path / "model").evaluations()
    assert record.timing is not None and len(record.timing.candidate_samples_ms) == 4


# ---------------------------------------------------------------- problems


def test_problems_and_splits_together_are_those_in_both(problem: str) -> None:
    some = "1/19,2/14,3/1"
    assert named(["level_1", "level_3"], None, some) == ["1/19", "3/1"]
    assert named("level_2", None, f"{some},{problem}") == ["2/14", problem]
    assert [sample.id for sample in kernelbench(**{**OWN, "limit": None, "problems": some}).dataset] == some.split(
        ","
    )


@pytest.fixture(autouse=True)
def _closed_judges() -> Iterator[None]:
    yield
    close_judges()

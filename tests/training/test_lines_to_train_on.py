"""Runs as data to train on: prompts, answers, feedback, verdicts and costs of a real search, in every format."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from asking import RIGHT, WRONG, asked, fenced, scripted
from commands import command_here
from factories import REFERENCE
from inspect_ai.model import ChatMessage

pytestmark = pytest.mark.processes


def _answer(messages: list[ChatMessage]) -> str:
    """Wrong first, and right once it has heard of that."""
    return fenced(WRONG if len(messages) == 1 else RIGHT)


@pytest.fixture(scope="module")
def search(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Path:
    """A run in which a model was told what was wrong with its first answer."""
    folder = tmp_path_factory.mktemp("search")
    (folder / "scaled.py").write_text(REFERENCE)
    log = asked(
        scripted(_answer),
        folder / "logs",
        str(folder / "scaled.py"),
        quick,
        strategy="refine,turns=2",
        out=str(folder / "run"),
    )
    assert log.status == "success"
    return folder / "run"


def _exported(path: Path, form: str, *options: str) -> tuple[list[dict[str, Any]], str]:
    done = command_here("export", str(path), "--format", form, *options)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()], done.stderr


def test_a_trajectory_has_all_that_was_said_and_what_it_cost(search: Path) -> None:
    (found,), complaints = _exported(search, "trajectories")
    first, second = found["turns"]
    assert [first["verdict"]["outcome"], second["verdict"]["outcome"]] == ["wrong_value", "passed"]
    assert [each["role"] for each in second["prompt"]] == ["user", "assistant", "user"]
    assert second["prompt"][:1] == first["prompt"] and second["prompt"][1]["content"] == first["answer"]
    assert "elements are wrong" in second["prompt"][2]["content"]
    assert first["source"] == WRONG and second["source"] == RIGHT and second["after"] == 0
    assert (first["spent"]["tokens_read"], first["spent"]["tokens_written"], first["spent"]["calls"]) == (7, 5, 1)
    assert found["spent"]["calls"] == 2 and found["verdict"]["outcome"] == "passed"
    assert "is not here: the messages below tell the rules of strict" in complaints  # its protocol is a file


def test_what_was_right_is_taught_with_the_feedback_before_it(search: Path) -> None:
    (found,), said = _exported(search, "sft")
    assert [each["role"] for each in found["messages"]] == ["user", "assistant", "user", "assistant"]
    assert found["messages"][-1]["content"] == fenced(RIGHT) and found["number"] == 1
    assert "1 of 2 answers left out: wrong, slower, not judged, or" in said


def test_no_preference_between_answers_to_different_messages(search: Path) -> None:
    assert _exported(search, "dpo")[0] == []


def test_two_samples_of_one_prompt_are_a_preference(tmp_path: Path, quick: str, problem: str) -> None:
    said = iter([fenced(RIGHT), fenced(WRONG)])
    log = asked(
        scripted(lambda _: next(said)), tmp_path / "logs", problem, quick, epochs=2, out=str(tmp_path / "run")
    )
    assert log.status == "success"
    (found,), _ = _exported(tmp_path / "run", "dpo")
    assert found["chosen"] == [{"role": "assistant", "content": fenced(RIGHT)}]
    assert found["rejected_verdict"]["outcome"] == "wrong_value" and found["prompt"][0]["role"] == "user"
    written = command_here("export", str(tmp_path / "run"), "--format", "dpo", "--out", str(tmp_path / "data"))
    assert json.loads((tmp_path / "data" / "dpo.jsonl").read_text()) == found and "1 lines" in written.stdout
    Path(problem).write_text(REFERENCE.replace("+ 1", "+ 3"))
    nothing, complaints = _exported(tmp_path / "run", "dpo")
    assert nothing == [] and "has another text by now" in complaints

"""Language models as forecasters: what they are asked, and what becomes of what they say."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import scripted
from commands import command_here
from comparisons import make_row

from kernelgauge.errors import StoreError
from kernelgauge.forecast import dataset, file
from kernelgauge.forecast.predictors.registry import predictor_named
from kernelgauge.forecast.score import forecasts, score
from kernelgauge.forecast.splits import folds
from kernelgauge.models import forecasting
from kernelgauge.models.forecasting import ask_model, forecast_in, messages
from kernelgauge.schema.forecast import CLASSES, TIE, Comparison


def rows() -> list[Comparison]:
    return [make_row(f"1/{n}", (0.3, 1.001, 3.0)[n % 3]) for n in range(12)] + [make_row("1/90", None)]


IT = file.header_of(rows(), "problem", model="it")


@pytest.fixture
def data(tmp_path: Path) -> Path:
    dataset.write(tmp_path / "data.jsonl", rows())
    return tmp_path / "data.jsonl"


def sure(name: str) -> str:
    return json.dumps({"probabilities": {name: 1.0}, "right": 0.75})


def test_the_scripted_model_scores_as_the_frequencies_that_it_says(data: Path, tmp_path: Path) -> None:
    out = tmp_path / "said.jsonl"
    done = command_here("forecast", "predict", str(data), "--model", "kernelgauge/frequencies", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}: 13 forecasts, 0 abstentions, 13 asked now\n"
    parts = folds(rows(), "problem")
    said = score("it", "problem", parts, file.read(out)[1].values())
    known = score("it", "problem", parts, forecasts(predictor_named("frequencies"), parts))
    for name in ("bin_error", "spearman", "mape", "brier", "crps", "ece"):
        assert getattr(said.speed, name) == pytest.approx(getattr(known.speed, name))


def test_what_was_answered_is_not_asked_again(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    asked: list[str] = []

    def answer(messages: list) -> str:
        asked.append(messages[-1].text)
        return sure("tie")

    monkeypatch.setattr(forecasting, "get_model", lambda name: scripted(answer))
    parts, out = folds(rows(), "problem"), tmp_path / "said.jsonl"
    assert ask_model(IT, parts, out, limit=4) == (4, 0, 4)
    out.write_bytes(out.read_bytes()[:-5])  # as a process that was killed leaves it
    assert ask_model(IT, parts, out) == (13, 0, 10)
    assert len(asked) == 14
    assert {each.label for each in file.read(out)[1].values()} == {TIE}


@pytest.mark.parametrize(
    ("other", "why"),
    [
        ({"model": "other"}, "model 'it', not 'other'"),
        ({"examples": 4}, "examples 0, not 4"),
        ({"split": "gpu"}, "split 'problem', not 'gpu'"),
        ({"data": "0" * 16}, "another data set"),
    ],
)
def test_nobody_goes_on_with_forecasts_of_something_else(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, other: dict, why: str
) -> None:
    monkeypatch.setattr(forecasting, "get_model", lambda name: scripted(lambda _: sure("tie")))
    out = tmp_path / "said.jsonl"
    ask_model(IT, folds(rows(), "problem"), out, limit=4)
    with pytest.raises(StoreError, match=f"said.jsonl holds forecasts of {why}"):
        ask_model(IT.model_copy(update=other), folds(rows(), "problem"), out)
    assert len(file.read(out)[1]) == 4


def test_a_call_that_fails_is_no_forecast(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    from kernelgauge.errors import MachineError

    def answer(messages: list) -> str:
        if "# 1/3 " in messages[-1].text:
            raise RuntimeError("no route to host")
        return sure("tie")

    monkeypatch.setattr(forecasting, "get_model", lambda name: scripted(answer))
    out = tmp_path / "said.jsonl"
    with pytest.raises(MachineError, match=r"1 of 13 questions have no answer \(.*no route to host\)"):
        ask_model(IT, folds(rows(), "problem"), out)
    assert len(file.read(out)[1]) == 12


def test_a_full_disk_is_one_sentence_and_keeps_what_was_answered(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kernelgauge.errors import DiskFull
    from kernelgauge.store.journal import Journal

    written: list[str] = []
    append = Journal.append

    def full(self: Journal, line: str) -> None:
        if len(written) == 4:  # the header and three answers
            raise DiskFull("no space left for it")
        written.append(line)
        append(self, line)

    monkeypatch.setattr(Journal, "append", full)
    monkeypatch.setattr(forecasting, "get_model", lambda name: scripted(sure("tie")))
    with pytest.raises(DiskFull, match="no space left"):
        ask_model(IT, folds(rows(), "problem"), tmp_path / "said.jsonl")
    assert len(file.read(tmp_path / "said.jsonl")[1]) == 3


def test_a_question_shows_both_texts_and_no_answer_but_those_of_examples() -> None:
    fold = folds(rows(), "problem")[0]
    question = fold.test[0].question
    text = messages(question, fold)[-1].text
    assert question.candidate.source in text and question.anchor.source in text and "NVIDIA H200" in text
    assert "Measured" not in text and str(fold.test[0].interval) not in text
    shown = messages(question, fold, examples=2)[-1].text
    assert shown.count("Measured: ") == 2 and text in shown


@pytest.mark.parametrize(
    ("answer", "abstains", "right"),
    [
        (f"I think so.\n{sure('2-4')}", False, 0.75),
        (f"At first {sure('tie')}, no:\n```json\n{sure('2-4')}\n```", False, 0.75),
        (json.dumps({"probabilities": {"2-4": 0.99, "tie": 0.02}}), False, None),
        (json.dumps({"abstain": True, "right": 0.5}), True, 0.5),
        (json.dumps({"probabilities": {"2-4": 0.5}, "right": 7}), True, None),
        (json.dumps({"probabilities": {"3x": 1.0}}), True, None),
        (json.dumps({"probabilities": {"tie": "1"}}), True, None),
        ("About twice as fast {really}.", True, None),
    ],
)
def test_answers_as_they_come(answer: str, abstains: bool, right: float | None) -> None:
    found = forecast_in(answer, "q")
    assert (found.abstains, found.right) == (abstains, right)
    if not abstains:
        assert found.label == CLASSES.index("2-4")
    else:
        assert found.reason


def test_a_model_that_nobody_knows_is_refused(data: Path, tmp_path: Path) -> None:
    for name, why in (("kernelgauge/none", "there is no model kernelgauge/none"), ("nobody/none", "nobody")):
        done = command_here("forecast", "predict", str(data), "--model", name, "--out", str(tmp_path / "x"))
        assert done.returncode == 2 and why in done.stderr, done.stderr

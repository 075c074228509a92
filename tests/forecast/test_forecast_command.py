"""`kernelgauge forecast` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import command_here
from comparisons import make_row
from factories import make_candidate, make_environment, make_evaluation, make_header

from kernelgauge.forecast import dataset
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema.forecast import Comparison
from kernelgauge.store.run import Run

FAST = "# fast\n" + "x = 1\n" * 300
SLOW = "# slow\n"


@pytest.fixture(scope="module")
def data(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A data set that `build` made of a run in which long kernels are fast."""
    folder = tmp_path_factory.mktemp("forecast")
    keys = [f"1/{number}" for number in range(19, 34)]
    run = Run.create(folder / "run", make_header(problems=tuple(keys), samples=3))
    for key in keys:
        problem = load_problem(key)
        for sample, (speed, text) in enumerate(((2.0, FAST), (0.5, SLOW), (None, "# wrong\n"))):
            candidate = make_candidate(key, f"{text}# {key}\n", sample=sample)
            record = make_evaluation(
                key,
                speed,
                "passed" if speed else "wrong_value",
                sample=sample,
                candidate_digest=candidate.digest,
                problem_digest=problem.digest,
                environment=make_environment(gpu="NVIDIA H200"),
                trivial_answers=(),
            )
            run.append(record, candidate)
    run.close()
    out = folder / "data.jsonl.xz"
    done = command_here("forecast", "build", str(run.path), "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert done.stdout == (
        f"{out}: 45 kernels (15 of them not right) and 15 pairs, 0 ties, of 15 problems on NVIDIA H200\n"
    )
    return out


def test_scores_are_printed_and_are_json(data: Path) -> None:
    done = command_here("forecast", "score", str(data), "--predictor", "one,length", "--json")
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    always, length = said["scores"]
    assert (always["predictor"], always["speed"]["rows"], always["right"]["rows"]) == ("one", 45, 45)
    assert length["by_kind"]["reference"]["bin_error"] < always["by_kind"]["reference"]["bin_error"]
    table = command_here("forecast", "score", str(data), "--predictor", "one,length", COLUMNS="100")
    assert "speed, split by problem: 45 comparisons, 5 folds" in table.stdout and "length" in table.stdout


def test_forecasts_of_a_function_are_written_and_scored(data: Path, tmp_path: Path) -> None:
    (tmp_path / "guesses.py").write_text(
        "def guess(question):\n    return float(len(question.candidate.source) > 99) + 0.5\n"
    )
    out = tmp_path / "mine.jsonl"
    done = command_here(
        "forecast", "predict", str(data), "--predictor", "guesses:guess", "--out", str(out), folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout == f"{out}: 60 forecasts\n"
    done = command_here("forecast", "score", str(data), "--forecasts", str(out), "--json")
    assert [each["predictor"] for each in json.loads(done.stdout)["scores"]] == ["one", "frequencies", "mine.jsonl"]


def test_partial_answers_are_scored_on_what_they_answer(data: Path, tmp_path: Path) -> None:
    out, part = tmp_path / "all.jsonl", tmp_path / "part.jsonl"
    command_here("forecast", "predict", str(data), "--predictor", "one", "--out", str(out))
    part.write_text("".join(out.read_text().splitlines(keepends=True)[:20]))
    refused = command_here("forecast", "score", str(data), "--forecasts", str(part))
    assert refused.returncode == 2 and "40 of 60 questions, such as" in refused.stderr
    done = command_here("forecast", "score", str(data), "--forecasts", str(part), "--partial", "--json")
    first, *_, last = json.loads(done.stdout)["scores"]
    assert first["right"]["rows"] + first["by_kind"]["pair"]["rows"] == 20
    assert first["speed"] == last["speed"]


def test_evaluations_saved_are_printed(data: Path) -> None:
    done = command_here("forecast", "replay", str(data), "--predictor", "one,length", "--json")
    assert done.returncode == 0, done.stderr
    always, length = json.loads(done.stdout)["saved"]
    # One of three is the best: at random two evaluations on average, and `length` has it first.
    assert (always["pools"], always["by_forecast"], always["over_random"]) == (15, 30.0, 0.0)
    assert (length["by_forecast"], length["over_random"]) == (15.0, 0.5)
    assert "saved over random" in command_here("forecast", "replay", str(data), "--predictor", "one").stdout


def test_files_that_nobody_has_judged_are_ordered(data: Path, tmp_path: Path) -> None:
    (tmp_path / "a.py").write_text(SLOW + "class ModelNew: ...\n")
    (tmp_path / "b.py").write_text(FAST + "class ModelNew: ...\n")
    done = command_here(
        "forecast", "order", str(data), "a.py", "b.py", "--problem", "1/40", "--predictor", "length", folder=tmp_path
    )
    assert done.returncode == 0, done.stderr
    assert [line.split()[-1] for line in done.stdout.splitlines()] == ["b.py", "a.py"]
    wrong = command_here(
        "forecast", "order", str(data), "c.py", "--problem", "1/40", "--predictor", "one", folder=tmp_path
    )
    assert wrong.returncode == 2 and "c.py does not exist" in wrong.stderr
    elsewhere = command_here(
        *("forecast", "order", str(data), str(tmp_path / "a.py"), "--problem", "1/40", "--gpu", "B200")
    )
    assert elsewhere.returncode == 2 and "it has NVIDIA H200" in elsewhere.stderr


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (("score", "nothing.jsonl"), "nothing.jsonl is missing or holds no rows"),
        (
            ("score", "DATA", "--split", "model"),
            "unknown split 'model': there are problem, contestant, gpu, same-kernels",
        ),
        (("score", "DATA", "--split", "gpu"), "it needs two GPUs"),
        (("score", "DATA", "--predictor", "guess"), "unknown predictor 'guess'"),
        (("predict", "DATA", "--out", "x"), "name one of --predictor and --model"),
        (("predict", "DATA", "--out", "x", "--predictor", "one", "--split", "problem,gpu"), "one split at a time"),
        (("build", "no/run", "--out", "x"), "there is no run at no/run"),
    ],
)
def test_wrong_use_is_one_sentence(data: Path, tmp_path: Path, arguments: tuple[str, ...], why: str) -> None:
    given = [str(data) if each == "DATA" else each for each in arguments]
    done = command_here("forecast", *given, folder=tmp_path)
    assert done.returncode == 2 and why in done.stderr and "Traceback" not in done.stderr


def test_a_run_with_nothing_to_forecast_writes_no_file(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", make_header()).close()
    done = command_here("forecast", "build", str(tmp_path / "run"), "--out", str(tmp_path / "data.jsonl"))
    assert done.returncode == 2 and "hold nothing to forecast" in done.stderr
    assert not (tmp_path / "data.jsonl").exists()


def test_the_set_that_ships_is_whole() -> None:
    rows = dataset.read(Path("results/forecast/data.jsonl.xz"), Comparison)
    assert len({row.id for row in rows}) == len(rows) > 1000
    assert {row.gpu for row in rows} == {"NVIDIA H100 80GB HBM3", "NVIDIA H200"}
    assert not any("expect: " in row.candidate.source[:400] for row in rows)
    assert make_row().question

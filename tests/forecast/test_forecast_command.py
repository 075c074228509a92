"""`kernelgauge forecast` as a user types it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from commands import command_here
from factories import make_candidate, make_environment, make_evaluation, make_header

from kernelgauge.errors import UsageError
from kernelgauge.forecast import dataset
from kernelgauge.forecast.order import Order, Promising
from kernelgauge.forecast.predictors.registry import predictor_named
from kernelgauge.generation.folder import Folder
from kernelgauge.generation.inductor import Inductor
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
    assert "…" not in table.stdout


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
    part.write_text("".join(out.read_text().splitlines(keepends=True)[:21]))  # the first is the header
    refused = command_here("forecast", "score", str(data), "--forecasts", str(part))
    assert refused.returncode == 2 and "40 of 60 questions, such as" in refused.stderr
    done = command_here("forecast", "score", str(data), "--forecasts", str(part), "--partial", "--json")
    first, *_, last = json.loads(done.stdout)["scores"]
    assert first["right"]["rows"] + first["by_kind"]["pair"]["rows"] == 20
    assert first["speed"] == last["speed"]


def test_forecasts_of_another_split_or_data_set_are_not_scored(data: Path, tmp_path: Path) -> None:
    out, fewer = tmp_path / "one.jsonl", tmp_path / "fewer.jsonl"
    command_here("forecast", "predict", str(data), "--predictor", "one", "--out", str(out))
    rows = dataset.read(data, Comparison)
    dataset.write(fewer, rows[:-1])
    for options, why in (
        ((str(data), "--split", "gpu"), "one.jsonl holds forecasts of split 'problem', not 'gpu'"),
        ((str(fewer),), "one.jsonl holds forecasts of another data set"),
    ):
        done = command_here("forecast", "score", *options, "--forecasts", str(out), "--partial")
        assert done.returncode == 2 and why in done.stderr, done.stderr
    out.write_text("".join(out.read_text().splitlines(keepends=True)[1:]))
    done = command_here("forecast", "score", str(data), "--forecasts", str(out))
    assert done.returncode == 2 and "line 1 is not a valid ForecastHeader" in done.stderr, done.stderr


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


@pytest.fixture
def drafts(tmp_path: Path) -> Path:
    """Three drafts for a problem: the second is right and long, the others are short and wrong."""
    folder = tmp_path / "drafts" / "level1"
    folder.mkdir(parents=True)
    right = (
        "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n"
        "        return torch.relu(x)\n"
    )
    for sample, text in enumerate((right.replace("relu", "sin"), f"{right}{FAST}", right.replace("relu", "cos"))):
        (folder / f"19_relu_sample_{sample}.py").write_text(text)
    return folder.parent


def test_the_first_of_a_folder_are_those_foreseen_as_the_fastest(data: Path, drafts: Path) -> None:
    order = Order(dataset.read(data, Comparison), predictor_named("length"))
    folder = Folder(drafts)
    assert Promising(folder, order, 1, "cpu").samples("1/19") == [1]
    every = Promising(folder, order, 9, "cpu")
    assert every.samples("1/19")[0] == 1 and sorted(every.samples("1/19")) == [0, 1, 2]
    assert every.samples("1/20") == []
    assert (every.name, every.origin) == (folder.name, folder.origin)
    assert every.digest("1/19", 1) == folder.digest("1/19", 1)


def test_who_writes_when_asked_cannot_be_ordered(data: Path) -> None:
    order = Order(dataset.read(data, Comparison), predictor_named("one"))
    with pytest.raises(UsageError, match="inductor writes its candidates when it is asked"):
        Promising(Inductor(), order, 1, "cpu")


def test_first_needs_a_forecast(drafts: Path, tmp_path: Path) -> None:
    done = command_here("run", "--contestant", f"folder:{drafts}", "--out", str(tmp_path / "run"), "--first", "1")
    assert done.returncode == 2 and "--forecast and --first go together" in done.stderr


@pytest.mark.proof("forecast", "cli/run.py")
def test_a_run_judges_the_first_alone_and_the_others_later(data: Path, drafts: Path, tmp_path: Path) -> None:
    out = tmp_path / "run"
    asked = [
        *("run", "--contestant", f"folder:{drafts}", "--out", str(out), "--device", "cpu", "--sizes", "small"),
        *("--protocol", "quick", "--kernel-policy", "any"),
    ]
    done = command_here(*asked, "--forecast", str(data), "--first", "1", "--predictor", "length")
    assert done.returncode == 0, done.stderr
    assert [(e.sample, e.outcome) for e in Run.read(out).evaluations()] == [(1, "passed")]
    done = command_here(*asked)
    assert done.returncode == 0, done.stderr
    assert sorted(e.sample for e in Run.read(out).evaluations()) == [0, 1, 2]


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

"""Other people's candidates: a real folder, judged by the real command, beside what was said of them."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from browser import texts_in
from commands import command_here
from factories import make_candidate, make_evaluation, make_header, make_timing
from pydantic import ValidationError
from waiting import comes_true

from kernelgauge.generation.foreign import Foreign, Foreigners, read_folder
from kernelgauge.problems.loader import load_problem
from kernelgauge.report.figures.elsewhere import replayed
from kernelgauge.schema import Elsewhere
from kernelgauge.store import Run

SAID: dict[str, Any] = {
    "compiled": True,
    "correct": True,
    "speedup": None,
    "hardware": "NVIDIA H100",
    "source": "example.org, MIT",
}
WRONG = (
    "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.ones_like(x)\n"
)


def right(key: str) -> str:
    source = load_problem(key, sizes="small").source
    return source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")


def put(folder: Path, name: str, source: str, **said: Any) -> None:
    folder.mkdir(exist_ok=True)
    (folder / f"{name}.py").write_text(source)
    (folder / f"{name}.json").write_text(json.dumps({**SAID, **said}))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    found = tmp_path / "published"
    put(found, "1_19_good", right("1/19"), label="honest")
    put(found, "1_19_lazy", WRONG, label="cheat", speedup=30.0)
    put(found, "by_its_json", right("1/19") + "# mine\n", problem="1/19", compiled=False, correct=False)
    put(found, "1_47_wrong", WRONG, correct=False)
    return found


def command(folder: Path, quick: str, *extra: str) -> list[str]:
    fixed = ["--sizes", "small", "--device", "cpu", "--protocols", quick]
    return ["replay-check", str(folder), *fixed, *extra]


def replay(folder: Path, quick: str, *extra: str) -> subprocess.CompletedProcess[str]:
    done = command_here(*command(folder, quick, *extra))
    assert "Traceback" not in done.stderr, done.stderr
    return done


@pytest.mark.proof
def test_verdicts_stand_beside_those_of_others(folder: Path, quick: str, tmp_path: Path) -> None:
    (folder / "1_23_alone.py").write_text(right("1/23"))
    put(folder, "1_999_nowhere", WRONG)
    put(folder, "unnamed", WRONG)
    put(folder, "1_47_odd", WRONG, correct=True, compiled=False)
    put(folder, "1_47_broken", WRONG)
    (folder / "1_47_broken.json").write_text("{")
    (folder / "lonely.json").write_text("{}")

    done = replay(folder, f"{quick},v0.1", "--json")
    assert done.returncode == 1, done.stderr
    found = json.loads(done.stdout)
    assert list(found["protocols"]) == ["few", "v0.1"]
    for name, result in found["protocols"].items():
        agreements = {row["file"]: row["agreement"] for row in result["rows"]}
        assert agreements == {
            "1_19_good.py": "both_right",
            "1_19_lazy.py": "refused_here",
            "by_its_json.py": "accepted_here",
            "1_47_wrong.py": "both_wrong",
        }, name
        assert result["by_label"]["cheat"]["refused_here"] == 1
        (lazy,) = [row for row in result["rows"] if row["file"] == "1_19_lazy.py"]
        assert lazy["outcome"] == "wrong_value" and lazy["reason"] and lazy["elsewhere"]["speedup"] == 30.0
    said = {each["file"]: each["reason"] for each in found["left_out"]}
    words = {
        "1_23_alone.py": "1_23_alone.py has no 1_23_alone.json",
        "1_999_nowhere.py": "1_999_nowhere.py: no problem is called '1/999'",
        "unnamed.py": "unnamed.py is not named after a problem",
        "1_47_odd.py": "1_47_odd.json is malformed: what did not compile",
        "1_47_broken.py": "1_47_broken.json is not JSON",
        "lonely.json": "lonely.json has no lonely.py",
    }
    assert said.keys() == words.keys()
    for file, word in words.items():
        assert word in said[file] and said[file] in done.stderr

    out = folder.with_name("published.replayed") / "few"
    kept = {record.sample: record.elsewhere for record in Run.read(out).evaluations() if record.problem == "1/19"}
    assert sorted(kept) == [0, 1, 2] and {each.label for each in kept.values() if each} >= {"honest", "cheat"}
    assert command_here("report", str(out), "--html", str(tmp_path / "r.html")).returncode == 0
    line = "correct, 30x on NVIDIA H100; held for a cheat (example.org, MIT)"
    assert line in [detail["elsewhere"] for detail in texts_in(tmp_path / "r.html", "details")]
    assert command_here("leaderboard", str(out), "--out", str(tmp_path / "site")).returncode == 0
    pages = [path.read_text() for path in (tmp_path / "site" / "records").rglob("*.html")]
    assert any("held for a cheat" in page for page in pages)
    table = command_here("export", str(out), "--format", "json")
    assert {row["label"] for row in json.loads(table.stdout)} == {"honest", "cheat", "unknown"}


@pytest.mark.proof
def test_it_goes_on_and_ends_with_0_where_nothing_differs(folder: Path, quick: str) -> None:
    out = folder.with_name("published.replayed") / "few"
    running = subprocess.Popen(
        [sys.executable, "-m", "kernelgauge", *command(folder, quick)],
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert comes_true(lambda: (out / "evaluations.jsonl").exists() and len(Run.read(out).evaluations()) >= 1)
    running.send_signal(signal.SIGINT)
    assert "the same command goes on" in running.communicate(timeout=60)[1] and running.returncode == 130
    before = Run.read(out).evaluations()

    done = replay(folder, quick)
    assert done.returncode == 1, done.stderr
    text = " ".join(done.stdout.split())
    assert "refused here: 1_19_lazy.py (1/19): elsewhere correct, 30x on NVIDIA H100; held for a cheat" in text
    assert "here wrong_value: trial 1" in text
    after = Run.read(out).evaluations()
    assert after[: len(before)] == before and len(after) == 4

    # A file more at the front moves no number of those that were judged; a changed verdict needs no new judgement.
    put(folder, "1_19_another", right("1/19") + "# another\n")
    put(folder, "1_19_lazy", WRONG, correct=False, label="cheat")
    put(folder, "by_its_json", right("1/19") + "# mine\n", problem="1/19")
    done = replay(folder, quick)
    assert done.returncode == 0, done.stdout + done.stderr
    assert len(Run.read(out).evaluations()) == 5
    assert "nothing left to judge" in replay(folder, quick).stderr


def test_wrong_use_is_one_sentence(folder: Path, quick: str, tmp_path: Path) -> None:
    (tmp_path / "empty").mkdir()
    for arguments, word in [
        ((tmp_path / "gone", quick), "does not exist"),
        ((tmp_path / "empty", quick), "there is no candidate in"),
        ((folder, "nothing"), "nothing"),
        ((folder, quick, "--problems", "3/1"), "no usable candidate"),
    ]:
        done = replay(*arguments)
        assert done.returncode == 2 and word in done.stderr and done.stderr.count("\n") == 1, done.stderr


@pytest.mark.parametrize(
    "change",
    [
        {"compiled": False},
        {"correct": False, "speedup": 1.5},
        {"speedup": 0.0},
        {"speedup": float("inf")},
        {"hardware": ""},
        {"source": "two\nlines"},
        {"label": "honest?"},
        {"correct": "yes"},
        {"more": 1},
    ],
)
def test_a_verdict_that_contradicts_itself_is_none(change: dict[str, Any]) -> None:
    Elsewhere.model_validate(SAID, strict=True)
    with pytest.raises(ValidationError):
        Elsewhere.model_validate({**SAID, **change}, strict=True)


@pytest.mark.parametrize(
    ("theirs", "ours", "interval", "agreement"),
    [
        (2.0, 2.2, (2.1, 2.3), "both_right"),
        (2.0, 3.2, (3.1, 3.3), "speed_apart"),
        (2.0, 1.2, (1.1, 1.3), "speed_apart"),
        (2.0, 3.2, (1.9, 3.5), "both_right"),
        (20.0, 3.2, (1.0, 9.0), "both_right"),
        (None, 3.2, (3.1, 3.3), "both_right"),
    ],
)
def test_speeds_are_apart_beyond_a_factor_and_our_interval(
    tmp_path: Path, theirs: float | None, ours: float, interval: tuple[float, float], agreement: str
) -> None:
    said = Elsewhere.model_validate({**SAID, "speedup": theirs})
    candidate = make_candidate("1/1")
    foreign = Foreign("x.py", "1/1", None, candidate.source, candidate.backend, said)
    timing = make_timing(ours).model_copy(update={"interval": interval})
    with Run.create(tmp_path / "run", make_header()) as run:
        run.append(make_evaluation("1/1", timing=timing, candidate_digest=candidate.digest), candidate)
        (row,) = replayed(run, {("1/1", 0): foreign}, apart=1.5).rows
        assert row.agreement == agreement
        other = Foreign("x.py", "1/1", None, "# changed", candidate.backend, said)
        (row,) = replayed(run, {("1/1", 0): other}, 1.5, {("1/1", 0): "the machine failed"}).rows
        assert (row.agreement, row.reason, row.differs) == ("not_judged", "the machine failed", True)


def test_texts_keep_their_numbers(folder: Path) -> None:
    found, unusable = read_folder(folder)
    assert unusable == []
    first = Foreigners(folder, found, {})
    held = {(key, each.digest): sample for (key, sample), each in first.answers.items()}
    put(folder, "1_19_another", right("1/19") + "# another\n")
    second = Foreigners(folder, read_folder(folder)[0], held)
    assert {sample: each.file for (key, sample), each in second.answers.items() if key == "1/19"} == {
        **{sample: each.file for (key, sample), each in first.answers.items() if key == "1/19"},
        3: "1_19_another.py",
    }

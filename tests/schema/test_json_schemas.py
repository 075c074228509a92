"""The JSON Schemas that ship are those of the records, and describe what is really written and printed."""

from __future__ import annotations

import json
import math
import subprocess
import sys
from importlib import resources
from pathlib import Path
from typing import Any

import pytest
from commands import command_here
from factories import make_answer, make_baseline, make_evaluation, make_header, make_run
from jsonschema import Draft202012Validator

from kernelgauge.schema import FORMAT, NoCandidate, Outcome, TooLarge, Trial
from kernelgauge.store.codec import encode
from kernelgauge.store.run import Run

EXTENSION = Path(__file__).parents[2] / "docs" / "_ext"
FOLDER = resources.files("kernelgauge.schema") / "json" / f"v{FORMAT}"
INFINITE = make_evaluation(
    outcome=Outcome.WRONG_VALUE,
    reason="one element is infinite",
    trials=(Trial(variant="own", error=math.inf, allowed=1e-3, reference_error=0.0, agreed=False),),
    timing=None,
    bound=None,
)


def complaints(name: str, said: Any) -> list[str]:
    validator = Draft202012Validator(json.loads((FOLDER / f"{name}.json").read_text()))
    return [f"{error.json_path}: {error.message}" for error in validator.iter_errors(said)]


@pytest.mark.processes
def test_the_files_are_what_the_records_say(tmp_path: Path) -> None:
    code = f"import schemas; from pathlib import Path; schemas.write(Path({str(tmp_path)!r}))"
    subprocess.run([sys.executable, "-c", code], check=True, env={"PYTHONPATH": str(EXTENSION)})
    made = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert {each.name: each.read_text() for each in FOLDER.iterdir()} == made, "run `make schemas`"
    for text in made.values():
        Draft202012Validator.check_schema(json.loads(text))


@pytest.mark.parametrize(
    ("name", "record"),
    [
        *(("evaluation", evaluation) for evaluation, _ in make_run(problems=20)),
        ("evaluation", INFINITE),
        ("run", make_header()),
        ("baseline", make_baseline()),
        ("no_candidate", NoCandidate(problem="1/1", contestant="folder:x", reason="none")),
        ("too_large", TooLarge(problem="1/1", sizes="full", reason="it needs 90 GB")),
    ],
)
def test_what_is_stored_is_described(name: str, record: Any) -> None:
    stored = json.loads(encode(record))
    assert complaints(name, stored) == []
    assert complaints(name, {**stored, "unheard_of": 1}) != []
    assert complaints(name, {**stored, "problem": 1, "problems": 1}) != []


@pytest.mark.parametrize("record", [INFINITE, *(evaluation for evaluation, _ in make_run(problems=20))])
def test_a_summary_is_described(record: Any) -> None:
    assert complaints("eval", json.loads(json.dumps(record.summary(), allow_nan=False))) == []


@pytest.fixture
def folder(tmp_path: Path, problem: str, quick: str) -> Path:
    with Run.create(tmp_path / "run", make_header(problems=("1/1", "1/2"))) as run:
        for key in run.header.problems:
            run.append(*make_answer(key))
    (tmp_path / "good.py").write_text(Path(problem).read_text().replace("class Model(", "class ModelNew("))
    return tmp_path


@pytest.mark.proof("schema", "cli")
@pytest.mark.parametrize(
    ("name", "arguments"),
    [
        ("eval", "eval scaled.py good.py --device cpu --protocol {quick}"),
        ("eval", "eval scaled.py scaled.py --device cpu"),
        ("profile", "profile scaled.py --device cpu"),
        ("report", "report run"),
        ("compare", "compare run run"),
        ("problem", "problems show 1/23"),
        ("problems", "problems list"),
        pytest.param("findings", "problems verify 1/19 --protocol strict", marks=pytest.mark.nightly),
        ("imported", "problems import own --suite mine"),
        ("baselines", "baseline show"),
        pytest.param("selftest", "selftest --only timing/lazy_tensor", marks=pytest.mark.nightly),
        pytest.param("doctor", "doctor", marks=pytest.mark.nightly),
        ("peaks", "doctor --measure --device cpu"),
    ],
)
def test_what_is_printed_is_described(
    folder: Path, quick: str, name: str, arguments: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(folder / "suites"))
    (folder / "own").mkdir()
    (folder / "own" / "1_scaled.py").write_text((folder / "scaled.py").read_text())
    words = arguments.format(quick=quick).split()
    done = command_here(*words, "--json", folder=folder)
    assert done.stdout, done.stderr
    said = json.loads(done.stdout)
    assert complaints(name, said) == []
    assert isinstance(said, list) or said["format"] == FORMAT

"""Searches that begin with a candidate: a compiler's, an expert's, one of a folder, the best of a run."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

from asking import asked, close_judges, fenced, only, score_of, scripted, whole
from commands import command_here

from kernelgauge.errors import UsageError
from kernelgauge.report import score_run
from kernelgauge.store.run import Run

pytestmark = [pytest.mark.processes, pytest.mark.proof("models", "search", "generation")]

STRATEGIES = ("refine,turns=2", "evolve,attempts=2,islands=2", "tree,ideas=1,beam=1,rounds=1")


PROBLEM = "1/19"
RIGHT = (
    "import torch\n\n\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return x.clamp(min=0)\n"
)
WRONG = RIGHT.replace("clamp(min=0)", "clamp(min=0) + 1")


def folder_with(path: Path, source: str, name: str = "1_19.py") -> str:
    path.mkdir()
    (path / name).write_text(source)
    return f"folder:{path}"


def first_of(sample: Any) -> dict[str, Any]:
    return dict(sample.store["attempts"][0])


@pytest.mark.parametrize("strategy", STRATEGIES)
def test_a_search_shows_what_it_was_given_and_keeps_it_where_nothing_is_better(
    tmp_path: Path, quick: str, strategy: str
) -> None:
    start, out = folder_with(tmp_path / "human", RIGHT), tmp_path / "run"
    told: list[str] = []

    def answer(messages: list[Any]) -> str:
        told.append(messages[0].text)
        return fenced(WRONG)

    task = {"strategy": strategy, "start": start, "out": str(out)}
    sample = only(asked(scripted(answer), tmp_path / "logs", PROBLEM, quick, **task))
    assert all("return x.clamp(min=0)\n" in each for each in told), "every prompt shows it"
    first, *others = sample.store["attempts"]
    assert first["given"] == str(tmp_path / "human" / "1_19.py") and first["outcome"] == "passed"
    assert first["spent"]["calls"] == first["spent"]["tokens_read"] == 0 and first["spent"]["evaluations"] == 1
    assert others and not any(each["given"] for each in others)
    assert sample.store["spent"]["calls"] == len(others) == len(told)
    assert score_of(sample).answer.strip() == RIGHT.strip()
    run = Run.read(out)
    assert run.header.generation and run.header.generation.start == f"folder:{tmp_path / 'human'}"
    found = score_run(run).added
    assert found is not None and (found.answers, found.kept, found.begun_with_nothing) == (1, 1, 0)


def test_a_search_goes_on_where_it_was_interrupted_and_another_start_is_another_run(
    tmp_path: Path, quick: str
) -> None:
    start, out = folder_with(tmp_path / "human", WRONG), tmp_path / "run"
    task = {"strategy": "refine,turns=2", "start": start, "out": str(out)}
    model = scripted(fenced(RIGHT))
    only(asked(model, tmp_path / "logs", PROBLEM, quick, **task))
    close_judges()
    before = {record.number: record for record in Run.read(out).attempts()}
    assert before[0].attempt.given and before[0].attempt.evaluation and sorted(before) == [0, 1, 2]
    (out / "evaluations.jsonl").unlink()  # as if it had been killed before the answer was judged anew
    sample = only(asked(scripted("nobody asks"), tmp_path / "logs", PROBLEM, quick, **task))
    close_judges()
    assert score_of(sample).answer == RIGHT
    assert {record.number: record for record in Run.read(out).attempts()} == before, "nothing was paid twice"
    found = score_run(Run.read(out)).added
    assert found is not None and (found.mended, found.gain) == (1, None)
    other = folder_with(tmp_path / "other", RIGHT)
    log = asked(model, tmp_path / "logs", PROBLEM, quick, **{**task, "start": other})
    assert log.samples and log.samples[0].error and "start" in log.samples[0].error.message


def test_a_search_goes_on_from_the_best_of_a_run(tmp_path: Path, quick: str) -> None:
    slow = RIGHT.replace("return x", "__import__('time').sleep(0.2)\n        return x")
    folder = tmp_path / "human"
    folder_with(folder, slow)
    (folder / "1_19_sample_1.py").write_text(RIGHT)
    (folder / "1_19_sample_2.py").write_text(WRONG)
    judged = ["run", "--contestant", f"folder:{folder}", "--device", "cpu", "--sizes", "small"]
    done = command_here(*judged, "--protocol", quick, "--out", str(tmp_path / "first"))
    assert done.returncode == 0, done.stderr
    task = {"strategy": "refine,turns=1", "start": f"run:{tmp_path / 'first'}"}
    sample = only(asked(scripted(fenced(WRONG)), tmp_path / "logs", PROBLEM, quick, **task))
    first = first_of(sample)
    assert first["source"] == RIGHT and first["given"] == f"run:{tmp_path / 'first'} (folder:human)"


@pytest.mark.proof("expert")
def test_a_search_begins_with_a_kernel_that_ships(tmp_path: Path, quick: str) -> None:
    """On a CPU Triton's interpreter judges it."""
    told: list[str] = []

    def answer(messages: list[Any]) -> str:
        told.append(messages[0].text)
        return fenced(WRONG)

    task = {"strategy": "refine,turns=1", "start": "expert", "out": str(tmp_path / "run")}
    sample = only(asked(scripted(answer), tmp_path / "logs", "1/88", quick, **task))
    first = first_of(sample)
    assert first["given"].endswith("expert/candidates/level1/88_mingpt_new_gelu.py") and first["outcome"] == "passed"
    assert "@triton.jit" in first["source"] and "kernelgauge" not in first["source"], "its parts are in its text"
    assert first["source"].strip() in told[0] and score_of(sample).answer.strip() == first["source"].strip()
    run = Run.read(tmp_path / "run")
    assert run.header.generation and run.header.generation.start == "expert"


def test_without_a_candidate_a_search_begins_with_nothing_and_says_so(tmp_path: Path, quick: str) -> None:
    start = folder_with(tmp_path / "human", RIGHT, "1_20.py")
    task = {"strategy": "refine,turns=1", "start": start, "out": str(tmp_path / "run")}
    sample = whole(asked(scripted(fenced(RIGHT)), tmp_path / "logs", PROBLEM, quick, **task))
    assert [each["given"] for each in sample.store["attempts"]] == [""]
    said = [str(event.data) for event in sample.events if event.event == "info" and event.source == "kernelgauge"]
    assert any("begins from nothing" in each and "has no candidate for 1/19" in each for each in said), said
    found = score_run(Run.read(tmp_path / "run")).added
    assert found is not None and found.begun_with_nothing == 1


def test_what_cannot_be_a_start_is_one_sentence(tmp_path: Path, problem: str, quick: str) -> None:
    for start, strategy, sentence in (
        ("inductor", "sample,attempts=2", "the strategy sample goes on from no candidate: with a start, use refine"),
        ("inductor", "react", "the strategy react goes on from no candidate"),
        ("folder:/nowhere", "refine", "candidate folder /nowhere does not exist"),
        ("run:/nowhere", "refine", "/nowhere"),
        ("nobody", "refine", "nobody"),
    ):
        with pytest.raises(Exception, match=sentence) as raised:
            asked(scripted("x"), tmp_path, problem, quick, strategy=strategy, start=start)
        cause = raised.value if isinstance(raised.value, UsageError) else raised.value.__cause__
        assert cause is not None and "\n" not in str(cause)


def test_a_model_goes_on_where_the_compiler_stopped(tmp_path: Path, quick: str) -> None:
    """The whole way, with the model that ships: compiled for bfloat16, shown, answered, judged, reported."""
    out = tmp_path / "run"
    where = ["--device", "cpu", "--sizes", "small", "--protocol", quick, "--math", "bf16"]
    line = ["ask", "kernelgauge/replay", "--problems", "1/88", "--backend", "torch", "--shots", "zero_shot", *where]
    done = command_here(*line, "--strategy", "refine,turns=1", "--start", "inductor", "--out", str(out))
    assert done.returncode == 0, done.stderr
    assert "begun with inductor: of 1 answers" in " ".join(done.stdout.split())
    said = json.loads(command_here("report", str(out), "--json", "--html", str(tmp_path / "page.html")).stdout)
    (gain,) = said["added"]["gains"]
    assert said["added"]["start"] == "inductor" and gain["given"].startswith("TorchInductor of torch")
    assert gain["start_outcome"] == "passed"
    assert gain["start_interval"][0] <= gain["start_speedup"] <= gain["start_interval"][1]
    assert gain["kept"] or gain["gain"] == pytest.approx(gain["speedup"] / gain["start_speedup"])
    page = (tmp_path / "page.html").read_text()
    assert 'id="added"' in page and "What the search added: begun with inductor" in page

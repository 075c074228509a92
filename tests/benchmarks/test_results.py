"""Committed results: real run folders become small JSON files, and these a page that says the same as the report."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

import pytest
from factories import make_answer, make_environment, make_header, quick_protocol
from import_graph import program

from kernelgauge.problems.loader import load_problem
from kernelgauge.report.figures.baselines import boards
from kernelgauge.report.figures.scores import score_run
from kernelgauge.schema import TooLarge
from kernelgauge.store.baselines import FILE, read
from kernelgauge.store.run import Run

# One run of the real benchmarks is behind all of them.
pytestmark = [pytest.mark.processes, pytest.mark.proof(*program("aa.py", "results.py"), unit="results")]

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"


def ran(*command: str) -> str:
    done = subprocess.run([sys.executable, *command], capture_output=True, text=True, timeout=400, env=os.environ)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """An A/A run, eager against eager, and a contestant with one right and one wrong answer: each judged for real."""
    folder = tmp_path_factory.mktemp("runs")
    quick = folder / "quick.toml"
    quick.write_text(quick_protocol())
    answers = folder / "answers"
    answers.mkdir()
    softmax, relu = (
        load_problem(key, sizes="small").source.replace("class Model(", "class ModelNew(") for key in ("1/23", "1/19")
    )
    (answers / "1_23_softmax.py").write_text(softmax)
    (answers / "1_19_relu.py").write_text(relu.replace("torch.relu(x)", "x - 1"))
    asked = ["--sizes", "small", "--device", "cpu", "--protocol", str(quick)]
    aa = ["--problems", "1/19,1/23", "--run", str(folder / "aa"), "--out", str(folder / "aa.json")]
    ran(str(BENCHMARKS / "aa.py"), *asked, *aa)
    kernelgauge = ["-m", "kernelgauge"]
    ran(*kernelgauge, "run", "--contestant", f"folder:{answers}", *asked, "--out", str(folder / "answered"))
    modes = ["--modes", "eager", "--problems", "1/23"]
    ran(*kernelgauge, "baseline", *modes, *asked, "--out", str(folder / "baselines"))
    return folder


@pytest.fixture(scope="module")
def pages(runs: Path) -> Path:
    folder = runs / "machine"
    names = ("aa", "answered", "baselines")
    ran(str(BENCHMARKS / "results.py"), str(folder), *(f"{name}={runs / name}" for name in names))
    return folder


def kept(pages: Path, name: str) -> dict[str, Any]:
    return dict(json.loads((pages / f"{name}.json").read_text()))


@pytest.mark.parametrize("name", ["aa", "answered", "baselines"])
def test_a_file_says_where_its_figures_come_from(runs: Path, pages: Path, name: str) -> None:
    content, header = kept(pages, name), Run.read(runs / name).header
    assert content["header"]["protocol_digest"] == header.protocol_digest
    assert content["header"]["kernelgauge"] == content["environment"]["kernelgauge"]
    assert content["header"]["command"] == header.command and str(runs / name) in header.command
    assert content["date"] == header.created.isoformat(timespec="seconds")
    assert content["environment"]["torch"] and content["seconds"] > 0
    assert header.command in (pages / "README.md").read_text()


def test_figures_of_a_contestant_are_those_of_the_report(runs: Path, pages: Path) -> None:
    content, scores = kept(pages, "answered"), score_run(Run.read(runs / "answered"))
    assert content["figures"]["overall"]["fast_p"] == scores.overall.fast_p
    assert content["figures"]["levels"]["1"]["outcomes"] == {"passed": 1, "wrong_value": 1}
    rows = {row["problem"]: row for row in content["rows"]}
    right, wrong = rows["1/23"], rows["1/19"]
    (record,) = [record for record in Run.read(runs / "answered").latest() if record.passed]
    assert record.timing is not None
    assert right["speedup"] == pytest.approx(record.timing.speedup, rel=1e-5)
    assert (right["low"], right["high"]) == pytest.approx(record.timing.interval, rel=1e-5)
    assert right["reference_ms"] == pytest.approx(record.timing.reference_ms, rel=1e-5)
    assert wrong["outcome"] == "wrong_value" and wrong["reason"] and "speedup" not in wrong
    low, high = (100 * end for end in scores.overall.fast_p_interval["0"])
    assert f"| all | 2 | 50.0 ({low:.0f}–{high:.0f}) |" in (pages / "README.md").read_text()


def test_figures_of_an_aa_run_are_those_that_it_printed(runs: Path, pages: Path) -> None:
    content, printed = kept(pages, "aa"), json.loads((runs / "aa.json").read_text())
    everything = content["figures"]["levels"]["all"]
    off = [abs(row["speedup"] - 1) for row in printed["rows"]]
    assert everything["judged"] == everything["passed"] == 2
    assert everything["deviation"]["median"] == pytest.approx(sum(off) / 2, rel=1e-4, abs=1e-5)
    assert everything["deviation"]["worst"] == pytest.approx(max(off), rel=1e-4, abs=1e-5)
    assert len(everything["worst"]) == 2
    worst = everything["deviation"]["worst"]  # as the file has it: rounded once more, the last digit may differ
    assert f"| {100 * worst:.2f} % |" in (pages / "README.md").read_text()


def test_figures_of_baselines_are_those_of_their_board(runs: Path, pages: Path) -> None:
    content = kept(pages, "baselines")
    (board,) = boards(read(runs / "baselines" / FILE))
    measured = board.rows[0].modes["eager"].measured
    assert measured is not None
    assert content["rows"][0]["eager"] == pytest.approx([measured.speedup, *measured.interval], rel=1e-5)
    assert content["figures"]["strongest"] == {"eager": 1}
    assert content["figures"]["modes"]["eager"]["speedup"][2] == pytest.approx(measured.speedup, rel=1e-5)
    assert content["figures"]["total"]["strongest_ms"] == content["figures"]["total"]["eager_ms"]


def test_the_eager_mode_of_baselines_is_an_aa_run(runs: Path, tmp_path: Path) -> None:
    ran(str(BENCHMARKS / "results.py"), str(tmp_path), f"aa_eager={runs / 'baselines'}")
    content, (board,) = kept(tmp_path, "aa_eager"), boards(read(runs / "baselines" / FILE))
    measured = board.rows[0].modes["eager"].measured
    assert measured is not None
    assert content["kind"] == "aa"
    assert content["rows"][0]["speedup"] == pytest.approx(measured.speedup, abs=1e-5)


class Text(HTMLParser):
    def __init__(self, page: str) -> None:
        super().__init__()
        self.said, self.tags = "", []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append(tag)
        assert not any(name in ("src", "onload", "onclick") for name, _ in attrs)

    def handle_data(self, data: str) -> None:
        self.said += data


def test_the_html_page_holds_every_row_and_needs_nothing_else(pages: Path) -> None:
    page = Text((pages / "index.html").read_text())
    assert "script" not in page.tags and "link" not in page.tags
    assert page.tags.count("details") == 3
    (wrong,) = [row for row in kept(pages, "answered")["rows"] if row["outcome"] == "wrong_value"]
    assert wrong["reason"] in page.said
    assert "<details>" not in (pages / "README.md").read_text()


def test_a_page_is_made_of_its_files_alone(pages: Path, tmp_path: Path) -> None:
    """As after a commit: no run folder, another file in between; and the same text comes out again."""
    for path in pages.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    (tmp_path / "doctor.json").write_text("{}")
    ran(str(BENCHMARKS / "results.py"), str(tmp_path))
    before, after = ((folder / "README.md").read_text() for folder in (pages, tmp_path))
    assert after.splitlines()[1:-4] == before.splitlines()[1:]
    assert after.endswith("## Other files\n\n[doctor.json](doctor.json).\n")


def test_what_does_not_fit_or_was_not_reached_is_said(tmp_path: Path) -> None:
    refusal = TooLarge(problem="1/2", level=1, sizes="full", needed_gb=91.5, available_gb=24, reason="no room")
    header = make_header(problems=("1/1", "1/2", "1/3"), gpu_memory_gb=24)
    with Run.create(tmp_path / "run", header) as run:
        run.append(*make_answer("1/1"))
        run.append_too_large(refusal)
    ran(str(BENCHMARKS / "results.py"), str(tmp_path / "page"), f"small_card={tmp_path / 'run'}")
    text = (tmp_path / "page" / "README.md").read_text()
    assert "Too large for the GPU's memory, in no figure above: 1: 1/2 (91.5 GB)." in text
    assert "Not judged, in no figure above: 1: 1/3." in text


def test_a_source_that_is_none_is_refused(tmp_path: Path) -> None:
    (tmp_path / "other.json").write_text("{}")
    command = [sys.executable, str(BENCHMARKS / "results.py"), str(tmp_path / "page"), f"x={tmp_path / 'other.json'}"]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode != 0 and "neither throughput.py nor gpu_memory.py" in done.stderr


def test_files_of_other_benchmarks_are_shown_without_what_their_page_does_not_need(tmp_path: Path) -> None:
    environment = make_environment().model_dump()
    judged = {"problem": "1/23", "outcome": "passed", "candidate_ms": 1.5, "speedup": 1.25, "log": "nvcc"}
    phase = {"finished": True, "kernels": 1, "wall_seconds": 60.0, "gpu_busy": 0.5, "kernels_per_hour": 60.0}
    phase["seconds"] = {"build": 47.5, "time": 2.0}
    throughput = {
        "date": "2026-11-21T10:00:00+00:00",
        "commands": [["benchmarks/throughput.py", "--jobs", "16"]],
        "environment": environment,
        "candidates": "/x/cuda_candidates",
        **{"problems": ["1/23"], "sizes": "full", "protocol": "strict", "jobs": 16},
        "phases": {
            "naive": phase | {"rows": []},
            "cold": phase | {"kernels_per_hour": 630.0, "gpu_busy": None, "rows": [judged]},
        },
    }
    taken = {"peak_gb": 131.5, "regions_gb": 80.25, "candidate_gb": 18.0}
    row = {"problem": "1/38", "name": "l1_norm", "needed_gb": 122.17, "outcome": "passed", "gpu_memory": taken}
    memory = {
        "date": "2026-11-21T10:00:00+00:00",
        "command": "python benchmarks/gpu_memory.py",
        "environment": environment,
        "cap_gb": 24.0,
        "whole": [row | {"seconds": 30.5}],
        "capped": [row | {"outcome": "too_large", "gpu_memory": None, "seconds": 0.01}],
    }
    for name, content in (("t", throughput), ("m", memory)):
        (tmp_path / f"{name}.json").write_text(json.dumps(content))
    folder = tmp_path / "page"
    sources = (f"throughput={tmp_path / 't.json'}", f"gpu_memory={tmp_path / 'm.json'}")
    ran(str(BENCHMARKS / "results.py"), str(folder), *sources)
    text = (folder / "README.md").read_text()
    assert "| kernelgauge, empty cache | 1 | 60 | 630 | 10.5 | – |  |" in text
    assert "| kernelgauge, empty cache | build 47.5, time 2.0 |" in text
    assert "`benchmarks/throughput.py --jobs 16`" in text
    assert "| 1/38 | all | passed | 122.2 | 131.5 | 80.25 | 18 | 30.5 |" in text
    assert "| 1/38 | 24 GB | too large | 122.2 | – | – | – | 0.01 |" in text
    assert kept(folder, "throughput")["phases"]["cold"]["rows"] == [
        {"problem": "1/23", "outcome": "passed", "candidate_ms": 1.5, "speedup": 1.25}
    ]

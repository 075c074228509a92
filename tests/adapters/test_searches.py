"""Searches of other people over a real server: each finds the known best of canned answers, and survives a crash."""

from __future__ import annotations

import json
import os
import socket
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from canned_model import CannedModel
from environments import python_of
from serving import Server

from kernelgauge.problems.loader import load_problem

pytestmark = [
    pytest.mark.processes,
    pytest.mark.proof(
        "client/src/kernelgauge_client",
        "serve/judge_api.py",
        "tests/adapters/searches",
        "tests/adapters/environments/searches.txt",
        "tests/adapters/environments/shinka.txt",
        unit="searches",
    ),
]

SCRIPTS = Path(__file__).parent / "searches"
OPENEVOLVE, SKYDISCOVER, GEPA, SHINKA = (
    SCRIPTS / f"run_{name}.py" for name in ("openevolve", "skydiscover", "gepa", "shinka")
)
PROBLEM = "1/19"
BEST = "import torch\nclass ModelNew(torch.nn.Module):\n    def forward(self, x):\n        return torch.relu(x)\n"
WRONG = BEST.replace("torch.relu(x)", "torch.relu(x) + 1")
CHEAT = f"import kernelgauge.evaluation\n{BEST}"
CRASH = BEST.replace("import torch", "import os\nimport torch").replace("return torch.relu(x)", "os.abort()")
BROKEN = BEST.replace("forward(self, x):", "forward(self, x)")
OVERSIZE = BEST + "#" * 300_000
CANNED = (CRASH, BROKEN, CHEAT, BEST, f"{WRONG}# again\n")
"""The best is the only right one: it earns 0.3 at least, however busy the machine is. The first is `WRONG`."""


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    made = Server(tmp_path_factory.mktemp("server"), quick)
    try:
        yield made
    finally:
        made.end()
        made.engine.dispose()


def fenced(source: str) -> str:
    return f"I try this.\n```python\n{source}```\n"


@pytest.fixture
def model() -> Iterator[CannedModel]:
    with CannedModel([fenced(each) for each in CANNED]) as made:
        yield made


def ran(
    environment: str, server: Server, folder: Path, *line: str | Path, **variables: str
) -> subprocess.CompletedProcess[str]:
    """What a line of Python said, in an environment of its own, as somebody with the server's token."""
    told = {"KERNELGAUGE_SERVER": server.address, "KERNELGAUGE_TOKEN": server.token, "PYTHONPATH": ""}
    told |= {"OPENAI_API_KEY": "none", **variables}
    return subprocess.run(
        [python_of(environment), *line],
        capture_output=True,
        text=True,
        cwd=folder,
        env={**os.environ, **told},
        timeout=300,
    )


def evaluator_in(folder: Path, server: Server, problem: str = PROBLEM) -> Path:
    writes = ["-m", "kernelgauge_client.adapters.openevolve", "--write", "evaluator.py", "--problem", problem]
    done = ran("searches", server, folder, *writes)
    assert done.returncode == 0, done.stderr
    (folder / "first.py").write_text(WRONG)
    return folder / "evaluator.py"


def answers_in(folder: Path, *sources: str) -> None:
    """What GEPA's model says, in turn."""
    (folder / "answers.json").write_text(json.dumps([fenced(each) for each in sources or CANNED]))


def result_of(done: subprocess.CompletedProcess[str]) -> Any:
    lines = [line for line in done.stdout.splitlines() if line.startswith("RESULT")]
    assert lines, done.stdout[-3000:] + done.stderr[-5000:]
    return json.loads(lines[-1].removeprefix("RESULT"))


@pytest.mark.parametrize("way", ["cascade", "direct"])
@pytest.mark.parametrize("framework", [OPENEVOLVE, SKYDISCOVER], ids=lambda script: script.stem)
def test_one_file_serves_two_frameworks(
    server: Server, model: CannedModel, tmp_path: Path, framework: Path, way: str
) -> None:
    evaluator_in(tmp_path, server)
    code, metrics, told = result_of(ran("searches", server, tmp_path, framework, model.address, way, "5"))
    assert code.strip() == BEST.strip() and metrics["correct"] == 1.0 and metrics["combined_score"] > 0.3
    assert any("feedback" in (each or {}) for each in told), told
    if framework is OPENEVOLVE:
        outcomes = sorted((each or {}).get("outcome", "") for each in told)
        assert outcomes == ["no_candidate", "passed", "rejected", "runtime_error", "wrong_value", "wrong_value"]


@pytest.mark.parametrize("way", ["single", "set", "batch"])
def test_gepa(server: Server, tmp_path: Path, way: str) -> None:
    """For one problem; for a set of two of which no candidate solves both, one at a time and in batches."""
    (tmp_path / "first.py").write_text(WRONG)
    answers_in(tmp_path)
    problems = PROBLEM if way == "single" else f"{PROBLEM},1/20"
    best, scores, shown = result_of(ran("searches", server, tmp_path, GEPA, way, problems, "0"))
    assert best.strip() == BEST.strip() and len(scores) == 2 and scores[0] < scores[1], scores
    assert any("speedup_low" in each for each in shown) and any("feedback" in each for each in shown)


def test_shinka(server: Server, tmp_path: Path) -> None:
    def block(source: str) -> str:
        return f"# EVOLVE-BLOCK-START\n{source}# EVOLVE-BLOCK-END\n"

    (tmp_path / "first.py").write_text(block(WRONG))
    said = [
        f"<NAME>\na\n</NAME>\n<DESCRIPTION>\nb\n</DESCRIPTION>\n<CODE>\n```python\n{block(each)}```\n</CODE>"
        for each in CANNED
    ]
    with CannedModel(said) as model:
        rows = result_of(ran("shinka", server, tmp_path, SHINKA, model.address, PROBLEM))
    best = max((row for row in rows if row[1]), key=lambda row: row[2])
    assert best[0] == block(BEST) and [row[1] for row in rows] == [0, 0, 0, 0, 1, 0]
    assert "runtime_error" in rows[1][3] or "died" in rows[1][3], rows[1]


def a_free_port() -> int:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        return int(free.getsockname()[1])


FAULTS = {
    "no server": (
        {"KERNELGAUGE_SERVER": "http://127.0.0.1:{port}"},
        PROBLEM,
        "no server answers at http://127.0.0.1:",
    ),
    "wrong token": ({"KERNELGAUGE_TOKEN": "kg_no"}, PROBLEM, "401: that is no token of this server"),
    "no token": ({"KERNELGAUGE_TOKEN": ""}, PROBLEM, "a token is needed: set KERNELGAUGE_TOKEN"),
    "no such problem": ({}, "9/99", "no problem is called '9/99'"),
}


@pytest.mark.parametrize("fault", FAULTS)
def test_a_search_that_cannot_be_judged_ends_with_one_sentence(
    server: Server, model: CannedModel, tmp_path: Path, fault: str
) -> None:
    """OpenEvolve and SkyDiscover end when they load the evaluator, GEPA when it is made. Shinka reads no exit codes,
    so that its command says it there, in `correct.json` and in its log."""
    variables, problem, sentence = FAULTS[fault]
    variables = {name: value.format(port=a_free_port()) for name, value in variables.items()}
    evaluator_in(tmp_path, server, problem)
    answers_in(tmp_path)
    for line in (
        (OPENEVOLVE, model.address, "cascade", "1"),
        (SKYDISCOVER, model.address, "cascade", "1"),
        (GEPA, "single", problem, "0"),
    ):
        done = ran("searches", server, tmp_path, *line, **variables)
        assert done.returncode == 1 and sentence in done.stderr.splitlines()[-1], done.stderr[-2000:]
    assert not model.asked, "nobody is paid for answers that cannot be judged"
    if fault == "no server":
        return  # its command waits two minutes, as long as a server may be away
    judging = ["-m", "kernelgauge_client.adapters.shinka", "--program_path", "first.py", "--results_dir", "results"]
    done = ran("shinka", server, tmp_path, *judging, "--problem", problem, **variables)
    correct = json.loads((tmp_path / "results" / "correct.json").read_text())
    assert (
        done.returncode == 3 and sentence in done.stderr and not correct["correct"] and sentence in correct["error"]
    )
    assert "combined_score" not in json.loads((tmp_path / "results" / "metrics.json").read_text())


@pytest.mark.proof("problems/facts/verified.json")  # it says that 2/80 does not count
@pytest.mark.parametrize("framework", [OPENEVOLVE, SKYDISCOVER], ids=lambda script: script.stem)
def test_a_problem_without_verdicts_ends_the_search(
    server: Server, model: CannedModel, tmp_path: Path, framework: Path
) -> None:
    """An answer without the work would pass there, so that no score would mean anything."""
    evaluator_in(tmp_path, server, "2/80")
    reference = load_problem("2/80", sizes="small").source
    (tmp_path / "first.py").write_text(reference.replace("Model(", "ModelNew(").replace("(Model,", "(ModelNew,"))
    done = ran("searches", server, tmp_path, framework, model.address, "cascade", "1")
    assert done.returncode == 1 and "does not count" in done.stderr.splitlines()[-1], done.stderr[-2000:]


@pytest.mark.nightly  # most of its time is pauses between requests
@pytest.mark.parametrize("framework", [OPENEVOLVE, SKYDISCOVER], ids=lambda script: script.stem)
def test_what_has_no_verdict_is_no_program(server: Server, tmp_path: Path, framework: Path) -> None:
    """Its deadline passes. The first program was judged before, and has its verdict at once."""
    evaluator = evaluator_in(tmp_path, server)
    by_hand = "import evaluator; print('RESULT' + str(evaluator.evaluate('first.py').metrics['combined_score']))"
    first = result_of(ran("searches", server, tmp_path, "-c", by_hand))
    evaluator.write_text(evaluator.read_text().replace("{'reward'", "{'deadline_s': 0.001, 'reward'"))
    unknown = f"{BEST}# {framework.stem}\n".replace("\n#", " #")
    with CannedModel([fenced(unknown)]) as model:
        done = ran("searches", server, tmp_path, framework, model.address, "cascade", "1")
    code, metrics, _ = result_of(done)
    assert code == WRONG and metrics["combined_score"] == first and model.asked
    assert "deadline" in done.stderr and "Traceback" not in done.stderr


@pytest.mark.nightly  # most of its time is pauses between requests
def test_gepa_ends_where_nothing_is_known(server: Server, tmp_path: Path) -> None:
    """A score would be made up; its folder holds what was found, and the same call goes on from there."""
    (tmp_path / "first.py").write_text(WRONG)
    unknown = f"{BEST}# known to nobody"
    answers_in(tmp_path, unknown)
    by_hand = (
        "from kernelgauge_client.adapters.gepa import KernelEvaluator;"
        f"KernelEvaluator({PROBLEM!r})(open('first.py').read())"
    )
    assert ran("searches", server, tmp_path, "-c", by_hand).returncode == 0
    done = ran("searches", server, tmp_path, GEPA, "single", PROBLEM, "0.001")
    assert done.returncode == 1 and "NoVerdict: no verdict on a candidate for 1/19" in done.stderr.splitlines()[-1]
    best, scores, _ = result_of(ran("searches", server, tmp_path, GEPA, "single", PROBLEM, "0"))
    assert best.strip() == unknown and scores[-1] == max(scores)


@pytest.mark.parametrize("framework", [OPENEVOLVE, SKYDISCOVER, GEPA], ids=lambda script: script.stem)
def test_the_author_of_an_oversize_program_is_told_so(server: Server, tmp_path: Path, framework: Path) -> None:
    """It has a score, below that of the next program."""
    evaluator_in(tmp_path, server)
    (tmp_path / "first.py").write_text(OVERSIZE)
    answers_in(tmp_path, BEST)
    with CannedModel([fenced(BEST)]) as model:
        line = ("single", PROBLEM, "0") if framework is GEPA else (model.address, "direct", "1")
        best, _, shown = result_of(ran("searches", server, tmp_path, framework, *line))
    assert best.strip() == BEST.strip()
    assert any("write a shorter file" in each for each in (shown if framework is GEPA else model.asked))


def test_an_oversize_program_is_wrong_for_shinka(server: Server, tmp_path: Path) -> None:
    (tmp_path / "first.py").write_text(OVERSIZE)
    judging = ["-m", "kernelgauge_client.adapters.shinka", "--program_path", "first.py", "--results_dir", "."]
    done = ran("shinka", server, tmp_path, *judging, "--problem", PROBLEM)
    metrics, correct = (json.loads((tmp_path / f"{name}.json").read_text()) for name in ("metrics", "correct"))
    assert done.returncode == 0 and metrics["combined_score"] == 0.0 and not correct["correct"]
    assert "write a shorter file" in correct["error"] and "write a shorter file" in metrics["text_feedback"]

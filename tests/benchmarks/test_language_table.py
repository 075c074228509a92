"""Language against language: every candidate is in its language, lines are counted alike, a run becomes a table."""

from __future__ import annotations

import importlib.util
import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
from factories import BOUND, make_candidate, make_environment, make_evaluation, make_header, make_timing

from kernelgauge.backends.registry import detect
from kernelgauge.checks.rules import SETS, read
from kernelgauge.generation.folder import Folder
from kernelgauge.store.run import Run

BENCHMARKS = Path(__file__).parents[2] / "benchmarks"
AHEAD = sorted(path for path in (BENCHMARKS / "languages").rglob("*.py") if "_gluon_" in path.name)
COMPILED_AHEAD = """
import sys
from pathlib import Path
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.registry import backend_named
with backend_named("triton").without_device():
    for place, path in enumerate(map(Path, sys.argv[1:])):
        import_file(path, f"candidate_{place}").compile_ahead()
        print(path.name)
"""

CANDIDATE = '''"""What it is.

Over several lines.
"""

# A comment of Python.
import torch  # beside code, which counts

SOURCE = r"""
// Alone in its line.
__global__ void f(float* x) {  // beside code

    /* one line */ x[0] = 1;
    /* two
       lines */
}
"""


class ModelNew(torch.nn.Module):
    """A docstring."""

    def forward(self, x):
        """Another."""
        return x
'''


@pytest.fixture(autouse=True)
def beside_the_benchmarks(monkeypatch: pytest.MonkeyPatch) -> None:
    """They import each other, as when they are run."""
    monkeypatch.syspath_prepend(str(BENCHMARKS))


def test_lines_are_those_that_hold_code() -> None:
    from languages import lines_of_code

    assert lines_of_code(CANDIDATE) == len(("import", "SOURCE", "f(", "x[0]", "}", '"""', "class", "def", "return"))
    assert lines_of_code("x = 1\n\n# no\ny = '''\n\n  # no comment of C\n'''\n") == 4
    with pytest.raises(SyntaxError):
        lines_of_code("def")


def test_every_candidate_is_written_in_its_language_and_has_a_kernel_of_its_own() -> None:
    from languages import LANGUAGES, PROBLEMS, texts

    found = texts()
    assert {problem for problem, _ in found} == set(PROBLEMS), "a problem that nobody answers, or an unknown one"
    assert {language for _, language in found} == set(LANGUAGES)
    assert {problem for problem, language in found if language == "triton"} == set(PROBLEMS)
    assert {problem for problem, language in found if language == "cuda"} == set(PROBLEMS)
    for (problem, language), source in found.items():
        assert detect(source) == language, (problem, language)
        leads = read(source, "", language, SETS["kernel-required"]).leads
        assert not [lead for lead in leads if lead.rule == "no_own_kernel"], (problem, language, leads)


def test_the_folder_is_one_that_a_run_judges(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    from languages import LANGUAGES, main, texts

    out = tmp_path / "candidates"
    main(["folder", str(out), "--only", "triton", "numba"])
    chosen = {key for key in texts() if key[1] in ("triton", "numba")}
    assert capsys.readouterr().out == f"{len(chosen)} candidates in {out}\n"
    folder = Folder(out)
    assert not folder.ignored
    assert {(key, LANGUAGES[each]) for key in folder.problems() for each in folder.samples(key)} == chosen
    with pytest.raises(SystemExit, match="is not empty: name a new folder"):
        main(["folder", str(out)])


@pytest.mark.parametrize(("sample", "named"), [(4, "numba"), (99, "no language")])
def test_a_file_in_another_language_than_its_name_says_is_refused(
    sample: int, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import languages

    (tmp_path / "languages" / "level1").mkdir(parents=True)
    (tmp_path / "languages" / "level1" / f"88_gelu_numba_sample_{sample}.py").write_text("import triton\n")
    monkeypatch.setattr(languages, "BENCHMARKS", tmp_path)
    with pytest.raises(languages.UsageError, match=f"is written in triton, and sample {sample} is {named}"):
        languages.texts()


def judged(path: Path) -> Path:
    """A run as it would be: CUDA and Triton right, Helion wrong, Numba too restless to tell, in no order."""
    restless = make_timing(1.5).model_copy(update={"interval": (0.15, 15.0)})
    with Run.create(path, make_header(protocol="quick", problems=("1/23", "1/88"))) as run:
        for problem, language, sample, changes in (
            ("1/88", "helion", 3, {"outcome": "wrong_value", "first_call_s": 3.25}),
            ("1/88", "cuda", 1, {"speedup": 4.0, "first_call_s": 0.01, "bound": BOUND}),
            ("1/23", "triton", 0, {"speedup": 1.5, "bound": BOUND}),
            ("1/23", "numba", 4, {"timing": restless}),
        ):
            source = CANDIDATE if language == "cuda" else "import triton\n"
            candidate = make_candidate(problem, source, backend=language, sample=sample)
            values: dict[str, Any] = {"backend": language, "sample": sample, "protocol": "quick"}
            values["candidate_digest"] = candidate.digest
            run.append(make_evaluation(problem, **values, **changes), candidate)
    return path


def test_a_run_becomes_figures_and_a_page(tmp_path: Path) -> None:
    from languages import main

    figures, page = tmp_path / "figures.json", tmp_path / "page.md"
    main(["table", str(judged(tmp_path / "run")), "--json", str(figures), "--page", str(page)])
    rows = json.loads(figures.read_text())["rows"]
    assert [(row["problem"], row["language"]) for row in rows] == [
        ("1/23", "triton"),
        ("1/23", "numba"),
        ("1/88", "cuda"),
        ("1/88", "helion"),
    ]
    cuda = rows[2]
    assert (cuda["lines"], cuda["build_s"], cuda["first_call_s"]) == (9, 1.25, 0.01)
    assert (cuda["ms"], cuda["speedup"], cuda["of_the_bound"]) == (0.5, 4.0, 0.5)
    text = page.read_text()
    assert "| problem | triton | cuda | helion | numba |" in text
    assert "| 1/88 GELU | – | 4 | – | – |" in text and "| 1/23 softmax | 1.5 | – | – | unclear |" in text
    assert "| 1/88 GELU | cuda | passed | 9 | 1.2 | 0.01 | 0.5 | 4 | 50 % |" in text
    assert "| 1/88 GELU | helion | wrong value | 1 | 1.2 | 3.2 | – | – | – |" in text
    assert "1/88 in helion, wrong value: the candidate was wrong_value in trial 2" in text


def test_runs_on_two_cards_are_no_table(tmp_path: Path) -> None:
    from languages import main

    candidate = make_candidate("1/40")
    with Run.create(tmp_path / "other", make_header(protocol="quick")) as run:
        elsewhere = make_environment(gpu="NVIDIA H100 80GB HBM3")
        values: dict[str, Any] = {"candidate_digest": candidate.digest, "protocol": "quick", "environment": elsewhere}
        run.append(make_evaluation("1/40", **values), candidate)
    with pytest.raises(SystemExit, match=r"cannot stand in one table: .*H100.*; .*H200"):
        main(["table", str(judged(tmp_path / "run")), str(tmp_path / "other")])


def test_what_is_no_run_is_said(tmp_path: Path) -> None:
    from languages import main

    with pytest.raises(SystemExit, match=str(tmp_path)):
        main(["table", str(tmp_path)])
    with Run.create(tmp_path / "empty", make_header()):
        pass
    with pytest.raises(SystemExit, match="holds no evaluation yet"):
        main(["table", str(tmp_path / "empty")])


@pytest.mark.processes
@pytest.mark.proof("benchmarks/languages")
@pytest.mark.skipif(importlib.util.find_spec("triton") is None, reason="not installed: triton")
def test_gluon_compiles_without_a_gpu() -> None:
    done = subprocess.run([sys.executable, "-c", COMPILED_AHEAD, *map(str, AHEAD)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr[-2000:]
    assert done.stdout.split() == [path.name for path in AHEAD] and AHEAD

"""The real command: a wrong use is one sentence and an exit code, and the right uses work. In a process of its own
where that is what a user would see otherwise: standard input, a right that is missing, a reader who leaves.

Wrong uses are rows of a table. All commands run inside one folder of files, so that a row reads as a user types it.
"""

from __future__ import annotations

import json
import os
import shlex
import shutil
import subprocess
import sys
from pathlib import Path

import pytest
from commands import command_here
from factories import make_answer, make_header, quick_protocol

from kernelgauge import __version__
from kernelgauge.cli.options import command_line
from kernelgauge.hardware.environment import gpu
from kernelgauge.problems import catalogue
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import FORMAT
from kernelgauge.store import Run

pytestmark = pytest.mark.processes

REFERENCE = """import torch


class Model(torch.nn.Module):
    def __init__(self, factor):
        super().__init__()
        self.factor = factor

    def forward(self, x):
        return x * self.factor + 1


def get_inputs():
    return [torch.rand(33, 65)]


def get_init_inputs():
    return [2.5]
"""
RELU = """import torch


class ModelNew(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x)
"""
FIELDS = {
    *("problem", "backend", "protocol", "sizes", "device", "outcome", "reason", "speedup", "speedup_interval"),
    *("reference_ms", "candidate_ms", "rules"),
}
VERBS = (
    "eval",
    "profile",
    "run",
    "reeval",
    "report",
    "compare",
    "export",
    "doctor",
    "build",
    "guide",
    "prompt",
    "baseline",
    "problems",
)
SMALL = "--sizes small --device cpu"


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """One good reference and candidate, and one file or folder for each thing that can be wrong with them."""
    folder = tmp_path_factory.mktemp("files")
    texts = {
        "ref.py": REFERENCE,
        "ref.txt": REFERENCE,
        "syntax.py": REFERENCE.replace("return [2.5]", "return [2.5"),
        "no_inputs.py": REFERENCE.replace("get_inputs", "make_inputs"),
        "constructs.py": REFERENCE.replace("self.factor = factor", "raise OSError('weights are lost')"),
        "raises.py": REFERENCE.replace("return x * self.factor + 1", "return x @ x"),
        "good.py": REFERENCE.replace("Model(", "ModelNew("),
        "relu.py": RELU,
        "wrong.py": RELU.replace("torch.relu(x)", "torch.zeros_like(x)"),
        "unnamed.py": RELU.replace("ModelNew", "FastModel"),
        "big.py": RELU + "#" * (2 << 20),
        "malformed.toml": "name = \n",
        "half.toml": "name = 'half'\n",
        "posing.toml": quick_protocol().replace('name = "few"', 'name = "v0.1"'),
        "file": "",
        "notes/todo.txt": "buy milk",
        "answers/1_19.py": RELU,
        "elsewhere/1_19.py": f"{RELU}\n\nkernels = load_inline(cuda_sources='__global__ void relu();')\n",
        "cut.py": RELU[:-2],
        "kernel.cu": "__global__ void relu(float* x) {}",
        "nothing/readme.txt": "",
        "quick.toml": quick_protocol(),
    }
    for name, text in texts.items():
        (folder / name).parent.mkdir(exist_ok=True)
        (folder / name).write_text(text)
    (folder / "latin.py").write_bytes(RELU.replace("x)", "größe)").encode("latin-1"))
    (folder / "latin.toml").write_bytes("summary = 'größe'\n".encode("latin-1"))
    (folder / "binary.py").write_bytes(bytes(range(256)) * 8)
    for name in ("run", "malformed"):
        with Run.create(folder / name, make_header(problems=("1/1", "1/2", "1/3"))) as run:
            for problem in run.header.problems:
                run.append(*make_answer(problem))
    journal = folder / "malformed" / "evaluations.jsonl"
    first, second, third = journal.read_text().splitlines()
    journal.write_text("\n".join([first, second[: len(second) // 2], third, ""]))
    return folder


def command(arguments: str) -> list[str]:
    return [sys.executable, "-m", "kernelgauge", *shlex.split(arguments)]


def kernelgauge(files: Path, arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return command_here(*shlex.split(arguments), folder=files, **variables)


def process(
    files: Path, arguments: str, wrap: tuple[str, ...] = (), stdin: bytes = b""
) -> subprocess.CompletedProcess[str]:
    done = subprocess.run([*wrap, *command(arguments)], cwd=files, capture_output=True, input=stdin)
    return subprocess.CompletedProcess(done.args, done.returncode, done.stdout.decode(), done.stderr.decode())


def assert_one_sentence(done: subprocess.CompletedProcess[str], code: int, word: str) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == ""
    assert done.stderr.startswith("kernelgauge: ")
    assert done.stderr.count("\n") == 1 and done.stderr.endswith("\n"), done.stderr
    assert word in done.stderr
    assert len(done.stderr) < 400, "one clear sentence is not this long"
    assert "Traceback" not in done.stderr


NO_GPU = pytest.mark.skipif(gpu() is not None, reason="there is a GPU here")
# What is typed, and the word that says what was wrong with it.
WRONG_USE = [
    ("eval 1/23_sotfmax relu.py", "did you mean 1/23_softmax"),
    ("eval 1/999 relu.py", "no problem is called '1/999'"),
    ("eval 9/1 relu.py", "9/1"),
    ("problems show 1/23_sotfmax", "1/23_softmax"),
    ("problems list --level 9", "there is no level 9"),
    ("problems list --level abc", "'abc'"),
    ("eval gone.py good.py", "there is no file gone.py"),
    ("eval notes good.py", "is a directory"),
    ("eval syntax.py good.py", "syntax.py, line"),
    ("eval no_inputs.py good.py", "a function `get_inputs`"),
    ("eval constructs.py good.py --device cpu", "weights are lost"),
    ("eval raises.py good.py --device cpu", "mat1 and mat2"),
    ("eval latin.py good.py", "UTF-8"),
    ("eval 1/19 gone.py", "gone.py does not exist"),
    ("eval 1/19 notes", "notes is not a file"),
    ("eval 1/19 latin.py", "UTF-8"),
    ("eval 1/19 binary.py", "UTF-8"),
    ("eval 1/19 big.py", "larger than 2 MB"),
    ("eval 1/19 kernel.cu", "`kernelgauge guide cuda` shows how"),
    ("eval 1/19 gone.cu", "gone.cu does not exist"),
    ("build kernel.cu", "`kernelgauge guide cuda` shows how"),
    ("eval 1/19 relu.py --backend trition", "did you mean triton"),
    ("eval 1/19 relu.py --backend cuda --device cpu", "cuda does not run on cpu"),
    pytest.param("eval 1/19 relu.py --backend cuda --device cuda", "no ", marks=NO_GPU),
    pytest.param("eval 1/19 relu.py --device cuda", "no NVIDIA GPU", marks=NO_GPU),
    pytest.param("doctor --measure --device cuda", "no NVIDIA GPU", marks=NO_GPU),
    pytest.param("profile 1/19 --device cuda", "no NVIDIA GPU", marks=NO_GPU),
    pytest.param("baseline --out out --problems 1/19 --device cuda", "no NVIDIA GPU", marks=NO_GPU),
    pytest.param("run --contestant folder:answers --out out --device cuda", "no NVIDIA GPU", marks=NO_GPU),
    pytest.param("reeval run --out out --device cuda", "no NVIDIA GPU", marks=NO_GPU),
    ("eval 1/19 relu.py --math tf32 --precision fp32", "two different arithmetics"),
    ("ask mockllm/model --out out --device cpu --math tf32 --precision fp32", "two different arithmetics"),
    pytest.param("selftest --gpu", "--gpu: no NVIDIA GPU", marks=NO_GPU),
    ("eval 1/19 relu.py --protocol lenient", "unknown protocol 'lenient'"),
    ("eval 1/19 relu.py --protocol gone.toml", "gone.toml does not exist"),
    ("eval 1/19 relu.py --protocol malformed.toml", "line 1"),
    ("eval 1/19 relu.py --protocol half.toml", "summary"),
    ("eval 1/19 relu.py --protocol latin.toml", "latin.toml"),
    ("eval 1/19 relu.py --protocol posing.toml", "calls itself 'v0.1', and is not the shipped one"),
    ("eval 1/19 relu.py --frobnicate", "--frobnicate"),
    ("eval 1/19 relu.py --sizes huge", "'huge' is not one of"),
    ("eval 1/19", "missing argument 'file'"),
    ("evaluate 1/19 relu.py", "evaluate"),
    ("eval ref.py good.py --sizes small", "'small' does not apply"),
    ("profile 1/999", "no problem is called '1/999'"),
    ("profile 1/19 gone.py", "gone.py does not exist"),
    ("profile 1/19 relu.py --backend cuda --device cpu", "cuda does not run on cpu"),
    ("profile raises.py --device cpu", "mat1 and mat2"),
    ("run --model mockllm/model --out out", "--model"),
    ("run --contestant nobody --out out", "unknown contestant 'nobody'"),
    ("run --contestant nobody.here:Me --out out", "nobody"),
    ("run --contestant :Me --out out", ":Me"),
    ("run --contestant json:dumps --out out", "json:dumps"),
    ("run --contestant folder:gone --out out", "gone does not exist"),
    ("run --contestant folder:nothing --out out", "no file in nothing"),
    ("run --contestant folder:answers --out out --problems 2/14", "no candidate"),
    ("run --contestant folder:answers --out file/out", "file"),
    ("run --contestant folder:answers --out notes", "todo.txt"),
    ("run --contestant folder:answers --out out --level abc", "--level wants numbers"),
    ("run --contestant folder:answers --out out --problems ''", "names nothing"),
    ("run --contestant folder:answers --out out --level ,", "names nothing"),
    ("baseline --out out --modes '' --device cpu", "names nothing"),
    ("run --contestant folder:answers --out out --jobs 0", "--jobs"),
    ("run --contestant folder:answers --out out --level 9 --problems 1/19", "there is no level 9"),
    ("run --contestant folder:answers --out out --problems 1/19 --sizes pretrained", "has published weights"),
    ("run --contestant folder:answers", "--out"),
    ("reeval notes", "notes is not a run folder"),
    ("report gone", "there is no run at gone"),
    ("report notes", "notes is not a run folder"),
    ("report file", "a run is a folder"),
    ("report malformed", "evaluations.jsonl, line 2"),
    ("report run --html gone/report.html", "gone/report.html"),
    ("report run --html file/report.html", "file/report.html"),
    ("report run --html notes", "notes"),
    ("report run --baseline fastest", "unknown baseline 'fastest'; there are strongest, eager, compile"),
    ("report run --baseline compile", "no record of run holds a speedup over compile"),
    ("baseline", "missing option '--out'"),
    ("baseline --out out --modes warp --device cpu", "no mode 'warp' on cpu: there are eager, compile, compile-max"),
    ("baseline --out out --modes compile-reduce-overhead --device cpu", "no mode 'compile-reduce-overhead' on cpu"),
    ("baseline --out out --recheck 2 --device cpu", "none of these problems has a baseline of this machine"),
    ("baseline --out notes --problems 1/19 --device cpu", "todo.txt"),
    ("baseline --out out --problems 1/999", "no problem is called '1/999'"),
    ("baseline show notes", "there are no baselines at notes"),
    ("baseline add relu.py", "relu.py, line 1 is not a record"),
    ("guide fortran", "unknown backend 'fortran'"),
    ("build gone.py", "gone.py does not exist"),
    ("build relu.py --backend fortran", "unknown backend 'fortran'"),
]


@pytest.mark.parametrize(("arguments", "word"), WRONG_USE)
def test_wrong_use_is_one_sentence(files: Path, arguments: str, word: str, capfd: pytest.CaptureFixture[str]) -> None:
    before = sorted(files.rglob("*"))
    done = kernelgauge(files, arguments)
    assert capfd.readouterr() == ("", ""), "neither does a process of the command print anything else"
    assert_one_sentence(done, 2, word)
    assert sorted(files.rglob("*")) == before, "a refused command leaves nothing behind"


def test_a_text_that_is_not_python_does_not_build(files: Path) -> None:
    done = kernelgauge(files, "build cut.py")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("load_failed: cut.py is not valid Python: line 6")


def test_a_run_that_could_not_judge_is_no_success(files: Path, tmp_path: Path) -> None:
    done = kernelgauge(
        files, f"run --contestant folder:elsewhere --device cpu --sizes small --out {tmp_path / 'out'}"
    )
    assert done.returncode == 2, done.stdout
    assert "1/19  not judged: problem 1/19: backend cuda" in done.stderr
    assert "candidates not judged, for reasons that stay: 1; the first: problem 1/19: backend" in done.stderr


@pytest.mark.parametrize("arguments", ["eval 1/999 relu.py", "eval 1/19 relu.py --sizes huge", "report malformed"])
def test_debug_shows_the_traceback_before_the_sentence(files: Path, arguments: str) -> None:
    done = kernelgauge(files, f"{arguments} --debug")
    assert done.returncode == 2
    assert "Traceback (most recent call last)" in done.stderr
    assert done.stderr.splitlines()[-1].startswith("kernelgauge: ")


def test_standard_input_must_be_text(files: Path) -> None:
    done = process(files, "eval 1/19 -", stdin=(files / "binary.py").read_bytes())
    assert_one_sentence(done, 2, "standard input is not UTF-8")


def test_a_cache_that_cannot_be_written_is_the_machine(files: Path) -> None:
    done = kernelgauge(files, "eval 1/19 relu.py", KERNELGAUGE_CACHE=str(files / "file" / "cache"))
    assert_one_sentence(done, 3, "file/cache")


def test_a_fault_of_ours_is_never_taken_for_a_verdict(files: Path) -> None:
    """Python ends with 1 on an exception, which would read as `not passed`; ours is 3, and keeps the traceback."""
    code = "import kernelgauge.cli.main as m; m.app = lambda *_, **__: 1 / 0; m.main()"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert done.returncode == 3
    assert "ZeroDivisionError" in done.stderr


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="no /dev/full")
@pytest.mark.parametrize("arguments", ["problems list --json", "problems list", "--version"])
def test_a_full_disk_behind_standard_output_is_the_machine(files: Path, arguments: str) -> None:
    with Path("/dev/full").open("w") as full:
        done = subprocess.run(command(arguments), stdout=full, stderr=subprocess.PIPE, text=True, cwd=files)
    assert_one_sentence(subprocess.CompletedProcess(done.args, done.returncode, "", done.stderr), 3, "No space left")


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("eval 1/19 locked/relu.py", "locked"),
        ("run --contestant folder:locked --out out", "locked"),
        ("run --contestant folder:answers --out locked/out", "locked"),
        ("report locked", "locked"),
    ],
)
def test_an_unreadable_folder_is_one_sentence(files: Path, arguments: str, word: str) -> None:
    wrap: tuple[str, ...] = ()
    if os.geteuid() == 0:  # root reads everything unless it gives up the right to
        wrap = ("setpriv", "--inh-caps=-all", "--bounding-set=-dac_override,-dac_read_search")
        if shutil.which("setpriv") is None:
            pytest.skip("root, and no setpriv to become less")
    locked = files / "locked"
    locked.mkdir(mode=0)
    try:
        done = process(files, arguments, wrap)
        assert_one_sentence(done, done.returncode, word)
        assert done.returncode in (2, 3)
    finally:
        locked.rmdir()


@pytest.mark.parametrize(
    ("arguments", "code", "outcome", "word"),
    [
        (f"1/19 relu.py --protocol quick.toml {SMALL}", 0, "passed", ""),
        (f"1/19 wrong.py --no-timing {SMALL}", 1, "wrong_value", "trial"),
        (f"1/19 unnamed.py {SMALL}", 1, "load_failed", "ModelNew"),
        ("ref.py good.py --no-timing --device cpu", 0, "passed", ""),
    ],
)
def test_eval_prints_one_object(files: Path, arguments: str, code: int, outcome: str, word: str) -> None:
    done = kernelgauge(files, f"eval {arguments} --json")
    assert done.returncode == code, done.stderr or json.loads(done.stdout)["reason"]
    verdict = json.loads(done.stdout)
    assert set(verdict) >= FIELDS
    assert verdict["format"] == FORMAT
    assert verdict["outcome"] == outcome
    assert word in verdict["reason"]
    assert (verdict["reason"] == "") == (code == 0)
    timed = code == 0 and "--no-timing" not in arguments
    assert all((verdict[name] is not None) == timed for name in ("speedup", "speedup_interval", "candidate_ms"))
    assert (verdict["backend"], verdict["device"]) == ("torch", "cpu")
    assert verdict["sizes"] == ("small" if "small" in arguments else "full")


@pytest.mark.proof("cli")
def test_a_candidate_comes_from_a_pipe(files: Path) -> None:
    done = process(files, f"eval 1/19 - --no-timing {SMALL}", stdin=RELU.encode())
    assert done.returncode == 0, done.stderr
    assert done.stdout.startswith("passed")
    assert "1/19 relu, sizes small" in done.stdout


@pytest.mark.proof("cli")
def test_an_own_file_needs_no_suffix(files: Path) -> None:
    done = process(files, "eval ref.txt unnamed.py --device cpu")
    assert done.returncode == 1, done.stderr
    assert done.stdout.startswith("load_failed")


def test_problems_list(files: Path) -> None:
    rows = json.loads(kernelgauge(files, "problems list --json").stdout)
    assert [row["key"] for row in rows] == catalogue.keys()
    assert all(row["name"] for row in rows)
    tagged = json.loads(kernelgauge(files, "problems list --json --tag softmax").stdout)
    assert "1/23" in {row["key"] for row in tagged}
    assert all("softmax" in row["tags"] for row in tagged) and len(tagged) < len(rows)
    table = kernelgauge(files, "problems list --level 1,3", COLUMNS="120").stdout
    assert "1/19" in table and "3/1" in table and "2/14" not in table


def test_problems_show_prints_a_source_that_runs(files: Path) -> None:
    shown = kernelgauge(files, "problems show 1/19 --sizes small").stdout
    assert shown == load_problem("1/19", sizes="small").source
    space: dict = {}
    exec(compile(shown, "shown.py", "exec"), space)
    assert space["Model"](*space["get_init_inputs"]())(*space["get_inputs"]()).shape == (32, 2048)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ("--version", (__version__,)),
        ("--help", VERBS),
        ("", VERBS),
        ("problems", ("list", "show")),
        ("baseline show", ("`kernelgauge baseline --out FOLDER` measures them",)),
        ("guide cpp", ("load_inline", "ModelNew")),
        ("guide triton --example", ("@triton.jit", "class ModelNew")),
        ("build relu.py", ("nothing to build",)),
        ("report run", ("fast_p", "outcomes")),
    ],
)
def test_what_a_command_prints(files: Path, tmp_path: Path, arguments: str, words: tuple[str, ...]) -> None:
    done = kernelgauge(files, arguments, KERNELGAUGE_CACHE=str(tmp_path))  # no other test's baselines
    asked_nothing = arguments in ("", "problems")
    assert done.returncode == (2 if asked_nothing else 0), done.stderr
    assert all(word in done.stdout + done.stderr for word in words)
    assert asked_nothing or done.stderr == ""


def test_report_as_json_and_html(files: Path, tmp_path: Path) -> None:
    page = tmp_path / "report.html"
    scores = json.loads(kernelgauge(files, f"report run --json --html {page}").stdout)
    assert scores["overall"]["fast_p"]["0"] == scores["levels"]["1"]["fast_p"]["1"] == 1.0
    assert page.read_text().startswith("<!doctype html>")


@pytest.mark.proof
@pytest.mark.parametrize(
    "arguments",
    ["report run", "compare run run", "baseline show", "problems show 1/19", "profile ref.py --device cpu"],
)
def test_an_object_of_json_says_its_format(files: Path, arguments: str) -> None:
    done = kernelgauge(files, f"{arguments} --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["format"] == FORMAT


@pytest.mark.parametrize("arguments", ["problems list", "problems list --json", "problems show 1/19", "guide cpp"])
def test_a_reader_who_leaves_is_no_error(files: Path, arguments: str) -> None:
    running = subprocess.Popen(
        command(arguments), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, cwd=files
    )
    assert running.stdout is not None and running.stderr is not None
    running.stdout.close()  # before the command can have written: what `| head -1` does, without the race
    with running:
        assert running.stderr.read() == ""


def test_no_secret_of_a_command_is_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    words = ["run", "-M", "base_url=https://bob:hunter2@host/v1", "-M", "api_key=abc def", "--out", "a b"]
    monkeypatch.setattr(sys, "argv", ["kernelgauge", *words])
    kept = command_line()
    assert shlex.split(kept) == [
        "kernelgauge", "run", "-M", "base_url=https://...@host/v1", "-M", "api_key=...", "--out", "a b"
    ]  # fmt: skip

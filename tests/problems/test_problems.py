"""The suite's files and entries, the rewriting of sizes, and loading by name and by path.

What each problem computes is `test_verification.py`'s subject.
"""

import ast
import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from kernelgauge.errors import ProblemError
from kernelgauge.problems import catalogue
from kernelgauge.problems.facts import facts
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.sizes import with_constants

KEYS = catalogue.keys()

OWN = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
size = 3
def get_inputs():
    return [torch.rand(size)]
get_init_inputs = lambda: []
"""


def executed(source: str) -> dict:
    scope = {"__name__": "problem"}
    exec(compile(source, "problem", "exec"), scope)
    return scope


def as_lists(value):
    return [as_lists(each) for each in value] if isinstance(value, list | tuple) else value


# ---------------------------------------------------------------- the suite's files


def test_every_file_has_an_entry_and_every_entry_a_file():
    listed = {catalogue.entry(key).path for key in KEYS}
    folders = [Path(catalogue.__file__).parent / f"level{level}" for level in catalogue.LEVELS]
    assert listed == {path for folder in folders for path in folder.glob("*.py")}


@pytest.mark.parametrize("key", catalogue.keys([1, 2, 3]))
def test_medium_moves_no_more_than_150_megabytes(key):
    problem = load_problem(key, sizes="medium")
    assert problem.source != load_problem(key).source
    with torch.device("meta"):
        inputs = executed(problem.source)["get_inputs"]()
    assert sum(each.nbytes for each in inputs if isinstance(each, torch.Tensor)) <= 150e6


@pytest.mark.parametrize("key", KEYS)
def test_domains_cover_the_inputs_and_fix_what_is_no_real_number(key):
    entry = catalogue.entry(key)
    known = facts(entry.level, entry.number)
    assert known is not None
    assert list(entry.domains) == [each["name"] for each in known.inputs]
    for each in known.inputs:
        assert (
            each.get("dtype") == "float32"
            or isinstance(each.get("value"), float)
            or entry.domains[each["name"]] == "fixed"
        )


@pytest.mark.parametrize("key", KEYS)
def test_files_read_alike(key):
    """By the text alone: level 4 needs a package that may be missing."""
    entry = catalogue.entry(key)
    known = facts(entry.level, entry.number)
    source = load_problem(key).source
    assert all(len(line) <= 110 for line in source.splitlines())
    assert "kernelgauge" not in source
    (model,) = [node for node in ast.parse(source).body if isinstance(node, ast.ClassDef) and node.name == "Model"]
    assert ast.get_docstring(model)
    (forward,) = [node for node in model.body if isinstance(node, ast.FunctionDef) and node.name == "forward"]
    names = [argument.arg for argument in forward.args.args][1:]
    assert known is not None
    assert names[: len(known.inputs)] == [each["name"] for each in known.inputs]
    assert entry.tags


# ---------------------------------------------------------------- rewriting sizes


@pytest.mark.parametrize("sizes", ["small", "odd", "medium"])
@pytest.mark.parametrize("key", KEYS)
def test_a_size_changes_the_lines_of_its_constants_and_no_other(key, sizes):
    full = load_problem(key).source.split("\n")
    reduced = load_problem(key, sizes=sizes).source.split("\n")
    assert len(full) == len(reduced)
    changed = {after.split(" = ")[0]: after for before, after in zip(full, reduced, strict=True) if before != after}
    expected = catalogue.entry(key).sizes[sizes]
    assert changed.keys() == expected.keys()
    for name, line in changed.items():
        assert as_lists(ast.literal_eval(line.split(" = ")[1])) == expected[name]


def test_everything_around_a_value_is_kept_byte_for_byte():
    before = (
        'é = "ü"\r\nn: int = (  # großzügig\r\n    1 +\r\n    2)\t# n\r\n'
        "k = (3, 5); m=[1,2] # m\n\n\ndef f(n=1): n = 2"
    )
    after = 'é = "ü"\r\nn: int = (  # großzügig\r\n    7)\t# n\r\nk = (80, 90, 7); m=[4] # m\n\n\ndef f(n=1): n = 2'
    assert with_constants(before, {"n": 7, "k": [80, 90, 7], "m": [4]}) == after


def test_no_constants_changes_nothing():
    assert with_constants(OWN, {}) == OWN


@pytest.mark.parametrize(
    ("source", "complaint"),
    [
        ("m = 1\n", "'n' is not assigned"),
        ("def f():\n    n = 1\n", "'n' is not assigned"),
        ("n = 1\nn = 2\n", "'n' is assigned 2 times"),
        ("n = = 1\n", "does not parse"),
    ],
)
def test_a_constant_that_cannot_be_replaced_is_an_error(source, complaint):
    with pytest.raises(ProblemError, match=complaint):
        with_constants(source, {"n": 2})


# ---------------------------------------------------------------- names


@pytest.mark.parametrize("name", ["1/23", "level1/23", "1/23_softmax", "level1/23_softmax", "23_softmax"])
def test_all_forms_of_a_name_find_the_problem(name):
    problem = load_problem(name)
    assert (problem.key, problem.level, problem.number, problem.name) == ("1/23", 1, 23, "softmax")
    assert problem.sizes == "full"
    assert problem.weakness is not None and problem.weakness.severity == "fatal"


@pytest.mark.parametrize(
    ("name", "hint"),
    [
        ("1/23_gelu", "did you mean 1/23_softmax"),
        ("softmx", "1/23_softmax"),
        ("softmax", "1/23_softmax"),
        ("levle1/23", "kernelgauge problems list"),
        ("1/0", "kernelgauge problems list"),
        ("9/1", "kernelgauge problems list"),
        ("", "kernelgauge problems list"),
        ("1/" + "9" * 5000, "kernelgauge problems list"),
        ("nowhere/file", "kernelgauge problems list"),
        ("nul\0byte", "kernelgauge problems list"),
        ("x" * 5000, "kernelgauge problems list"),
    ],
)
def test_unknown_names_say_what_would_be_known(name, hint):
    with pytest.raises(ProblemError, match="no problem is called") as caught:
        load_problem(name)
    assert hint in str(caught.value)
    assert len(str(caught.value)) < 300


def test_unknown_size_is_an_error():
    with pytest.raises(ProblemError, match="no size 'huge': choose one of full, medium, small, odd"):
        load_problem("1/23", sizes="huge")


def test_selection_is_in_suite_order_without_repeats():
    assert catalogue.select() == KEYS
    assert catalogue.select(names=["2/14", "1/19_relu", "level2/14"]) == ["1/19", "2/14"]
    assert catalogue.select(levels=[3], names=["1/1"]) == ["1/1", *catalogue.keys([3])]
    assert catalogue.select(levels=[], names=[]) == []


def test_selection_refuses_the_unknown():
    with pytest.raises(ProblemError, match="no level 7: the suite has levels 1, 2, 3 and 4"):
        catalogue.select(levels=[1, 7])
    with pytest.raises(ProblemError, match="no problem is called '1/999'"):
        catalogue.select(names=["1/1", "1/999"])


# ---------------------------------------------------------------- own files


def test_own_file_is_taken_as_it_is(tmp_path):
    path = tmp_path / "my_problem.py"
    path.write_text(OWN)
    for given in (path, str(path)):
        problem = load_problem(given)
        assert (problem.key, problem.name, problem.level) == (str(path), "my_problem", None)
        assert (problem.sizes, problem.source, problem.domains) == ("full", OWN, {})


def test_own_file_is_never_executed(tmp_path):
    path = tmp_path / "loud.py"
    path.write_text(OWN + "raise SystemExit('executed')\n")
    assert load_problem(path).source.endswith("raise SystemExit('executed')\n")


def test_own_file_with_a_byte_order_mark_runs(tmp_path):
    path = tmp_path / "marked.py"
    path.write_bytes(b"\xef\xbb\xbf" + OWN.encode())
    executed(load_problem(path).source)


@pytest.mark.parametrize("sizes", ["small", "odd", "medium"])
def test_own_file_has_only_its_own_size(tmp_path, sizes):
    path = tmp_path / "own.py"
    path.write_text(OWN)
    with pytest.raises(ProblemError, match="has its own sizes only"):
        load_problem(path, sizes=sizes)


@pytest.mark.parametrize(
    ("content", "complaint"),
    [
        (b"", "is empty"),
        (b" \n\t\n", "is empty"),
        (b"x = '\xff'\n", "is not UTF-8 text .byte 5."),
        (b"import torch\nclass Model(:\n", "line 2: "),
        (b"x = 1\0\n", "null bytes"),
        (b"(" * 20000, "own.py"),
        (b"#" * 1_000_001, "larger than 1 MB"),
        (b"x = 1\n", "define a class `Model`, a function `get_inputs` and a function `get_init_inputs` at"),
        (OWN.replace("class Model(", "class ModelNew(").encode(), "does not define a class `Model` at"),
        (OWN.replace("get_init_inputs", "init_inputs").encode(), "define a function `get_init_inputs` at"),
        (OWN.replace("def get_inputs", "def inputs").encode(), "define a function `get_inputs` at"),
        (OWN.replace("class Model(torch.nn.Module)", "def Model(self)").encode(), "a class `Model`"),
    ],
)
def test_unusable_own_files_are_refused_in_one_sentence(tmp_path, content, complaint):
    path = tmp_path / "own.py"
    path.write_bytes(content)
    with pytest.raises(ProblemError, match=complaint) as caught:
        load_problem(path)
    assert str(path) in str(caught.value)
    assert "\n" not in str(caught.value)


def test_paths_that_are_no_files_are_refused(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    for path, complaint in [
        (tmp_path / "missing.py", "there is no file"),
        (str(tmp_path / "missing.py"), "there is no file"),
        (tmp_path, "is a directory"),
        (str(tmp_path), "is a directory"),
        (tmp_path / "pipe.py", "is not a regular file"),
        (Path("x" * 5000), "cannot be read"),
    ]:
        with pytest.raises(ProblemError, match=complaint):
            load_problem(path)


# ---------------------------------------------------------------- cost


@pytest.mark.processes
def test_finding_a_problem_needs_no_torch():
    code = (
        "import sys; from kernelgauge.problems.loader import load_problem; load_problem('1/23');"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

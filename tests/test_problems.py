"""The suite's problems against recorded facts, the rewriting of sizes, and loading by name and by path.

`data/problem_facts.json` was copied once from the catalogue of upstream's facts, not made from these files.
"""

import ast
import inspect
import json
import os
import subprocess
import sys
import warnings
from pathlib import Path

import pytest
import torch

from kernelgauge.errors import ProblemError
from kernelgauge.problems import catalogue
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.sizes import with_constants

FACTS = json.loads((Path(__file__).parent / "data" / "problem_facts.json").read_text())
KEYS = list(FACTS)
REDUCED = ("small", "odd")
STEP_BY_STEP_ON_META = {"3/35", "3/39"}
"""Recurrent layers run one step at a time on the meta device: seconds at full size."""
SHALLOWER = {"3/25", "3/35", "3/39"}
"""Reduced, these have fewer layers or no projection, so only some of the full size's parameters."""

OWN = """import torch
class Model(torch.nn.Module):
    def forward(self, x):
        return x + 1
size = 3
def get_inputs():
    return [torch.rand(size)]
get_init_inputs = lambda: []
"""


@pytest.fixture(autouse=True)
def one_quiet_thread():
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    with warnings.catch_warnings():
        # 2/28 normalises one channel with a layer made for many, which PyTorch remarks on.
        warnings.filterwarnings("ignore", message="input's size at dim")
        yield
    torch.set_num_threads(before)


def executed(source: str) -> dict:
    scope = {"__name__": "problem"}
    exec(compile(source, "problem", "exec"), scope)
    return scope


def run(scope: dict, seed: int = 0):
    """Inputs, model and output, all drawn under one seed."""
    torch.manual_seed(seed)
    inputs = scope["get_inputs"]()
    model = scope["Model"](*scope["get_init_inputs"]())
    with torch.no_grad():
        return inputs, model, model(*inputs)


def shape(value):
    return list(value.shape) if isinstance(value, torch.Tensor) else value


def dtype(value):
    return str(value.dtype).removeprefix("torch.") if isinstance(value, torch.Tensor) else "python float"


def as_lists(value):
    return [as_lists(each) for each in value] if isinstance(value, list | tuple) else value


def constants(scope: dict, names) -> dict:
    return {name: as_lists(scope[name]) for name in names}


def equal(a, b) -> bool:
    return torch.equal(a, b) if isinstance(a, torch.Tensor) else a == b


# ---------------------------------------------------------------- the problems themselves


def test_suite_is_what_the_facts_describe():
    assert catalogue.keys() == KEYS
    assert {"1/1", "1/19", "1/23", "1/26", "2/14"} <= set(KEYS)
    assert [len(catalogue.keys([level])) for level in (1, 2, 3)] == [45, 18, 12]


def test_every_file_has_an_entry_and_every_entry_a_file():
    listed = {catalogue.entry(key).path for key in KEYS}
    folders = [Path(catalogue.__file__).parent / f"level{level}" for level in catalogue.LEVELS]
    assert listed == {path for folder in folders for path in folder.glob("*.py")}


@pytest.mark.parametrize("key", KEYS)
def test_full_size_agrees_with_the_facts(key):
    facts, problem = FACTS[key], load_problem(key)
    with torch.device("meta"):
        scope = executed(problem.source)
        inputs = scope["get_inputs"]()
        model = scope["Model"](*scope["get_init_inputs"]())
    assert problem.name == facts["name"]
    assert constants(scope, facts["constants"]) == facts["constants"]
    assert [shape(each) for each in inputs] == [each.get("value", each["shape"]) for each in facts["inputs"]]
    assert [dtype(each) for each in inputs] == [each["dtype"] for each in facts["inputs"]]
    assert as_lists(scope["get_init_inputs"]()) == facts["init_args"]
    assert [(name, shape(each)) for name, each in model.state_dict().items()] == list(facts["state"].items())
    if key not in STEP_BY_STEP_ON_META:
        with torch.device("meta"), torch.no_grad():
            output = model(*inputs)
        assert {"shape": shape(output), "dtype": dtype(output)} == facts["output"]


@pytest.mark.parametrize("sizes", REDUCED)
@pytest.mark.parametrize("key", KEYS)
def test_reduced_sizes_run_and_repeat(key, sizes):
    facts = FACTS[key]
    scope = executed(load_problem(key, sizes=sizes).source)
    inputs, model, output = run(scope)
    assert constants(scope, facts["constants"]) == facts[sizes]["constants"]
    assert [shape(each) for each in inputs] == facts[sizes]["inputs"]
    assert [dtype(each) for each in inputs] == [each["dtype"] for each in facts["inputs"]]
    present = list(model.state_dict())
    assert present == [name for name in facts["state"] if key not in SHALLOWER or name in present]
    assert shape(output) == facts[sizes]["output"]
    assert dtype(output) == facts["output"]["dtype"]
    assert not output.is_floating_point() or bool(output.isfinite().all())

    torch.manual_seed(0)
    assert all(map(equal, inputs, scope["get_inputs"]())), "the forward changed its inputs"
    _, twin, repeated = run(scope)
    assert all(map(torch.equal, twin.parameters(), model.parameters()))
    assert torch.equal(output, repeated)


@pytest.mark.parametrize("key", KEYS)
def test_calls_repeat_except_where_the_forward_draws(key):
    scope = executed(load_problem(key, sizes="small").source)
    inputs, model, output = run(scope)
    with torch.no_grad():
        repeated = model(*inputs)
    assert torch.equal(output, repeated) == ("random" not in load_problem(key).tags)


@pytest.mark.parametrize("key", KEYS)
def test_medium_moves_no_more_than_150_megabytes(key):
    problem = load_problem(key, sizes="medium")
    assert problem.source != load_problem(key).source
    with torch.device("meta"):
        inputs = executed(problem.source)["get_inputs"]()
    assert sum(each.nbytes for each in inputs if isinstance(each, torch.Tensor)) <= 150e6


@pytest.mark.parametrize("key", KEYS)
def test_domains_cover_the_inputs_and_fix_what_is_no_real_number(key):
    facts, problem = FACTS[key], load_problem(key)
    assert list(problem.domains) == [each["name"] for each in facts["inputs"]]
    for each in facts["inputs"]:
        assert each["dtype"] == "float32" or problem.domains[each["name"]] == "fixed"


@pytest.mark.parametrize("key", KEYS)
def test_files_read_alike(key):
    source = load_problem(key).source
    scope = executed(source)
    assert all(len(line) <= 110 for line in source.splitlines())
    assert "kernelgauge" not in source
    assert scope["Model"].__doc__
    names = list(inspect.signature(scope["Model"].forward).parameters)[1:]
    assert names[: len(FACTS[key]["inputs"])] == [each["name"] for each in FACTS[key]["inputs"]]
    assert catalogue.entry(key).tags


# ---------------------------------------------------------------- rewriting sizes


@pytest.mark.parametrize("sizes", (*REDUCED, "medium"))
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
    with pytest.raises(ProblemError, match="no level 7: the suite has levels 1, 2 and 3"):
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


def test_finding_a_problem_needs_no_torch():
    code = (
        "import sys; from kernelgauge.problems.loader import load_problem; load_problem('1/23');"
        "print('torch' in sys.modules)"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"

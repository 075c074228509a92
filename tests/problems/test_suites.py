"""Other people's problems: imported from real files by the real command, damaged in every way, judged by their names.

Commands run in this process, but where they are killed or denied the disk.

The problem files here are written for these tests, in KernelBench's way of naming.
"""

from __future__ import annotations

import json
import os
import re
import resource
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

import pytest
from browser import BROWSER, Browser, texts_in
from commands import command_here
from factories import make_answer, make_evaluation, make_header, quick_protocol

from kernelgauge.errors import ProblemError, StoreError
from kernelgauge.problems import catalogue, suites
from kernelgauge.problems.facts import facts
from kernelgauge.problems.importing.importer import import_suite
from kernelgauge.problems.importing.naming import snake_case
from kernelgauge.problems.loader import load_problem, sizes_of
from kernelgauge.problems.sizes import constants_of, plain_constants, with_constants
from kernelgauge.report import score
from kernelgauge.report.page.document import render_html
from kernelgauge.schema import NoCandidate, suite_of
from kernelgauge.store import Run

RELU = """import torch


class Model(torch.nn.Module):
    def forward(self, x):
        return torch.relu(x - 0.5)


batch_size = 4096
dim = 393216


def get_inputs():
    return [torch.rand(batch_size, dim)]


def get_init_inputs():
    return []
"""
ONE_SIZE = RELU.replace("batch_size", "rows").replace("4096", "16").replace("393216", "64")
"""Has not the constants that the built-in problem of the same name has."""


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The folder of imported suites, of this test only."""
    folder = tmp_path / "suites"
    monkeypatch.setenv("KERNELGAUGE_SUITES", str(folder))
    return folder


def kernelgauge(folder: Path, arguments: str, **variables: str) -> subprocess.CompletedProcess[str]:
    return command_here(*shlex.split(arguments), folder=folder, **variables)


def assert_one_sentence(done: subprocess.CompletedProcess[str], word: str, code: int = 2) -> None:
    assert done.returncode == code, done.stderr
    assert done.stdout == "" and word in done.stderr
    assert re.fullmatch(r"kernelgauge: [^\n]{1,400}\n", done.stderr), done.stderr


def files(folder: Path, texts: dict[str, str | bytes]) -> Path:
    for name, text in texts.items():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(text if isinstance(text, bytes) else text.encode())
    return folder


def checkout(folder: Path) -> Path:
    """As upstream's repository looks, with some of the oddities of its names."""
    windows = b"\xef\xbb\xbf" + RELU.replace("\n", "\r\n").encode()
    return files(
        folder,
        {
            "KernelBench/level1/19_ReLU.py": RELU,
            "KernelBench/level1/1_Square_matrix_multiplication_.py": RELU,
            "KernelBench/level2/1_Conv2D_ReLU_BiasAdd.py": windows,
            "KernelBench/level4/7_Some-Lab-model-2p7B_bs32.py": ONE_SIZE,
            "KernelBench/__init__.py": "",
            "KernelBench/level1/__init__.py": "",
            "KernelBench/changelog/fixes.py": "not a problem",
            "src/eval.py": "not a problem",
            "README.md": "",
        },
    )


def left_over(home: Path) -> list[str]:
    return sorted(path.name for path in home.iterdir() if path.name != ".lock") if home.exists() else []


# ---------------------------------------------------------------- a checkout and folders


@pytest.mark.processes
@pytest.mark.parametrize("below", ["", "KernelBench"])
def test_a_checkout_becomes_a_suite(tmp_path: Path, home: Path, below: str) -> None:
    source = checkout(tmp_path / "theirs")
    if below:  # pointed at the folder of levels itself, which then holds whatever else there is
        (source / "KernelBench" / "changelog" / "fixes.py").unlink()
    done = kernelgauge(tmp_path, f"problems import theirs/{below} --suite kb")
    assert (done.returncode, done.stderr) == (0, "")
    assert "4 problems (2 of level 1, 1 of level 2, 1 of level 4)" in done.stdout
    assert left_over(home) == ["kb"]

    rows = json.loads(kernelgauge(tmp_path, "problems list --suite kb --json").stdout)
    assert [(row["key"], row["name"]) for row in rows] == [
        ("kb:1/1", "square_matrix_multiplication"),
        ("kb:1/19", "relu"),
        ("kb:2/1", "conv2d_relu_bias_add"),
        ("kb:4/7", "some_lab_model_2p7b_bs32"),
    ]
    twin = catalogue.entry("1/19")
    known = catalogue.entry("kb:1/19")
    assert (known.tags, known.domains, known.sizes, known.weakness) == (twin.tags, twin.domains, twin.sizes, None)
    assert catalogue.entry("kb:1/1").tags == catalogue.entry("1/1").tags
    assert catalogue.entry("kb:1/1").sizes == {}, "its constants are others than those of the built-in problem"
    unknown = catalogue.entry("kb:4/7")
    assert (unknown.tags, unknown.domains, unknown.sizes) == ((), {}, {})


def test_text_is_kept_byte_for_byte_but_for_a_byte_order_mark(tmp_path: Path) -> None:
    import_suite(checkout(tmp_path / "theirs"), "kb")
    original = (tmp_path / "theirs/KernelBench/level2/1_Conv2D_ReLU_BiasAdd.py").read_bytes()
    assert b"\r\n" in original
    assert catalogue.entry("kb:2/1").path.read_bytes() == original.removeprefix(b"\xef\xbb\xbf")
    assert load_problem("kb:2/1").source.encode() == original.removeprefix(b"\xef\xbb\xbf")


@pytest.mark.parametrize("ends", ["\n", "\r\n", "\r"])
def test_sizes_apply_whatever_the_line_ends(tmp_path: Path, ends: str) -> None:
    text = RELU.replace("\n", ends)
    import_suite(files(tmp_path / "own", {"level1/19_relu.py": text.encode()}), "mine")
    small = load_problem("mine:1/19", sizes="small")
    assert small.sizes == "small"
    assert small.source == text.replace("batch_size = 4096", "batch_size = 32").replace("dim = 393216", "dim = 2048")
    assert with_constants(text, {}) == text


def test_an_own_folder_is_numbered_in_order_of_name(tmp_path: Path) -> None:
    source = files(
        tmp_path / "own",
        {
            "2_kept.py": RELU,
            "zebra.py": RELU,
            "AntEater.py": RELU,
            "007_Bond.py": RELU,
            "deep/down/level3/first.py": RELU,
            "deep/down/level3/12_twelfth.py": RELU,
            "23.py": RELU,
            ".hidden/secret.py": "not a problem",
            "__pycache__/x.py": "not a problem",
            "notes.txt": "",
        },
    )
    done = kernelgauge(tmp_path, "problems import own --suite mine --json")
    assert done.returncode == 0, done.stderr
    report = json.loads(done.stdout)
    assert report["levels"] == {"0": 5, "3": 2} and report["left_out"] == []
    assert report["origin"] == f"folder {source}"
    labels = [catalogue.entry(key).label for key in catalogue.keys(suite="mine")]
    assert labels == [
        *("mine:0/1_ant_eater", "mine:0/2_kept", "mine:0/3_zebra", "mine:0/7_bond", "mine:0/23_problem"),
        *("mine:3/1_first", "mine:3/12_twelfth"),
    ]


def test_a_malformed_file_keeps_its_number(tmp_path: Path) -> None:
    """Mending it later must not move the numbers of the others."""
    source = files(tmp_path / "own", {"a.py": RELU, "b.py": "no code here", "c.py": RELU})
    assert len(import_suite(source, "mine").left_out) == 1
    assert catalogue.keys(suite="mine") == ["mine:0/1", "mine:0/3"]


def test_a_level_folder_itself_is_a_source(tmp_path: Path) -> None:
    files(tmp_path / "KernelBench" / "level2", {"5_Some_Thing.py": RELU})
    assert kernelgauge(tmp_path / "KernelBench" / "level2", "problems import . --suite kb").returncode == 0
    assert catalogue.keys(suite="kb") == ["kb:2/5"]


def test_links_inside_the_folder_are_followed(tmp_path: Path) -> None:
    source = files(tmp_path / "own", {"1_real.py": RELU})
    (source / "2_link.py").symlink_to("1_real.py")
    import_suite(source, "mine")
    assert catalogue.keys(suite="mine") == ["mine:0/1", "mine:0/2"]
    assert not catalogue.entry("mine:0/2").path.is_symlink()


@pytest.mark.parametrize(
    ("title", "name"),
    [
        ("Conv2D_ReLU_BiasAdd", "conv2d_relu_bias_add"),
        ("Square_matrix_multiplication_", "square_matrix_multiplication"),
        ("4D_tensor_matrix_multiplication", "4d_tensor_matrix_multiplication"),
        ("conv_standard_2D__square_input__square_kernel", "conv_standard_2d_square_input_square_kernel"),
        ("LeakyReLU", "leaky_relu"),
        ("LSTMHn", "lstm_hn"),
        ("Some-Lab-model-2p7B_bs32_seq256", "some_lab_model_2p7b_bs32_seq256"),
        ("Größe", "gr_e"),
    ],
)
def test_a_title_becomes_a_name_in_our_manner(title: str, name: str) -> None:
    assert snake_case(title) == name


# ---------------------------------------------------------------- malformed files


def fifo(path: Path) -> None:
    os.mkfifo(path)


def link_to(target: str) -> Callable[[Path], None]:
    return lambda path: path.symlink_to(target)


def holding(content: bytes) -> Callable[[Path], None]:
    return lambda path: path.write_bytes(content)


MALFORMED: list[tuple[str, Callable[[Path], object], str]] = [
    ("2_latin.py", holding(RELU.replace("0.5", "0.5  # größe").encode("latin-1")), "not UTF-8 text"),
    ("2_utf16.py", holding(RELU.encode("utf-16")), "not UTF-8 text"),
    ("2_syntax.py", holding(b"class Model(:\n"), "line 1"),
    ("2_null.py", holding(b"x = 1\0\n"), "null bytes"),
    ("2_deep.py", holding(b"(" * 20000), "2_deep.py"),
    ("2_no_model.py", holding(RELU.replace("class Model", "class Other").encode()), "a class `Model`"),
    ("2_no_inputs.py", holding(RELU.replace("get_inputs", "inputs").encode()), "a function `get_inputs`"),
    ("2_empty.py", holding(b""), "is empty"),
    ("2_large.py", holding(RELU.encode() + b"#" * 1_000_000), "larger than 1 MB"),
    ("1_twice.py", holding(RELU.encode()), "has the number 1 that 1_good.py has already"),
    ("01_twice.py", holding(RELU.encode()), "has the number 1 that 01_twice.py has already"),
    ("2_...py", holding(RELU.encode()), "could be a path"),
    ("2_a\\b.py", holding(RELU.encode()), "could be a path"),
    ("2_a\nb.py", holding(RELU.encode()), "could be a path"),
    ("2_---.py", holding(RELU.encode()), "no letter or digit"),
    (f"2_{'x' * 220}.py", holding(RELU.encode()), "longer than 200"),
    ("2_fifo.py", fifo, "not a regular file"),
    ("2_out.py", link_to("/etc/passwd"), "out of the folder"),
    ("2_up.py", link_to("../outside.py"), "out of the folder"),
    ("2_gone.py", link_to("nowhere.py"), "leads nowhere"),
    ("2_loop.py", link_to("2_loop.py"), "leads nowhere"),
    ("level2", link_to("/etc"), "link to a folder"),
]


@pytest.mark.parametrize(("name", "make", "word"), MALFORMED, ids=[repr(name)[:30] for name, *_ in MALFORMED])
def test_a_malformed_file_is_named_and_the_others_come_in(
    tmp_path: Path, home: Path, name: str, make: Callable[[Path], object], word: str
) -> None:
    source = files(tmp_path / "own", {"1_good.py": RELU, "3_fine.py": RELU})
    (tmp_path / "outside.py").write_text(RELU)
    make(source / name)
    done = kernelgauge(tmp_path, "problems import own --suite mine")
    assert done.returncode == 1, done.stderr
    assert "2 problems" in done.stdout
    assert re.fullmatch(r"kernelgauge: left out: [^\n]{1,400}\n", done.stderr), done.stderr
    assert word in done.stderr
    assert catalogue.keys(suite="mine") == ["mine:0/1", "mine:0/3"]


def test_names_that_are_no_text_can_be_said(tmp_path: Path) -> None:
    source = files(tmp_path / "own", {"1_good.py": RELU})
    Path(os.fsdecode(bytes(source) + b"/2_\xff\xfe.py")).write_text("no problem")
    done = kernelgauge(tmp_path, "problems import own --suite mine")
    assert done.returncode == 1 and "line 1: invalid syntax" in done.stderr
    assert "Traceback" not in done.stderr


@pytest.mark.skipif(os.geteuid() == 0, reason="root reads everything")
def test_what_cannot_be_read_is_named(tmp_path: Path) -> None:
    source = files(tmp_path / "own", {"1_good.py": RELU, "2_locked.py": RELU, "locked/3_far.py": RELU})
    (source / "2_locked.py").chmod(0)
    (source / "locked").chmod(0)
    done = import_suite(source, "mine")
    (source / "locked").chmod(0o700)
    assert sorted(each.where for each in done.left_out) == ["2_locked.py", "locked"]


def test_nothing_of_an_import_is_executed(tmp_path: Path) -> None:
    trap = tmp_path / "executed"
    files(tmp_path / "own", {"1_trap.py": f"open({str(trap)!r}, 'w')\n{RELU}"})
    import_suite(tmp_path / "own", "mine")
    load_problem("mine:0/1")
    assert not trap.exists()


# ---------------------------------------------------------------- parquet


def write_parquet(path: Path, rows: Iterable[tuple[Any, Any, Any, Any]], **types: Any) -> Path:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    names = ("code", "level", "name", "problem_id")
    columns = zip(*rows, strict=True)
    arrays = [pyarrow.array(column, types.get(name)) for name, column in zip(names, columns, strict=True)]
    path.parent.mkdir(parents=True, exist_ok=True)
    parquet.write_table(pyarrow.table(arrays, names=names), path)
    return path


ROWS = [
    (RELU, 1, "19_ReLU", 19),
    (RELU.replace("\n", "\r\n"), 1, "1_Square_matrix_multiplication_", 1),
    (ONE_SIZE, 2, "Untold", 5),
]


def test_a_parquet_file_becomes_a_suite(tmp_path: Path) -> None:
    write_parquet(tmp_path / "train.parquet", ROWS)
    done = kernelgauge(tmp_path, "problems import train.parquet --suite kb")
    assert (done.returncode, done.stderr) == (0, "")
    labels = [catalogue.entry(key).label for key in catalogue.keys(suite="kb")]
    assert labels == ["kb:1/1_square_matrix_multiplication", "kb:1/19_relu", "kb:2/5_untold"]
    assert load_problem("kb:1/1").source == ROWS[1][0]
    assert catalogue.entry("kb:1/19").sizes == catalogue.entry("1/19").sizes
    assert catalogue.suite_named("kb").about.origin == f"parquet file {tmp_path / 'train.parquet'}"


@pytest.mark.parametrize("below", ["", "data/"])
def test_a_folder_of_parquet_files_is_one_suite(tmp_path: Path, below: str) -> None:
    for level in (1, 2):
        file = tmp_path / "export" / f"{below}level_{level}-00000-of-00001.parquet"
        write_parquet(file, [row for row in ROWS if row[1] == level])
    done = import_suite(tmp_path / "export", "kb")
    assert (done.levels, done.left_out) == ({1: 2, 2: 1}, ())


def test_a_malformed_row_is_named_and_the_others_come_in(tmp_path: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    rows = [
        (RELU.encode(), 1, b"19_ReLU", 19),
        (None, 1, b"2_nothing", 2),
        (b"x = '\xff'", 1, b"3_latin", 3),
        (RELU.encode(), 1, b"4_\xff", 4),
        (RELU.encode(), -1, b"5_below", 5),
        (RELU.encode(), 1, b"6_far", 10**12),
        (RELU.encode(), 1, b"../../7_up", 7),
        (RELU.encode(), 1, b"8_../../up", 8),
        (RELU.encode(), 1, b"19_again", 19),
        (b"def f(", 1, b"9_syntax", 9),
    ]
    write_parquet(tmp_path / "x.parquet", rows, code=pyarrow.binary(), name=pyarrow.binary())
    done = import_suite(tmp_path / "x.parquet", "kb")
    assert done.levels == {1: 1}
    said = {each.where: each.reason for each in done.left_out}
    expected = {
        2: "has no value for code",
        3: "is not UTF-8 text",
        4: "a name that is not UTF-8 text",
        5: "has the level -1",
        6: "has the problem_id 1000000000000",
        7: "could be a path",
        8: "could be a path",
        9: "has the number 19 that x.parquet, row 1 has already",
        10: "line 1",
    }
    assert said.keys() == {f"x.parquet, row {row}" for row in expected}
    for row, word in expected.items():
        assert word in said[f"x.parquet, row {row}"]


def test_a_parquet_file_that_is_none_is_one_sentence(tmp_path: Path, home: Path) -> None:
    pyarrow = pytest.importorskip("pyarrow")
    from pyarrow import parquet

    (tmp_path / "junk.parquet").write_bytes(b"PAR1 this is no parquet PAR1")
    parquet.write_table(pyarrow.table({"code": ["x"], "name": ["1_x"]}), tmp_path / "columns.parquet")
    parquet.write_table(pyarrow.table([["x"]] * 2, names=["code", "code"]), tmp_path / "twice.parquet")
    write_parquet(tmp_path / "types.parquet", [(1.5, 1, "1_x", 1)])
    os.mkfifo(tmp_path / "fifo.parquet")
    for name, word in [
        ("junk", "cannot be read as parquet"),
        ("columns", "has no column level"),
        ("twice", "has no column code, or several"),
        ("types", "cannot be read as parquet"),
        ("fifo", "neither a folder nor a .parquet file"),
    ]:
        done = kernelgauge(tmp_path, f"problems import {name}.parquet --suite kb")
        assert done.returncode == 2 and word in done.stderr, done.stderr
        assert "Traceback" not in done.stderr and all(len(line) < 400 for line in done.stderr.splitlines())
    assert left_over(home) == []


@pytest.mark.processes
def test_without_pyarrow_the_extra_is_named(tmp_path: Path) -> None:
    (tmp_path / "x.parquet").write_bytes(b"")
    code = (
        "import sys; sys.modules['pyarrow'] = None\n"
        "sys.argv = ['kernelgauge', 'problems', 'import', 'x.parquet', '--suite', 'kb']\n"
        "import kernelgauge.cli.main as m; m.main()"
    )
    done = subprocess.run([sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True)
    assert_one_sentence(done, "pip install 'kernelgauge[parquet]'")


# ---------------------------------------------------------------- wrong use


@pytest.mark.processes
@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("import gone --suite x", "there is nothing at"),
        ("import empty --suite x", "there is no problem in"),
        ("import fifo --suite x", "neither a folder nor"),
        ("import own/1_good.py --suite x", "neither a folder nor"),
        ("import own --suite kernelgauge", "the name of the built-in suite"),
        ("import own --suite ../up", "cannot name a suite"),
        ("import own --suite Mine", "cannot name a suite"),
        ("import own --suite -x", "cannot name a suite"),
        ("import own --suite ''", "cannot name a suite"),
        (f"import own --suite {'x' * 65}", "cannot name a suite"),
        ("import own", "--suite"),
        ("remove nobody", "there is no suite 'nobody'"),
        ("remove ..", "there is no suite '..'"),
        ("remove kernelgauge", "cannot be removed"),
        ("list --suite nobody", "there is no suite 'nobody': there is kernelgauge (built in)"),
        ("show nobody:1/23", "there is no suite 'nobody'"),
        ("show 'nobody:some thing'", "there is no suite 'nobody'"),
    ],
)
def test_wrong_use_is_one_sentence_and_leaves_nothing(tmp_path: Path, home: Path, arguments: str, word: str) -> None:
    files(tmp_path, {"own/1_good.py": RELU, "empty/notes.txt": ""})
    os.mkfifo(tmp_path / "fifo")
    assert_one_sentence(kernelgauge(tmp_path, f"problems {arguments}"), word)
    assert not home.exists()


def test_a_folder_of_nothing_good_imports_nothing(tmp_path: Path, home: Path) -> None:
    files(tmp_path / "own", {"a.py": "x = 1", "b.py": "def f("})
    done = kernelgauge(tmp_path, "problems import own --suite mine")
    assert done.returncode == 2 and done.stdout == ""
    first, second, last = done.stderr.splitlines()
    assert "left out: a.py" in first and "left out: b.py" in second
    assert last == "kernelgauge: nothing in own could be imported"
    assert left_over(home) == []


def test_a_suite_is_overwritten_only_on_request(tmp_path: Path, home: Path) -> None:
    source = files(tmp_path / "own", {"1_first.py": RELU})
    assert kernelgauge(tmp_path, "problems import own --suite mine").returncode == 0
    files(source, {"2_second.py": RELU})
    assert_one_sentence(kernelgauge(tmp_path, "problems import own --suite mine"), "--replace")
    assert catalogue.keys(suite="mine") == ["mine:0/1"]
    assert kernelgauge(tmp_path, "problems import own --suite mine --replace").returncode == 0
    assert catalogue.keys(suite="mine") == ["mine:0/1", "mine:0/2"], "a process that knew the old one sees the new"
    assert left_over(home) == ["mine"]


def test_suites_are_listed_and_removed(tmp_path: Path, home: Path) -> None:
    import_suite(files(tmp_path / "own", {"1_first.py": RELU, "level2/3_x.py": RELU}), "mine")
    files(home, {"damaged/suite.json": "{", "older/suite.json": '{"format": 99, "name": "older"}'})
    rows = {row["name"]: row for row in json.loads(kernelgauge(tmp_path, "problems suites --json").stdout)}
    assert list(rows) == ["kernelgauge", "damaged", "mine", "older"]
    assert rows["mine"]["levels"] == {"0": 1, "2": 1}
    assert rows["mine"]["origin"] == f"folder {tmp_path / 'own'}"
    assert rows["mine"]["folder"] == str(home / "mine")
    assert rows["kernelgauge"]["levels"] == {str(n): len(catalogue.keys([n])) for n in catalogue.LEVELS}
    assert "is malformed" in rows["damaged"]["damage"]
    assert "newer kernelgauge" in rows["older"]["damage"]
    table = kernelgauge(tmp_path, "problems suites", COLUMNS="200").stdout
    assert "0: 1, 2: 1" in table and "built" not in table

    assert kernelgauge(tmp_path, "problems remove mine").returncode == 0
    assert kernelgauge(tmp_path, "problems remove damaged").returncode == 0
    assert left_over(home) == ["older"]


@pytest.mark.processes
def test_a_damaged_suite_is_refused_in_one_sentence(tmp_path: Path, home: Path) -> None:
    import_suite(files(tmp_path / "own", {"1_first.py": RELU}), "mine")
    row = json.loads((home / "mine/level0.json").read_text())[0]
    for content, word in [
        ("[", "is malformed"),
        ("3", "is malformed"),
        ('["x"]', "is malformed"),
        (json.dumps([{**row, "name": "../../../etc/passwd"}]), "name"),
        (json.dumps([{**row, "number": "1_../x"}]), "number"),
        (json.dumps([{**row, "more": 1}]), "more"),
        (json.dumps([{**row, "path": "/etc/passwd", "name": "gone"}]), "there is no file"),
    ]:
        (home / "mine/level0.json").write_text(content)
        assert_one_sentence(kernelgauge(tmp_path, "problems show mine:0/1"), word)
    (home / "mine/level0.json").unlink()
    # In a process of its own: this one knows the suite already.
    line = [sys.executable, "-m", "kernelgauge", "problems", "list", "--suite", "mine", "--level", "0"]
    assert_one_sentence(subprocess.run(line, capture_output=True, text=True), "has level none")


def test_a_folder_of_suites_that_is_a_file_is_one_sentence(tmp_path: Path, home: Path) -> None:
    files(tmp_path / "own", {"1_first.py": RELU})
    home.write_text("")
    assert_one_sentence(kernelgauge(tmp_path, "problems import own --suite mine"), "suites")
    assert_one_sentence(kernelgauge(tmp_path, "problems show mine:1/1"), "suites")
    assert kernelgauge(tmp_path, "problems show 1/19").returncode == 0


def test_suites_live_in_the_users_data(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("KERNELGAUGE_SUITES")
    monkeypatch.setenv("XDG_DATA_HOME", "/data")
    assert suites.suites_folder() == Path("/data/kernelgauge/suites")
    monkeypatch.delenv("XDG_DATA_HOME")
    assert suites.suites_folder() == Path.home() / ".local/share/kernelgauge/suites"


# ---------------------------------------------------------------- whole or not at all


def many(folder: Path, mark: str, count: int = 1000) -> Path:
    return files(folder, {f"{number}_p.py": f"# {mark}\n{RELU}" for number in range(count)})


@pytest.mark.proof("problems", "cli")
@pytest.mark.parametrize("number", [signal.SIGKILL, signal.SIGINT])
def test_a_stopped_import_leaves_the_old_suite(tmp_path: Path, home: Path, number: signal.Signals) -> None:
    import_suite(many(tmp_path / "old", "old", 3), "mine")
    many(tmp_path / "new", "new", 4000)  # long enough to be stopped on a busy machine too
    importing = subprocess.Popen(
        [sys.executable, "-m", "kernelgauge", "problems", "import", "new", "--suite", "mine", "--replace"],
        cwd=tmp_path,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    deadline = time.monotonic() + 60
    while not list(home.glob(".staging-*/level0/3_p.py")):
        assert time.monotonic() < deadline and importing.poll() is None
    importing.send_signal(number)
    _, said = importing.communicate(timeout=60)
    assert importing.returncode == (130 if number == signal.SIGINT else -signal.SIGKILL), said
    assert len(catalogue.keys(suite="mine")) == 3
    assert load_problem("mine:0/1").source.startswith("# old")
    if number == signal.SIGINT:
        assert "Traceback" not in said
        assert left_over(home) == ["mine"]
    import_suite(tmp_path / "new", "mine", replace=True)
    assert load_problem("mine:0/1").source.startswith("# new")
    assert left_over(home) == ["mine"], "the next import removes what a killed one left"


@pytest.mark.processes
def test_two_imports_at_once_are_one_after_the_other(tmp_path: Path, home: Path) -> None:
    many(tmp_path / "own", "same", 50)
    command = [sys.executable, "-m", "kernelgauge", "problems", "import", "own", "--suite", "mine"]
    both = [subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.DEVNULL) for _ in range(2)]
    assert sorted(each.wait(60) for each in both) == [0, 2]
    assert len(catalogue.keys(suite="mine")) == 50
    assert left_over(home) == ["mine"]


def small_files_only() -> None:
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (len(RELU) - 10, resource.RLIM_INFINITY))


@pytest.mark.processes
def test_a_full_disk_leaves_nothing(tmp_path: Path, home: Path) -> None:
    import_suite(files(tmp_path / "old", {"1_old.py": RELU}), "mine")
    files(tmp_path / "own", {"1_new.py": RELU, "2_new.py": RELU})
    for suite in ("mine --replace", "other"):
        command = [sys.executable, "-m", "kernelgauge", "problems", "import", "own", "--suite", *suite.split()]
        done = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, preexec_fn=small_files_only)
        assert_one_sentence(done, "disk full", code=3)
    assert left_over(home) == ["mine"]
    assert catalogue.keys(suite="mine") == ["mine:0/1"]


@pytest.mark.processes
def test_a_full_file_system_leaves_nothing(tmp_path: Path, home: Path) -> None:
    many(tmp_path / "own", "mark", 200)
    home.mkdir()
    mount = f"mount -t tmpfs -o size=64k none {shlex.quote(str(home))}"
    command = f"{shlex.quote(sys.executable)} -m kernelgauge problems import own --suite mine"
    script = f"{mount} && {command}; echo $?; ls -A {shlex.quote(str(home))}"
    if subprocess.run(["unshare", "-rm", "sh", "-c", mount], capture_output=True).returncode:
        pytest.skip("a small file system cannot be mounted here")
    done = subprocess.run(["unshare", "-rm", "sh", "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.split() == ["3", ".lock"], done.stderr
    assert "disk full" in done.stderr and "Traceback" not in done.stderr


def test_a_place_that_cannot_be_written_is_one_sentence(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("KERNELGAUGE_SUITES", "/proc/suites")
    with pytest.raises(StoreError, match="/proc/suites cannot be"):
        import_suite(files(tmp_path / "own", {"1_first.py": RELU}), "mine")


def test_without_an_exchange_in_one_step_a_suite_is_replaced_too(
    tmp_path: Path, home: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    import_suite(files(tmp_path / "old", {"1_old.py": RELU}), "mine")
    monkeypatch.setattr(suites.ctypes, "CDLL", lambda *_, **__: object())
    import_suite(files(tmp_path / "new", {"1_new.py": RELU}), "mine", replace=True)
    assert catalogue.entry("mine:0/1").name == "new"
    assert left_over(home) == ["mine"]


@pytest.mark.parametrize("exchanged", [False, True])
def test_a_suite_set_aside_by_a_killed_import_comes_back(tmp_path: Path, home: Path, exchanged: bool) -> None:
    import_suite(files(tmp_path / "old", {"1_old.py": RELU}), "mine")
    (home / "mine").rename(home / ".aside-mine")
    if exchanged:  # killed after the new one had taken its place
        import_suite(files(tmp_path / "new", {"1_new.py": RELU}), "new")
        (home / ".aside-mine").exists() or (home / "mine").rename(home / ".aside-mine")
        (home / "new").rename(home / "mine")
    import_suite(files(tmp_path / "other", {"1_other.py": RELU}), "other")
    assert left_over(home) == ["mine", "other"]
    assert catalogue.entry("mine:0/1").name == ("new" if exchanged else "old")


def test_replacing_touches_nothing_but_a_suite(tmp_path: Path, home: Path) -> None:
    files(home, {"thesis/chapter.txt": "years of work", "thesis/1_x.py": RELU, "thesis/2_unfinished.py": "class"})
    own = files(tmp_path / "own", {"1_first.py": RELU})
    for source in (own, home / "thesis"):
        with pytest.raises(ProblemError, match="is there already and is no suite"):
            import_suite(source, "thesis", replace=True)
    assert (home / "thesis" / "2_unfinished.py").read_text() == "class"

    import_suite(own, "mine")
    for source in (home / "mine", home / "mine" / "level0"):
        with pytest.raises(ProblemError, match="lies in the suite mine itself"):
            import_suite(source, "mine", replace=True)
    import_suite(home / "mine" / "level0", "copy")
    assert catalogue.keys(suite="copy") == ["copy:0/1"]


# ---------------------------------------------------------------- sizes


STYLES = {
    "products": ("batch_size = 2048 * 2", "dim = 3 * 131072"),
    "paired": ("batch_size, dim = 4096, 393216", ""),
    "in brackets": ("(batch_size, dim) = [4096, (2 ** 17) * 3]", ""),
    "powers": ("batch_size = 2 ** 12", "dim = 3 * 2 ** 17"),
    "typed": ("batch_size: int = 8192 // 2", "dim: int = 393215 - -1"),
}


@pytest.mark.parametrize("style", STYLES)
def test_sizes_are_taken_over_however_the_constants_are_written(tmp_path: Path, style: str) -> None:
    written = "\n".join(STYLES[style])
    text = RELU.replace("batch_size = 4096\ndim = 393216", written)
    assert text != RELU
    import_suite(files(tmp_path / "own", {"level1/19_ReLU.py": text}), "mine")
    assert catalogue.entry("mine:1/19").sizes == catalogue.entry("1/19").sizes
    for size in ("small", "odd", "medium"):
        source = load_problem("mine:1/19", sizes=size).source
        known = constants_of(load_problem("1/19", sizes=size).source)
        assert constants_of(source) == known
        for end, place in (("batch", 0), ("get_inputs", -1)):
            assert source.split(end)[place] == text.split(end)[place], "nothing else is touched"


SQUARE = """import torch


class Model(torch.nn.Module):
    def forward(self, A, B):
        return A @ B


CONSTANTS


def get_inputs():
    return [torch.rand(M, K), torch.rand(K, N)]


def get_init_inputs():
    return []
"""


@pytest.mark.parametrize(
    "written",
    [
        "M = 1024 * 2\nK = 4096 * 2\nN = 2048 * 2",
        "K = 8192\nN = K // 2\nM = N // 2",
        "M, K, N = 2048, 8192, 4096",
        "M = 2 ** 11; K, N = M * 4, M * 2",
    ],
)
def test_what_follows_from_others_becomes_what_the_size_says(tmp_path: Path, written: str) -> None:
    """The built-in text has three numbers: where one follows from another here, its size need not."""
    import_suite(
        files(tmp_path / "own", {"level1/2_standard_matrix_multiplication.py": SQUARE.replace("CONSTANTS", written)}),
        "mine",
    )
    twin = catalogue.entry("1/2")
    assert constants_of(twin.path.read_text()) == {"M": 2048, "K": 8192, "N": 4096}
    assert set(sizes_of("mine:1/2")) == {"full", *twin.sizes}
    for size in twin.sizes:
        assert constants_of(load_problem("mine:1/2", sizes=size).source) == constants_of(
            load_problem("1/2", sizes=size).source
        )


def test_only_the_same_problem_has_the_built_in_sizes(tmp_path: Path) -> None:
    others = {
        # A constant of the same name need not mean the same: here the axis, where the built-in problem has a length.
        "axis": ONE_SIZE.replace("rows", "batch_size").replace("dim = 64", "dim = 1"),
        "earlier": RELU.replace("4096", "16").replace("393216", "16384"),
        "scaled": RELU.replace("dim = 393216", "dim = 393216\nscale = 2"),
        "float": RELU.replace("4096", "4096.0"),
        "argument": RELU.replace("return []", "return [1]"),
        "signature": RELU.replace("self, x", "self, x, y"),
        "renamed": RELU.replace("self, x", "self, y").replace("(x", "(y"),
        "twice": RELU.replace("dim = 393216", "dim = 393216\ndim = 393216"),
        "changed": RELU.replace("dim = 393216", "dim = 196608\ndim *= 2"),
        "unknown": RELU.replace("393216", "int(393216)"),
        "sliced": RELU.replace("4096\ndim = 393216", "4096\nshape = (1, 393216)\n_, dim = shape"),
    }
    for name, text in others.items():
        import_suite(files(tmp_path / "own", {"level1/19_ReLU.py": text}), name)
        assert sizes_of(f"{name}:1/19") == ("full",), name
    same = RELU.replace("self, x", "self, x, alpha=1")
    import_suite(files(tmp_path / "own", {"level1/19_ReLU.py": same}), "same")
    assert len(sizes_of("same:1/19")) == 4, "an argument that nobody gives changes nothing"


def test_arithmetic_of_a_stranger_takes_no_time(tmp_path: Path) -> None:
    huge = [
        "batch_size = 9 ** 9 ** 9",
        "dim = [0] * 10 ** 15",
        "more = 1 << 10 ** 9",
        "bad = 1 // 0",
        "odd = (-8) ** 0.5",
    ]
    source = RELU.replace("batch_size = 4096\ndim = 393216", "\n".join(huge))
    began = time.monotonic()
    assert constants_of(source) == {}
    assert time.monotonic() - began < 5


def _as_upstream(key: str, style: int) -> str | None:
    """The text of a built-in problem with its constants in other ways of writing; None where upstream has not all."""
    known = catalogue.entry(key)
    source = known.path.read_text()
    ours, theirs = constants_of(source), facts(known.level, known.number).constants
    if theirs.keys() != ours.keys():
        return None
    plain = plain_constants(source)
    lines = []
    for line in source.splitlines():
        name, is_constant, value = line.partition(" = ")
        if not is_constant or name not in plain or plain[name] != theirs[name]:
            lines.append(line)
        elif type(plain[name]) is int and plain[name] > 1:
            number = plain[name]
            half = f"{number // 2} * 2" if number % 2 == 0 else f"{number * 2} // 2"
            lines.append((f"{name} = {half}", f"{name}: int = {number}", f"{name}, = {number},")[style])
        else:
            lines.append(
                (f"{name} = {value}", f"({name}) = {value}", f"{name}, _unused_{name} = {value}, None")[style]
            )
    return "\n".join(lines) + "\n"


def _chained(source: str) -> str:
    """Constants of one value in one statement, `a = b = 128`, all others in one more, `a, b = 1, 2`."""
    plain = {name: value for name, value in plain_constants(source).items() if type(value) is int}
    first = next(line for line in source.splitlines() if line.partition(" = ")[0] in plain)
    by_value: dict[object, list[str]] = {}
    for name, value in plain.items():
        by_value.setdefault(value, []).append(name)
    chains = [f"{' = '.join(names)} = {value}" for value, names in by_value.items() if len(names) > 1]
    alone = [(names[0], value) for value, names in by_value.items() if len(names) == 1]
    names, values = zip(*alone, strict=True) if alone else ((), ())
    pairs = [f"{', '.join(names)}, = {', '.join(map(str, values))},"] if alone else []
    kept = [line for line in source.splitlines() if line == first or line.partition(" = ")[0] not in plain]
    kept[kept.index(first)] = "\n".join([*chains, *pairs])
    return "\n".join(kept) + "\n"


@pytest.mark.proof("problems", "cli")
@pytest.mark.parametrize("style", ["products", "typed", "paired", "chained"])
def test_a_checkout_in_other_ways_of_writing_has_the_sizes_of_the_built_in_suite(tmp_path: Path, style: str) -> None:
    keys = catalogue.keys([1, 2, 3])
    texts: dict[str, str | bytes] = {}
    for key in keys:
        known = catalogue.entry(key)
        number = ["products", "typed", "paired", "chained"].index(style)
        text = _as_upstream(key, number % 3)
        if text is not None:
            text = _chained(known.path.read_text()) if style == "chained" else text
            texts[f"KernelBench/level{known.level}/{known.number}_{known.name}.py"] = text
    assert len(texts) >= 245, "what upstream has no name for is hard to give another size"
    done = import_suite(files(tmp_path / "theirs", texts), "kb")
    assert done.left_out == ()
    for key in catalogue.keys(suite="kb"):
        mine, twin = catalogue.entry(key), catalogue.entry(key.removeprefix("kb:"))
        assert mine.sizes.keys() == twin.sizes.keys(), key
        for size in twin.sizes:
            theirs = constants_of(load_problem(key, sizes=size).source)
            assert theirs == constants_of(load_problem(twin.key, sizes=size).source), (key, size)


def test_a_newer_or_damaged_suite_is_not_read_as_if_it_were_ours(tmp_path: Path, home: Path) -> None:
    for name in ("newer", "silent"):
        import_suite(files(tmp_path / "own", {"1_first.py": RELU}), name)
    for name, change in (("newer", {"format": 99}), ("silent", {"origin": ""})):
        path = home / name / "suite.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert_one_sentence(kernelgauge(tmp_path, "problems show newer:0/1"), "format 99 of a newer kernelgauge")
    done = kernelgauge(tmp_path, "problems suites")
    assert done.returncode == 0 and "silent" in done.stdout and "format 99" in " ".join(done.stdout.split())


# ---------------------------------------------------------------- names


@pytest.fixture
def kb(tmp_path: Path) -> str:
    import_suite(checkout(tmp_path / "theirs"), "kb")
    return "kb"


@pytest.mark.parametrize("form", ["1/19", "level1/19", "1/19_relu", "level1/19_relu", "19_relu"])
def test_all_forms_of_a_name_work_behind_the_suites(kb: str, form: str) -> None:
    problem = load_problem(f"kb:{form}")
    assert (problem.key, problem.level, problem.number, problem.name) == ("kb:1/19", 1, 19, "relu")
    assert problem.source == RELU != load_problem(form).source
    assert catalogue.looks_like_name(f"kb:{form}")
    assert catalogue.resolve(form, suite="kb") == "kb:1/19"
    assert catalogue.resolve(f"kernelgauge:{form}") == "1/19"


def test_unknown_names_say_what_the_suite_has(kb: str) -> None:
    assert catalogue.known("kb:1/19") == catalogue.entry("kb:1/19")
    assert [catalogue.known(key) for key in ("kb:1/2", "kx:1/19", "1/999", "my.py")] == [None] * 4
    for name, hint in [
        ("kb:1/19_gelu", "did you mean kb:1/19_relu"),
        ("kb:1/2", "`kernelgauge problems list --suite kb` shows all 4"),
        ("kb:squar_matrix_multiplication", "kb:1/1_square_matrix_multiplication"),
        ("kb:", "kernelgauge problems list --suite kb"),
        ("kb:kb:1/19", "kernelgauge problems list --suite kb"),
    ]:
        with pytest.raises(ProblemError, match="no problem of suite kb is called") as caught:
            load_problem(name)
        assert hint in str(caught.value)
    with pytest.raises(ProblemError, match=r"there is no suite 'kx': there is kernelgauge \(built in\) and kb"):
        catalogue.select(suite="kx")
    with pytest.raises(ProblemError, match="there is no level 9: suite kb has levels 1, 2 and 4"):
        catalogue.select(levels=[9], suite="kb")
    with pytest.raises(ProblemError, match="is of suite kb, and the problems asked for are those of kernelgauge"):
        catalogue.select(names=["kb:1/19"], suite="kernelgauge")


def test_selection_in_a_suite_and_across(kb: str) -> None:
    assert catalogue.select(suite="kb") == catalogue.keys(suite="kb") == ["kb:1/1", "kb:1/19", "kb:2/1", "kb:4/7"]
    assert catalogue.select([2], ["19_relu"], suite="kb") == ["kb:1/19", "kb:2/1"]
    assert catalogue.select(names=["kb:1/19", "1/23", "kb:1/1", "1/19"]) == ["1/19", "1/23", "kb:1/1", "kb:1/19"]
    assert catalogue.select() == catalogue.select(suite="kernelgauge") == catalogue.keys()


def test_the_suite_of_a_key() -> None:
    assert suite_of("kb:0/12") == "kb"
    for other in ("1/23", "kb:my.py", "some/kb:1/2", "C:1/2", "kb:1/2.py"):
        assert suite_of(other) is None


def test_a_problem_has_the_sizes_it_has_constants_for(kb: str) -> None:
    assert set(sizes_of("kb:1/19")) == {"full", "small", "odd", "medium"}
    assert sizes_of("kb:4/7") == ("full",)
    with pytest.raises(ProblemError, match="kb:4/7 of suite kb has no sizes 'small': it has full; leave --sizes out"):
        load_problem("kb:4/7", sizes="small")


def test_the_built_in_suite_has_the_same_form(tmp_path: Path) -> None:
    package = catalogue.suite_named()
    same = catalogue.Suite(package.folder, "same")
    assert same.about.name == "kernelgauge"
    assert set(catalogue.LEVELS) <= set(same.levels)
    assert same.keys(catalogue.LEVELS) == [f"same:{key}" for key in catalogue.select()]


# ---------------------------------------------------------------- judging


def as_candidate(reference: str) -> str:
    return reference.replace("class Model(", "class ModelNew(")


def quick(folder: Path) -> Path:
    """The strict protocol with as few samples as it allows."""
    (folder / "quick.toml").write_text(quick_protocol())
    return folder / "quick.toml"


@pytest.mark.proof("problems", "cli")
def test_eval_of_an_imported_problem(tmp_path: Path, kb: str) -> None:
    (tmp_path / "good.py").write_text(as_candidate(RELU))
    (tmp_path / "built_in.py").write_text(as_candidate(load_problem("1/19").source))
    for candidate, code, outcome in (("good.py", 0, "passed"), ("built_in.py", 1, "wrong_value")):
        done = kernelgauge(tmp_path, f"eval kb:1/19 {candidate} --sizes small --device cpu --no-timing --json")
        assert done.returncode == code, done.stderr
        verdict = json.loads(done.stdout)
        assert (verdict["problem"], verdict["level"], verdict["name"]) == ("kb:1/19", 1, "relu")
        assert (verdict["outcome"], verdict["sizes"]) == (outcome, "small")
    done = kernelgauge(tmp_path, "eval kb:4/7 good.py --device cpu --no-timing --json")
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["sizes"] == "full", "it has no medium"


@pytest.mark.proof("problems", "cli")
def test_a_run_on_a_suite_goes_on_and_is_reported(tmp_path: Path) -> None:
    sources = {"1_alone.py": ONE_SIZE, "2_other.py": ONE_SIZE, "level1/19_ReLU.py": RELU}
    import_suite(files(tmp_path / "own", sources), "mine")
    answers = {
        "level_0_problem_1_sample_0_kernel.py": as_candidate(ONE_SIZE),
        "level_0_problem_2_sample_0_kernel.py": as_candidate(ONE_SIZE).replace("0.5", "0.25"),
        "level_1_problem_19_sample_0_kernel.py": as_candidate(RELU),
        "1_23_softmax.py": as_candidate(load_problem("1/23").source),
    }
    files(tmp_path / "answers", answers)
    protocol, out = quick(tmp_path), tmp_path / "run"
    command = f"run --suite mine --contestant folder:answers --device cpu --protocol {protocol} --out run"

    done = kernelgauge(tmp_path, f"{command} --limit 1")
    assert done.returncode == 0, done.stderr
    assert Run.read(out).header.problems == ("mine:0/1",)
    assert_one_sentence(
        kernelgauge(tmp_path, f"{command} --sizes small"),
        "has no sizes 'small' for 2 of 3 problems, such as mine:0/1: it has full; leave --sizes out",
    )
    done = kernelgauge(tmp_path, command)
    assert done.returncode == 0, done.stderr
    run = Run.read(out)
    assert run.header.problems == ("mine:0/1", "mine:0/2", "mine:1/19")
    assert run.header.suites == ("mine",)
    found = {(each.problem, each.level, each.sizes): each.outcome.value for each in run.evaluations()}
    assert found == {
        ("mine:0/1", 0, "full"): "passed",
        ("mine:0/2", 0, "full"): "wrong_value",
        ("mine:1/19", 1, "medium"): "passed",
    }
    assert "nothing left to judge" in kernelgauge(tmp_path, command).stderr
    assert len(Run.read(out).evaluations()) == 3

    done = kernelgauge(tmp_path, "report run --json --html report.html")
    assert done.returncode == 0, done.stderr
    scores = json.loads(done.stdout)
    assert {level: group["problems"] for level, group in scores["levels"].items()} == {"0": 2, "1": 1}
    page = tmp_path / "report.html"
    assert "suite <b>mine</b>" in page.read_text()
    assert any("class Model(torch" in text for text in texts_in(page)), "the reference is found by its key"
    assert "suite mine" in kernelgauge(tmp_path, "report run").stdout

    done = kernelgauge(tmp_path, f"reeval run --level 0 --limit 1 --protocol {protocol}")
    assert done.returncode == 0, done.stderr
    assert [each.problem for each in Run.read(out).evaluations()].count("mine:0/1") == 2
    done = kernelgauge(tmp_path, f"reeval run --problems 1/19 --protocol {protocol} --sizes odd --out odd")
    assert done.returncode == 0, done.stderr
    assert [(each.problem, each.sizes) for each in Run.read(tmp_path / "odd").evaluations()] == [("mine:1/19", "odd")]

    kernelgauge(tmp_path, "problems remove mine")
    assert kernelgauge(tmp_path, "report run --json").returncode == 0
    assert_one_sentence(kernelgauge(tmp_path, command), "there is no suite 'mine'")
    assert_one_sentence(kernelgauge(tmp_path, "reeval run"), "there is no suite 'mine'")


@pytest.mark.proof("problems", "cli")
def test_a_folder_answers_one_suite(tmp_path: Path, kb: str) -> None:
    files(tmp_path / "answers", {"1_19.py": as_candidate(RELU)})
    done = kernelgauge(tmp_path, "run --problems kb:1/19,1/19 --contestant folder:answers --device cpu --out run")
    assert_one_sentence(done, "answers one suite, and the problems are of kb, kernelgauge")


@pytest.mark.proof("problems", "cli")
def test_reeval_of_a_level_that_not_every_suite_of_the_run_has(tmp_path: Path, kb: str) -> None:
    import_suite(files(tmp_path / "own", {"1_alone.py": ONE_SIZE}), "mine")
    with Run.create(tmp_path / "run", make_header(problems=("mine:0/1", "kb:1/19"))) as run:
        for key in ("mine:0/1", "kb:1/19"):
            run.append(*make_answer(key, source=as_candidate(ONE_SIZE)))
    options = f"--device cpu --sizes full --protocol {quick(tmp_path)}"
    done = kernelgauge(tmp_path, f"reeval run --level 0 --out again {options}")
    assert done.returncode == 0, done.stderr
    assert [each.problem for each in Run.read(tmp_path / "again").evaluations()] == ["mine:0/1"]
    done = kernelgauge(tmp_path, f"reeval run --level 0,9 --out third {options}")
    assert_one_sentence(done, "there is no level 9 in any suite")


@pytest.mark.proof("problems", "cli")
def test_a_run_does_not_mix_what_a_suite_was_with_what_replaced_it(tmp_path: Path) -> None:
    import_suite(files(tmp_path / "own", {"1_first.py": ONE_SIZE, "2_second.py": ONE_SIZE}), "mine")
    files(tmp_path / "answers", {f"0_{number}.py": as_candidate(ONE_SIZE) for number in (1, 2)})
    protocol = quick(tmp_path)
    command = f"run --suite mine --contestant folder:answers --device cpu --protocol {protocol} --out run"
    assert kernelgauge(tmp_path, f"{command} --limit 1").returncode == 0
    other = ONE_SIZE.replace("torch.relu(x - 0.5)", "x + 1.7265625")
    import_suite(files(tmp_path / "own", {"1_first.py": other, "2_second.py": other}), "mine", replace=True)

    assert_one_sentence(kernelgauge(tmp_path, command), "a record of mine:0/1 from when its text was another")
    assert_one_sentence(
        kernelgauge(tmp_path, f"reeval run --protocol {protocol}"),
        "a record of mine:0/1 from when its text was another",
    )
    assert [each.problem for each in Run.read(tmp_path / "run").evaluations()] == ["mine:0/1"]
    assert kernelgauge(tmp_path, "report run --html report.html").returncode == 0
    assert not any("1.7265625" in text for text in texts_in(tmp_path / "report.html"))
    done = kernelgauge(tmp_path, f"reeval run --out again --protocol {protocol}")
    assert [each.outcome.value for each in Run.read(tmp_path / "again").evaluations()] == ["wrong_value"], done.stderr


@pytest.mark.proof("problems", "cli")
def test_names_alone_tell_the_suite(tmp_path: Path, kb: str) -> None:
    files(tmp_path / "answers", {"4_7.py": as_candidate(ONE_SIZE)})
    done = kernelgauge(
        tmp_path,
        f"run --problems kb:4/7 --contestant folder:answers --device cpu --protocol {quick(tmp_path)} --out run",
    )
    assert done.returncode == 0, done.stderr
    assert [each.problem for each in Run.read(tmp_path / "run").evaluations()] == ["kb:4/7"]


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        ("--suite nobody", "there is no suite 'nobody'"),
        ("--suite mine --level 3", "suite mine has level 0"),
        ("--suite mine --problems 0/9", "no problem of suite mine is called '0/9'"),
        ("--suite mine --problems other:0/1", "problems of suite other"),
        ("--suite mine --sizes small", "suite mine has no sizes 'small' for mine:0/1: it has full"),
        ("--suite mine --problems kernelgauge:1/19", "problems of suite kernelgauge"),
        ("--suite kernelgauge --problems mine:0/1", "problems of suite mine"),
    ],
)
def test_wrong_use_of_a_suite_in_a_run(tmp_path: Path, arguments: str, word: str) -> None:
    for suite in ("mine", "other"):
        import_suite(files(tmp_path / "own", {"1_alone.py": ONE_SIZE}), suite)
    files(tmp_path / "answers", {"0_1.py": as_candidate(ONE_SIZE)})
    done = kernelgauge(tmp_path, f"run --contestant folder:answers --device cpu --out run {arguments}")
    assert_one_sentence(done, word)
    assert not (tmp_path / "run").exists()


@pytest.mark.proof("problems", "cli")
def test_sizes_that_a_suite_lacks_are_an_error_in_every_command(tmp_path: Path) -> None:
    import_suite(files(tmp_path / "own", {"1_alone.py": ONE_SIZE}), "mine")
    (tmp_path / "good.py").write_text(as_candidate(ONE_SIZE))
    with Run.create(tmp_path / "run", make_header(problems=("mine:0/1",), device="cpu")) as run:
        run.append(*make_answer("mine:0/1", level=0, source=as_candidate(ONE_SIZE)))
    said = "has no sizes 'small'"
    for arguments in (
        "eval mine:0/1 good.py --device cpu",
        "profile mine:0/1 --device cpu",
        "prompt mine:0/1 --device cpu",
        "baseline --suite mine --device cpu --out base",
        "reeval run --device cpu --protocol strict --out again",
        "problems show mine:0/1",
    ):
        done = kernelgauge(tmp_path, f"{arguments} --sizes small")
        assert_one_sentence(done, said)
        assert "mine" in done.stderr and "it has full" in done.stderr and "leave --sizes out" in done.stderr
    assert_one_sentence(
        kernelgauge(tmp_path, "problems list --suite mine --sizes small"),
        "no problem of those asked for has sizes 'small': they have full",
    )
    import_suite(files(tmp_path / "own", {"level1/19_relu.py": RELU}), "both")
    rows = json.loads(kernelgauge(tmp_path, "problems list --suite both --sizes small --json").stdout)
    assert [row["key"] for row in rows] == ["both:1/19"]


def test_a_run_of_a_suite_with_one_size_is_of_full_size(tmp_path: Path) -> None:
    from kernelgauge.cli.options import SizesOption, sizes_of_run

    import_suite(files(tmp_path / "own", {"1_alone.py": ONE_SIZE}), "mine")
    import_suite(files(tmp_path / "own", {"level1/19_relu.py": RELU}), "both")
    assert sizes_of_run(None, "cpu", ["mine:0/1"]) == "full"
    assert sizes_of_run(None, "cpu", ["both:0/1"]) == "medium", "whichever of its problems are asked for"
    assert sizes_of_run(None, "cpu", ["1/19", "mine:0/1"]) == "medium"
    assert sizes_of_run(SizesOption.odd, "cpu", ["both:1/19"]) == "odd"
    with pytest.raises(ProblemError, match="suite mine has no sizes 'odd' for 2 of 3 problems, such as mine:0/1"):
        sizes_of_run(SizesOption.odd, "cpu", ["1/19", "mine:0/1", "both:1/19", "both:0/1"])
    assert sizes_of_run(None, "cuda", ["both:0/1"]) == "full"


def test_a_record_of_another_size_is_refused_unless_it_is_the_problems_own(tmp_path: Path) -> None:
    header = make_header(sizes="small", problems=("mine:0/1",))
    with Run.create(tmp_path / "run", header) as run:
        run.append(*make_answer("mine:0/1", level=0, sizes="full"))
        for problem, sizes in (("1/1", "full"), ("mine:0/2", "medium")):
            with pytest.raises(StoreError, match="sizes"):
                run.append(*make_answer(problem, level=0, sizes=sizes))
    assert len(Run.read(tmp_path / "run").evaluations()) == 1


# ---------------------------------------------------------------- reports


def test_levels_of_a_suite_in_the_scores() -> None:
    skip = NoCandidate(problem="mine:0/3", contestant="folder:answers", reason="no answer")
    found = score([make_evaluation("mine:0/1", level=0), make_evaluation("mine:12/1", level=12)], [skip])
    assert {level: group.problems for level, group in found.levels.items()} == {"0": 2, "12": 1}
    assert not [warning for warning in found.warnings if "suite" in warning]
    mixed = score([make_evaluation("mine:1/1", level=1), make_evaluation("1/1")])
    assert any("mix the suites kernelgauge, mine" in warning for warning in mixed.warnings)


@pytest.mark.processes
@pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is on PATH")
@pytest.mark.parametrize("anchor", ["#mine:0/3", "#mine%3A0%2F3"])
def test_the_page_of_a_suite_opens_at_its_problems(tmp_path: Path, anchor: str) -> None:
    evaluations = [
        make_evaluation("mine:0/1", level=0),
        make_evaluation("mine:0/3", 0.5, level=0),
        make_evaluation("mine:12/1", 3.0, level=12),
    ]
    header = make_header(problems=("mine:0/1", "mine:0/3", "mine:12/1"))
    page = tmp_path / "report.html"
    page.write_text(render_html(score(evaluations, header=header), evaluations, lambda _: RELU), encoding="utf-8")
    with Browser() as browser:
        browser.open(page, anchor)
        dom = browser.js("document.documentElement.outerHTML")
        assert browser.said == []
    assert dom.count('class="open" aria-expanded="true"') == 1
    assert '<button type="button" class="open" aria-expanded="true"><b>mine:0/3</b>' in dom
    assert ">no level</li>" in dom and ">level 12</li>" in dom
    assert '<option value="0">0</option>' in dom

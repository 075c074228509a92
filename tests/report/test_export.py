"""Tables of real run folders and logs, read back by csv, json, pyarrow and pandas."""

from __future__ import annotations

import csv
import io
import json
import math
import re
import sys
from datetime import UTC, datetime
from pathlib import Path

import pyarrow.parquet
import pytest
from commands import command_here
from factories import BOUND, make_answer, make_evaluation, make_header, make_log, make_run, make_timing

import kernelgauge as kg
from docs._ext.generated import tables
from kernelgauge.errors import StoreError, UsageError
from kernelgauge.report import score_run
from kernelgauge.report.tables.columns import TABLES, table_named
from kernelgauge.report.tables.frames import Format, as_text, write
from kernelgauge.runs import load
from kernelgauge.schema import Attempt, AttemptRecord, NoCandidate, Spent, Step, TooLarge
from kernelgauge.store import Run

PAGE = Path(__file__).parents[2] / "docs" / "reference" / "tables.md"
TRIED = 'class ModelNew: ...  # "é", \u2028 and\r\nlines\n'


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A run with a timed pass that has a bound, a failure, an answer that never came, and a problem too large."""
    path = tmp_path_factory.mktemp("runs") / "first"
    with Run.create(path, make_header(problems=("1/1", "1/23", "2/1", "2/2"))) as run:
        run.append(*make_answer("1/1", source="# old\n", speedup=9.0))
        timing = make_timing(2.0, samples=4).model_copy(update={"rounds": (1, 3)})
        run.append(*make_answer("1/1", source='# comma, "quote"\n', timing=timing, bound=BOUND))
        run.append(*make_answer("1/23", outcome="wrong_value", reason='first line, "quoted"\nsecond é'))
        run.append_skip(NoCandidate(problem="2/1", level=2, contestant="folder:answers", reason="refused"))
        run.append_too_large(TooLarge(problem="2/2", sizes="full", needed_gb=99.0, reason="needs 99 GB"))
        first = Attempt(answer="no code", refusal="no code", spent=Spent(calls=1, tokens_read=70, tokens_written=9))
        tried = Attempt(answer="y", source=TRIED, refusal="it names no kernel")
        second = Attempt(step=Step(after=0), answer="x", source="x = 1\n", evaluation=make_evaluation("1/1", 1.5))
        for number, attempt in enumerate((first, second, tried)):
            record = AttemptRecord(problem="1/1", problem_digest="f" * 16, sample=0, number=number, attempt=attempt)
            run.append_attempt(record)
    return path


def test_attempts_are_rows_with_their_cost(folder: Path) -> None:
    refused, judged, _ = json.loads(as_text([load(folder)], table_named("attempts"), "json"))
    assert (refused["refusal"], refused["tokens_read"], refused["outcome"]) == ("no code", 70, None)
    assert (judged["after"], judged["outcome"], judged["speedup"]) == (0, "passed", 1.5)


@pytest.mark.parametrize("form", ["csv", "json", "parquet"])
def test_the_sources_of_all_attempts_are_kept(folder: Path, tmp_path: Path, form: Format) -> None:
    """Those that no evaluation is about, too: refused ones, and what was tried before the answer."""
    path = write([load(folder)], table_named("attempts"), form, tmp_path)
    if form == "csv":
        with path.open(newline="") as file:
            found = [row["source"] or None for row in csv.DictReader(file)]
    else:
        rows = json.loads(path.read_text()) if form == "json" else pyarrow.parquet.read_table(path).to_pylist()
        found = [row["source"] for row in rows]
    assert found == [None, "x = 1\n", TRIED]


def test_csv_holds_what_the_records_say(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(as_text([load(folder)], table_named("evaluations"), "csv"))))
    assert [row["problem"] for row in rows] == ["1/1", "1/23"]
    timed, wrong = rows
    assert timed["run"] == str(folder) and timed["passed"] == "true" and timed["standing"] == "faster"
    assert (float(timed["speedup"]), float(timed["intensity"]), timed["samples"]) == (2.0, 4.0, "4")
    assert wrong["reason"] == 'first line, "quoted"\nsecond é'
    assert (wrong["speedup"] == "" and wrong["tags"] == "softmax reduction") or wrong["tags"]


def test_json_has_null_where_there_is_no_number(folder: Path) -> None:
    rows = json.loads(as_text([load(folder)], table_named("trials"), "json"))
    assert [(row["problem"], row["error"], row["agreed"]) for row in rows] == [
        ("1/1", 2e-7, True),
        ("1/23", None, False),
    ]


def test_every_timed_call_is_a_row_with_its_round(folder: Path) -> None:
    rows = list(csv.DictReader(io.StringIO(as_text([load(folder)], table_named("samples"), "csv"))))
    assert [(row["side"], row["position"], row["round"]) for row in rows[:5]] == [
        *(("reference", str(i), "0" if i == 0 else "1") for i in range(4)),
        ("candidate", "0", "0"),
    ]
    record = load(folder).latest()[-2]
    assert record.timing and [float(row["ms"]) for row in rows[:4]] == list(record.timing.reference_samples_ms)


def test_fast_p_is_that_of_the_report(folder: Path) -> None:
    rows = json.loads(as_text([load(folder)], table_named("fast_p"), "json"))
    said = score_run(Run.read(folder))
    assert {(row["level"], row["p"]): row["share"] for row in rows if row["p"] in (0, 1)} == {
        (level, float(p)): group.fast_p[p]
        for level, group in {**said.levels, "all": said.overall}.items()
        for p in ("0", "1")
    }
    assert [row["problems"] for row in rows if row["level"] == "2"] == [1] * 6


@pytest.mark.parametrize("name", TABLES)
def test_parquet_and_pandas_have_every_table_with_its_types(folder: Path, tmp_path: Path, name: str) -> None:
    runs = [load(folder), load(folder)]
    read = pyarrow.parquet.read_table(write(runs, table_named(name), "parquet", tmp_path))
    columns = TABLES[name].columns
    assert read.column_names == [column.name for column in columns]
    assert read.schema.field(0).metadata == {b"about": columns[0].about.encode()}
    pandas = pytest.importorskip("pandas")
    frame = load(folder).to_pandas(name)
    assert list(frame.columns) == read.column_names
    assert 2 * len(frame) == read.num_rows
    for column in columns:
        if column.kind == "number":
            assert frame[column.name].dtype == "float64"
        if column.kind == "time":
            assert isinstance(frame[column.name].dtype, pandas.DatetimeTZDtype)


def test_a_frame_can_be_worked_with(folder: Path) -> None:
    pytest.importorskip("pandas")
    frame = kg.load(folder).to_pandas()
    assert frame["speedup"].dropna().tolist() == [2.0]
    assert frame["passed"].sum() == 1 and frame["rule"].isna().all()
    assert frame["created"].max() <= datetime.now(UTC)
    assert "matmul" in frame["tags"][0]
    assert kg.load(folder).to_pandas("trials")["error"].max() == math.inf
    assert kg.load(folder).to_pandas("attempts")["source"].dropna().tolist() == ["x = 1\n", TRIED]


def test_sources_are_a_table_and_one_that_has_gone_is_missing(tmp_path: Path) -> None:
    with Run.create(tmp_path / "run", make_header()) as run:
        for evaluation, candidate in make_run(4)[:2]:
            run.append(evaluation, candidate)
            (tmp_path / "run" / "candidates" / f"{make_run(4)[1][1].digest}.py").unlink(missing_ok=True)
    rows = json.loads(as_text([load(tmp_path / "run")], table_named("candidates"), "json"))
    assert "Answer 0.0" in rows[0]["source"] and rows[1]["source"] is None


def test_an_empty_run_gives_empty_tables(tmp_path: Path) -> None:
    Run.create(tmp_path / "run", make_header()).close()
    for table in TABLES.values():
        read = pyarrow.parquet.read_table(write([load(tmp_path / "run")], table, "parquet", tmp_path / "out"))
        assert read.num_rows == (6 if table.name == "fast_p" else 0)


def test_wrong_names_are_refused_in_a_sentence(folder: Path, tmp_path: Path) -> None:
    with pytest.raises(UsageError, match="no table 'rows'; there are evaluations, fast_p, samples"):
        load(folder).to_pandas("rows")
    with pytest.raises(StoreError, match="there is no run at"):
        kg.load(tmp_path / "nothing")


def test_what_is_not_installed_is_named_with_its_extra(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for name in ("pandas", "pyarrow"):
        monkeypatch.setitem(sys.modules, name, None)
    with pytest.raises(UsageError, match=r"pandas is needed: pip install 'kernelgauge\[data\]'"):
        load(folder).to_pandas()
    with pytest.raises(UsageError, match="pyarrow is needed"):
        write([load(folder)], table_named("trials"), "parquet", tmp_path)


def test_the_docs_name_every_table_and_column() -> None:
    assert "<!-- generated: tables -->" in PAGE.read_text()
    said = tables()
    for table in TABLES.values():
        part = re.search(rf"(?ms)^## `{table.name}`.*?(?=^##|\Z)", said)
        assert part, table.name
        for column in table.columns:
            assert f"`{column.name}`" in part[0], (table.name, column.name)


def test_a_log_of_inspect_is_read_as_a_run(tmp_path: Path) -> None:
    from inspect_ai.log import write_eval_log

    passed, candidate = make_answer("1/1", source="class ModelNew: ...\n")
    wrong = make_evaluation("1/2", outcome="wrong_value", sample=1)
    skip = NoCandidate(problem="1/3", contestant="mockllm/model", reason="no code in it")
    log = make_log([(passed, candidate.source), (wrong, "lost"), (skip, None)])
    write_eval_log(log, str(tmp_path / "some.eval"))
    found = kg.load(tmp_path / "some.eval")
    assert found.evaluations() == [passed, wrong]
    assert found.skips() == [skip]
    assert found.source(candidate.digest) == candidate.source
    assert (found.header.contestant, found.header.sizes) == ("mockllm/model", "full")
    assert score_run(found).overall.problems == 3
    assert (found.spent().calls, found.spent().tokens_read, found.attempts()) == (6, 30, [])
    with pytest.raises(StoreError, match="no log of Inspect"):
        (tmp_path / "none.eval").write_text("{}")
        kg.load(tmp_path / "none.eval")
    write_eval_log(make_log([]), str(tmp_path / "empty.json"))
    with pytest.raises(StoreError, match="holds no verdict"):
        kg.load(tmp_path / "empty.json")


def test_the_command_prints_one_table_or_writes_all(folder: Path, tmp_path: Path) -> None:
    printed = command_here("export", str(folder))
    assert printed.returncode == 0, printed.stderr
    assert [row["problem"] for row in csv.DictReader(io.StringIO(printed.stdout))] == ["1/1", "1/23"]
    written = command_here("export", str(folder), str(folder), "--format", "json", "--out", str(tmp_path / "tables"))
    assert written.returncode == 0, written.stderr
    assert {path.stem for path in (tmp_path / "tables").iterdir()} == set(TABLES)
    assert len(json.loads((tmp_path / "tables" / "evaluations.json").read_text())) == 4


@pytest.mark.parametrize(
    "arguments, said",
    [
        ("", "name a run folder or a log"),
        ("{} --table trials,samples", "name a folder with --out"),
        ("{} --format parquet", "give a folder"),
        ("{} --table rows", "there is no table 'rows'"),
        ("nowhere", "there is no run at nowhere"),
    ],
)
def test_wrong_use_of_the_command(folder: Path, arguments: str, said: str) -> None:
    done = command_here("export", *arguments.format(folder).split())
    assert (done.returncode, done.stdout) == (2, "")
    assert said in done.stderr and "Traceback" not in done.stderr

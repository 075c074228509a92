"""The file of pairs: every field comes back, what is damaged is refused; formats for trainers."""

from __future__ import annotations

import json
import math
from pathlib import Path

import pyarrow
import pyarrow.parquet
import pytest
from commands import command_here
from factories import make_evaluation
from pair_rows import KERNEL, make_row
from pydantic import ValidationError

from kernelgauge.errors import StoreError, UsageError
from kernelgauge.pairs import columns
from kernelgauge.pairs.row import Row, near_the_limit
from kernelgauge.schema import Trial

ROWS = [
    make_row("a", speedup=2.0),
    make_row("b", "mutation", KERNEL.replace("+ 1", "+ 2"), speedup=None, outcome="wrong_value"),
    make_row("c", "slow", KERNEL + "# slow\n", speedup=0.4),
    make_row("d", "cheat", KERNEL + "# cheat\n", speedup=None, outcome="rejected"),
]


def test_every_field_comes_back(tmp_path: Path) -> None:
    columns.write(ROWS, tmp_path / "pairs.parquet")
    assert list(columns.read(tmp_path / "pairs.parquet")) == ROWS
    table = pyarrow.parquet.read_table(tmp_path / "pairs.parquet")
    assert table.column_names == list(Row.model_fields)
    # An infinite error is a number there, and what is not there is null.
    assert table["error"].to_pylist()[1] == math.inf and table["speedup"].to_pylist()[1] is None


def test_kinds_follow_from_verdicts() -> None:
    assert [row.kind for row in ROWS] == ["positive", "negative", "negative", "negative"]
    wrong = ROWS[1].model_dump() | {"kind": "positive"}
    with pytest.raises(ValidationError, match="a positive row is right"):
        Row.model_validate(wrong)
    other = ROWS[0].model_dump() | {"rules": ROWS[0].rules.under("bf16")}
    with pytest.raises(ValidationError, match="the rules are not those"):
        Row.model_validate(other)


def test_a_file_that_is_none_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    with pytest.raises(UsageError, match="there is no file of pairs"):
        list(columns.read(path))
    columns.write(ROWS, path)
    path.write_bytes(path.read_bytes()[:-200])
    with pytest.raises(StoreError, match="is no whole Parquet file"):
        list(columns.read(path))
    pyarrow.parquet.write_table(pyarrow.table({"x": [1]}), path)
    with pytest.raises(StoreError, match="none that `kernelgauge pairs` wrote"):
        list(columns.read(path))
    newer = pyarrow.table({"x": [1]}).replace_schema_metadata({"kernelgauge_pairs": "99"})
    pyarrow.parquet.write_table(newer, path)
    with pytest.raises(StoreError, match="format 99 of a newer kernelgauge"):
        list(columns.read(path))
    columns.write(ROWS, path)
    spoilt = pyarrow.parquet.read_table(path)
    place = spoilt.column_names.index("outcome")
    spoilt = spoilt.set_column(place, "outcome", pyarrow.array(["fine"] * len(ROWS)))
    pyarrow.parquet.write_table(spoilt, path)
    with pytest.raises(StoreError, match="row 0 is not a valid row of pairs: outcome"):
        list(columns.read(path))


def _exported(path: Path, form: str) -> list[dict]:
    done = command_here("export", str(path), "--format", form)
    assert done.returncode == 0, done.stderr
    return [json.loads(line) for line in done.stdout.splitlines()]


def test_formats_for_trainers(tmp_path: Path) -> None:
    path = tmp_path / "pairs.parquet"
    columns.write(ROWS, path)
    (taught,) = _exported(path, "sft")
    assert [each["role"] for each in taught["messages"]] == ["user", "assistant"]
    assert "torch.relu(x) * 2 + 1" in taught["messages"][0]["content"]
    assert taught["messages"][1]["content"] == f"```python\n{KERNEL.rstrip()}\n```\n"
    preferred = _exported(path, "dpo")
    assert [each["rejected_verdict"]["outcome"] for each in preferred] == ["wrong_value", "passed", "rejected"]
    assert {json.dumps(each["chosen"]) for each in preferred} == {json.dumps(taught["messages"][1:])}
    (asked,) = _exported(path, "rl")
    assert asked["prompt"] == taught["messages"][:1] and asked["reference"] == ROWS[0].reference
    assert len(_exported(path, "trajectories")) == len(ROWS)
    split = "validation" if ROWS[0].split == "train" else "train"
    assert command_here("export", str(path), "--format", "sft", "--split", split).stdout == ""


def test_wrong_use_of_export(tmp_path: Path) -> None:
    done = command_here("export", str(tmp_path), "--format", "rl")
    assert done.returncode == 2 and "is no file of pairs" in done.stderr
    done = command_here("export", "--format", "sft", "--table", "trials")
    assert done.returncode == 2 and "writes no table" in done.stderr
    done = command_here("export", "--format", "sft")
    assert done.returncode == 2 and "name a run folder" in done.stderr


@pytest.mark.parametrize(
    ("outcome", "error", "near"),
    [
        ("passed", 0.3e-6, False),
        ("passed", 0.8e-6, True),
        ("wrong_value", 1.4e-6, True),
        ("wrong_precision", 1.4e-6, True),
        ("wrong_value", 3e-6, False),
        ("wrong_value", math.inf, False),
        ("rejected", 0.8e-6, False),
    ],
)
def test_what_another_draw_could_turn_round_is_near_the_limit(outcome: str, error: float, near: bool) -> None:
    agreed = error <= 1e-6
    trial = Trial(variant="own", error=error, allowed=1e-6, reference_error=1e-7, agreed=agreed)
    assert near_the_limit(make_evaluation(outcome=outcome, speedup=None, trials=(trial,))) is near

"""Tidy tables as data frames and files: pandas, CSV, JSON, Parquet."""

from __future__ import annotations

import csv
import json
from collections.abc import Iterable, Sequence
from datetime import datetime
from io import StringIO
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING, Any, Literal

from kernelgauge.errors import UsageError
from kernelgauge.report.table import Kind, Records, Table, Value
from kernelgauge.report.tables.columns import table_named
from kernelgauge.schema import finite
from kernelgauge.store.disk import make_folder, write_whole

if TYPE_CHECKING:
    import pandas

Format = Literal["csv", "json", "parquet"]

# pandas' own types that know a missing value; a list stays an object.
_PANDAS: dict[Kind, str] = {
    "text": "string",
    "integer": "Int64",
    "number": "float64",
    "truth": "boolean",
    "time": "datetime64[us, UTC]",
    "texts": "object",
}


def to_pandas(runs: Sequence[Records], table: str = "evaluations") -> pandas.DataFrame:
    """A table of these runs as a data frame; missing values are NA, moments are in UTC.

    Raises UsageError if there is no such table, or pandas is not installed.
    """
    found = table_named(table)
    frames = _imported("pandas")
    frame = frames.DataFrame(list(found.rows(runs)), columns=[column.name for column in found.columns], dtype=object)
    made: pandas.DataFrame = frame.astype({column.name: _PANDAS[column.kind] for column in found.columns})
    return made


def as_text(runs: Sequence[Records], table: Table, form: Format) -> str:
    """A table as CSV or JSON text. Raises UsageError for a form that is not text."""
    if form == "csv":
        return _csv(table, table.rows(runs))
    if form == "json":
        return _json(table, table.rows(runs))
    raise UsageError(f"{form} is not text: give a folder to write it to")


def write(runs: Sequence[Records], table: Table, form: Format, folder: Path) -> Path:
    """Write a table to `folder/NAME.FORMAT`, which may exist, and return that path.

    Raises:
        UsageError: pyarrow is not installed, or the folder cannot be written (StoreError).
    """
    path = folder / f"{table.name}.{form}"
    content = _parquet(table, runs) if form == "parquet" else as_text(runs, table, form).encode()
    make_folder(folder)
    write_whole(path, content)
    return path


def _csv(table: Table, rows: Iterable[tuple[Value, ...]]) -> str:
    target = StringIO(newline="")
    writer = csv.writer(target, lineterminator="\n")
    writer.writerow([column.name for column in table.columns])
    writer.writerows([_cell(value) for value in row] for row in rows)
    return target.getvalue()


def _cell(value: Value) -> str | int | float:
    if value is None:
        return ""
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, tuple):
        return " ".join(value)
    return value.isoformat() if isinstance(value, datetime) else value


def _json(table: Table, rows: Iterable[tuple[Value, ...]]) -> str:
    """A list of objects, a line each. Numbers that are not finite become null: JSON has none."""
    names = [column.name for column in table.columns]
    lines = [json.dumps(finite(dict(zip(names, map(_plain, row), strict=True)))) for row in rows]
    return "[\n" + ",\n".join(lines) + "\n]\n"


def _plain(value: Value) -> Any:
    return value.isoformat() if isinstance(value, datetime) else value


def _parquet(table: Table, runs: Sequence[Records]) -> bytes:
    arrow, parquet = _imported("pyarrow"), _imported("pyarrow.parquet")
    types = {
        "text": arrow.string(),
        "integer": arrow.int64(),
        "number": arrow.float64(),
        "truth": arrow.bool_(),
        "time": arrow.timestamp("us", tz="UTC"),
        "texts": arrow.list_(arrow.string()),
    }
    fields = [
        arrow.field(column.name, types[column.kind], metadata={"about": column.about}) for column in table.columns
    ]
    names = [column.name for column in table.columns]
    rows = [dict(zip(names, row, strict=True)) for row in table.rows(runs)]
    sink = arrow.BufferOutputStream()
    made = arrow.Table.from_pylist(rows, schema=arrow.schema(fields, metadata={"about": table.about}))
    parquet.write_table(made, sink, compression="zstd")
    content: bytes = sink.getvalue().to_pybytes()
    return content


def _imported(name: str) -> ModuleType:
    from importlib import import_module

    try:
        return import_module(name)
    except ImportError as error:
        raise UsageError(f"{name.partition('.')[0]} is needed: pip install 'kernelgauge[data]' ({error})") from None

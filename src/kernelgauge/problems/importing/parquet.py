"""KernelBench as Hugging Face exports it: one row a problem, with the columns code, level, name and problem_id."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any

from kernelgauge.errors import ProblemError
from kernelgauge.problems.importing.drafts import Found, check_count, printable, refuse, titled

_TEXTS, _NUMBERS = ("code", "name"), ("level", "problem_id")
_LARGEST_NUMBER = 10**9
_ROWS = 16
"""Rows decoded at once: a stranger's file decides how large each is."""


def files_in(source: Path) -> list[Path]:
    """The parquet files of a folder, or of the folder `data` in it, where exported data sets have them."""
    return sorted(source.glob("*.parquet")) or sorted(source.glob("data/*.parquet"))


def found_in(files: list[Path]) -> list[Found]:
    """Every row of these files as a draft.

    Raises ProblemError if pyarrow, which reads them, is not installed, or if there are too many rows.
    """
    try:
        import pyarrow  # noqa: F401
    except ImportError as error:
        raise ProblemError(
            "reading .parquet files needs one more package: pip install 'kernelgauge[parquet]'"
        ) from error
    found: list[Found] = []
    for file in files:
        for each in _found(file):
            found.append(each)
            check_count(len(found), file)
    return found


def _found(file: Path) -> Iterator[Found]:
    import pyarrow

    called = printable(file.name)
    if not file.is_file():
        yield refuse(called, "is not a regular file")
        return
    try:
        for number, row in enumerate(_rows(file), start=1):
            yield _draft(f"{called}, row {number}", row)
    except KeyError as error:
        yield refuse(called, f"has no column {error.args[0]}, or several")
    except (pyarrow.ArrowException, OSError, ValueError) as error:
        why = " ".join(str(error).split())[:200]
        yield refuse(called, f"cannot be read as parquet: {why}")


def _rows(file: Path) -> Iterator[dict[str, Any]]:
    """Rows with texts as bytes and numbers as integers. Raises KeyError with the column, ArrowException."""
    import pyarrow
    from pyarrow.parquet import ParquetFile

    with ParquetFile(file) as table:
        for name in (*_TEXTS, *_NUMBERS):
            if table.schema_arrow.names.count(name) != 1:
                raise KeyError(name)
        for batch in table.iter_batches(batch_size=_ROWS, columns=[*_TEXTS, *_NUMBERS]):
            # As bytes, because a text that is not UTF-8 would stop the whole file and not just its row.
            columns = {name: batch.column(name).cast(pyarrow.large_binary()) for name in _TEXTS}
            columns |= {name: batch.column(name).cast(pyarrow.int64()) for name in _NUMBERS}
            values = {name: column.to_pylist() for name, column in columns.items()}
            for place in range(batch.num_rows):
                yield {name: column[place] for name, column in values.items()}


def _draft(where: str, row: dict[str, Any]) -> Found:
    missing = [name for name, value in row.items() if value is None]
    if missing:
        return refuse(where, f"has no value for {', '.join(missing)}")
    for name in _NUMBERS:
        if not 0 <= row[name] < _LARGEST_NUMBER:
            return refuse(where, f"has the {name} {row[name]}, which is no number for a problem")
    try:
        stem = row["name"].decode()
    except UnicodeDecodeError:
        return refuse(where, "has a name that is not UTF-8 text")
    code: bytes = row["code"]
    return titled(stem, where, row["level"], lambda: code, number=row["problem_id"])

"""The rows of pairs as a Parquet file, and back. Every column is a field of `Row`; what is no plain value is JSON."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import StoreError, UsageError
from kernelgauge.pairs.row import PAIRS_FORMAT, Row
from kernelgauge.store.disk import write_whole

_JSON = ("domains", "environment", "rules")
_NUMBERS = (
    "speedup",
    "speedup_low",
    "speedup_high",
    "confidence",
    "reference_ms",
    "candidate_ms",
    "bound_ms",
    "error",
    "distance",
)
_VERSION = b"kernelgauge_pairs"


def write(rows: Sequence[Row], path: Path) -> None:
    """Write rows to a Parquet file, compressed by zstd; what stood there is replaced as a whole.

    Raises:
        UsageError: pyarrow is not installed.
        StoreError: the disk refuses.
    """
    arrow, parquet = pyarrow_and_parquet()
    metadata = {_VERSION: str(PAIRS_FORMAT)}
    schema = arrow.schema([arrow.field(name, _type(arrow, name)) for name in Row.model_fields], metadata=metadata)
    table = arrow.Table.from_pylist([_plain(row) for row in rows], schema=schema)
    sink = arrow.BufferOutputStream()
    parquet.write_table(table, sink, compression="zstd", compression_level=19)
    write_whole(path, sink.getvalue().to_pybytes())


def read(path: Path) -> Iterator[Row]:
    """The rows of a file of pairs, in their order.

    Raises:
        UsageError: pyarrow is not installed, or there is no such file.
        StoreError: it is no whole file of pairs, or of a newer format.
    """
    arrow, parquet = pyarrow_and_parquet()
    if not path.is_file():
        raise UsageError(f"there is no file of pairs {path}")
    try:
        file = parquet.ParquetFile(path)
        version = (file.schema_arrow.metadata or {}).get(_VERSION, b"").decode()
        _check(path, version)
        for batch in file.iter_batches(batch_size=64):
            for number, values in enumerate(batch.to_pylist()):
                yield _row(values, f"{path}, row {number}")
    except (arrow.ArrowInvalid, arrow.ArrowException, OSError) as error:
        raise StoreError(f"{path} is no whole Parquet file: {str(error).splitlines()[0]}") from error


def _check(path: Path, version: str) -> None:
    if not version.isdecimal():
        raise StoreError(f"{path} is a Parquet file, and none that `kernelgauge pairs` wrote")
    if int(version) > PAIRS_FORMAT:
        raise StoreError(
            f"{path} has format {version} of a newer kernelgauge, and this one reads {PAIRS_FORMAT}: update it"
        )


def _plain(row: Row) -> dict[str, Any]:
    values = row.model_dump(mode="json") | {"created": row.created}
    # A ratio of errors may be infinite, which Parquet can hold and JSON writes as text.
    values |= {name: getattr(row, name) for name in _NUMBERS}
    return values | {name: json.dumps(values[name]) for name in _JSON}


def _row(values: dict[str, Any], where: str) -> Row:
    try:
        return Row.model_validate(values | {name: json.loads(values[name]) for name in _JSON})
    except (ValidationError, ValueError, KeyError) as error:
        why = first_complaint(error) if isinstance(error, ValidationError) else str(error)
        raise StoreError(f"{where} is not a valid row of pairs: {why}") from error


def _type(arrow: Any, name: str) -> Any:
    if name in _NUMBERS:
        return arrow.float64()
    if name == "tags":
        return arrow.list_(arrow.string())
    return arrow.timestamp("us", tz="UTC") if name == "created" else arrow.string()


def pyarrow_and_parquet() -> tuple[Any, Any]:
    """The packages. Raises UsageError where they are not installed."""
    try:
        import pyarrow
        import pyarrow.parquet
    except ImportError as error:
        raise UsageError("a file of pairs needs one more package: pip install 'kernelgauge[parquet]'") from error
    return pyarrow, pyarrow.parquet

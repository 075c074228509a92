"""One record to one line of JSON and back, with the version of the format checked on the way in.

History of the format: 1, first version; 2, fields have the words that GPU benchmarks use (`schema.earlier`). A new
version adds one function to `MIGRATIONS` that turns the JSON object of the version before it into its own; records
are migrated when read and never rewritten.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from typing import Any, TypeVar

from pydantic import ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import StoreError
from kernelgauge.schema import FORMAT, Record
from kernelgauge.schema.earlier import to_format_2

R = TypeVar("R", bound=Record)

MIGRATIONS: list[Callable[[dict[str, Any], type[Record]], dict[str, Any]]] = [to_format_2]
"""`MIGRATIONS[i]` turns an object of format i + 1, and of that kind, into one of format i + 2."""


def encode(record: Record) -> str:
    """One line of standard JSON, without its newline."""
    return record.model_dump_json()


def decode(text: str, kind: type[R], where: str) -> R:
    """The record of type `kind` that `text` holds.

    Raises StoreError naming `where` if the text is not such a record, or was written by a newer kernelgauge.
    """
    try:
        data = json.loads(text)
    except ValueError as error:
        raise StoreError(f"{where} is not a record: {error}") from None
    if not isinstance(data, dict):
        raise StoreError(f"{where} is not a record: a JSON object was expected")
    try:
        return kind.model_validate(_migrated(data, kind, where))
    except ValidationError as error:
        raise StoreError(f"{where} is not a valid {kind.__name__}: {first_complaint(error)}") from None


def _migrated(data: dict[str, Any], kind: type[Record], where: str) -> dict[str, Any]:
    version = data.get("format", 1)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise StoreError(f"{where} has no usable format version: {version!r}")
    if version > FORMAT:
        raise StoreError(
            f"{where} was written by {_writer(data)} in format {version}, and this version reads formats "
            f"up to {FORMAT}; update kernelgauge to read it"
        )
    for migrate in MIGRATIONS[version - 1 :]:
        data = migrate(data, kind)
    return data


def _writer(data: dict[str, Any]) -> str:
    environment = data.get("environment")
    version = data.get("kernelgauge") or (isinstance(environment, dict) and environment.get("kernelgauge"))
    return f"kernelgauge {version}" if version else "a newer kernelgauge"

"""Files of forecasts: a header that says what they are of, then a forecast a line."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from pathlib import Path

from kernelgauge.errors import StoreError
from kernelgauge.forecast import dataset
from kernelgauge.schema import digest
from kernelgauge.schema.forecast import Comparison, Forecast, ForecastHeader
from kernelgauge.store import codec
from kernelgauge.store.journal import Journal


def header_of(
    rows: Sequence[Comparison],
    split: str,
    *,
    predictor: str | None = None,
    model: str | None = None,
    examples: int = 0,
) -> ForecastHeader:
    """The header of forecasts of these rows."""
    return ForecastHeader(split=split, predictor=predictor, model=model, examples=examples, data=digest_of(rows))


def digest_of(rows: Iterable[Comparison]) -> str:
    """Of a data set's rows, however the file is packed."""
    return digest("\n".join(row.model_dump_json() for row in rows))


def write(path: Path, header: ForecastHeader, found: Iterable[Forecast]) -> None:
    """Raises StoreError."""
    dataset.write(path, [header, *found])


def read(path: Path) -> tuple[ForecastHeader | None, dict[str, Forecast]]:
    """Header and forecasts by question; no header where the file is missing or empty.

    Raises:
        StoreError: a line is malformed, the header among them.
    """
    lines = Journal(path).lines()
    first = next(lines, None)
    if first is None:
        return None, {}
    header = codec.decode(first[1], ForecastHeader, f"{path}, line {first[0]}")
    found = (codec.decode(line, Forecast, f"{path}, line {number}") for number, line in lines)
    return header, {each.id: each for each in found}


def require_same(path: Path, there: ForecastHeader, split: str, data: str, **others: str | int | None) -> None:
    """Raises StoreError where a file holds forecasts of something else, or somebody else's if that is named."""
    for name, wanted in {"data": data, "split": split, **others}.items():
        found = getattr(there, name)
        if found != wanted:
            said = "another data set" if name == "data" else f"{name} {found!r}, not {wanted!r}"
            raise StoreError(f"{path} holds forecasts of {said}")

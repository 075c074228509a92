"""What all records share: immutability, strictness, the format's version, and how sources are named."""

from __future__ import annotations

import hashlib
import math
from collections.abc import Mapping
from typing import Any

from pydantic import BaseModel, ConfigDict

FORMAT = 2
"""Version of the stored records. History: 1, November 2026, first version; 2, the same month, names as in
`earlier`."""


def digest(text: str) -> str:
    """The first 16 hex digits of the SHA-256 of `text`: the name of a source wherever it is stored."""
    return hashlib.sha256(text.encode()).hexdigest()[:16]


class Record(BaseModel):
    """Base of all records: immutable, and a field nobody declared is an error."""

    # JSON has no infinity: as text it can be read back, as null it could not.
    model_config = ConfigDict(frozen=True, extra="forbid", ser_json_inf_nan="strings")


def finite(value: Any) -> Any:
    """The same JSON value with null for every number that is not finite, for readers that know only JSON."""
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {key: finite(part) for key, part in value.items()}
    if isinstance(value, list | tuple):
        return [finite(part) for part in value]
    return value

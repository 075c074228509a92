"""Constructor and forward arguments as JSON: plain values, with tuples kept apart from lists."""

from __future__ import annotations

from typing import Any

_TUPLE = "$tuple"


def encode(value: Any) -> Any:
    """A JSON value for None, bool, int, float, str and lists, tuples, string-keyed dicts of them.

    Raises:
        TypeError: the value is of another type.
    """
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, tuple):
        return {_TUPLE: [encode(item) for item in value]}
    if isinstance(value, list):
        return [encode(item) for item in value]
    if isinstance(value, dict) and all(isinstance(key, str) for key in value):
        return {key: encode(item) for key, item in value.items()}
    raise TypeError(f"{type(value).__name__} is not a plain value")


def decode(value: Any) -> Any:
    """The inverse of `encode`."""
    if isinstance(value, list):
        return [decode(item) for item in value]
    if isinstance(value, dict):
        if set(value) == {_TUPLE}:
            return tuple(decode(item) for item in value[_TUPLE])
        return {key: decode(item) for key, item in value.items()}
    return value

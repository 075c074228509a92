"""What must not be kept of a command or of a model's arguments: keys, and whatever else lets somebody in."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from typing import Any

_GIVEN = re.compile(r"(?P<name>\b\w*(?:key|token|secret|password))=.+", re.IGNORECASE | re.DOTALL)
_NAME = re.compile(r"(?:key|token|secret|password|credentials?|auth|authorization|headers?)(?:[_-]|$)", re.IGNORECASE)
_USER = re.compile(r"(?<=://)[^/@\s]+@")
_HOLDING = ("--extra-headers", "--extra-body")
"""Inspect's options that may hold a key in any form."""


def command_without(words: Sequence[str]) -> str:
    """A command as a shell would take it again, without its keys."""
    kept: list[str] = []
    for word in words:
        option = word.partition("=")[0]
        if kept and kept[-1] in _HOLDING:
            word = "..."
        elif option in _HOLDING and option != word:
            word = f"{option}=..."
        kept.append(_USER.sub("...@", _GIVEN.sub(r"\g<name>=...", word)))
    return shlex.join(kept)


def arguments_without(given: Mapping[str, Any]) -> dict[str, Any]:
    """Those that JSON can hold and whose names are not those of keys; all others are left out."""
    return {name: _plain(value) for name, value in given.items() if _storable(value) and not _NAME.search(name)}


def _storable(value: Any) -> bool:
    if isinstance(value, list | tuple):
        return all(map(_storable, value))
    return value is None or isinstance(value, str | int | float | Mapping)


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return arguments_without({str(name): part for name, part in value.items()})
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return _USER.sub("...@", value) if isinstance(value, str) else value

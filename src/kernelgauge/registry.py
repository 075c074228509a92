"""Short name, entry point or `module:Class` -> plug-in."""

from __future__ import annotations

import difflib
from collections.abc import Mapping
from importlib import import_module, metadata
from typing import Any

from kernelgauge.errors import UsageError


def resolve(name: str, built_in: Mapping[str, str], group: str, kind: str) -> Any:
    """The object behind `name`: looked up in `built_in`, then among entry points of `group`, then as `module:Class`.

    Raises:
        UsageError: nothing of that name, or it cannot be imported.
    """
    target = built_in.get(name)
    if target is None:
        entries = {entry.name: entry.value for entry in metadata.entry_points(group=group)}
        target = entries.get(name) or (name if ":" in name else None)
        if target is None:
            known = [*built_in, *entries]
            close = difflib.get_close_matches(name, known, 1)
            hint = f"; did you mean {close[0]}?" if close else ""
            raise UsageError(f"unknown {kind} {name!r}{hint} (there are {', '.join(known)}, or give module:Class)")
    module, _, attribute = target.partition(":")
    try:
        return getattr(import_module(module), attribute)
    except (ImportError, AttributeError, ValueError) as error:
        raise UsageError(f"{kind} {name!r} cannot be loaded: {error}") from error


def made(name: str, built_in: Mapping[str, str], group: str, kind: str) -> Any:
    """An instance of what `resolve` finds, constructed without arguments; raises UsageError as well."""
    plug_in = resolve(name, built_in, group, kind)
    try:
        return plug_in()
    except TypeError as error:
        raise UsageError(f"{kind} {name!r} cannot be made without arguments: {error}") from error

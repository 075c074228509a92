"""Settings from a framework's configuration, which is no plain data: Hydra's dictionaries and lists, for instance."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same as dictionaries and lists, at any depth."""
    return {str(name): _plain(each) for name, each in settings.items()}


def _plain(each: Any) -> Any:
    if isinstance(each, Mapping):
        return plain(each)
    return [_plain(one) for one in each] if isinstance(each, Sequence) and not isinstance(each, str | bytes) else each

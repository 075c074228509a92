"""Settings from a framework's configuration, which is no plain data: Hydra's dictionaries, for instance."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def plain(settings: Mapping[str, Any]) -> dict[str, Any]:
    """The same as dictionaries, at any depth."""
    return {str(name): plain(each) if isinstance(each, Mapping) else each for name, each in settings.items()}

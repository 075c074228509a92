"""The contestants by name."""

from __future__ import annotations

from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.generation.contestant import Contestant
from kernelgauge.generation.folder import Folder
from kernelgauge.registry import made

_BUILT_IN = {"inductor": "kernelgauge.generation.inductor:Inductor"}
_GROUP = "kernelgauge.contestants"


def contestant_named(name: str, backend: str | None = None, suite: str | None = None) -> Contestant:
    """`inductor`, `folder:DIR`, a registered name, or `module:Class`; `suite` is what the files of a folder answer.

    Raises:
        UsageError: there is none of that name, or the folder cannot be used.
    """
    if name.startswith("folder:"):
        return Folder(Path(name.removeprefix("folder:")).expanduser(), backend, suite)
    found: Contestant = made(name, _BUILT_IN, _GROUP, "contestant")
    if not all(hasattr(found, attribute) for attribute in ("name", "samples", "complete")):
        raise UsageError(f"{name} is not a contestant: it needs name, samples() and complete()")
    return found

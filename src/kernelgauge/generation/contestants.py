"""The contestants by name."""

from __future__ import annotations

from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.generation.contestant import Contestant
from kernelgauge.generation.folder import Folder
from kernelgauge.registry import made

_BUILT_IN = {
    "expert": "kernelgauge.expert.contestant:Expert",
    "inductor": "kernelgauge.generation.inductor:Inductor",
}
_GROUP = "kernelgauge.contestants"


def contestant_named(name: str, backend: str | None = None, suite: str | None = None) -> Contestant:
    """`inductor`, `expert`, `folder:DIR`, a registered name, or `module:Class`.

    The files of a folder answer problems of `suite`.

    Raises:
        UsageError: there is none of that name, or the folder cannot be used.
    """
    if name.startswith("folder:"):
        return Folder(Path(name.removeprefix("folder:")).expanduser(), backend, suite)
    return _checked(made(name, _BUILT_IN, _GROUP, "contestant"), name)


def contestant_from(contestant: str | Contestant, backend: str | None = None, suite: str | None = None) -> Contestant:
    """A contestant that is named, as `contestant_named`, or one that is there already.

    Raises:
        UsageError: it cannot be used, or a language is named for one that has its own.
    """
    if isinstance(contestant, str):
        return contestant_named(contestant, backend, suite)
    return _checked(contestant, repr(contestant))


def _checked(found: Contestant, name: str) -> Contestant:
    if not all(hasattr(found, attribute) for attribute in ("name", "samples", "complete")):
        raise UsageError(f"{name} is not a contestant: it needs name, samples() and complete()")
    return found

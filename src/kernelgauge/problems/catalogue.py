"""What is in the suite: one entry per problem, found by key (`"1/23"`) or any other form of its name."""

from __future__ import annotations

import difflib
import json
import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from kernelgauge.errors import ProblemError
from kernelgauge.problems.sizes import Constant
from kernelgauge.schema import Domain, Record, Sizes, Weakness

LEVELS = (1, 2, 3)

_HERE = Path(__file__).parent
_NUMBERED = re.compile(r"(?:level)?(?P<key>[0-9]+/[0-9]+)(?:_(?P<name>\w+))?")
_BARE = re.compile(r"[0-9]+_\w+")


class Entry(Record):
    """One problem of the suite, without its text."""

    level: int
    number: int
    name: str
    tags: tuple[str, ...]
    domains: dict[str, Domain]
    """Per input of `forward`, in order: which other values make sense (see `schema.Problem.domains`)."""
    sizes: dict[Sizes, dict[str, Constant]]
    """Per reduced size: the constants that differ from the text's own, which are the full ones."""
    weakness: Weakness | None

    @property
    def key(self) -> str:
        return f"{self.level}/{self.number}"

    @property
    def label(self) -> str:
        """Key and name together, `"1/23_softmax"`: what messages and tables show."""
        return f"{self.key}_{self.name}"

    @property
    def path(self) -> Path:
        return _HERE / f"level{self.level}" / f"{self.number}_{self.name}.py"


def keys(levels: Iterable[int] | None = None) -> list[str]:
    """Keys of these levels, or of all, by level and number. Raises ProblemError on an unknown level."""
    wanted = LEVELS if levels is None else sorted(set(levels))
    for level in wanted:
        if level not in LEVELS:
            raise ProblemError(f"there is no level {level}: the suite has levels {_listed(LEVELS)}")
    return [key for key, found in _entries().items() if found.level in wanted]


def entry(key: str) -> Entry:
    """The entry of one problem, given any accepted form of its name. Raises ProblemError if there is none."""
    return _entries()[resolve(key)]


def resolve(name: str) -> str:
    """The key for `"1/23"`, `"level1/23"`, `"1/23_softmax"`, `"level1/23_softmax"` or `"23_softmax"`.

    Raises ProblemError, with the closest names, if no problem is called so, or more than one.
    """
    if match := _NUMBERED.fullmatch(name):
        found = _entries().get(match["key"])
        if found is not None and match["name"] in (None, found.name):
            return found.key
    elif _BARE.fullmatch(name):
        same = [found for found in _entries().values() if f"{found.number}_{found.name}" == name]
        if len(same) > 1:
            raise ProblemError(f"{name!r} could be {_listed(each.label for each in same)}: add the level")
        if same:
            return same[0].key
    raise ProblemError(_unknown(name))


def looks_like_name(text: str) -> bool:
    """Whether `text` has the form of a suite problem's name, existing or not, rather than that of a path."""
    return bool(_NUMBERED.fullmatch(text) or _BARE.fullmatch(text))


def select(levels: Iterable[int] | None = None, names: Iterable[str] | None = None) -> list[str]:
    """Keys of all problems of these levels and of those named, each once, in suite order.

    With neither, the whole suite. Raises ProblemError on an unknown level or name.
    """
    if levels is None and names is None:
        return keys()
    wanted = set(keys(levels)) if levels is not None else set()
    wanted.update(resolve(name) for name in names or ())
    return [key for key in _entries() if key in wanted]


@cache
def _entries() -> dict[str, Entry]:
    found = (
        Entry.model_validate({"level": level, **facts})
        for level in LEVELS
        for facts in json.loads((_HERE / f"level{level}.json").read_text(encoding="utf-8"))
    )
    return {each.key: each for each in found}


def _unknown(name: str) -> str:
    """The message for a name that fits no problem: same number or similar name first, then where to look."""
    near = []
    match = _NUMBERED.fullmatch(name)
    if match and match["key"] in _entries():
        near.append(_entries()[match["key"]].label)
    forms = {form: found.label for found in _entries().values() for form in (found.label, found.name)}
    for form in difflib.get_close_matches(name.lower().removeprefix("level"), forms, n=3, cutoff=0.6):
        if forms[form] not in near:
            near.append(forms[form])
    hint = f"did you mean {_listed(near[:3], last=' or ')}? " if near else ""
    return f"no problem is called {name[:80]!r}: {hint}`kernelgauge problems list` shows all {len(_entries())}"


def _listed(items: Iterable[object], last: str = " and ") -> str:
    *most, final = [str(item) for item in items]
    return f"{', '.join(most)}{last}{final}" if most else final

"""What is in a suite: one entry per problem, found by key (`"1/23"`) or any other form of its name.

The suite that comes with the package needs no name; the name of an imported one stands before a colon: `"mine:1/23"`.
"""

from __future__ import annotations

import difflib
import re
from collections.abc import Iterable
from functools import cache, cached_property, lru_cache
from pathlib import Path
from typing import Annotated

from pydantic import Field, ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import ProblemError
from kernelgauge.problems import suites
from kernelgauge.problems.sizes import Constant
from kernelgauge.problems.suites import BUILT_IN
from kernelgauge.schema import SUITE_NAME, Domain, Nearest, ParameterDraws, Record, Sizes, Split, Weakness, suite_of

LEVELS = (1, 2, 3, 4)
DEFAULT_LEVELS = (1, 2, 3)
"""What a run that names no level or problem is about: level 4 needs an optional package."""

_HERE = Path(__file__).parent
_NUMBERED = re.compile(r"(?:level)?(?P<place>[0-9]+/[0-9]+)(?:_(?P<name>\w+))?")
_BARE = re.compile(r"[0-9]+_\w+")
_PREFIXED = re.compile(rf"(?P<suite>{SUITE_NAME}):(?P<name>.*)", re.DOTALL)


class Entry(Record):
    """One problem of a suite, without its text."""

    suite: str
    level: int
    """0 stands for a problem without a level, which only imported suites have."""
    number: int
    name: Annotated[str, Field(pattern=r"^[A-Za-z0-9_]{1,200}$")]
    tags: tuple[str, ...]
    domains: dict[str, Domain]
    """Per input of `forward`, in order: which other values make sense (see `schema.Problem.domains`)."""
    parameters: ParameterDraws = ParameterDraws()
    sizes: dict[Sizes, dict[str, Constant]]
    """Per reduced size: the constants that differ from the text's own, which are the full ones."""
    weakness: Weakness | None
    nearest: Nearest | None = None
    """Of the built-in suite, where the problem was generated."""
    split: Split | None = None
    """Only of a suite that was generated to train on."""
    twin_of: str | None = None
    """Key of the problem that this was drawn as a twin of."""
    path: Path = Field(exclude=True)

    @property
    def place(self) -> str:
        return f"{self.level}/{self.number}"

    @property
    def key(self) -> str:
        return self.place if self.suite == BUILT_IN else f"{self.suite}:{self.place}"

    @property
    def label(self) -> str:
        """Key and name together, `"1/23_softmax"`: what messages and tables show."""
        return f"{self.key}_{self.name}"


class Suite:
    """A folder of problems: `suite.json`, `level<N>.json` and `level<N>/<number>_<name>.py`."""

    def __init__(self, folder: Path, name: str, levels: Iterable[int] | None = None) -> None:
        """Without `levels`, those are there that the folder has a `level<N>.json` for."""
        self.folder = folder
        self.name = name
        if levels is None:
            found = (re.fullmatch(r"level([0-9]{1,9})\.json", path.name) for path in folder.iterdir())
            levels = sorted(int(match[1]) for match in found if match)
        self.levels = tuple(levels)

    @cached_property
    def about(self) -> suites.About:
        """Where the problems come from. Raises ProblemError if `suite.json` is damaged."""
        return suites.about(self.folder)

    @cached_property
    def entries(self) -> dict[str, Entry]:
        """Every problem by its key, by level and in the order of the suite's files. Raises ProblemError."""
        found = [each for level in self.levels for each in self._of_level(level)]
        return {each.key: each for each in found}

    def keys(self, levels: Iterable[int] | None = None) -> list[str]:
        """Keys of these levels, or of all, by level and number. Raises ProblemError on an unknown level."""
        wanted = self.levels if levels is None else sorted(set(levels))
        for level in wanted:
            if level not in self.levels:
                called = "the suite" if self.name == BUILT_IN else f"suite {self.name}"
                there = f"level{'s' if len(self.levels) > 1 else ''} {_listed(self.levels or ['none'])}"
                raise ProblemError(f"there is no level {level}: {called} has {there}")
        return [key for key, found in self.entries.items() if found.level in wanted]

    def find(self, name: str) -> Entry:
        """The entry for any form of a name, without the suite's. Raises ProblemError with the closest names."""
        if match := _NUMBERED.fullmatch(name):
            found = self._at(match["place"])
            if found is not None and match["name"] in (None, found.name):
                return found
        elif _BARE.fullmatch(name):
            same = [each for each in self.entries.values() if f"{each.number}_{each.name}" == name]
            if len(same) > 1:
                raise ProblemError(f"{name!r} could be {_listed(each.label for each in same)}: add the level")
            if same:
                return same[0]
        raise ProblemError(self._unknown(name))

    def _at(self, place: str) -> Entry | None:
        return self.entries.get(place if self.name == BUILT_IN else f"{self.name}:{place}")

    def _of_level(self, level: int) -> list[Entry]:
        path = self.folder / f"level{level}.json"
        rows = suites.read_json(path)
        found = []
        for row in rows if isinstance(rows, list) else [rows]:
            facts = dict(row) if isinstance(row, dict) else {"a problem": row}
            file = self.folder / f"level{level}" / f"{facts.get('number')}_{facts.get('name')}.py"
            try:
                # Ours come last: an imported folder may be a stranger's, and says nothing about these.
                found.append(Entry.model_validate({**facts, "suite": self.name, "level": level, "path": file}))
            except ValidationError as error:
                raise ProblemError(f"{path} is malformed: {first_complaint(error)}") from error
        return found

    def _unknown(self, name: str) -> str:
        """The message for a name that fits no problem: same number or similar name first, then where to look."""
        near = []
        match = _NUMBERED.fullmatch(name)
        if match and (found := self._at(match["place"])):
            near.append(found.label)
        forms: dict[str, str] = {}
        for each in self.entries.values():
            forms |= {f"{each.place}_{each.name}": each.label, each.name: each.label}
        for form in difflib.get_close_matches(name.lower().removeprefix("level"), forms, n=3, cutoff=0.6):
            if forms[form] not in near:
                near.append(forms[form])
        hint = f"did you mean {_listed(near[:3], last=' or ')}? " if near else ""
        of, option = ("", "") if self.name == BUILT_IN else (f" of suite {self.name}", f" --suite {self.name}")
        shows = f"`kernelgauge problems list{option}` shows all {len(self.entries)}"
        return f"no problem{of} is called {name[:80]!r}: {hint}{shows}"


def suite_named(name: str | None = None) -> Suite:
    """The built-in suite, or the imported one of that name; raises ProblemError if there is none."""
    if name is None or name == BUILT_IN:
        return _built_in()
    folder = suites.folder_of(name)
    return _imported(folder, suites.version_of(folder))


def keys(levels: Iterable[int] | None = None, suite: str | None = None) -> list[str]:
    """Keys of these levels of a suite, or of all, by level and number. Raises ProblemError on an unknown level."""
    return suite_named(suite).keys(levels)


def entry(name: str, suite: str | None = None) -> Entry:
    """The entry of one problem, given any accepted form of its name; `suite` is where names without one belong.

    Raises ProblemError, with the closest names, if no problem is called so, or more than one; with the suites there
    are, if it names an unknown one; if it names another one than `suite`.
    """
    prefix, rest = split(name)
    if prefix and suite and prefix != suite:
        raise ProblemError(f"{name[:80]!r} is of suite {prefix}, and the problems asked for are those of {suite}")
    return suite_named(prefix or suite).find(rest)


def known(key: str) -> Entry | None:
    """The entry with exactly this key, None if there is none or its suite has gone; cheap, as it looks no further."""
    try:
        return suite_named(suite_of(key)).entries.get(key)
    except ProblemError:
        return None


def resolve(name: str, suite: str | None = None) -> str:
    """The key for `"1/23"`, `"level1/23"`, `"1/23_softmax"`, `"level1/23_softmax"` or `"23_softmax"`.

    Each of them may stand behind the name of an imported suite and a colon. Raises ProblemError as `entry` does.
    """
    return entry(name, suite).key


def looks_like_name(text: str) -> bool:
    """Whether `text` has the form of a suite problem's name, existing or not, rather than that of a path."""
    rest = split(text)[1]
    return bool(_NUMBERED.fullmatch(rest) or _BARE.fullmatch(rest))


def select(
    levels: Iterable[int] | None = None, names: Iterable[str] | None = None, suite: str | None = None
) -> list[str]:
    """Keys of all problems of these levels of a suite and of those named, each once, in the order of their suites.

    With neither, the whole suite. Raises ProblemError on an unknown level, name or suite.
    """
    if levels is None and names is None:
        return keys(suite=suite)
    named = [entry(name, suite) for name in names or ()]
    wanted = {each.key for each in named} | set(keys(levels, suite) if levels is not None else ())
    order = dict.fromkeys([suite or BUILT_IN, *(each.suite for each in named)])
    return [key for each in order for key in suite_named(each).entries if key in wanted]


def split(name: str) -> tuple[str | None, str]:
    """The suite that a name says it is of, None if it does not, and the rest of it."""
    match = _PREFIXED.fullmatch(name)
    return (match["suite"], match["name"]) if match else (None, name)


@cache
def _built_in() -> Suite:
    return Suite(_HERE, BUILT_IN, LEVELS)


@lru_cache(maxsize=16)
def _imported(folder: Path, version: tuple[int, int]) -> Suite:
    """One suite is read once, and again when another has taken its place, which is what `version` says."""
    suites.about(folder)  # first of all: a newer format must not be read as if it were ours
    try:
        return Suite(folder, folder.name)
    except OSError as error:
        raise ProblemError(f"suite {folder.name} cannot be read: {error.strerror}") from error


def _listed(items: Iterable[object], last: str = " and ") -> str:
    *most, final = [str(item) for item in items]
    return f"{', '.join(most)}{last}{final}" if most else final

"""From a name or a path to a `Problem`: the text at the asked size, and what the suite knows about it."""

from __future__ import annotations

from collections.abc import Iterable
from pathlib import Path
from typing import get_args

from kernelgauge.errors import ProblemError
from kernelgauge.problems import catalogue, own_file
from kernelgauge.problems.sizes import with_constants
from kernelgauge.problems.verified import verified
from kernelgauge.schema import Problem, Sizes, suite_of


def load_problem(name: str | Path, sizes: Sizes = "full") -> Problem:
    """The problem of that name in a suite, or the one in the user's own file at that path.

    Names: `"1/23"`, `"level1/23"`, `"1/23_softmax"`, `"level1/23_softmax"`, `"23_softmax"`, and each of them behind
    the name of an imported suite, as in `"mine:1/23"`. A `Path`, text ending in `.py`, or text that names something
    on disk is an own file; its key is the path as given, and it has no size but `"full"`. `source` of the result
    runs by itself.

    Raises ProblemError for an unknown name, suite or size, and for a file that is not a usable problem; own and
    imported files are parsed, never executed.
    """
    if sizes not in get_args(Sizes):
        raise ProblemError(f"there is no size {sizes!r}: choose one of {', '.join(get_args(Sizes))}")
    if is_own_file(name):
        return _own(name, sizes)
    return _of_suite(str(name), sizes)


def sizes_of(name: str | Path) -> tuple[Sizes, ...]:
    """The sizes a problem has; a user's own file has only its own. Raises ProblemError for an unknown name."""
    return ("full",) if is_own_file(name) else ("full", *catalogue.entry(str(name)).sizes)


def sizes_within(name: str | Path, wanted: Sizes) -> Sizes:
    """What a problem is judged at in a run of these sizes: its own where it has no others. Raises ProblemError."""
    return wanted if wanted in sizes_of(name) else "full"


def check_sizes(keys: Iterable[str], wanted: Sizes) -> None:
    """Whether all of these problems can be judged at sizes that somebody asked for by name.

    The built-in suite has all of them, and published weights where there are some; a file of one's own among others
    has one size, which is no surprise.

    Raises ProblemError for a problem of an imported suite that has not.
    """
    asked = [key for key in keys if suite_of(key)]
    lacking = [key for key in asked if wanted not in sizes_of(key)]
    if not lacking:
        return
    there = sorted({size for key in lacking for size in sizes_of(key)}, key=get_args(Sizes).index)
    which = lacking[0] if len(asked) == 1 else f"{len(lacking)} of {len(asked)} problems, such as {lacking[0]}"
    raise ProblemError(
        f"suite {suite_of(lacking[0])} has no sizes {wanted!r} for {which}: it has {', '.join(there)}; "
        "leave --sizes out, and each problem is judged at what it has"
    )


def is_own_file(name: str | Path) -> bool:
    """Whether `name` means a file of the user's own rather than a problem of the suite."""
    if isinstance(name, Path):
        return True
    if catalogue.looks_like_name(name):
        return False
    try:
        return name.endswith(".py") or (name != "" and Path(name).exists())
    except (OSError, ValueError):
        return False


def _of_suite(name: str, sizes: Sizes) -> Problem:
    entry = catalogue.entry(name)
    if sizes != "full" and sizes not in entry.sizes:
        of = "" if suite_of(entry.key) is None else f" of suite {entry.suite}"
        has = f"it has {', '.join(sizes_of(name))}"
        raise ProblemError(
            f"problem {entry.key}{of} has no sizes {sizes!r}: {has}; leave --sizes out to judge it at what it has"
        )
    # By bytes: reading as text would change the line ends of an imported file.
    source = own_file.decoded(own_file.raw(entry.path), str(entry.path))
    return Problem(
        key=entry.key,
        name=entry.name,
        level=entry.level,
        number=entry.number,
        sizes=sizes,
        source=with_constants(source, entry.sizes[sizes] if sizes != "full" else {}),
        domains=entry.domains,
        parameters=entry.parameters,
        tags=entry.tags,
        weakness=entry.weakness,
        shortcuts=known.accepted() if (known := verified(entry.key)) else {},
    )


def _own(path: str | Path, sizes: Sizes) -> Problem:
    source = own_file.read(Path(path))
    if sizes != "full":
        raise ProblemError(f"{path} has its own sizes only, like any file of your own: {sizes!r} does not apply")
    return Problem(key=str(path), name=Path(path).stem, source=source)

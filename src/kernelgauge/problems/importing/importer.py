"""Imports a suite: every draft checked as a user's own file is, the good ones written as one folder, at once."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from kernelgauge.errors import ProblemError
from kernelgauge.problems import catalogue, own_file, suites
from kernelgauge.problems.importing import folders, naming, parquet
from kernelgauge.problems.importing.drafts import Draft, Found, Refused, numbered, printable
from kernelgauge.problems.importing.twins import sizes_from
from kernelgauge.problems.writing import Row, write_suite
from kernelgauge.schema import Record


class Imported(Record):
    """What became of a source."""

    suite: str
    folder: str
    origin: str
    levels: dict[int, int]
    """Problems imported, by level; empty if there was none, and then nothing was written."""
    left_out: tuple[Refused, ...]


def import_suite(source: Path, name: str, replace: bool = False) -> Imported:
    """Make the problems of a KernelBench checkout, of parquet files or of a folder the suite `name`.

    Files are parsed, never executed. What is malformed is left out and named, the others come in with their text as
    it is; a killed or interrupted import leaves the suite as it was before.

    Raises:
        ProblemError: the name cannot be used or is taken, or there is nothing at `source` that could be a suite.
        StoreError: the disk is full, or the folder of suites cannot be written.
    """
    suites.check_new_name(name)
    suites.check_free(name, replace)
    if (suites.suites_folder() / name).resolve() in (source.resolve(), *source.resolve().parents):
        raise ProblemError(f"{printable(source)} lies in the suite {name} itself, which would be replaced")
    origin, found = _found(source)
    refused = [each for each in found if isinstance(each, Refused)]
    levels: dict[int, list[Row]] = {}
    called: dict[tuple[int, int], str] = {}
    for draft in numbered([each for each in found if isinstance(each, Draft)]):
        assert draft.number is not None
        place = draft.level, draft.number
        try:
            if place in called:
                raise ProblemError(f"{draft.where} has the number {draft.number} that {called[place]} has already")
            text = own_file.checked(draft.read(), draft.where)
            levels.setdefault(draft.level, []).append((_facts(draft, text), text))
        except ProblemError as error:
            refused.append(Refused(where=draft.where, reason=str(error)))
        else:
            called[place] = draft.where
    if levels:
        about = suites.About(name=name, origin=origin, created=datetime.now(UTC).date())
        with suites.installing(name, replace) as folder:
            write_suite(folder, about, levels)
    return Imported(
        suite=name,
        folder=str(suites.suites_folder() / name),
        origin=origin,
        levels={level: len(problems) for level, problems in levels.items()},
        left_out=tuple(refused),
    )


def _found(source: Path) -> tuple[str, list[Found]]:
    """Where the problems come from, in words, and everything that may be one."""
    shown = printable(source.absolute())
    try:
        if not source.exists():
            raise ProblemError(f"there is nothing at {shown}")
        if not source.is_dir():
            if not source.is_file() or source.suffix != ".parquet":
                raise ProblemError(f"{shown} is neither a folder nor a .parquet file")
            return f"parquet file {shown}", parquet.found_in([source])
        next(source.iterdir(), None)  # a folder that cannot be read must not pass for an empty one
        kind = "KernelBench checkout" if folders.is_checkout(source) else "folder"
        if found := folders.found_in(source):
            return f"{kind} {shown}", found
        if files := parquet.files_in(source):
            return f"parquet files of {shown}", parquet.found_in(files)
    except (OSError, ValueError) as error:
        why = error.strerror if isinstance(error, OSError) else error
        raise ProblemError(f"{shown} cannot be read: {why}") from error
    raise ProblemError(f"there is no problem in {shown}: no .py file, and no .parquet file")


def _facts(draft: Draft, text: str) -> dict[str, Any]:
    """The problem's row in `level<N>.json`: what the built-in suite knows of the same problem, as far as it fits.

    Raises ProblemError if no name can be made from the draft's title.
    """
    name = _named(draft)
    facts: dict[str, Any] = {"number": draft.number, "name": name, "tags": (), "domains": {}, "sizes": {}}
    twin = catalogue.suite_named().entries.get(f"{draft.level}/{draft.number}")
    if twin is not None and naming.same(twin.name, name):
        facts |= {"name": twin.name, "tags": twin.tags, "domains": twin.domains, "sizes": sizes_from(twin, text)}
    # The weakness of a twin was measured on its own text, at its own sizes.
    return {**facts, "weakness": None}


def _named(draft: Draft) -> str:
    try:
        return naming.snake_case(draft.title)
    except ProblemError as error:
        raise ProblemError(f"{draft.where}: {error}") from error

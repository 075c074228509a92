"""Problem files in folders: a checkout of KernelBench, or files of one's own. No link is followed out of them."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from functools import partial
from pathlib import Path

from kernelgauge.errors import ProblemError
from kernelgauge.problems import own_file
from kernelgauge.problems.importing.drafts import Found, Refused, check_count, printable, refuse, titled

CHECKOUT = "KernelBench"
"""The folder of a checkout of KernelBench that holds its levels."""

_LEVEL = re.compile(r"level([0-9]{1,9})")


def is_checkout(source: Path) -> bool:
    """Whether this is the top folder of a KernelBench repository."""
    folder = source / CHECKOUT
    return folder.is_dir() and any(_LEVEL.fullmatch(path.name) for path in folder.iterdir())


def found_in(source: Path) -> list[Found]:
    """Every problem file of a folder: of a checkout only those of its levels, else all, at any depth.

    Raises ProblemError if there are too many to be problems.
    """
    checkout = is_checkout(source)
    found: list[Found] = []
    for each in _walk(source, levels_only=checkout):
        check_count(len(found) + 1, source)
        found.append(each if isinstance(each, Refused) else _draft(each, source))
    return found


def _walk(source: Path, levels_only: bool) -> Iterator[Path | Refused]:
    """Python files in order of path. Hidden folders and package markers are passed over; links to folders refused."""
    root = source / CHECKOUT if levels_only else source
    unreadable: list[OSError] = []
    for place, folders, files in os.walk(root, onerror=unreadable.append):
        here = Path(place)
        inside = sorted(name for name in folders if not name.startswith(".") and name != "__pycache__")
        if levels_only:
            inside = [name for name in inside if _LEVEL.fullmatch(name)] if here == root else []
            files = [] if here == root else files
        folders[:] = [name for name in inside if not (here / name).is_symlink()]
        for name in inside:
            if name not in folders:
                where = _shown(here / name, source)
                yield refuse(where, "is a symbolic link to a folder, which is not followed")
        for name in sorted(files):
            if name.endswith(".py") and not name.startswith(".") and name != "__init__.py":
                yield here / name
    for error in unreadable:
        where = _shown(Path(error.filename), source)
        yield refuse(where, f"cannot be read: {error.strerror}")


def _draft(path: Path, source: Path) -> Found:
    where = _shown(path, source)
    level = _LEVEL.fullmatch(path.parent.resolve().name)
    return titled(path.stem, where, int(level[1]) if level else 0, partial(_read, path, source, where))


def _read(path: Path, source: Path, where: str) -> bytes:
    """The bytes of a file that lies in the folder itself, or is a link to one that does. Raises ProblemError."""
    if path.is_symlink():
        try:
            target = path.resolve(strict=True)
        except (OSError, RuntimeError) as error:
            raise ProblemError(f"{where} is a symbolic link that leads nowhere") from error
        if not target.is_relative_to(source.resolve()):
            raise ProblemError(f"{where} is a symbolic link out of the folder")
    return own_file.raw(path, where)


def _shown(path: Path, source: Path) -> str:
    return printable(path.relative_to(source) if path.is_relative_to(source) else path)

"""Where imported suites live, how one comes into being whole or not at all, and how it goes.

`KERNELGAUGE_SUITES` names the folder that holds them; by default `kernelgauge/suites` below `XDG_DATA_HOME`. Each
suite is a folder that looks like this package's own: `suite.json`, `level<N>.json`, `level<N>/<number>_<name>.py`.
"""

from __future__ import annotations

import ctypes
import json
import os
import re
import shutil
import time
from collections.abc import Iterator
from contextlib import contextmanager
from datetime import date
from pathlib import Path
from typing import Literal

from pydantic import ValidationError

from kernelgauge.backends.cache import locked
from kernelgauge.config import first_complaint
from kernelgauge.errors import ProblemError
from kernelgauge.schema import SUITE_NAME, Record
from kernelgauge.store.disk import guarded, make_folder, sync_folder

BUILT_IN = "kernelgauge"
"""The name of the suite that comes with the package, which no other may have."""

FORMAT = 1
"""Version of a suite's folder. History: 1, November 2026, first version."""

_ABOUT = "suite.json"
_STAGING = ".staging-"
_ASIDE = ".aside-"


Purpose = Literal["training", "evaluation"]
"""What a generated suite is for. One of twins is near the built-in suite by design: to train on it would spoil it."""


class About(Record):
    """`suite.json`: what a suite says about itself. The name that counts is that of its folder."""

    format: int = FORMAT
    name: str
    origin: str
    """Where its problems come from, in words."""
    created: date
    purpose: Purpose | None = None
    """None: nobody has said so, as of an imported suite."""


def suites_folder() -> Path:
    """The folder of imported suites; it need not exist yet."""
    named = os.environ.get("KERNELGAUGE_SUITES")
    if not named:
        data = Path(os.environ.get("XDG_DATA_HOME") or Path.home() / ".local" / "share")
        named = str(data / "kernelgauge" / "suites")
    return Path(named).expanduser().absolute()


def imported() -> list[str]:
    """Names of the imported suites in alphabetical order. Raises ProblemError if their folder cannot be read."""
    home = suites_folder()
    try:
        found = [path for path in home.iterdir() if (path / _ABOUT).is_file()] if home.exists() else []
    except OSError as error:
        raise ProblemError(f"the folder of imported suites, {home}, cannot be read: {error.strerror}") from error
    return sorted(path.name for path in found if re.fullmatch(SUITE_NAME, path.name) and path.name != BUILT_IN)


def folder_of(name: str) -> Path:
    """The folder of an imported suite. Raises ProblemError, with the suites there are, if there is none."""
    folder = suites_folder() / name
    if re.fullmatch(SUITE_NAME, name) and name != BUILT_IN and (folder / _ABOUT).is_file():
        return folder
    known = imported()
    others = f" and {', '.join(known)}" if known else "; none has been imported"
    raise ProblemError(f"there is no suite {name[:80]!r}: there is {BUILT_IN} (built in){others}")


def version_of(folder: Path) -> tuple[int, int]:
    """Changes whenever the suite in this folder is replaced. Raises ProblemError if it has gone."""
    try:
        status = (folder / _ABOUT).stat()
    except OSError as error:
        raise ProblemError(f"suite {folder.name} cannot be read: {error.strerror}") from error
    return status.st_ino, status.st_mtime_ns


def about(folder: Path) -> About:
    """What the suite in this folder says about itself.

    Raises ProblemError if `suite.json` is missing, malformed, or of a newer format.
    """
    content = read_json(folder / _ABOUT)
    version = content.get("format") if isinstance(content, dict) else None
    if isinstance(version, int) and version > FORMAT:
        raise ProblemError(f"{folder / _ABOUT} has format {version} of a newer kernelgauge; this one reads {FORMAT}")
    try:
        return About.model_validate(content)
    except ValidationError as error:
        raise ProblemError(f"{folder / _ABOUT} is malformed: {first_complaint(error)}") from error


def read_json(path: Path) -> object:
    """The content of one of a suite's JSON files; raises ProblemError."""
    try:
        return json.loads(path.read_bytes())
    except OSError as error:
        raise ProblemError(f"{path} cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:
        raise ProblemError(f"{path} is malformed: {error}") from error


def check_new_name(name: str) -> None:
    """Raises ProblemError if no imported suite can be called so."""
    if name == BUILT_IN:
        raise ProblemError(f"{BUILT_IN!r} is the name of the built-in suite: choose another")
    if not re.fullmatch(SUITE_NAME, name):
        raise ProblemError(
            f"{name[:80]!r} cannot name a suite: it takes 1 to 64 of a-z, 0-9, - and _, a letter or digit first"
        )


@contextmanager
def installing(name: str, replace: bool) -> Iterator[Path]:
    """An empty folder that becomes the suite `name` when the block ends well, and vanishes when it does not.

    Raises ProblemError if there is such a suite already and `replace` is false, StoreError if the disk refuses.
    """
    check_new_name(name)
    home = suites_folder()
    make_folder(home)
    with guarded(home), locked(home / ".lock"):
        _sweep(home)
        target = home / name
        check_free(name, replace)
        staging = _staging(home)
        staging.mkdir()
        try:
            yield staging
            if os.path.lexists(target):
                _exchange(staging, target)
            else:
                staging.rename(target)
            sync_folder(home)
        finally:
            _discard(staging)


def check_free(name: str, replace: bool) -> None:
    """Raises ProblemError if there is a suite of that name that is not to be replaced, or something else is there."""
    target = suites_folder() / name
    if os.path.lexists(target) and not (target / _ABOUT).is_file():
        raise ProblemError(f"{target} is there already and is no suite: choose another name")
    if not replace and os.path.lexists(target):
        raise ProblemError(f"there is a suite {name} already: --replace overwrites it, or choose another name")


def check_writable(name: str, replace: bool) -> None:
    """Raises what `installing` would before its block: ask before work that takes long."""
    check_new_name(name)
    make_folder(suites_folder())
    check_free(name, replace)
    with guarded(suites_folder()), locked(suites_folder() / ".lock"):
        pass


def remove(name: str) -> None:
    """Delete an imported suite. Raises ProblemError if there is none of that name, StoreError if the disk refuses."""
    if name == BUILT_IN:
        raise ProblemError("the built-in suite cannot be removed")
    home, folder = suites_folder(), folder_of(name)
    with guarded(folder), locked(home / ".lock"):
        gone = _staging(home)
        folder.rename(gone)
        _discard(gone)


def _staging(home: Path) -> Path:
    return home / f"{_STAGING}{os.getpid()}-{time.monotonic_ns()}"


def _sweep(home: Path) -> None:
    """Put back or remove what a killed import left; we hold the lock, so nobody is at work there."""
    for aside in home.glob(f"{_ASIDE}*"):
        old = home / aside.name.removeprefix(_ASIDE)
        if os.path.lexists(old):
            _discard(aside)
        else:
            aside.rename(old)
    for left_over in home.glob(f"{_STAGING}*"):
        _discard(left_over)


def _discard(path: Path) -> None:
    if path.is_symlink() or path.is_file():
        path.unlink(missing_ok=True)
    else:
        shutil.rmtree(path, ignore_errors=True)


def _exchange(new: Path, old: Path) -> None:
    """Put `new` in the place of `old`, in one step where the file system can; `_sweep` mends the rest."""
    libc = ctypes.CDLL(None, use_errno=True)
    at_working_folder, exchange = -100, 2
    if hasattr(libc, "renameat2") and not libc.renameat2(
        at_working_folder, os.fsencode(new), at_working_folder, os.fsencode(old), exchange
    ):
        return
    aside = old.with_name(f"{_ASIDE}{old.name}")
    old.rename(aside)
    try:
        new.rename(old)
    except BaseException:  # boundary: between the two renames, ctrl-C included, there is no suite
        aside.rename(old)
        raise
    _discard(aside)

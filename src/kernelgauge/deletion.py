"""Deleting what a stranger's program has left: folders thousands deep, closed to their owner, a million files.

Nothing here recurses, no path is put together, and three descriptors are enough: the folder is made flat. A folder in
it hands its own folders up to it, under new names, and is then empty but for files.
"""

from __future__ import annotations

import os
import secrets
import time
import warnings
from collections.abc import Iterator
from itertools import count
from pathlib import Path

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
_OWNERS = 0o700
# A million files take some ten seconds; who is alive and writes on is not waited for.
_MOST_SECONDS = 600.0


def delete(folder: Path) -> None:
    """Delete a folder and all in it, if it is there.

    Never raises OSError: what cannot be deleted is left, with a warning that names it.
    """
    try:
        parent = os.open(folder.parent, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except OSError as error:
        _warn(folder, error)
        return
    try:
        _Flat(folder.name, parent).delete()
    except OSError as error:
        _warn(folder, error)
    finally:
        os.close(parent)


def _warn(folder: Path, error: OSError) -> None:
    if not isinstance(error, FileNotFoundError):
        warnings.warn(f"{folder} could not be deleted, delete it by hand: {error}", stacklevel=3)


class _Flat:
    """A folder on its way to be made flat and deleted.

    Args:
        name: its name in `parent`, a descriptor.
    """

    def __init__(self, name: str, parent: int):
        self._name, self._parent = name, parent
        self._new_names = (f"{prefix}-{number}" for prefix in [secrets.token_hex(16)] for number in count())
        self._gone = 0
        self._left: OSError | None = None

    def delete(self) -> None:
        """Raises OSError with the first of what cannot be deleted."""
        folder = _opened(self._name, self._parent)
        try:
            self._empty(folder)
        finally:
            os.close(folder)
        if self._left is not None:
            raise self._left
        os.rmdir(self._name, dir_fd=self._parent)

    def _empty(self, folder: int) -> None:
        """What is in it may be seen again, or not yet, in the round in which it was changed: so as many as bring
        something."""
        deadline = time.monotonic() + _MOST_SECONDS
        before = -1
        while self._gone != before and time.monotonic() < deadline:
            before, self._left = self._gone, None
            for name, is_folder in _entries(folder):
                try:
                    if is_folder:
                        self._delete_one(name, folder)
                    else:
                        os.unlink(name, dir_fd=folder)
                    self._gone += 1
                except FileNotFoundError:  # seen a second time
                    pass
                except OSError as error:
                    self._left = self._left or error

    def _delete_one(self, name: str, folder: int) -> None:
        """Delete a folder in `folder`, and hand what folders are in it up to there."""
        inner = _opened(name, folder)
        try:
            for below, is_folder in _entries(inner):
                if is_folder:
                    _move(below, inner, next(self._new_names), folder)
                else:
                    os.unlink(below, dir_fd=inner)
                self._gone += 1
        finally:
            os.close(inner)
        os.rmdir(name, dir_fd=folder)


def _entries(folder: int) -> Iterator[tuple[str, bool]]:
    """Names, and whether they are folders, as they are read: there may be too many to hold."""
    with os.scandir(folder) as entries:
        for entry in entries:
            yield entry.name, entry.is_dir(follow_symlinks=False)


def _opened(name: str, parent: int) -> int:
    """A folder's descriptor, with which its owner may change it."""
    try:
        folder = os.open(name, _FOLDER, dir_fd=parent)
    except PermissionError:
        _open_to_owner(name, parent)
        folder = os.open(name, _FOLDER, dir_fd=parent)
    if os.fstat(folder).st_mode & _OWNERS != _OWNERS:
        os.fchmod(folder, _OWNERS)
    return folder


def _move(name: str, parent: int, new_name: str, new_parent: int) -> None:
    """A folder that moves is changed: its owner must be able to write to it."""
    try:
        os.rename(name, new_name, src_dir_fd=parent, dst_dir_fd=new_parent)
    except PermissionError:
        _open_to_owner(name, parent)
        os.rename(name, new_name, src_dir_fd=parent, dst_dir_fd=new_parent)


def _open_to_owner(name: str, parent: int) -> None:
    """For a folder that cannot be opened; never for what a link points to."""
    handle = os.open(name, os.O_PATH | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC, dir_fd=parent)
    try:
        Path(f"/proc/self/fd/{handle}").chmod(_OWNERS)
    finally:
        os.close(handle)

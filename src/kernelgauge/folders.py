"""Folders that a stranger has filled: walked and deleted whatever lies in them, however deep.

The standard library goes down by calling itself (`shutil.rmtree`, and `os.walk` before Python 3.12): some thousand
nested folders end that with an error, in whoever deletes them, at every attempt. Nothing here does so, and no more
than two folders are open at once.
"""

from __future__ import annotations

import os
import secrets
import warnings
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path

# Entries of a folder that are read at once: a stranger may have made millions.
_AT_ONCE = 4096
_OPEN = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC


def walked(
    folder: Path, unreadable: Callable[[OSError], None] = lambda error: None
) -> Iterator[tuple[Path, list[os.DirEntry[str]], list[os.DirEntry[str]]]]:
    """Each folder from this one down, with the folders and the other things in it. Links are not followed.

    Args:
        unreadable: is told of each folder that cannot be read: closed, gone, or deeper than a path reaches.
    """
    waiting = [folder]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(place) as entries:
                found = list(entries)
        except OSError as error:
            unreadable(error)
            continue
        inner = [entry for entry in found if entry.is_dir(follow_symlinks=False)]
        yield place, inner, [entry for entry in found if not entry.is_dir(follow_symlinks=False)]
        waiting += [place / entry.name for entry in inner]


def delete(folder: Path) -> None:
    """Delete a folder and all in it; nothing if it is not there. Nobody may be at work in it.

    Folders closed to their owner are opened. Never raises: what cannot be deleted stays, and a warning names it.
    """
    try:
        root = _opened(os.fspath(folder), None)
    except FileNotFoundError:
        return
    except OSError as error:
        _warn(folder, error)
        return
    try:
        _empty(root)
        folder.rmdir()
    except OSError as error:
        _warn(folder, error)
    finally:
        os.close(root)


def _empty(root: int) -> None:
    """Delete all in a folder: what lies in a folder below is moved up, so that nothing ever lies deep."""
    prefix = f".{secrets.token_hex(8)}-"
    moved = 0
    while True:
        entries = _some(root)
        if not entries:
            return
        done = False
        for name, is_folder in entries:
            try:
                if is_folder:
                    moved = _flatten(root, name, prefix, moved)
                else:
                    os.unlink(name, dir_fd=root)
                done = True
            except OSError:  # told when nothing more can be done
                continue
        if not done:
            raise OSError(f"{len(entries)} of its entries cannot be deleted")


def _flatten(root: int, name: str, prefix: str, moved: int) -> int:
    """Delete a folder below, its files and itself, once its own folders were moved to the root under new names."""
    inner = _opened(name, root)
    try:
        while entries := _some(inner):
            for each, is_folder in entries:
                if not is_folder:
                    os.unlink(each, dir_fd=inner)
                    continue
                os.chmod(each, 0o700, dir_fd=inner)  # who moves a folder changes it
                os.rename(each, f"{prefix}{moved}", src_dir_fd=inner, dst_dir_fd=root)
                moved += 1
    finally:
        os.close(inner)
    os.rmdir(name, dir_fd=root)
    return moved


def _some(folder: int) -> list[tuple[str, bool]]:
    with os.scandir(folder) as entries:
        return [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in islice(entries, _AT_ONCE)]


def _opened(name: str, below: int | None) -> int:
    """A descriptor of a folder that its owner may change from now on."""
    try:
        descriptor = os.open(name, _OPEN, dir_fd=below)
    except PermissionError:
        os.chmod(name, 0o700, dir_fd=below)
        descriptor = os.open(name, _OPEN, dir_fd=below)
    try:
        os.fchmod(descriptor, 0o700)
    except OSError:
        os.close(descriptor)
        raise
    return descriptor


def _warn(folder: Path, error: OSError) -> None:
    warnings.warn(f"{folder} could not be deleted whole ({error}): delete it by hand", stacklevel=3)

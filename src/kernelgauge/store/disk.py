"""What a disk can do to us: files that appear whole or not at all, and one clear sentence when it refuses."""

from __future__ import annotations

import errno
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from kernelgauge.errors import DiskFull, StoreError

FULL = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG})
"""No space, no quota, or no larger file allowed: to the user all of these are a full disk."""


def refused(error: OSError, path: Path) -> StoreError:
    """The sentence for a file operation on `path` that failed; to be raised by the caller."""
    if error.errno in FULL:
        return DiskFull(
            f"disk full while writing {path} ({error.strerror}); nothing finished was lost; "
            "free space and run the same command to go on"
        )
    if error.errno in (errno.EACCES, errno.EPERM, errno.EROFS):
        return StoreError(f"{path} cannot be written here ({error.strerror}); choose another folder")
    if error.errno in (errno.ENOTDIR, errno.EEXIST):
        return StoreError(f"{path} cannot be made: a part of that path is a file, not a folder")
    if error.errno == errno.ENOENT:
        return StoreError(f"{path} cannot be reached: no such file or folder")
    return StoreError(f"{path} cannot be used: {error.strerror or error}")


def unreadable(error: OSError, path: Path) -> StoreError:
    """The sentence for a file that could not be read."""
    return StoreError(f"{path} cannot be read: {error.strerror or error}")


@contextmanager
def guarded(path: Path) -> Iterator[None]:
    """Turns an OSError inside into the StoreError for `path`."""
    try:
        yield
    except OSError as error:
        raise refused(error, path) from error


def make_folder(path: Path) -> None:
    """Make `path` and its parents. Raises StoreError."""
    with guarded(path):
        path.mkdir(parents=True, exist_ok=True)


def write_whole(path: Path, content: bytes) -> None:
    """Put `content` at `path` so that after a crash the old file or the new one is there, never a mixture.

    Raises StoreError; what stood at `path` is then untouched.
    """
    part = path.with_name(f".{path.name}.{os.getpid()}.part")
    with guarded(path):
        try:
            with part.open("wb") as file:
                file.write(content)
                file.flush()
                os.fsync(file.fileno())
            part.replace(path)
        finally:
            part.unlink(missing_ok=True)
        sync_folder(path.parent)


def sync_folder(path: Path) -> None:
    """A new name is durable only once the folder that holds it has been synced too."""
    folder = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(folder)
    finally:
        os.close(folder)


def read_text(path: Path) -> str:
    """The file as UTF-8, line ends untouched. Raises StoreError."""
    try:
        return path.read_bytes().decode()
    except UnicodeDecodeError:
        raise StoreError(f"{path} is not text in UTF-8") from None
    except OSError as error:
        raise unreadable(error, path) from error

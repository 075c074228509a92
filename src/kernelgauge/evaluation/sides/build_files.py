"""What a candidate's build has left: libraries, objects, cubins. A stranger wrote them."""

from __future__ import annotations

import errno
import os
import shutil
import stat
from collections.abc import Callable, Iterator
from pathlib import Path

_MOST_BYTES = 512 << 20
# Of a build that is brought to a worker: PyTorch's own extensions have some megabytes in a dozen files.
_MOST_COPIED_BYTES = 2 << 30
_MOST_COPIED_FILES = 20_000
_ITS_OWN_FAULT = (errno.EACCES, errno.EPERM, errno.ENAMETOOLONG, errno.ELOOP)
# Of a file with machine code for a GPU; the raw kernels' cubins have none.
_PROGRAMS = ("", ".so", ".cubin", ".o")


def files_of(build_dir: Path) -> Iterator[bytes]:
    """Contents of the files that may hold machine code, up to half a gigabyte in all."""
    left = _MOST_BYTES
    for folder, _, names in _walk(build_dir, lambda error: None):
        for name in names:
            if left and Path(name).suffix in _PROGRAMS:
                content = _read(Path(folder, name), left)
                left -= len(content)
                yield content


def content_of(library: Path) -> bytes:
    """Content of one library, as far as half a gigabyte goes; nothing where it is no regular file any more."""
    return _read(library, _MOST_BYTES)


def copy_build(build_dir: Path, target: Path) -> None:
    """Copy a build: folders, regular files, and links as links; nothing else that could be in its place.

    Raises:
        Unfit: no compiler leaves such a thing: closed files, endless names, holes and links that would fill a disk.
        OSError: there is no room.
    """
    files = size = 0
    for folder, folders, names in _walk(build_dir, _raise):
        place = target / Path(folder).relative_to(build_dir)
        try:
            place.mkdir()
            for name in (*folders, *names):
                source = Path(folder, name)
                found = source.lstat()
                files, size = files + 1, size + found.st_size  # each link, and holes too: a copy makes them real
                if files > _MOST_COPIED_FILES or size > _MOST_COPIED_BYTES:
                    most = f"{_MOST_COPIED_FILES} files or {_MOST_COPIED_BYTES >> 30} GB"
                    raise Unfit(f"its build holds more than {most}")
                if stat.S_ISLNK(found.st_mode):
                    (place / name).symlink_to(source.readlink())
                elif stat.S_ISREG(found.st_mode):
                    shutil.copy2(source, place / name, follow_symlinks=False)
        except OSError as error:
            _raise(error)


def _walk(top: Path, onerror: Callable[[OSError], None]) -> Iterator[tuple[str, list[str], list[str]]]:
    """Folders, with the names of folders and of all else in each; `os.walk` recurses, before Python 3.12."""
    waiting = [str(top)]
    while waiting:
        place = waiting.pop()
        try:
            with os.scandir(place) as entries:
                found = [(entry.name, entry.is_dir(follow_symlinks=False)) for entry in entries]
        except OSError as error:
            onerror(error)
            continue
        folders = [name for name, is_folder in found if is_folder]
        yield place, folders, [name for name, is_folder in found if not is_folder]
        waiting += [os.path.join(place, name) for name in folders]  # noqa: PTH118


class Unfit(Exception):
    """A build that cannot be brought to a worker, by its own fault."""


def _raise(error: OSError) -> None:
    if error.errno in _ITS_OWN_FAULT:
        raise Unfit(f"its build cannot be read: {error}") from error
    raise error


def _read(path: Path, most: int) -> bytes:
    """A regular file's content; nothing for links, pipes and whatever else could be in its place."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_NOFOLLOW | os.O_NONBLOCK | os.O_CLOEXEC)
    except OSError:
        return b""
    try:
        return os.pread(descriptor, most, 0) if stat.S_ISREG(os.fstat(descriptor).st_mode) else b""
    finally:
        os.close(descriptor)

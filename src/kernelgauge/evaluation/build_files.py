"""What a candidate's build has left: libraries, objects, cubins. A stranger wrote them."""

from __future__ import annotations

import os
import shutil
import stat
from collections.abc import Iterator
from pathlib import Path

_MOST_BYTES = 512 << 20
# Of a file with machine code for a GPU; the raw kernels' cubins have none.
_PROGRAMS = ("", ".so", ".cubin", ".o")


def files_of(build_dir: Path) -> Iterator[bytes]:
    """Contents of the files that may hold machine code, up to half a gigabyte in all."""
    left = _MOST_BYTES
    for folder, _, names in os.walk(build_dir):
        for name in names:
            if left and Path(name).suffix in _PROGRAMS:
                content = _read(Path(folder, name), left)
                left -= len(content)
                yield content


def copy_build(build_dir: Path, target: Path) -> None:
    """Copy a build: folders, regular files, and links as links; nothing else that could be in its place.

    Raises:
        OSError: something cannot be read, or there is no room.
    """
    for folder, folders, names in os.walk(build_dir, onerror=_raise):
        place = target / Path(folder).relative_to(build_dir)
        place.mkdir()
        for name in (*folders, *names):
            source = Path(folder, name)
            mode = source.lstat().st_mode
            if stat.S_ISLNK(mode):
                (place / name).symlink_to(source.readlink())
            elif stat.S_ISREG(mode):
                shutil.copy2(source, place / name, follow_symlinks=False)


def _raise(error: OSError) -> None:
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

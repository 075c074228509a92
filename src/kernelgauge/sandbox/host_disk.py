"""What processes hold of the machine's disk: the kernel limits the size of a file, not how many there are."""

from __future__ import annotations

import errno
import os
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from itertools import chain
from pathlib import Path

from kernelgauge.sandbox.host_memory import in_memory

# What an entry of a folder takes at least, however empty: nobody shall be kept busy with counting them.
_LEAST_BYTES = 16 * 1024
_BLOCK = 512
# More than any limit.
_OUT_OF_SIGHT = 1 << 62


def stored(pids: Iterable[int], limit: int, folders: Iterable[Path]) -> int:
    """Bytes on disk in these folders, and in files without a name that these processes have open.

    Args:
        limit: as soon as more is found than that, nobody goes on counting.
    """
    found = 0
    for size in chain(_unnamed(pids), *map(_below, folders)):
        found += size
        if found > limit:
            break
    return found


def _below(folder: Path) -> Iterator[int]:
    waiting = [str(folder)]
    while waiting:
        try:
            with os.scandir(waiting.pop()) as entries:
                for entry in entries:
                    yield _of(entry)
                    if entry.is_dir(follow_symlinks=False):
                        waiting.append(entry.path)
        except OSError as error:
            yield _unseen(error)


def _of(entry: os.DirEntry[str]) -> int:
    try:
        return max(_LEAST_BYTES, _BLOCK * entry.stat(follow_symlinks=False).st_blocks)
    except OSError as error:
        return _unseen(error)


def _unseen(error: OSError) -> int:
    """What is gone since takes no room; what lies deeper than a path can say, out of sight, takes too much."""
    return _OUT_OF_SIGHT if error.errno == errno.ENAMETOOLONG else 0


def _unnamed(pids: Iterable[int]) -> Iterator[int]:
    """Of each file once that is open and in no folder."""
    seen = set()
    for pid in pids:
        with suppress(OSError), os.scandir(f"/proc/{pid}/fd") as entries:
            for entry in entries:
                with suppress(OSError):
                    file = entry.stat()
                    if not stat.S_ISREG(file.st_mode) or file.st_nlink or in_memory(file):
                        continue
                    if (file.st_dev, file.st_ino) not in seen:
                        seen.add((file.st_dev, file.st_ino))
                        yield _BLOCK * file.st_blocks

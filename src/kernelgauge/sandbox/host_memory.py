"""What processes hold of the machine's memory, as the kernel tells.

A limit of the kernel's own (`isolation`, `limits`) is for each process, and knows no shared mappings. Nor is all
memory mapped: files that live in memory, pipes and sockets hold what was written to them.
"""

from __future__ import annotations

import os
import re
import socket
import stat
from collections.abc import Iterable, Iterator
from contextlib import suppress
from functools import cache
from pathlib import Path

_HELD = re.compile(rb"^(?:Rss(?:Anon|Shmem)|VmSwap):\s+(\d+) kB$", re.MULTILINE)
# Whoever reads what it has never written to holds one page of zeros, and the tables that say so.
_TABLES = re.compile(rb"^VmPTE:\s+(\d+) kB$", re.MULTILINE)
# Of pages that several processes hold, each has its share here.
_SHARED_OUT = re.compile(rb"^(?:Pss_(?:Anon|Shmem)|SwapPss):\s+(\d+) kB$", re.MULTILINE)
_SOCKETS = re.compile(rb"^sockets: used (\d+)$", re.MULTILINE)
# All that a pipe holds unless it was made larger, and all of them together may be by 64 MB (pipe-user-pages-soft).
_PIPE_BYTES = 64 * 1024
_BLOCK = 512

SHARED_MEMORY = Path("/dev/shm")
"""Where named semaphores live: without it no pool of processes starts."""


def held(pids: Iterable[int], limit: int, own_namespaces: bool = False) -> int:
    """Bytes that these processes hold together; what can be read again from disk does not count.

    Args:
        limit: up to this a page that several hold may be counted for each, which takes no walk through all pages.
        own_namespaces: whether they have a network and a `SHARED_MEMORY` of their own, and we stand in them: what is
            there counts too.
    """
    family = [Path("/proc", str(pid)) for pid in pids]
    beside = sum(_bytes(place / "status", _TABLES) for place in family) + _in_descriptors(family)
    if own_namespaces:
        beside += _in_sockets() + _in_files()
    found = sum(_bytes(place / "status", _HELD) for place in family)
    if found + beside <= limit:
        return found + beside
    shares = [_bytes(place / "smaps_rollup", _SHARED_OUT) for place in family]
    return beside + (sum(shares) if all(shares) else found)


def in_memory(file: os.stat_result) -> bool:
    """Whether a file is one of memory alone, as memfd_create(2) makes them."""
    return file.st_dev == _device_of_memory()


def _in_descriptors(family: Iterable[Path]) -> int:
    """In files of memory alone and in pipes that these have open, each once."""
    seen: dict[tuple[int, int], int] = {}
    for file in _open_files(family):
        if stat.S_ISFIFO(file.st_mode):
            seen[file.st_dev, file.st_ino] = _PIPE_BYTES
        elif stat.S_ISREG(file.st_mode) and in_memory(file):
            seen[file.st_dev, file.st_ino] = _BLOCK * file.st_blocks
    return sum(seen.values())


def _open_files(family: Iterable[Path]) -> Iterator[os.stat_result]:
    for place in family:
        with suppress(OSError), os.scandir(place / "fd") as entries:  # ended since, or not ours to read
            for entry in entries:
                with suppress(OSError):
                    yield entry.stat()


def _in_sockets() -> int:
    """In sockets of this network, those in flight as well: each may be full."""
    try:
        found = _SOCKETS.search(Path("/proc/net/sockstat").read_bytes())
    except OSError:
        return 0
    return int(found[1]) * _most_in_a_socket() if found else 0


def _in_files() -> int:
    """In `SHARED_MEMORY`, also without a name."""
    with suppress(OSError):
        whole = os.statvfs(SHARED_MEMORY)
        return whole.f_frsize * (whole.f_blocks - whole.f_bfree)
    return 0


@cache
def _most_in_a_socket() -> int:
    """`seccomp` lets nobody enlarge its buffers."""
    with socket.socket(socket.AF_UNIX) as one:
        return sum(one.getsockopt(socket.SOL_SOCKET, which) for which in (socket.SO_SNDBUF, socket.SO_RCVBUF))


@cache
def _device_of_memory() -> int:
    descriptor = os.memfd_create("any")
    try:
        return os.fstat(descriptor).st_dev
    finally:
        os.close(descriptor)


def _bytes(file: Path, pattern: re.Pattern[bytes]) -> int:
    try:
        return 1024 * sum(map(int, pattern.findall(file.read_bytes())))
    except OSError:  # ended since, or not ours to read
        return 0

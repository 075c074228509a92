"""What processes hold of the machine's memory, as the kernel tells.

A limit of the kernel's own (`isolation`, `limits`) is for each process, and knows no shared mappings.
"""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

_HELD = re.compile(rb"^Rss(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)
# Of pages that several processes hold, each has its share here.
_SHARED_OUT = re.compile(rb"^Pss_(?:Anon|Shmem):\s+(\d+) kB$", re.MULTILINE)


def held(pids: Iterable[int], limit: int) -> int:
    """Bytes that these processes hold together; what can be read again from disk does not count.

    Args:
        limit: up to this a page that several hold may be counted for each, which takes no walk through all pages.
    """
    family = [Path("/proc", str(pid)) for pid in pids]
    found = sum(_bytes(place / "status", _HELD) for place in family)
    if found <= limit:
        return found
    shares = [_bytes(place / "smaps_rollup", _SHARED_OUT) for place in family]
    return sum(shares) if all(shares) else found


def _bytes(file: Path, pattern: re.Pattern[bytes]) -> int:
    try:
        return 1024 * sum(map(int, pattern.findall(file.read_bytes())))
    except OSError:  # ended since, or not ours to read
        return 0

"""Landlock: what a process and all it starts may read, run and write, by folders and files; nothing beside them.

Rights belong to files and not to paths, so they hold whatever a file is reached by: a link, `/proc/self/root`, a
mount. What is open already stays open. Looking up, stat(2) and chmod(2) are not Landlock's business.
"""

from __future__ import annotations

import ctypes
import os
import stat
import struct
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

_libc = ctypes.CDLL(None, use_errno=True)

_SYS_LANDLOCK_CREATE_RULESET = 444
_SYS_LANDLOCK_ADD_RULE = 445
_SYS_LANDLOCK_RESTRICT_SELF = 446
_VERSION = 1
_BENEATH = 1

# linux/landlock.h, ABI 1
_EXECUTE, _WRITE_FILE, _READ_FILE, _READ_DIR = 1 << 0, 1 << 1, 1 << 2, 1 << 3
# ... and every right of it to remove from a folder or add to it.
_CHANGE_DIR = sum(1 << bit for bit in range(4, 13))
_MOVE = 1 << 13  # since ABI 2: without it every rename between two folders is refused, even inside one of ours
_TRUNCATE = 1 << 14
_TRUNCATE_SINCE = 3
_READS = _EXECUTE | _READ_FILE | _READ_DIR
# What a rule for something that is no folder may name.
_OF_FILES = _EXECUTE | _WRITE_FILE | _READ_FILE | _TRUNCATE


@dataclass(frozen=True)
class ReadablePaths:
    """What may be read: `whole` with all beneath, of `listed` only the names of what lies there."""

    whole: tuple[str, ...]
    listed: tuple[str, ...] = ()


def abi_version() -> int:
    """What this kernel's Landlock can do; below 1 if it has none."""
    return int(_libc.syscall(_SYS_LANDLOCK_CREATE_RULESET, None, 0, _VERSION))


def confine(writable: Sequence[Path], view: ReadablePaths | None) -> list[str]:
    """Restrict this thread, and all it starts from now on, for ever; which isolation layers stand: `files`, `reads`.

    Before ABI 3 (Linux 6.2) whoever may not write to a file may still cut it off: then `files` does not stand.

    Args:
        writable: folders and files that may be written to, and read.
        view: what else may be read; None leaves reading free. What is not there is left out.
    """
    version = abi_version()
    if version < 1:
        return []
    writes = (
        _WRITE_FILE | _CHANGE_DIR | (_MOVE if version >= 2 else 0) | (_TRUNCATE if version >= _TRUNCATE_SINCE else 0)
    )
    reads = _READS if view else 0
    ruleset = _ruleset(writes | reads)
    if ruleset < 0:
        return []
    try:
        allowed = all(_allow(ruleset, str(path), writes | reads) for path in writable)
        if view:
            allowed = allowed and all(_allow(ruleset, path, _READS, missing=True) for path in view.whole)
            allowed = allowed and all(_allow(ruleset, path, _READ_DIR, missing=True) for path in view.listed)
        if not allowed or _libc.syscall(_SYS_LANDLOCK_RESTRICT_SELF, ruleset, 0) != 0:
            return []
        return ["files"] * (version >= _TRUNCATE_SINCE) + ["reads"] * (view is not None)
    finally:
        os.close(ruleset)


def _ruleset(handled: int) -> int:
    attribute = struct.pack("=Q", handled)
    return int(_libc.syscall(_SYS_LANDLOCK_CREATE_RULESET, attribute, len(attribute), 0))


def _allow(ruleset: int, path: str, rights: int, missing: bool = False) -> bool:
    """Add a rule; whether it is there, or the path need not be."""
    try:
        handle = os.open(path, os.O_PATH | os.O_CLOEXEC)
    except OSError:
        return missing
    try:
        if not stat.S_ISDIR(os.fstat(handle).st_mode):
            rights &= _OF_FILES
        rule = struct.pack("=Qi", rights, handle)
        return rights == 0 or bool(_libc.syscall(_SYS_LANDLOCK_ADD_RULE, ruleset, _BENEATH, rule, 0) == 0)
    finally:
        os.close(handle)

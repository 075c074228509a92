"""What must stand between strangers' programs and the machine that judges them, and what it keeps to itself."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Collection

from kernelgauge.errors import UsageError
from kernelgauge.sandbox.walls import NEEDED

_PR_SET_DUMPABLE = 4


def check_layers(found: Collection[str]) -> None:
    """Raises UsageError if strangers' programs would reach the network, other processes or their
    environment, or read or write anywhere."""
    if missing := [name for name in NEEDED if name not in found]:
        raise UsageError(
            f"no {', '.join(missing)} isolation layer stands around a worker here, so no strangers' candidates are "
            "judged: allow user namespaces, Landlock and seccomp (docs/explanation/isolation.md), or "
            "say --without-isolation"
        )


def keep_to_ourselves(*names: str) -> None:
    """Keep these variables from every process begun from now on, and our memory and environment from /proc.

    A process that is not dumpable can be looked into by root alone, whatever runs under the same user.
    """
    for name in names:
        os.environ.pop(name, None)
    ctypes.CDLL(None, use_errno=True).prctl(_PR_SET_DUMPABLE, 0, 0, 0, 0)

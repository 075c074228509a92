"""Waiting for what another thread or process brings about: as long as a busy machine may take, and no longer."""

from __future__ import annotations

import time
from collections.abc import Callable


def comes_true(fact: Callable[[], bool], seconds: float = 60.0) -> bool:
    """Whether `fact` holds, now or within so many seconds. Once it has, it is not asked again."""
    deadline = time.monotonic() + seconds
    while not fact():
        if time.monotonic() > deadline:
            return False
        time.sleep(0.01)
    return True

"""Waiting for the judge where a trainer calls without a loop, or from within one that must not stand still."""

from __future__ import annotations

import asyncio
import os
import threading
from collections.abc import Coroutine
from typing import Any, TypeVar

_Result = TypeVar("_Result")
_lock = threading.Lock()
# By process: a fork has the loop, and not the thread that runs it.
_loops: dict[int, asyncio.AbstractEventLoop] = {}


def result_of(coroutine: Coroutine[Any, Any, _Result]) -> _Result:
    """What it returns or raises. It runs on a thread of its own, which all callers of this process share.

    From a thread that runs a loop, this stops that loop until there is a result.
    """
    return asyncio.run_coroutine_threadsafe(coroutine, _loop()).result()


def _loop() -> asyncio.AbstractEventLoop:
    with _lock:
        if (loop := _loops.get(os.getpid())) is None:
            _loops[os.getpid()] = loop = asyncio.new_event_loop()
            threading.Thread(target=loop.run_forever, name="kernelgauge-judge", daemon=True).start()
        return loop

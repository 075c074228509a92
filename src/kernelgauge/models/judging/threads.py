"""Threads for what would hold up the event loop, told apart by what they may have to wait for.

anyio has forty for all purposes. Where those wait for a busy device, an answer that has been paid for would wait
behind them to be written down.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar, TypeVarTuple

import anyio
from anyio.lowlevel import RunVar

from kernelgauge.models.judging.judge import PLACES

_WRITERS = 4

_Given = TypeVarTuple("_Given")
_Found = TypeVar("_Found")

_devices: RunVar[anyio.CapacityLimiter] = RunVar("kernelgauge_devices")
_writers: RunVar[anyio.CapacityLimiter] = RunVar("kernelgauge_writers")


async def at_device(call: Callable[[*_Given], _Found], *arguments: *_Given) -> _Found:
    """What may wait for a device, in a thread. There is one for each that may hold one of the evaluator's places."""
    return await anyio.to_thread.run_sync(call, *arguments, limiter=_limiter(_devices, PLACES))


async def on_disk(call: Callable[[*_Given], _Found], *arguments: *_Given) -> _Found:
    """What only writes, in a thread."""
    return await anyio.to_thread.run_sync(call, *arguments, limiter=_limiter(_writers, _WRITERS))


def _limiter(held: RunVar[anyio.CapacityLimiter], most: int) -> anyio.CapacityLimiter:
    limiter = held.get(None)
    if limiter is None:
        limiter = anyio.CapacityLimiter(most)
        held.set(limiter)
    return limiter

"""What the parent asks the holder: process 1 of a worker's namespace, in which no candidate code runs."""

from __future__ import annotations

import contextlib
import socket
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from kernelgauge.sandbox.freeze import Running
from kernelgauge.sandbox.reaper import Reaper, is_readable
from kernelgauge.sandbox.resource_usage import count

_ANSWER_SECONDS = 60.0
# As long as a core is not needed elsewhere: longer calls are not hurt by the time it takes to be woken.
_SPIN_SECONDS = 0.02
# Who stops when told to has done so by then, and the holder may need the core that looking takes.
_PURSUIT_SECONDS = 0.001


def spin_until_readable(
    channel: socket.socket, seconds: float = _SPIN_SECONDS, meanwhile: Callable[[], None] = lambda: None
) -> bool:
    """Whether there was something to read within the first milliseconds."""
    deadline = time.perf_counter() + seconds
    while time.perf_counter() < deadline:
        meanwhile()
        try:
            channel.recv(1, socket.MSG_PEEK | socket.MSG_DONTWAIT)
        except BlockingIOError:
            continue
        except OSError:
            pass
        return True
    return False


class Holder:
    """The channel to the holder of one worker; where there is none, or it has ended, it has seen nothing."""

    def __init__(self, reaper: Reaper):
        self._reaper = reaper
        self._control, self.theirs = socket.socketpair(socket.AF_UNIX, socket.SOCK_SEQPACKET)

    def running(self, order: bytes, meanwhile: Callable[[], None] | None = None) -> Running:
        """What the processes of the worker's namespace do.

        Args:
            meanwhile: called again and again as long as the answer has not come, at first.
        """
        with contextlib.suppress(OSError, ValueError):  # it ends with the worker
            if self._is_there():
                return Running.decode(self._answer(order, meanwhile))
        return Running()

    def count(self, order: bytes, folders: Sequence[Path]) -> int:
        """What comes of an order to count; see `resource_usage`. Without a holder the worker alone is counted."""
        if not self._is_there():
            return count(order, [self._reaper.pid], folders)
        with contextlib.suppress(OSError, ValueError):
            return int(self._answer(order))
        return 0

    def close(self) -> None:
        """End the channel."""
        self._control.close()

    def _is_there(self) -> bool:
        return bool(self._reaper.holder) and self._reaper.status() is None

    def _answer(self, order: bytes, meanwhile: Callable[[], None] | None = None) -> bytes:
        self._control.send(order)
        if meanwhile is None or not spin_until_readable(self._control, _PURSUIT_SECONDS, meanwhile):
            is_readable(self._control.fileno(), _ANSWER_SECONDS)
        return self._control.recv(256)

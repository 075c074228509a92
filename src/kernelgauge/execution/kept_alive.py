"""Judges of a server, kept alive: one that has ended begins again, after longer and longer pauses."""

from __future__ import annotations

import logging
import threading
import time

_PAUSE_SECONDS = 5.0
_LONGEST_PAUSE_SECONDS = 600.0
_log = logging.getLogger(__name__)


class KeptAlive:
    """So many judges, each on a thread that stays with it. Subclasses say what one life of a judge is.

    They set what `lived` needs before they call this: the threads begin at once.
    """

    def __init__(self, count: int):
        self.stop = threading.Event()
        """Set when all are to end."""
        self._threads = [threading.Thread(target=self._keep, daemon=True) for _ in range(count)]
        for thread in self._threads:
            thread.start()

    def lived(self) -> str:
        """Begin a judge and stay with it; returns in words how it ended, which it is told to when `stop` is set."""
        raise NotImplementedError

    def close(self) -> None:
        """Tell them to end; what they have not judged goes back to the queue."""
        self.stop.set()
        for thread in self._threads:
            thread.join()

    def _keep(self) -> None:
        pause = _PAUSE_SECONDS
        while not self.stop.is_set():
            began = time.monotonic()
            end = self.lived()
            if self.stop.is_set():
                return
            if time.monotonic() - began > _LONGEST_PAUSE_SECONDS:
                pause = _PAUSE_SECONDS
            _log.warning("a judge %s; another begins in %.0f s", end, pause)
            self.stop.wait(pause)
            pause = min(2 * pause, _LONGEST_PAUSE_SECONDS)

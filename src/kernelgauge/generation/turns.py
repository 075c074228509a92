"""Many at once as a rule, and one alone where many do not fit."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager


class Turns:
    """A lock that many may hold together, or one alone; who waits to be alone lets nobody else begin."""

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._together = 0
        self._alone = 0

    @contextmanager
    def together(self) -> Iterator[None]:
        """Hold it beside others."""
        with self._changed:
            self._changed.wait_for(lambda: not self._alone)
            self._together += 1
        try:
            yield
        finally:
            with self._changed:
                self._together -= 1
                self._changed.notify_all()

    @contextmanager
    def alone(self) -> Iterator[None]:
        """Hold it while nobody else does."""
        with self._changed:
            self._alone += 1
            self._changed.wait_for(lambda: not self._together)
            try:
                yield
            finally:
                self._alone -= 1
                self._changed.notify_all()

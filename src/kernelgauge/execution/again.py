"""What was timed beside builds and came out less sure than was asked for: judged again once nothing is built."""

from __future__ import annotations

import time
from dataclasses import replace
from typing import TYPE_CHECKING

from kernelgauge.execution.ready import Prepared
from kernelgauge.schema import Evaluation
from kernelgauge.timing.stopping import restless

if TYPE_CHECKING:
    from kernelgauge.execution.local import Done


class Again:
    """Those that wait for that, each judged at most twice."""

    def __init__(self) -> None:
        self._waiting: list[Prepared] = []
        self._first: dict[int, Done] = {}
        """By the identity of what is judged again."""

    def due(self) -> list[Prepared]:
        """All that wait, which is to be judged now."""
        waiting, self._waiting = self._waiting, []
        return waiting

    def settled(self, prepared: Prepared, done: Done, last_build: float) -> Done | None:
        """The end of a task that was judged just now; None if it is judged again.

        The second verdict stands, whatever it is. Where the machine fails the second time, the first does.

        Args:
            last_build: when something was last under way to be built, by `time.monotonic`.
        """
        if (first := self._first.pop(id(prepared), None)) is not None:
            return _noted(first, done) if isinstance(done.result, Evaluation) else first
        if not _disturbed(done, last_build):
            return done
        self._first[id(prepared)] = done
        self._waiting.append(prepared)
        return None


def _disturbed(done: Done, last_build: float) -> bool:
    """Whether it was timed while something was built, and came out much less sure than was asked for."""
    if done.job is None or not isinstance(done.result, Evaluation) or (timing := done.result.timing) is None:
        return False
    since = time.monotonic() - sum(done.result.seconds.get(stage, 0.0) for stage in ("time", "close"))
    return last_build > since and restless(
        timing.interval, timing.stopped, done.job.protocol.timing_on(done.job.device)
    )


def _noted(first: Done, second: Done) -> Done:
    assert isinstance(first.result, Evaluation) and first.result.timing is not None
    assert isinstance(second.result, Evaluation)
    low, high = first.result.timing.interval
    note = f"judged again once nothing was built: beside builds the interval was {low:.3g} to {high:.3g}"
    return replace(second, result=second.result.model_copy(update={"notes": (*second.result.notes, note)}))

"""What goes on on the cluster, in a line: nodes, GPUs that judge, builds, candidates an hour and GPU."""

from __future__ import annotations

import time
from collections import deque
from collections.abc import Callable

from kernelgauge.cluster.fleet import Fleet
from kernelgauge.cluster.work import WorkQueue

# A rate is over the last minutes, so that nodes that come and go show in it.
_OVER_SECONDS = 600.0
_EACH_SECONDS = 1.0


class ClusterProgress:
    """Tells `stage` where a run stands, once a second at the most."""

    def __init__(self, stage: Callable[[str], None]):
        self._stage = stage
        self._began: float | None = None
        """When there was a judge first."""
        self._verdicts: deque[float] = deque()
        self._told = 0.0

    def judged(self) -> None:
        """A record has come."""
        self._verdicts.append(time.monotonic())

    def show(self, fleet: Fleet, work: WorkQueue) -> None:
        """Tell where it stands, unless that was told just now."""
        now = time.monotonic()
        if now - self._told < _EACH_SECONDS:
            return
        self._told = now
        self._stage(self.line(fleet, work, now))

    def line(self, fleet: Fleet, work: WorkQueue, now: float) -> str:
        """For a progress bar."""
        judges, counts = fleet.ready("judge"), work.counts()
        if not judges:
            waited = now - fleet.last_judge
            return f"{len(fleet.nodes)} nodes, waiting for a judge for {waited:.0f} s"
        while self._verdicts and self._verdicts[0] < now - _OVER_SECONDS:
            self._verdicts.popleft()
        self._began = self._began or now
        hours = min(_OVER_SECONDS, now - self._began) / 3600
        rate = len(self._verdicts) / hours / len(judges) if hours else 0.0
        busy = sum(bool(judge.calls) for judge in judges)
        waiting = counts["to build"] + counts["to judge"]
        return (
            f"{len(fleet.nodes)} nodes, {busy} of {len(judges)} judging, {counts['building']} building, "
            f"{waiting} waiting, {rate:.0f} an hour each"
        )

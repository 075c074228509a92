"""Figures of a server at work: how many verdicts an hour, what waits, how long it takes, how idle its devices are."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Sequence

from pydantic import Field
from sqlalchemy import Connection, Engine, func, select
from starlette.exceptions import HTTPException
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response

from kernelgauge.schema import Record
from kernelgauge.serve.database import batch_items, batches, judges, reading, submissions

WINDOW_SECONDS = 600.0
_SHORTEST, _LONGEST = 10.0, 24 * 3600.0
_MOST_LATENCIES = 10_000


class Metrics(Record):
    """What happened in a window of time that ends now."""

    window_s: float
    """How long it is, in seconds; asked for by `?window_s=`."""
    candidates_per_hour: float
    """Verdicts in the window, or in the part of it since the first judge began, scaled to an hour."""
    no_verdicts: int
    """Candidates that ended without a verdict in the window."""
    waiting: int
    """Candidates in the queue that no judge holds."""
    judging: int
    """Candidates that judges hold."""
    oldest_waiting_s: float
    """How long the oldest of those that wait has waited, in seconds."""
    latency_p50_s: float | None
    """Seconds from a batch or a submission to the verdict, the median; None without a verdict in the window."""
    latency_p95_s: float | None
    """The same, which 95 % do not exceed."""
    judges: int
    """Judges at work now."""
    devices: int
    """Devices that they judge on."""
    device_idle_share: float | None = Field(default=None, ge=0, le=1)
    """Share of the devices' time in the window in which no evaluation was on them; builds leave a device idle. On a
    CPU, where candidates are checked side by side, 0 does not mean that it is full. None where no judge was at work.
    """
    gpu: bool
    """Whether the devices are GPUs."""


class ServerMetrics:
    """The figures of one database."""

    def __init__(self, engine: Engine):
        self._engine = engine

    def answer(self, request: Request) -> Response:
        """JSON; for who asks for `text/plain`, such as Prometheus, its text format."""
        try:
            window = float(request.query_params.get("window_s", WINDOW_SECONDS))
        except ValueError:
            raise HTTPException(422, "window_s is a number of seconds") from None
        if not _SHORTEST <= window <= _LONGEST:
            raise HTTPException(422, f"window_s is between {_SHORTEST:.0f} and {_LONGEST:.0f} seconds")
        found = self.since(window)
        if "text/plain" in request.headers.get("accept", ""):
            return PlainTextResponse("".join(_exposed(found)))
        return JSONResponse(found.model_dump(mode="json"))

    def since(self, window: float) -> Metrics:
        """Over so many seconds until now."""
        now = time.time()
        with reading(self._engine) as connection:
            ended = select(submissions.c.state, func.count(), func.sum(submissions.c.device_seconds))
            ended = ended.where(submissions.c.finished > now - window).group_by(submissions.c.state)
            counts = {state: (count, busy or 0.0) for state, count, busy in connection.execute(ended).all()}
            waiting = select(submissions.c.state, func.count(), func.min(submissions.c.created))
            waiting = waiting.where(submissions.c.state.in_(("waiting", "judging"))).group_by(submissions.c.state)
            held = {state: (count, oldest) for state, count, oldest in connection.execute(waiting).all()}
            latencies = sorted(_latencies(connection, now - window))
            rows = connection.execute(select(judges).where(judges.c.until > now - window)).all()
        # A server that has just begun had no chance before.
        worked = min(window, max(now - min((each.started for each in rows), default=now - window), 1.0))
        spent = sum(each.devices * (min(each.until, now) - max(each.started, now - window)) for each in rows)
        at_work = [each for each in rows if each.until >= now]
        verdicts, busy = counts.get("judged", (0, 0.0))
        queued, oldest = held.get("waiting", (0, now))
        return Metrics(
            window_s=window,
            candidates_per_hour=verdicts * 3600 / worked,
            no_verdicts=counts.get("failed", (0, 0.0))[0],
            waiting=queued,
            judging=held.get("judging", (0, now))[0],
            oldest_waiting_s=max(0.0, now - oldest),
            latency_p50_s=_quantile(latencies, 0.5),
            latency_p95_s=_quantile(latencies, 0.95),
            judges=len(at_work),
            devices=sum(each.devices for each in at_work),
            device_idle_share=min(max(1 - busy / spent, 0.0), 1.0) if spent > 0 else None,
            gpu=any(each.device != "cpu" for each in rows),
        )


def _latencies(connection: Connection, since: float) -> Iterator[float]:
    """Of every answer, also where several wait for one verdict, or it was there before."""
    judged = submissions.c.finished > since, submissions.c.state == "judged"
    joined = batch_items.join(submissions, batch_items.c.submission == submissions.c.number)
    joined = joined.join(batches, batches.c.number == batch_items.c.batch)
    of_batches = select(batches.c.created, submissions.c.finished).select_from(joined).where(*judged)
    alone = select(submissions.c.created, submissions.c.finished).where(*judged, submissions.c.private == 0)
    for query in (of_batches, alone):
        newest = query.order_by(submissions.c.finished.desc()).limit(_MOST_LATENCIES)
        yield from (max(0.0, finished - created) for created, finished in connection.execute(newest).all())


def _quantile(ordered: Sequence[float], share: float) -> float | None:
    """The nearest rank: the smallest value that so many do not exceed."""
    return ordered[max(0, math.ceil(share * len(ordered)) - 1)] if ordered else None


def _exposed(found: Metrics) -> Iterator[str]:
    """In the text format of Prometheus; what is not known is left out."""
    for name, value in found:
        if value is not None:
            yield f"# TYPE kernelgauge_{name} gauge\nkernelgauge_{name} {float(value):.10g}\n"

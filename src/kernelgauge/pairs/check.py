"""The rows of a file judged again, from the file alone."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice

from pydantic import Field

from kernelgauge.errors import CandidateError, KernelgaugeError, MachineError, ProblemError, UsageError
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Task
from kernelgauge.execution.order import Order
from kernelgauge.pairs.row import Row
from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Outcome, Record
from kernelgauge.session.session import Session

_WRONG = {Outcome.WRONG_VALUE, Outcome.WRONG_PRECISION}
_ROUND = 32
"""Rows that an executor is given at once."""


class Differs(Record):
    """A row that has another verdict now."""

    id: str
    module: str
    then: str
    now: str


class Checked(Record):
    """What `pairs check --json` prints."""

    rows: int
    same: int
    """Rows with the same verdict: right, or refused for the same outcome and rule. `wrong_value` and
    `wrong_precision` are one verdict: how far off a wrong answer is hangs on the draw of inputs and weights."""
    wrong_otherwise: int
    """Of these, wrong answers whose error was of the other size now."""
    differs: tuple[Differs, ...]
    not_judged: int
    """The machine failed, or the row cannot be judged here."""
    unjudged: dict[str, int] = Field(default_factory=dict)
    """Of these, by reason, rows that cannot be judged here, such as one that does not fit the device's memory."""
    partial: bool = False
    """Whether it was stopped before all rows were judged."""
    other_hardware: int
    """Rows that were made on other hardware than this: a kernel may be written for it."""
    speeds: dict[str, int]
    """Of timed rows: intervals of the speedup that `overlap`, or lie `apart`."""


def check(
    session: Session,
    rows: Iterable[Row],
    device: str,
    jobs: int,
    timed: bool,
    tell: Callable[[str], None] = lambda _: None,
) -> Checked:
    """Judge every row under the rules in it, and compare.

    Args:
        timed: whether to time those that were; without, only slow ones are taken on trust for their speed.

    Ctrl-C ends it with what is known by then.

    Raises:
        UsageError: a row was judged on another kind of device, or what no row can be judged without is missing here.
    """
    found = _Count()
    waiting = iter(rows)
    try:
        while batch := list(islice(waiting, _ROUND)):
            for row in batch:
                if row.device.partition(":")[0] != device.partition(":")[0]:
                    raise UsageError(
                        f"row {row.id} was judged on {row.device}, and this machine would judge on {device}"
                    )
            with closing(_verdicts(session, batch, device, jobs, timed)) as verdicts:
                for row, verdict in verdicts:
                    tell(row.module)
                    found.rows += 1
                    found.other_hardware += row.hardware != _hardware(session, row.device)
                    found.add(row, verdict)
    except KeyboardInterrupt:
        return found.checked(partial=True)
    return found.checked(partial=False)


@dataclass
class _Count:
    """What has come of the rows so far."""

    rows: int = 0
    same: int = 0
    wrong_otherwise: int = 0
    not_judged: int = 0
    other_hardware: int = 0
    differs: list[Differs] = field(default_factory=list)
    speeds: Counter[str] = field(default_factory=Counter)
    unjudged: Counter[str] = field(default_factory=Counter)

    def add(self, row: Row, verdict: Evaluation | KernelgaugeError | None) -> None:
        """`verdict` is None, or an error, for a row that has none; an error is of the row, not of the machine."""
        if not isinstance(verdict, Evaluation):
            self.not_judged += 1
            if verdict is not None and not isinstance(verdict, MachineError):
                self.unjudged[str(verdict).splitlines()[0]] += 1
            return
        if (verdict.outcome, verdict.rule) == (row.outcome, row.rule):
            self.same += 1
        elif {verdict.outcome, row.outcome} == _WRONG:
            self.same += 1
            self.wrong_otherwise += 1
        else:
            now = f"{verdict.outcome}: {verdict.reason}" if verdict.reason else verdict.outcome.value
            self.differs.append(Differs(id=row.id, module=row.module, then=row.outcome.value, now=now))
        if (met := _overlap(row, verdict)) is not None:
            self.speeds["overlap" if met else "apart"] += 1

    def checked(self, partial: bool) -> Checked:
        return Checked(**vars(self), partial=partial)


def _verdicts(
    session: Session, rows: Sequence[Row], device: str, jobs: int, timed: bool
) -> Generator[tuple[Row, Evaluation | KernelgaugeError | None]]:
    with_time = [row for row in rows if timed and row.speedup is not None]
    without = [row for row in rows if row not in with_time]
    for group in (without, with_time):
        tasks = [
            Task(row.module, place, partial(_start, session, row), order=partial(_order, row))
            for place, row in enumerate(group)
        ]
        if not tasks:
            continue
        with closing(session.executor(device, jobs, group is with_time)) as executor:
            for done in executor.run(tasks):
                row = group[done.task.sample]
                try:
                    verdict = session.verdict(done)
                except (ProblemError, CandidateError, MachineError) as error:  # of this row alone
                    yield row, error
                else:
                    yield row, verdict if not isinstance(verdict, NoCandidate) else None


def _candidate(row: Row) -> Candidate:
    return Candidate(problem=row.module, source=row.candidate, backend=row.backend, contestant=row.how)


def _start(session: Session, row: Row, device: str) -> Job:
    return session.job(row.problem(), _candidate(row), row.rules, device)


def _order(row: Row) -> Order:
    return Order(row.problem(), row.rules, _candidate(row))


def _overlap(row: Row, now: Evaluation) -> bool | None:
    """Whether both intervals have a speedup in common; None where one is missing."""
    if row.speedup_low is None or row.speedup_high is None or now.timing is None:
        return None
    low, high = now.timing.interval
    return low <= row.speedup_high and row.speedup_low <= high


def _hardware(session: Session, device: str) -> str:
    there = session.environment
    return (there.gpu if device != "cpu" else None) or there.cpu

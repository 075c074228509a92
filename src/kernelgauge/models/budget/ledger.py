"""What was asked and paid for: the attempts of every sample, kept so that nobody is paid twice, and the run's budget.

Attempts go to the run folder as they come: the answer before anything is done with it, and again with its verdict.
Where there is no run folder they are in Inspect's log only, and Inspect's cache is what saves paying twice.
"""

from __future__ import annotations

import threading
from collections import deque
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

import anyio

from kernelgauge.errors import UsageError
from kernelgauge.models.budget.prices import priced
from kernelgauge.schema import Attempt, AttemptRecord, Problem, Spent

if TYPE_CHECKING:
    from kernelgauge.store.run import Run

UNPRICED = "the price of this model is not known: give --prices, or a budget in tokens instead"


class OutOfBudget(Exception):
    """The budget of the whole run is spent: nothing more is asked."""


class Ledger:
    """Attempts by sample, and what all of them cost. Threads may share it.

    Args:
        tokens: what all calls of the run may read and write.
        usd: what they may cost in dollars.
    """

    def __init__(self, tokens: int | None = None, usd: float | None = None):
        self._limits: dict[str, float] = {
            name: limit for name, limit in (("tokens", tokens), ("usd", usd)) if limit is not None
        }
        self.spent = Spent()
        """By this run, what it spent before it was resumed included."""
        self._largest: dict[str, float] = {}
        self._under_way = 0
        self._turns: deque[anyio.Event] = deque()
        self._kept: dict[tuple[str, int], dict[int, AttemptRecord]] = {}
        self._run: Run | None = None
        self._lock = threading.Lock()

    def attach(self, run: Run) -> None:
        """Keep attempts in this folder, and know those that it holds.

        Raises:
            UsageError: the budget is in dollars, and what was paid for before has no known price.
        """
        self._run, self.spent = run, Spent()
        self._kept.clear()
        for record in run.attempts():
            attempt = record.attempt
            spent = priced(attempt.spent, run.header.contestant)
            if spent != attempt.spent:  # reports read it there too
                record = record.model_copy(update={"attempt": attempt.model_copy(update={"spent": spent})})
                run.append_attempt(record)
            self._kept.setdefault((record.problem, record.sample), {})[record.number] = record
            self._count(spent)

    def detach(self) -> None:
        """The folder is closed."""
        self._run = None

    def kept(self, problem: Problem, sample: int) -> Mapping[int, Attempt]:
        """The attempts at a problem that are known from before, by their numbers: some may be missing."""
        known = self._kept.get((problem.key, sample), {})
        return {number: record.attempt for number, record in known.items() if record.problem_digest == problem.digest}

    def keep(self, problem: Problem, sample: int, number: int, attempt: Attempt, cost: Spent) -> None:
        """Write an attempt down as far as it is known, then count what it cost: whatever that says, it is paid for.

        Args:
            cost: what has been spent on it since it was written down before.

        Raises:
            StoreError: it cannot be written.
            UsageError: the budget is in dollars, and the cost has no known price.
        """
        try:
            self._write(problem, sample, number, attempt)
        finally:
            with self._lock:
                self._count(cost)

    def add(self, problem: Problem, sample: int, attempt: Attempt) -> None:
        """Write an attempt down after all others of its sample. Raises StoreError."""
        self.keep(
            problem, sample, max(self._kept.get((problem.key, sample), {}), default=-1) + 1, attempt, attempt.spent
        )

    def _write(self, problem: Problem, sample: int, number: int, attempt: Attempt) -> None:
        if self._run is None:
            return
        record = AttemptRecord(
            problem=problem.key, problem_digest=problem.digest, sample=sample, number=number, attempt=attempt
        )
        self._run.append_attempt(record)
        with self._lock:
            self._kept.setdefault((problem.key, sample), {})[number] = record

    @asynccontextmanager
    async def call(self) -> AsyncIterator[None]:
        """Around a call and the keeping of its answer: waits as long as calls under way may use up the budget.

        Raises:
            OutOfBudget: it is spent.
        """
        try:
            while not self._begin():
                await self._turn()
        finally:
            self._next()  # another one may fit beside this one, or none any more
        try:
            yield
        finally:
            with self._lock:
                self._under_way -= 1
            self._next()

    async def _turn(self) -> None:
        turn = anyio.Event()
        self._turns.append(turn)
        try:
            await turn.wait()
        finally:
            if not turn.is_set():
                self._turns.remove(turn)

    def _next(self) -> None:
        """One of those that wait looks again: only the end of a call changes whether they may, or another's luck."""
        if self._turns:
            self._turns.popleft().set()

    @property
    def exhausted(self) -> bool:
        """Whether the budget of the run is spent."""
        return any(self._of(self.spent, name) >= limit for name, limit in self._limits.items())

    def _begin(self) -> bool:
        with self._lock:
            if self.exhausted:
                raise OutOfBudget
            if not self._fits():
                return False
            self._under_way += 1
            return True

    def _fits(self) -> bool:
        """Whether one more call fits beside those under way, each as expensive as the most expensive so far."""
        if not self._limits or self._under_way == 0:
            return True
        if len(self._largest) < len(self._limits):
            return False  # the first call that costs something says what one costs
        count = self._under_way + 1
        return all(self._of(self.spent, n) + count * self._largest[n] <= limit for n, limit in self._limits.items())

    def _count(self, spent: Spent) -> None:
        self.spent += spent
        for name in self._limits:
            # What was free (an answer from a cache, a provider without usage) does not say what the next one costs.
            if (cost := self._of(spent, name)) > 0:
                self._largest[name] = max(self._largest.get(name, 0.0), cost)

    def _of(self, spent: Spent, name: str) -> float:
        found = getattr(spent, name)
        if found is None and spent.calls:
            raise UsageError(UNPRICED)
        return float(found or 0)

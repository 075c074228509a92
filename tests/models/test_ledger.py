"""The budget of a run: who may ask now, who waits, and who asks no more."""

from __future__ import annotations

import pytest

pytest.importorskip("inspect_ai", reason="needs the extra inspect")

import anyio

from kernelgauge.models.budget.ledger import Ledger, OutOfBudget
from kernelgauge.schema import Attempt, Problem, Spent

PROBLEM = Problem(key="1/1", name="any", source="any")


class Run:
    """So many that want to call at once, each call of ten tokens open until it is told to end.

    Args:
        free: how many of the first calls end at once and cost nothing, as answers from a cache do.
    """

    def __init__(self, tokens: int, free: int = 0):
        self.ledger, self.free = Ledger(tokens=tokens), free
        self.begun, self.refused, self.looked = 0, 0, 0
        self.ends = anyio.Event()
        begin = self.ledger._begin

        def counted() -> bool:
            self.looked += 1
            return begin()

        self.ledger._begin = counted  # type: ignore[method-assign]

    async def ask(self) -> None:
        try:
            async with self.ledger.call():
                self.begun += 1
                free = self.begun <= self.free
                if not free:
                    await self.ends.wait()
                cost = Spent(calls=1, tokens_read=0 if free else 10)
                self.ledger.keep(PROBLEM, 0, self.begun, Attempt(answer="", spent=cost), cost)
        except OutOfBudget:
            self.refused += 1


def test_who_waits_looks_again_only_when_something_has_changed() -> None:
    async def main() -> None:
        run = Run(tokens=1000)
        async with anyio.create_task_group() as group:
            for _ in range(300):
                group.start_soon(run.ask)
            await anyio.sleep(0.3)
            assert (run.begun, run.looked) == (1, 300), "the first call says what one costs"
            run.ends.set()
        assert (run.begun, run.refused) == (100, 200)

    anyio.run(main)


def test_a_call_that_was_free_does_not_say_what_one_costs() -> None:
    async def main(free: int) -> None:
        run = Run(tokens=40, free=free)
        async with anyio.create_task_group() as group:
            for _ in range(50):
                group.start_soon(run.ask)
            await anyio.sleep(0.1)
            run.ends.set()
        assert run.ledger.spent.tokens == 40
        assert (run.begun, run.refused) == (free + 4, 46 - free)

    for free in (0, 1, 3):
        anyio.run(main, free)


def test_who_gives_up_waiting_keeps_nobody_else_from_asking() -> None:
    async def main() -> None:
        run, leaving = Run(tokens=1000), anyio.CancelScope()
        run.ends.set()

        async def leave() -> None:
            with leaving:
                await run.ask()

        async with anyio.create_task_group() as group, run.ledger.call():
            for waiting in (run.ask, leave, run.ask):
                group.start_soon(waiting)
                await anyio.sleep(0.01)
            leaving.cancel()
            await anyio.sleep(0.01)
        assert (run.begun, run.refused) == (2, 0)

    async def in_time() -> None:
        with anyio.fail_after(60):
            await main()

    anyio.run(in_time)

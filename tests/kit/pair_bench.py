"""A session that judges pairs as a test says, and modules that need no examination: `Maker` without processes."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterator, Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from factories import make_environment, make_evaluation
from pair_rows import KERNEL, RULES, make_module

from kernelgauge.errors import KernelgaugeError
from kernelgauge.execution.local import Done, Task
from kernelgauge.pairs import make
from kernelgauge.pairs.examination import SAME, Examined
from kernelgauge.pairs.make import Maker
from kernelgauge.pairs.module import Module
from kernelgauge.pairs.sources import Lead
from kernelgauge.pairs.workshop import Workshop, asked_for
from kernelgauge.schema import Candidate, Evaluation

Answer = Callable[[str, Candidate | None], Any]
"""Given a module's name, and the candidate if it is a negative: a record, a NoCandidate or an error."""


class Bench:
    """What `Maker` asks of a session."""

    def __init__(self, answer: Answer) -> None:
        self.machines, self.settings = SimpleNamespace(here=True), SimpleNamespace(threads=1)
        self.abandoned = 0
        self.supervisor = SimpleNamespace(abandon=self._abandon)
        self.environment = make_environment(gpu=None)
        self.asked: list[str] = []
        self.runs: list[list[bool]] = []
        """By run of the executor: which of its tasks bring a kernel of their own, as negatives do."""
        self._answer = answer

    def _abandon(self) -> None:
        self.abandoned += 1

    def executor(self, *_: Any) -> Bench:
        return self

    def run(self, tasks: Sequence[Task], **_: Any) -> Iterator[Done]:
        self.runs.append([task.order is not None and task.order().candidate is not None for task in tasks])
        for task in tasks:
            self.asked.append(task.problem)
            made = task.order().candidate if task.order else None
            result = self._answer(task.problem, made)
            candidate = made or Candidate(problem=task.problem, source=f"{KERNEL}# {task.problem}\n", backend="torch")
            yield Done(task, result, SimpleNamespace(candidate=candidate))  # type: ignore[arg-type]

    def close(self) -> None: ...

    def verdict(self, done: Done) -> Any:
        if isinstance(done.result, KernelgaugeError):
            raise done.result
        return done.result


def verdict(outcome: str = "passed", speedup: float = 1.5) -> Evaluation:
    return make_evaluation(
        "1/1",
        speedup,
        outcome,
        device="cpu",
        environment=make_environment(gpu=None),
        protocol_digest=RULES.under("ieee").digest,
        math="ieee",
        kernel_policy="default",
    )


def usual(name: str, made: Candidate | None) -> Evaluation:
    """The compiler's kernels are right, and what is made of them is wrong, or slow."""
    if made is None:
        return verdict()
    return verdict(speedup=0.5) if made.contestant == "slow" else verdict("rejected")


def leads_of(names: Sequence[str], endless: bool = False) -> list[Lead]:
    return [Lead(name, lambda name=name: make_module(name), endless=endless) for name in names]  # type: ignore[misc]


def _examined(module: Module, taken: Container[str]) -> Examined:
    """Its structure is its name up to a `~`."""
    form = module.name.partition("~")[0]
    why = SAME if form in taken else "it is bad" if form.startswith("bad") else ""
    return Examined(name=module.name, module=module, structure=form, refused=why)


def make_maker(
    monkeypatch: pytest.MonkeyPatch,
    folder: Path,
    bench: Any,
    leads: Sequence[Lead],
    rows: int = 100,
    negatives: float = 0.0,
    sources: tuple[str, ...] = ("recipe:fusion",),
    jobs: int = 2,
) -> tuple[Maker, Workshop]:
    """Over these leads, of which every module is sound but those called `bad`; close the workshop after it."""
    monkeypatch.setattr(
        make,
        "leads",
        lambda asked, *_: iter(leads if asked == sources else [lead for lead in leads if not lead.endless]),
    )
    monkeypatch.setattr(
        make,
        "examined",
        lambda session, module, distance, taken: _examined(module, taken),
    )
    asked = asked_for(
        RULES,
        "cpu",
        sources=sources,
        seed=1,
        sizes=["full"],
        maths=["ieee"],
        negatives=negatives,
        distance=0.1,
        validation=0.1,
        licence="",
    )
    workshop = Workshop(folder, asked)
    return Maker(bench, workshop, "cpu", RULES, rows, jobs), workshop

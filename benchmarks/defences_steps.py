"""The stopwatches of `benchmarks/defences.py`: which steps of an evaluation are defences, and what each takes."""

from __future__ import annotations

import statistics
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Any

from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.registry import backend_named
from kernelgauge.config import Protocol
from kernelgauge.evaluation import checking, pair
from kernelgauge.evaluation.correctness.screening import ScreeningTrials
from kernelgauge.evaluation.kernel_rules import Rules
from kernelgauge.evaluation.measurement import measure
from kernelgauge.evaluation.sides.model_worker import Source
from kernelgauge.evaluation.sides.prefork import PreforkPool
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.evaluation.sides.shared_buffers import SharedBuffers
from kernelgauge.evaluation.sides.side import Side
from kernelgauge.sandbox.process import WorkerProcess
from kernelgauge.schema import Candidate, Evaluation, Problem
from kernelgauge.session.session import Session

ANY = "any evaluator"
DEFENCE = "defence"
# Steps of the parent by where they are taken: the label, and whether a trusting evaluator takes them too.
STEPS: tuple[tuple[Any, str, str, str, str], ...] = (
    (Reference, "draw", "inputs drawn", ANY, "open"),
    (Reference, "draw", "inputs drawn", ANY, "check"),
    (Reference, "draw", "fresh inputs for every timed call", DEFENCE, "time"),
    (Reference, "answer", "reference's checked calls", ANY, "open"),
    (Reference, "answer", "reference's checked calls", ANY, "check"),
    (Reference, "truth", "float64 oracle", DEFENCE, "check"),
    (Reference, "truth", "float64 oracle on timed calls", DEFENCE, "time"),
    (Reference, "rest", "processes stopped and continued", DEFENCE, "time"),
    (Side, "stage", "inputs put in place for checks", ANY, "check"),
    (Side, "stage", "inputs put in place, outputs spoiled", DEFENCE, "time"),
    (Side, "call", "checked calls", ANY, "check"),
    (Side, "call", "timed calls of both sides", ANY, "time"),
    (SharedBuffers, "snapshot", "outputs taken out of reach", DEFENCE, "check"),
    (SharedBuffers, "snapshot", "outputs taken out of reach", DEFENCE, "time"),
    (SharedBuffers, "inputs_equal", "inputs compared after the call", DEFENCE, "check"),
    (WorkerProcess, "freeze", "processes stopped and continued", DEFENCE, "time"),
    (WorkerProcess, "thaw", "processes stopped and continued", DEFENCE, "time"),
    (ScreeningTrials, "see", "answers without the work tried", DEFENCE, "check"),
    (measure, "verify", "outputs of timed calls verified", DEFENCE, "time"),
    (checking.Checker, "_settle", "processes for the next evaluation waited for", DEFENCE, "check"),
)
# Seconds after which a process that was started ahead has started its GPU too.
_STARTED_AHEAD = 5.0
OPENING = "processes opened and closed"
RULES = "text read and runs watched for the rules"
OTHER = {"check": "comparing checked outputs", "time": "choosing, sampling, intervals"}


class Account:
    """Seconds by label; a step inside another is taken out of that one. Only the thread that made it counts."""

    def __init__(self) -> None:
        self.seconds: dict[str, float] = defaultdict(float)
        self.openings = 0
        self._thread = threading.get_ident()
        self._labels: list[str] = []
        self._since = 0.0

    @contextmanager
    def within(self, label: str) -> Iterator[None]:
        """Charge the time spent inside to a label."""
        if threading.get_ident() != self._thread:
            yield
            return
        self._charge()
        self._labels.append(label)
        try:
            yield
        finally:
            self._charge()
            self._labels.pop()

    @property
    def phase(self) -> str:
        """`time` inside a round of timing, `open` inside an opening, `rules` inside those, else `check`."""
        inside = {OTHER["time"]: "time", OPENING: "open", RULES: "rules"}
        return next((inside[label] for label in self._labels if label in inside), "check")

    def _charge(self) -> None:
        now = time.perf_counter()
        if self._labels:
            self.seconds[self._labels[-1]] += now - self._since
        self._since = now


def watch(account: Account) -> list[tuple[Any, str, Any]]:
    """Put a stopwatch at every step; returns what is needed to take them away again."""
    undo: list[tuple[Any, str, Any]] = []
    labels: dict[tuple[Any, str], dict[str, str]] = defaultdict(dict)
    for owner, name, label, _, phase in STEPS:
        labels[owner, name][phase] = label
    for (owner, name), by_phase in labels.items():
        undo.append((owner, name, getattr(owner, name)))
        setattr(owner, name, _stepped(account, getattr(owner, name), by_phase))
    for owner, name, label in (
        (checking, "check", OTHER["check"]),
        (measure.Measurement, "round", OTHER["time"]),
        (pair.Sides, "_open", OPENING),
        (pair, "_close", OPENING),
        (Rules, "read", RULES),
        (Rules, "watch", RULES),
    ):
        undo.append((owner, name, owner.__dict__[name]))
        timed = _whole(account, getattr(owner, name), label)
        setattr(owner, name, staticmethod(timed) if isinstance(undo[-1][2], staticmethod) else timed)
    return undo


def _stepped(account: Account, original: Any, by_phase: dict[str, str]) -> Any:
    def timed(*arguments: Any, **named: Any) -> Any:
        label = by_phase.get(account.phase)
        if label is None:
            return original(*arguments, **named)
        with account.within(label):
            return original(*arguments, **named)

    return timed


def _whole(account: Account, original: Any, label: str) -> Any:
    def timed(*arguments: Any, **named: Any) -> Any:
        account.openings += original.__name__ == "_open"
        with account.within(label):
            return original(*arguments, **named)

    return timed


class NotPassed(Exception):
    """What was judged did not pass: there is no whole evaluation to take apart. Holds its record."""

    def __init__(self, record: Evaluation):
        super().__init__(f"{record.outcome.value}: {record.reason}")
        self.record = record


def copy_of(problem: Problem) -> Candidate:
    """The reference under the candidate's name."""
    text = problem.source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")
    return Candidate(problem=problem.key, source=text, backend="torch")


def judged(session: Session, problem: Problem, candidate: Candidate, protocol: Protocol, device: str) -> Evaluation:
    """The record of one evaluation. Raises NotPassed."""
    record = session.evaluate(problem, candidate.source, backend=candidate.backend, device=device, protocol=protocol)
    if not record.passed:
        raise NotPassed(record)
    return record


def alone(session: Session, problem: Problem, candidate: Candidate, protocol: Protocol, device: str) -> float:
    """Seconds to open and close one process with the candidate in it, built and the reference being there already.

    On a GPU the process has been started ahead, as in a run.
    """
    zygote = session._zygote
    built = session.supervisor.build(candidate, device).folder
    with closing(PreforkPool(zygote)) as prefork_pool, Reference(zygote, problem, protocol, device) as reference:
        taken = []
        for _ in range(4):
            prefork_pool.renew(device)
            time.sleep(0 if device == "cpu" else _STARTED_AHEAD)
            started = time.perf_counter()
            side = Side(
                zygote,
                Source(candidate.source, "ModelNew", candidate.backend, built),
                device,
                prefork_pool=prefork_pool,
            )
            side.start()
            side.open(reference.init, reference.weight_seed, reference.randomise, reference.math)
            side.attach(reference.master.size, reference.expected)
            side.close()
            taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def measured(
    session: Session, problem: Problem, candidate: Candidate, protocol: Protocol, device: str, repeats: int
) -> dict[str, float]:
    """Seconds by label of one evaluation of what is built, the mean of several; `total` is the whole of it.

    Beside them `build`, which is in no other: what the first evaluation took to build it, if the session's cache of
    builds did not hold it.

    Raises:
        NotPassed: what is judged did not pass, the first time or later.
    """
    backend = backend_named(candidate.backend)
    if backend.builds(candidate.source, device):  # a machine makes its slim headers once: they are no part of a build
        backend.routes(candidate.source, BuildCache(session.settings.builds))
    build = judged(session, problem, candidate, protocol, device).seconds.get("build", 0.0)
    account = Account()
    undo = watch(account)
    total = 0.0
    try:
        for _ in range(repeats):
            record = judged(session, problem, candidate, protocol, device)
            total += sum(record.seconds.values())  # not what was spent waiting for the device
    finally:
        for owner, name, original in undo:
            setattr(owner, name, original)
    seconds = {label: spent / repeats for label, spent in account.seconds.items()}
    opening = seconds.pop(OPENING)
    own = min(alone(session, problem, candidate, protocol, device) * account.openings / repeats, opening)
    seconds |= {"the candidate's process": own, "processes of reference and oracle": opening - own}
    return seconds | {"build": build, "total": total / repeats}


def kinds() -> dict[str, str]:
    """Which labels are defences; the rest of an evaluation's time is not."""
    found = {label: kind for _, _, label, kind, _ in STEPS}
    return found | {
        RULES: DEFENCE,
        "processes of reference and oracle": DEFENCE,
        "the candidate's process": ANY,
        "build": ANY,
    }

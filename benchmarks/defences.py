"""What the defences cost: where an evaluation's time goes, and which share would be saved by trusting candidates.

    python benchmarks/defences.py [--problems 1/23,2/39] [--sizes medium] [--device cpu] [--out results/cpu/defences]
    python benchmarks/defences.py --device cuda --sizes full --out results/h200/defences

Each problem's reference is judged against a copy of itself, once to fill the caches and then `--repeats` times. A
stopwatch stands at every step of the parent's; a step inside another is counted there only. What a trusting evaluator
would spend too (build, one process, calls, comparing checked outputs) is kept apart. The price of the processes of
reference and oracle is the time to open both sides less the time to open the candidate's alone.
"""

from __future__ import annotations

import argparse
import json
import re
import statistics
import sys
import threading
import time
from collections import defaultdict
from collections.abc import Iterator
from contextlib import closing, contextmanager
from datetime import date
from pathlib import Path
from typing import Any

from kernelgauge.config import Protocol, load_protocol
from kernelgauge.evaluation import measure, sides, supervisor
from kernelgauge.evaluation.admission import Weighing
from kernelgauge.evaluation.process import WorkerProcess
from kernelgauge.evaluation.reference import Reference
from kernelgauge.evaluation.side import Side, Source
from kernelgauge.evaluation.spares import Spares
from kernelgauge.problems.loader import load_problem
from kernelgauge.schema import Problem
from kernelgauge.session import Session

PROBLEMS = "1/19,1/23,1/36,1/47,1/88,2/1,2/14,2/39,2/76,2/99,3/8,3/43"

ANY = "any evaluator"
DEFENCE = "defence"
# Steps of the parent by where they are taken: the label, and whether a trusting evaluator takes them too.
STEPS: tuple[tuple[Any, str, str, str, str], ...] = (
    (Reference, "draw", "inputs drawn", ANY, "check"),
    (Reference, "draw", "fresh inputs for every timed call", DEFENCE, "time"),
    (Reference, "answer", "reference's checked calls", ANY, "check"),
    (Reference, "truth", "float64 oracle", DEFENCE, "check"),
    (Reference, "truth", "float64 oracle on timed calls", DEFENCE, "time"),
    (Reference, "rest", "processes stopped and continued", DEFENCE, "time"),
    (Side, "stage", "inputs put in place for checks", ANY, "check"),
    (Side, "stage", "inputs put in place, outputs spoiled", DEFENCE, "time"),
    (Side, "call", "checked calls", ANY, "check"),
    (Side, "call", "timed calls of both sides", ANY, "time"),
    (Side, "snapshot", "outputs taken out of reach", DEFENCE, "check"),
    (Side, "snapshot", "outputs taken out of reach", DEFENCE, "time"),
    (Side, "inputs_equal", "inputs compared after the call", DEFENCE, "check"),
    (WorkerProcess, "freeze", "processes stopped and continued", DEFENCE, "time"),
    (WorkerProcess, "thaw", "processes stopped and continued", DEFENCE, "time"),
    (Weighing, "see", "answers without the work tried", DEFENCE, "check"),
    (measure, "verify", "outputs of timed calls verified", DEFENCE, "time"),
)
# Seconds after which a process that was started ahead has started its GPU too.
_STARTED_AHEAD = 5.0
OPENING = "processes opened and closed"
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
        """`time` inside a round of timing, else `check`."""
        return "time" if OTHER["time"] in self._labels else "check"

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
        (supervisor, "check", OTHER["check"]),
        (measure.Measurement, "round", OTHER["time"]),
        (sides.Sides, "_opened", OPENING),
        (sides.Sides, "_close", OPENING),
    ):
        undo.append((owner, name, owner.__dict__[name]))
        timed = _whole(account, getattr(owner, name), label)
        setattr(owner, name, staticmethod(timed) if isinstance(undo[-1][2], staticmethod) else timed)
    return undo


def _stepped(account: Account, original: Any, by_phase: dict[str, str]) -> Any:
    def timed(*arguments: Any, **named: Any) -> Any:
        label = by_phase.get(account.phase)
        if label is None or OPENING in account._labels:
            return original(*arguments, **named)
        with account.within(label):
            return original(*arguments, **named)

    return timed


def _whole(account: Account, original: Any, label: str) -> Any:
    def timed(*arguments: Any, **named: Any) -> Any:
        account.openings += original.__name__ == "_opened"
        with account.within(label):
            return original(*arguments, **named)

    return timed


def copy_of(problem: Problem) -> str:
    """The reference under the candidate's name."""
    return problem.source.replace("class Model(", "class ModelNew(").replace("super(Model,", "super(ModelNew,")


def alone(session: Session, problem: Problem, rules: Protocol, device: str) -> float:
    """Seconds to open and close one process with the candidate in it, the reference being there already.

    On a GPU the process has been started ahead, as in a run.
    """
    zygote = session._zygote
    with closing(Spares(zygote)) as spares, Reference(zygote, problem, rules, device) as reference:
        taken = []
        for _ in range(4):
            spares.renew(device)
            time.sleep(0 if device == "cpu" else _STARTED_AHEAD)
            started = time.perf_counter()
            side = Side(zygote, Source(copy_of(problem), "ModelNew", "torch"), device, spares=spares)
            side.start()
            side.open(reference.init, reference.weight_seed, reference.randomise, reference.math)
            side.attach(reference.master.size, reference.expected)
            side.close()
            taken.append(time.perf_counter() - started)
    return statistics.median(taken[1:])


def measured(session: Session, problem: Problem, rules: Protocol, device: str, repeats: int) -> dict[str, float]:
    """Seconds by label of one evaluation, the mean of several; `total` is the whole of it."""
    session.evaluate(problem, copy_of(problem), device=device, protocol=rules)
    account = Account()
    undo = watch(account)
    total = 0.0
    try:
        for _ in range(repeats):
            record = session.evaluate(problem, copy_of(problem), device=device, protocol=rules)
            total += sum(record.seconds.values())  # not what was spent waiting for the device
            if not record.passed:
                raise SystemExit(f"{problem.key}: a copy of the reference did not pass: {record.reason}")
    finally:
        for owner, name, original in undo:
            setattr(owner, name, original)
    seconds = {label: spent / repeats for label, spent in account.seconds.items()}
    opening = seconds.pop(OPENING)
    own = min(alone(session, problem, rules, device) * account.openings / repeats, opening)
    seconds |= {"the candidate's process": own, "processes of reference and oracle": opening - own}
    seconds["total"] = total / repeats
    return seconds


def kinds() -> dict[str, str]:
    """Which labels are defences; the rest of an evaluation's time is not."""
    found = {label: kind for _, _, label, kind, _ in STEPS}
    return found | {"processes of reference and oracle": DEFENCE, "the candidate's process": ANY}


def table(rows: dict[str, dict[str, float]]) -> str:
    """All problems as one table: seconds per evaluation and share, the defences first."""
    kind = kinds()
    labels = sorted({label for row in rows.values() for label in row} - {"total"})
    total = sum(row["total"] for row in rows.values())
    spent = {label: sum(row.get(label, 0.0) for row in rows.values()) for label in labels}
    spent["nothing of these"] = total - sum(spent.values())
    lines = ["| step | | seconds per evaluation | share |", "|---|---|---:|---:|"]
    for wanted in (DEFENCE, ANY):
        own = [label for label in spent if kind.get(label, ANY) == wanted]
        for label in sorted(own, key=lambda each: -spent[each]):
            share = spent[label] / total
            lines.append(f"| {label} | {wanted} | {spent[label] / len(rows):.4f} | {share:.1%} |")
        whole = sum(spent[label] for label in own)
        lines.append(f"| **all** | **{wanted}** | **{whole / len(rows):.4f}** | **{whole / total:.1%}** |")
    lines += ["", "| problem | seconds | defences |", "|---|---:|---:|"]
    for key, row in rows.items():
        defended = sum(seconds for label, seconds in row.items() if kind.get(label) == DEFENCE)
        lines.append(f"| {key} | {row['total']:.2f} | {defended / row['total']:.1%} |")
    return "\n".join(lines)


def main() -> None:
    """Measure, print the table, and store it with the rows."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--problems", default=PROBLEMS)
    parser.add_argument("--sizes", default="medium")
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--protocol", default="strict")
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--out", type=Path, help="without a suffix: .md and .json are written")
    options = parser.parse_args()
    rules = load_protocol(options.protocol)
    rows: dict[str, dict[str, float]] = {}
    with Session() as session:
        environment = session.environment
        for key in options.problems.split(","):
            problem = load_problem(key, options.sizes)
            rows[key] = measured(session, problem, rules, options.device, options.repeats)
            print(f"{key}: {rows[key]['total']:.2f} s", file=sys.stderr, flush=True)
    where = f"{environment.gpu or environment.cpu}, torch {environment.torch}, {date.today()}"
    command = re.sub(r" --out \S+", "", " ".join(["python", "benchmarks/defences.py", *sys.argv[1:]]))
    text = f"# What the defences cost\n\n{where}, sizes {options.sizes}: `{command}`\n\n{table(rows)}\n"
    print(text)
    if options.out:
        options.out.parent.mkdir(parents=True, exist_ok=True)
        options.out.with_suffix(".md").write_text(text)
        content = {"command": command, "environment": environment.model_dump(), "rows": rows}
        options.out.with_suffix(".json").write_text(json.dumps(content))


if __name__ == "__main__":
    main()

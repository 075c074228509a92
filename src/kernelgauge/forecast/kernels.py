"""Judged kernels as forecasts know them: the part of a record that a data set needs, and where it comes from."""

from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from statistics import median
from typing import TypeVar

from kernelgauge.checks.bound import least_time
from kernelgauge.config import MathMode
from kernelgauge.errors import ProblemError, StoreError
from kernelgauge.hardware.peaks import published
from kernelgauge.problems.distance import structure
from kernelgauge.problems.loader import load_problem
from kernelgauge.report.table import Records
from kernelgauge.schema import Evaluation, Outcome, Sizes, Work, digest, tells
from kernelgauge.schema.forecast import Side
from kernelgauge.syntax import parse

F = TypeVar("F")

COPIES = "copies of their reference"


@dataclass(frozen=True)
class Kernel:
    """One candidate that was judged on one device."""

    problem: str
    problem_name: str
    problem_digest: str
    level: int | None
    sizes: Sizes
    math: str | None
    protocol: str
    gpu: str
    side: Side
    outcome: Outcome
    speedup: float | None
    """Over the problem's reference; None unless it passed and its interval tells something."""
    interval: tuple[float, float] | None
    reference_ms: float | None
    candidate_ms: float | None
    work: Work | None = None
    copy: bool = False
    """Whether it is its reference under another name: it foretells nothing, and says how long that takes."""

    @property
    def place(self) -> tuple[str | None, ...]:
        """What two kernels have in common that may be compared: problem, sizes, rules and device."""
        return self.problem, self.problem_digest, self.sizes, self.math, self.protocol, self.gpu


class References:
    """Texts of problems as they were when something was judged by them."""

    def __init__(self) -> None:
        self._known: dict[tuple[str, Sizes], str | None] = {}

    def source(self, problem: str, problem_digest: str, sizes: Sizes) -> str | None:
        """The problem's text; None where it has gone, or is another one by now."""
        key = (problem, sizes)
        if key not in self._known:
            try:
                self._known[key] = load_problem(problem, sizes=sizes).source
            except ProblemError:
                self._known[key] = None
        found = self._known[key]
        return found if found is not None and digest(found) == problem_digest else None


def kernels_of(run: Records, references: References) -> tuple[list[Kernel], dict[str, int]]:
    """The kernels of a run that a data set can use, and how many it cannot, by reason.

    Of a search all attempts that were judged are among them, not its answers alone. Left out are records of problems
    that do not count under their protocol, and those whose texts are not there any more. Copies of a reference (A/A
    measurements) are named as left out too, and are among the kernels with their mark.

    Raises:
        StoreError: a file of the run is damaged.
    """
    found: list[Kernel] = []
    without: dict[str, int] = {}
    tried = {t.attempt.evaluation.candidate_digest: t.attempt for t in run.attempts() if t.attempt.evaluation}
    judged = [attempt.evaluation for attempt in tried.values() if attempt.evaluation]
    for evaluation in latest_of_each([*judged, *run.evaluations()]):
        attempt = tried.get(evaluation.candidate_digest)
        kernel = _kernel(run, evaluation, attempt.source if attempt else None, references)
        if isinstance(kernel, str):
            without[kernel] = without.get(kernel, 0) + 1
            continue
        found.append(kernel)
        if kernel.copy:
            without[COPIES] = without.get(COPIES, 0) + 1
    return found, without


def latest_of_each(evaluations: Iterable[Evaluation]) -> list[Evaluation]:
    """The last record of each candidate: one that was judged again counts as it was judged last."""
    return list({(e.problem, e.candidate_digest): e for e in evaluations}.values())


def _kernel(run: Records, e: Evaluation, source: str | None, references: References) -> Kernel | str:
    """What a data set has of a record, or why it has nothing.

    Args:
        source: the candidate's text, where it is at hand.
    """
    if not e.scored:
        return "of problems that do not count under their protocol"
    reference = references.source(e.problem, e.problem_digest, e.sizes)
    if reference is None:
        return "of problems whose text has changed or gone"
    try:
        source = source or run.source(e.candidate_digest)
    except StoreError:
        return "whose candidate's text is not in the run"
    timing = e.timing if e.timing and tells(e.timing.interval) else None
    gpu = e.environment.gpu if e.device.startswith("cuda") else e.environment.cpu
    return Kernel(
        problem=e.problem,
        problem_name=e.problem_name,
        problem_digest=e.problem_digest,
        level=e.level,
        sizes=e.sizes,
        math=e.math,
        protocol=e.protocol,
        gpu=gpu or e.device,
        side=Side(contestant=e.contestant, backend=e.backend, digest=e.candidate_digest, source=source),
        outcome=e.outcome,
        speedup=timing.speedup if timing else None,
        interval=timing.interval if timing else None,
        reference_ms=timing.reference_ms if timing else None,
        candidate_ms=timing.candidate_ms if timing else None,
        work=e.bound.work if e.bound else None,
        copy=is_copy(source, reference),
    )


def is_copy(source: str, reference: str) -> bool:
    """Whether a candidate computes by the same operations in the same order as its reference, names aside.

    One that says `class ModelNew(Model): pass` does, which is how eager PyTorch itself is judged.
    """
    try:
        tree = parse(source)
        return any(map(_only_inherits, tree.body)) or structure(source) == structure(reference)
    except (SyntaxError, ValueError, RecursionError):
        return False


def _only_inherits(node: ast.stmt) -> bool:
    match node:
        case ast.ClassDef(name="ModelNew", bases=[ast.Name("Model")], body=[ast.Pass()]):
            return True
    return False


class Surroundings:
    """What is known of a kernel's problem without it: from records of other kernels alone.

    A record says how long its reference took and what the problem has to do only if its candidate was timed. Taken
    from the record itself, the lack of a figure would give away that the candidate is not right. Nor is there one
    where a single kernel was timed: the others would have it, and the one without would be the right one. A copy of
    the reference asks nothing, so that its figures are for all.
    """

    def __init__(self, kernels: Iterable[Kernel]):
        self._times: dict[tuple[str | None, ...], dict[str, float]] = defaultdict(dict)
        self._works: dict[tuple[str, Sizes], dict[str, Work]] = defaultdict(dict)
        self._copies: set[str] = set()
        for kernel in kernels:
            if kernel.copy:
                self._copies.add(kernel.side.digest)
            if kernel.reference_ms is not None:
                self._times[_device(kernel)][kernel.side.digest] = kernel.reference_ms
            if kernel.work is not None:
                self._works[kernel.problem_digest, kernel.sizes][kernel.side.digest] = kernel.work

    def reference_ms(self, kernel: Kernel) -> float | None:
        """Time of a call of the reference on this device, the median of other kernels' records."""
        found = self._others(kernel, self._times[_device(kernel)])
        return median(found) if found else None

    def work(self, kernel: Kernel) -> Work | None:
        """What a call of its problem has to do."""
        return next(iter(self._others(kernel, self._works[kernel.problem_digest, kernel.sizes])), None)

    def _others(self, kernel: Kernel, known: Mapping[str, F]) -> list[F]:
        """What the records of other kernels say; nothing where that would not be said to each kernel alike."""
        if len(known) < 2 and not self._copies & known.keys():
            return []
        return [fact for other, fact in known.items() if other != kernel.side.digest]


def _device(kernel: Kernel) -> tuple[str | None, ...]:
    return kernel.problem_digest, kernel.sizes, kernel.math, kernel.gpu


def bound_ms(kernel: Kernel, work: Work | None) -> float | None:
    """The least time of a call by the data sheet of its GPU, so that equal rules hold for all; None without one."""
    peaks = published(kernel.gpu)
    if peaks is None or work is None:
        return None
    math: MathMode = kernel.math if kernel.math in ("ieee", "tf32", "fp16", "bf16") else "torch"  # type: ignore[assignment]
    least = least_time(work, peaks, math)
    return least.ms if least else None

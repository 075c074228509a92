"""Kernels judged, each kept with its row, or with why there is none."""

from __future__ import annotations

from collections.abc import Callable, Generator, Sequence, Set
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial

from kernelgauge.backends.registry import backend_named
from kernelgauge.config import Protocol
from kernelgauge.errors import BackendMissing, CandidateError, KernelgaugeError, MachineError, ProblemError
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Done, Task
from kernelgauge.execution.order import Order
from kernelgauge.generation.inductor import BACKENDS
from kernelgauge.pairs.module import Module
from kernelgauge.pairs.row import How, Row, near_the_limit, row_of
from kernelgauge.pairs.tidy import Tidy
from kernelgauge.pairs.workshop import Judged, Workshop
from kernelgauge.sandbox.zygote_client import worker_device
from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Outcome, Sizes, why_weak
from kernelgauge.session.session import Session


@dataclass
class Wanted:
    """A kernel to be judged, and what its row will say of it."""

    id: str
    module: Module
    sizes: Sizes
    math: str
    how: How
    what: str = ""
    parent: str = ""
    candidate: Candidate | None = None
    """None: the compiler is asked."""
    record: Evaluation | None = field(default=None, compare=False)
    """Its first verdict, where a second one must agree with it."""


class Verdicts:
    """What becomes of kernels, in one folder. One executor judges all of them: its processes take seconds to begin.

    Args:
        protocol: the rules, which are those of what was asked; each arithmetic has its own under them.
        jobs: kernels that are made at once.
        tell: told what is finished: what it is about, and what became of it.
    """

    def __init__(
        self,
        session: Session,
        workshop: Workshop,
        device: str,
        protocol: Protocol,
        jobs: int,
        tell: Callable[[str, str], None],
    ) -> None:
        self._session, self._workshop, self._asked = session, workshop, workshop.asked
        self._device, self._tell = device, tell
        self._executor = session.executor(device, jobs)
        self._protocols = {math: protocol.under(math) for math in self._asked.maths}  # type: ignore[arg-type]
        self.failed: list[MachineError] = []
        """Of our machine, while modules are examined too."""
        self.evaluations: list[Evaluation] = []
        """All of this command, second ones included."""
        self.waiting: list[Wanted] = []
        """Refused once."""
        self.given_up: list[Wanted] = []
        """What the machine failed on: the same command tries it again, this one does not."""
        self.without_row: list[str] = []
        """Why the compiler's kernels since the last one that made a row made none."""

    @property
    def taken(self) -> Set[str]:
        """Of kernels that this command does not ask for again."""
        return self._workshop.judged.keys() | {each.id for each in (*self.waiting, *self.given_up)}

    def require_backend(self) -> None:
        """Raises BackendMissing where the compiler's kernels cannot be judged here: it would be said of each."""
        kind = worker_device(self._device)
        if not self._session.machines.here:  # other machines are asked with the first kernel
            return
        if reason := backend_named(BACKENDS[kind]).missing(kind):
            raise BackendMissing(f"the compiler's kernels cannot be judged here: {reason}")

    def close(self) -> None:
        """End the processes that judge."""
        self._executor.close()

    def judge(self, wanted: Sequence[Wanted] = ()) -> None:
        """Judge all of these and what waits, each kept as soon as its verdict is final.

        What is refused waits for a second verdict, which it is given by the next call.

        Raises:
            UsageError: what no kernel of this command can be judged without is missing, or the disk refuses.
        """
        waited, self.waiting = self.waiting, []
        with closing(self._verdicts([*waited, *wanted])) as found:
            for each, done in found:
                try:
                    verdict = self._session.verdict(done)
                except KernelgaugeError as error:
                    self._no_verdict(each, error)
                    continue
                if isinstance(verdict, NoCandidate):
                    self._drop(each, verdict.reason)
                    continue
                self.evaluations.append(verdict)
                assert done.job is not None
                each.candidate = done.job.candidate
                if verdict.passed or each.record is not None:
                    self._settle(each, verdict)
                else:
                    each.record = verdict
                    self.waiting.append(each)

    def _verdicts(self, wanted: Sequence[Wanted]) -> Generator[tuple[Wanted, Done]]:
        tasks = [self._task(place, each) for place, each in enumerate(wanted)]
        if not tasks:
            return
        compilers = Tidy("ieee", None)
        with closing(self._executor.run(tasks, abandon_starts=compilers.abandon)) as found:
            for done in found:
                yield wanted[done.task.sample], done

    def _task(self, place: int, each: Wanted) -> Task:
        asks = each.candidate is None
        order = partial(self._order, each)
        return Task(each.module.name, place, partial(self._start, each), on_device=asks, order=order)

    def _compiler(self, each: Wanted) -> Tidy:
        return Tidy(each.math, self._session.settings.threads if self._device == "cpu" else None)

    def _start(self, each: Wanted, device: str) -> Job | NoCandidate:
        problem = each.module.problem(each.sizes)
        protocol = self._protocols[each.math]
        self._session.memory.check(problem, protocol, device, self._session.environment)
        found = each.candidate or self._compiler(each).complete(problem, 0, device)
        return found if isinstance(found, NoCandidate) else self._session.job(problem, found, protocol, device)

    def _order(self, each: Wanted) -> Order:
        answer = each.candidate or self._compiler(each)
        return Order(each.module.problem(each.sizes), self._protocols[each.math], answer)

    def _settle(self, each: Wanted, verdict: Evaluation) -> None:
        """Keep the row that a verdict makes, or why it makes none."""
        if not verdict.scored:
            return self._drop(
                each, f"the module does not count at {each.sizes} sizes: {why_weak(verdict.trivial_answers)}"
            )
        if near_the_limit(verdict) or (each.record is not None and near_the_limit(each.record)):
            return self._drop(each, f"{verdict.outcome}, and too near the limit to be so each time")
        if each.record is not None and (each.record.outcome, each.record.rule) != (verdict.outcome, verdict.rule):
            return self._drop(each, f"judged twice: {each.record.outcome}, then {verdict.outcome}")
        if each.how in ("mutation", "cheat") and verdict.passed:
            return self._drop(each, f"{each.how} {each.what}: right all the same")
        if each.how == "slow" and (verdict.outcome is not Outcome.PASSED or verdict.standing != "slower"):
            return self._drop(each, f"{each.what}: {verdict.standing or verdict.outcome}, not slower")
        assert each.candidate is not None
        form = self._workshop.modules[each.module.name].structure
        row = row_of(
            each.id,
            each.module,
            form,
            each.candidate,
            each.record or verdict,
            self._protocols[each.math],
            each.how,
            each.what,
            each.parent,
            self._asked.validation,
        )
        self._workshop.keep(Judged(id=each.id, row=row))
        if each.how == "compiler":
            self.without_row.clear()
        self._tell(f"{each.module.name}, {each.sizes}, {each.math}", _in_words(row))

    def _drop(self, each: Wanted, why: str) -> None:
        self._workshop.keep(Judged(id=each.id, dropped=why))
        if each.how == "compiler":
            self.without_row.append(why)
        self._tell(f"{each.module.name}, {each.sizes}, {each.math}", f"no row: {why.splitlines()[0]}")

    def _no_verdict(self, each: Wanted, error: KernelgaugeError) -> None:
        if isinstance(error, ProblemError | CandidateError):  # of this kernel alone
            return self._drop(each, str(error))
        if not isinstance(error, MachineError):
            raise error
        self.failed.append(error)
        self.given_up.append(each)
        self._tell(f"{each.module.name}, {each.sizes}, {each.math}", f"not judged: {error}")


def _in_words(row: Row) -> str:
    speed = f", {row.standing} {row.speedup:.2f}x" if row.speedup is not None else ""
    made = f" ({row.how}: {row.what})" if row.what else ""
    return f"{row.kind}: {row.outcome}{speed}{made}"

"""Modules examined, their kernels written by the compiler and judged, negatives made of those that are right."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from dataclasses import dataclass, field
from functools import partial
from itertools import islice
from math import ceil

from kernelgauge.config import Protocol
from kernelgauge.errors import KernelgaugeError, MachineError, permanent
from kernelgauge.evaluation.job import Job
from kernelgauge.execution.local import Done, Task
from kernelgauge.execution.order import Order
from kernelgauge.generation.inductor import Inductor
from kernelgauge.pairs.examination import SAME, Examined, examined
from kernelgauge.pairs.module import Module, NoModule
from kernelgauge.pairs.negatives import Proposal, proposals
from kernelgauge.pairs.readable import readable
from kernelgauge.pairs.row import How, Row, near_the_limit, row_id, row_of
from kernelgauge.pairs.sources import Lead, leads
from kernelgauge.pairs.workshop import Judged, Workshop
from kernelgauge.schema import Candidate, Evaluation, NoCandidate, Outcome, Problem, Sizes, why_weak
from kernelgauge.session.session import Session

_MOST_REFUSED = 200
"""Leads in a row of which nothing comes: the sources have no more to give."""
_AHEAD_PER_JOB = 4
"""Modules of a round: what an executor is given at once, so that no device waits."""


class Tidy:
    """The compiler, whose texts lose what they name for nothing. It can be pickled."""

    on_device = True

    def __init__(self, math: str, threads: int | None) -> None:
        self._inductor = Inductor(threads=threads, math=math)  # type: ignore[arg-type]

    @property
    def name(self) -> str:
        return self._inductor.name

    def samples(self, problem: str) -> Sequence[int]:
        return (0,)

    def complete(self, problem: Problem, sample: int, device: str) -> Candidate | NoCandidate:
        """As `Inductor.complete`."""
        found = self._inductor.complete(problem, sample, device)
        if isinstance(found, NoCandidate):
            return found
        return found.model_copy(update={"source": readable(found.source)})

    def abandon(self) -> None:
        self._inductor.abandon()


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


class Maker:
    """One command under way.

    Args:
        protocol: the rules, which are those of what was asked; each arithmetic has its own under them.
        rows: how many the set shall have; at the end of a round there may be a few more.
        jobs: modules and kernels that are made at once.
        tell: told what is finished: what it is about, and what became of it.
    """

    def __init__(
        self,
        session: Session,
        workshop: Workshop,
        device: str,
        protocol: Protocol,
        rows: int,
        jobs: int,
        tell: Callable[[str, str], None] = lambda *_: None,
    ) -> None:
        self._session, self._workshop, self._asked = session, workshop, workshop.asked
        self._device, self._rows, self._jobs, self._tell = device, rows, jobs, tell
        self._protocols = {math: protocol.under(math) for math in self._asked.maths}  # type: ignore[arg-type]
        self.failed: list[KernelgaugeError] = []
        """Of our machine: the same command tries those again."""

    def run(self) -> None:
        """Go on until there are so many rows, the sources give no more, or the machine fails a whole round.

        Raises:
            UsageError: a source that is not there.
            StoreError: the disk refuses.
        """
        asked = self._asked
        stream = leads(asked.sources, asked.seed, asked.licence)
        refused = 0
        while len(self._workshop.rows) < self._rows:
            batch = list(islice(stream, self._size_of_round()))
            if not batch or refused >= _MOST_REFUSED:
                return
            before = len(self.failed), len(self._workshop.judged)
            modules = self._examine(batch)
            refused = 0 if modules else refused + len(batch)
            self._judge(self._positives(modules), timed=True)
            self._add_negatives()
            if len(self.failed) > before[0] and len(self._workshop.judged) == before[1]:
                return

    def _size_of_round(self) -> int:
        asked = self._asked
        each = len(asked.sizes) * len(asked.maths) / (1 - asked.negatives)
        left = self._rows - len(self._workshop.rows)
        return max(1, min(_AHEAD_PER_JOB * self._jobs, ceil(left / each)))

    # ------------------------------------------------------------ modules

    def _examine(self, batch: Sequence[Lead]) -> list[Module]:
        """The sound modules of these, those that were examined before included."""
        known = self._workshop.modules
        with ThreadPoolExecutor(self._jobs) as pool:
            for found in pool.map(self._examined, [lead for lead in batch if lead.name not in known]):
                if not found.refused and found.structure in self._workshop.structures():  # of the same round
                    found = found.model_copy(update={"refused": SAME})
                if found.refused:
                    found = found.model_copy(update={"module": None})
                self._workshop.keep_module(found)
                self._tell(found.name, f"refused: {found.refused}" if found.refused else "sound")
        looked_at = [known[lead.name] for lead in batch]
        return [each.module for each in looked_at if each.module and not each.refused]

    def _examined(self, lead: Lead) -> Examined:
        try:
            module = lead.make()
        except NoModule as error:
            return Examined(name=lead.name, refused=str(error))
        return examined(self._session, module, self._asked.distance, self._workshop.structures())

    # ------------------------------------------------------------ kernels

    def _positives(self, modules: Iterable[Module]) -> list[Wanted]:
        wanted = [
            Wanted(row_id(module, sizes, math, "compiler"), module, sizes, math, "compiler")
            for module in modules
            for sizes in self._asked.sizes
            if module.has(sizes)
            for math in self._asked.maths
        ]
        return [each for each in wanted if each.id not in self._workshop.judged]

    def _add_negatives(self) -> None:
        """As many as the share asks for; what turns out right, or not to repeat itself, is made up for once."""
        for _ in range(2):
            rows = self._workshop.rows
            good = [row for row in rows if row.kind == "positive"]
            share = self._asked.negatives
            missing = round(share / (1 - share) * len(good)) - (len(rows) - len(good))
            wanted = list(islice(self._proposed(good), max(0, missing)))
            self._judge([each for each in wanted if each.how == "slow"], timed=True)
            self._judge([each for each in wanted if each.how != "slow"], timed=False)

    def _proposed(self, good: Sequence[Row]) -> Iterator[Wanted]:
        """Of each positive row one that was not judged yet, those with the fewest so far first."""
        had = {row.id: 0 for row in good}
        for row in self._workshop.rows:
            if row.parent in had:
                had[row.parent] += 1
        for row in sorted(good, key=lambda row: had[row.id]):
            for proposal in proposals(row):
                wanted = self._negative(row, proposal)
                if wanted.id not in self._workshop.judged:
                    yield wanted
                    break

    def _negative(self, row: Row, proposal: Proposal) -> Wanted:
        module = self._workshop.modules[row.module].module
        assert module is not None
        made = Candidate(
            problem=module.name, source=proposal.source, backend=proposal.backend, contestant=proposal.how
        )
        name = row_id(module, row.sizes, row.math, f"{row.id} {made.digest}")
        return Wanted(name, module, row.sizes, row.math, proposal.how, proposal.what, row.id, made)

    # ------------------------------------------------------------ verdicts

    def _judge(self, wanted: Sequence[Wanted], timed: bool) -> None:
        """Judge all of these, each kept as soon as its verdict is final; what is refused is judged a second time."""
        again: list[Wanted] = []
        for each, done in self._verdicts(wanted, timed):
            try:
                verdict = self._session.verdict(done)
            except KernelgaugeError as error:
                self._no_verdict(each, error)
                continue
            if isinstance(verdict, NoCandidate):
                self._drop(each, verdict.reason)
                continue
            assert done.job is not None
            each.candidate = done.job.candidate
            if verdict.passed or each.record is not None:
                self._settle(each, verdict)
            else:
                again.append(each)
                each.record = verdict
        if again:
            self._judge(again, timed=False)

    def _verdicts(self, wanted: Sequence[Wanted], timed: bool) -> Iterator[tuple[Wanted, Done]]:
        tasks = [self._task(place, each) for place, each in enumerate(wanted)]
        if not tasks:
            return
        compilers = Tidy("ieee", None)
        with closing(self._session.executor(self._device, self._jobs, timed)) as executor:
            for done in executor.run(tasks, abandon_starts=compilers.abandon):
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
        self._tell(f"{each.module.name}, {each.sizes}, {each.math}", _in_words(row))

    def _drop(self, each: Wanted, why: str) -> None:
        self._workshop.keep(Judged(id=each.id, dropped=why))
        self._tell(f"{each.module.name}, {each.sizes}, {each.math}", f"no row: {why.splitlines()[0]}")

    def _no_verdict(self, each: Wanted, error: KernelgaugeError) -> None:
        if permanent(error) and not isinstance(error, MachineError):
            return self._drop(each, str(error))
        self.failed.append(error)
        self._tell(f"{each.module.name}, {each.sizes}, {each.math}", f"not judged: {error}")


def _in_words(row: Row) -> str:
    speed = f", {row.standing} {row.speedup:.2f}x" if row.speedup is not None else ""
    made = f" ({row.how}: {row.what})" if row.what else ""
    return f"{row.kind}: {row.outcome}{speed}{made}"

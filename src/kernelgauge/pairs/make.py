"""Modules examined, their kernels written by the compiler and judged, negatives made of those that are right."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from math import ceil

from kernelgauge.config import Protocol
from kernelgauge.errors import MachineError, UsageError, without_locals
from kernelgauge.pairs import inference
from kernelgauge.pairs.examination import SAME, Examined, examined
from kernelgauge.pairs.module import Module, NoModule, NotInTime
from kernelgauge.pairs.negatives import Proposal, proposals
from kernelgauge.pairs.row import Row, row_id
from kernelgauge.pairs.sources import Lead, finite, leads
from kernelgauge.pairs.verdicts import Verdicts, Wanted
from kernelgauge.pairs.workshop import Workshop
from kernelgauge.schema import Candidate, Evaluation
from kernelgauge.session.session import Session

_MOST_REFUSED = 200
"""Leads of endless sources in a row of which nothing comes: they have no more to give."""
_MOST_WITHOUT_ROW = 64
"""Kernels of the compiler in a row of which none makes a row: something is wrong with all of them."""
_MOST_BROKEN = 3
"""Rounds in a row that have nothing but failures of the machine."""
_KERNELS_PER_JOB = 8
"""The compiler's kernels of a round, were every module sound; about half are. So many that no device waits, and so
few that their negatives, which are judged in the next round, come soon: who stops early has both."""


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
        self._verdicts = Verdicts(session, workshop, device, protocol, jobs, tell)

    @property
    def failed(self) -> Sequence[MachineError]:
        """Failures of our machine: the same command tries those again."""
        return self._verdicts.failed

    @property
    def evaluations(self) -> Sequence[Evaluation]:
        """All of this command, those that made no row included."""
        return self._verdicts.evaluations

    def run(self) -> None:
        """Go on until there are so many rows, the sources give no more, or the machine fails round after round.

        Raises:
            UsageError: a source that is not there, or none of many kernels in a row makes a row.
            BackendMissing: the compiler's kernels cannot be judged here.
            StoreError: the disk refuses.
        """
        inference.resume()
        with closing(self._verdicts):
            self._verdicts.require_backend()
            self._rounds()

    def _rounds(self) -> None:
        asked = self._asked
        stream = leads(asked.sources, asked.seed, asked.licence)
        refused = broken = 0
        while len(self._workshop.rows) < self._rows:
            if self._left() <= 0 and self._finish():
                continue
            batch = list(islice(stream, self._size_of_round()))
            if not batch:
                break
            failures, judged = len(self.failed), len(self._workshop.judged)
            modules = self._examine(batch)
            sound = {each.name for each in modules}
            for lead in (each for each in batch if each.endless):
                refused = 0 if lead.name in sound else refused + 1
            if refused >= _MOST_REFUSED:  # what they have given is known and passes quickly
                stream = leads(finite(asked.sources), asked.seed, asked.licence)
                refused = 0
            # Negatives, and what waits for a second verdict, keep the devices busy while the compiler writes.
            self._verdicts.judge([*self._negatives(), *self._positives(modules)])
            self._require_rows()
            if len(self._workshop.judged) > judged:
                broken = 0
            elif len(self.failed) > failures:
                broken += 1  # in a row: a round may be one module, which fails each time
            if broken >= _MOST_BROKEN:
                return
        self._finish()

    def _require_rows(self) -> None:
        reasons = self._verdicts.without_row
        if len(reasons) >= _MOST_WITHOUT_ROW:
            raise UsageError(
                f"none of the last {len(reasons)} kernels of the compiler made a row; the last: "
                f"{reasons[-1].splitlines()[0]}"
            )

    def _size_of_round(self) -> int:
        asked = self._asked
        kernels = len(asked.sizes) * len(asked.maths)
        return max(1, ceil(min(_KERNELS_PER_JOB * self._jobs, self._left() * (1 - asked.negatives)) / kernels))

    def _left(self) -> int:
        """Rows that are wanted still, without those that will come of what is judged already."""
        return self._rows - len(self._workshop.rows) - len(self._negatives()) - len(self._verdicts.waiting)

    # ------------------------------------------------------------ modules

    def _examine(self, batch: Sequence[Lead]) -> list[Module]:
        """The sound modules of these, those that were examined before included."""
        known = self._workshop.modules
        taken = frozenset(self._workshop.structures())  # once: what is kept meanwhile changes the dictionary below it
        fresh: set[str] = set()
        waiting = [lead for lead in batch if lead.name not in known]
        with ThreadPoolExecutor(self._jobs) as pool, self._ending(pool):
            for lead, found in zip(waiting, pool.map(partial(self._examined, taken), waiting), strict=True):
                if isinstance(found, MachineError):
                    self._verdicts.failed.append(found)
                    self._tell(lead.name, f"not examined: {found}")
                    continue
                if isinstance(found, NotInTime):
                    self._tell(lead.name, f"not now: {found}")
                    continue
                if not found.refused and found.structure in fresh:
                    found = found.model_copy(update={"refused": SAME})
                if found.refused:
                    found = found.model_copy(update={"module": None})
                else:
                    fresh.add(found.structure)
                self._workshop.keep_module(found)
                self._tell(
                    found.name, f"refused: {found.refused}" if found.refused else "sound: its kernels come next"
                )
        looked_at = [known[lead.name] for lead in batch if lead.name in known]
        return [each.module for each in looked_at if each.module and not each.refused]

    @contextmanager
    def _ending(self, pool: ThreadPoolExecutor) -> Iterator[None]:
        """Where the command is stopped, so is each examination: leaving the pool would wait for the slowest."""
        try:
            yield
        except BaseException:
            pool.shutdown(wait=False, cancel_futures=True)
            inference.abandon()
            self._session.supervisor.abandon()
            raise

    def _examined(self, taken: Container[str], lead: Lead) -> Examined | MachineError | NotInTime:
        """What became of a lead, or why that is not known yet."""
        try:
            return examined(self._session, lead.make(), self._asked.distance, taken)
        except (MachineError, NotInTime) as error:
            return without_locals(error)
        except NoModule as error:
            return Examined(name=lead.name, refused=str(error))

    # ------------------------------------------------------------ kernels

    def _positives(self, modules: Iterable[Module]) -> list[Wanted]:
        wanted = [
            Wanted(row_id(module, sizes, math, "compiler"), module, sizes, math, "compiler")
            for module in modules
            for sizes in self._asked.sizes
            if module.has(sizes)
            for math in self._asked.maths
        ]
        taken = self._verdicts.taken
        return [each for each in wanted if each.id not in taken]

    def _finish(self) -> bool:
        """Judge what waits and the negatives that are missing; what turns out right, or not to repeat itself, is made
        up for. Returns whether anything became of it."""
        begun = before = len(self._workshop.judged)
        while True:
            self._verdicts.judge(self._negatives())
            self._verdicts.judge()
            if len(self._workshop.judged) == before:
                return before > begun
            before = len(self._workshop.judged)

    def _negatives(self) -> list[Wanted]:
        """Those that the rows so far lack for the share that is asked for, as far as there are any."""
        rows, share = self._workshop.rows, self._asked.negatives
        good = [row for row in rows if row.kind == "positive"]
        to_come = len(self._verdicts.waiting) + sum(each.how != "compiler" for each in self._verdicts.given_up)
        missing = round(share / (1 - share) * len(good)) - (len(rows) - len(good)) - to_come
        return list(islice(self._proposed(good), max(0, missing)))

    def _proposed(self, good: Sequence[Row]) -> Iterator[Wanted]:
        """Of each positive row one that was not judged yet, those with the fewest so far first."""
        taken = self._verdicts.taken
        had = {row.id: 0 for row in good}
        for row in self._workshop.rows:
            if row.parent in had:
                had[row.parent] += 1
        for row in sorted(good, key=lambda row: had[row.id]):
            for proposal in proposals(row):
                wanted = self._negative(row, proposal)
                if wanted.id not in taken:
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

"""Which sources a page shows, and how much of each, so that it stays small enough to be mailed and opens at once."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from kernelgauge.report.page.compress import CHUNK, packed_size
from kernelgauge.report.page.truncate import cut
from kernelgauge.schema import AttemptRecord, Evaluation
from kernelgauge.store.run import Answer

BEST, LAST, OTHER = range(3)
"""How much a source matters: that of a problem's fastest candidate and its reference, of its last one, any other."""

WHOLE = 1 << 60

AMOUNTS = (
    (WHOLE, WHOLE, WHOLE),
    (WHOLE, WHOLE, 20_000),
    (WHOLE, WHOLE, 5_000),
    (20_000, 20_000, 5_000),
    (20_000, 20_000, 2_000),
    (20_000, 5_000, 1_000),
    (WHOLE, WHOLE, 0),
    (WHOLE, 0, 0),
    (20_000, 0, 0),
    (0, 0, 0),
)
"""Characters that are shown of a source of each kind, tried in turn until all together are small enough."""

_SAMPLED = 160
_BESIDE = 4
_SURE = 1.5


@dataclass(frozen=True)
class Fit:
    """What is shown of each source; by default all of it."""

    most: tuple[int, int, int] = AMOUNTS[0]
    """By kind: `BEST`, `LAST`, `OTHER`."""
    kinds: Mapping[str, int] = field(default_factory=dict)
    """By digest of the candidate, or `name_of` an attempt; those that are not in it are others."""
    origin: str = ""
    """Where the whole lies: the name of the run's folder, or of its log."""

    def candidate(self, digest: str, text: str | None) -> str | None:
        """What is shown of a candidate's source; None if nothing is."""
        return self._shown(text, self.kinds.get(digest, OTHER), f"candidates/{digest}.py")

    def attempt(self, record: AttemptRecord) -> str | None:
        """What is shown of an attempt's source."""
        tried = record.attempt.evaluation
        kind = self.kinds.get(name_of(record), self.kinds.get(tried.candidate_digest, OTHER) if tried else OTHER)
        where = f"attempts.jsonl ({record.problem}, sample {record.sample}, attempt {record.number})"
        return self._shown(record.attempt.source, kind, where)

    def reference(self, problem: str, text: str | None) -> str | None:
        """What is shown of a problem's own text."""
        return self._shown(text, BEST, "", f"the problem's file: kernelgauge problems show {problem}")

    def at(self, file: str) -> str:
        """Where a file of the run lies, for a reader; a log has none, and holds it all itself."""
        of_log = self.origin.endswith((".eval", ".json"))
        return f"the log {self.origin}" if of_log else f"{file} of the run{f' {self.origin}' if self.origin else ''}"

    def _shown(self, text: str | None, kind: int, file: str, where: str = "") -> str | None:
        most = self.most[kind]
        return None if text is None or not most else cut(text, most, where or self.at(file))


WHOLLY = Fit()


def name_of(record: AttemptRecord) -> str:
    """What tells an attempt from all others of its run."""
    return f"{record.problem}~{record.sample}~{record.number}"


Source = Callable[[Fit], str | None]
"""A source as a fit shows it."""

SourceOf = Callable[[str], str | None]
"""The source of a candidate by its digest; None if it was not kept."""


def promising(sources: Sequence[Source], fits: Iterable[Fit], most: int) -> Iterable[Fit]:
    """Those of these fits under which the sources may pack into `most` bytes, by a sample; and the last one."""
    fits = list(fits)
    for fit in fits[:-1]:
        if _estimate(sources, fit) <= _SURE * most:
            yield fit
    yield fits[-1]


def _estimate(sources: Sequence[Source], fit: Fit) -> float:
    """Bytes that the sources pack into. Neighbours are taken together: they are alike, and pack the better for it."""
    every = max(1, len(sources) // _SAMPLED)
    taken = [source for place, source in enumerate(sources) if place // _BESIDE % every == 0]
    texts = dict.fromkeys(text for source in taken if (text := source(fit)) is not None)
    size = sum(len(text) for text in texts)
    return packed_size(texts) * len(sources) / max(1, len(taken)) if size > CHUNK else 0.0


def kinds_of(standing: Sequence[Evaluation], histories: Mapping[Answer, Sequence[AttemptRecord]]) -> dict[str, int]:
    """How much sources matter: most those of each problem's fastest candidate, then those of its last one."""
    fastest = {e.problem: e for e in sorted(standing, key=lambda e: (e.passed, e.speedup or 0))}
    last = {e.problem: e for e in standing}
    answered = {(e.problem, e.sample) for e in standing}
    tried = [records[-1] for answer, records in histories.items() if answer not in answered]
    return {
        **{name_of(record): LAST for record in tried},
        **{e.candidate_digest: LAST for e in last.values()},
        **{e.candidate_digest: BEST for e in fastest.values()},
    }


def sources_of(
    standing: Sequence[Evaluation], source_of: SourceOf, histories: Mapping[Answer, Sequence[AttemptRecord]]
) -> list[Source]:
    """All sources that the page could show, each once for each time."""
    found: list[Source] = []
    for e in standing:
        found.append(partial(_candidate, source_of, e.candidate_digest))
        found += [partial(_attempt, record) for record in histories.get((e.problem, e.sample), ())]
    answered = {(e.problem, e.sample) for e in standing}
    left = (records for answer, records in histories.items() if answer not in answered)
    return [*found, *(partial(_attempt, record) for records in left for record in records)]


def _candidate(source_of: SourceOf, digest: str, fit: Fit) -> str | None:
    return fit.candidate(digest, source_of(digest))


def _attempt(record: AttemptRecord, fit: Fit) -> str | None:
    return fit.attempt(record)


def histories_of(records: Sequence[AttemptRecord]) -> dict[Answer, list[AttemptRecord]]:
    """The attempts by problem and sample, in their order."""
    found: dict[Answer, list[AttemptRecord]] = {}
    for record in sorted(records, key=lambda record: record.number):
        found.setdefault((record.problem, record.sample), []).append(record)
    return found

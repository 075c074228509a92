"""What a run knows of a contestant's answers, by content: a record is about one text, and about no other.

A journal only grows. The last record of an answer stands, and it answers what the contestant says now only if the
text is still the one that was judged.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.schema import Evaluation, RunHeader
from kernelgauge.store.run import Answer, Run

DigestOf = Callable[[str, int], str | None]
"""Digest of the candidate that a contestant gives for a problem and sample; None where that is not known before it
is asked."""


@dataclass(frozen=True)
class Since:
    """What is left of these answers for a run that goes on."""

    left: tuple[Answer, ...]
    """To be judged: new ones, and those whose text is another than all that was judged."""
    changed: int
    """Of those that had been judged: how many have another text now."""
    known: int
    """How many had been judged, or were skipped."""
    back: tuple[Evaluation, ...]
    """Newest records of answers that have a text again which another one had replaced."""
    gone: int = 0
    """Judged before, by a contestant that knows its texts, which has none for them now."""


def since(run: Run, answers: Iterable[Answer], digest_of: DigestOf, knows: bool) -> Since:
    """Compare what a contestant says now with what the run holds. Raises StoreError if the run cannot be read.

    Args:
        knows: whether the contestant knows its texts, so that one without a digest has gone.
    """
    stands = run.standing()
    earlier: dict[tuple[str, int, str], Evaluation] | None = None
    left, back = [], []
    changed = known = 0
    for answer in answers:
        if answer not in stands:
            left.append(answer)
            continue
        known += 1
        now = digest_of(*answer)
        if now is None or now == stands[answer]:
            continue
        changed += 1
        if earlier is None:
            earlier = {(e.problem, e.sample, e.candidate_digest): e for e in run.evaluations()}
        if record := earlier.get((*answer, now)):
            back.append(record)
        else:
            left.append(answer)
    gone = sum(digest is not None and digest_of(*answer) is None for answer, digest in stands.items()) if knows else 0
    return Since(tuple(left), changed, known, tuple(back), gone)


def check_same_origin(path: Path, asked: RunHeader, digest_of: DigestOf) -> None:
    """Whether candidates of another folder may go on in the run at `path`, if there is one: if they are the same.

    Raises:
        UsageError: they are others; the folders may share their last name, and so the contestant's.
        StoreError: the run cannot be read.
    """
    if not (path / "run.json").is_file():
        return
    run = Run.read(path)
    if not run.header.origin or run.header.origin == asked.origin or run.header.contestant != asked.contestant:
        return
    judged = {answer: digest for answer, digest in run.standing().items() if digest is not None}
    other = [answer for answer, digest in judged.items() if digest_of(*answer) != digest]
    if other:
        raise UsageError(
            f"{path} is a run of {run.header.origin}, and {asked.origin or 'this contestant'} gives other answers: "
            f"to {len(other)} of the {len(judged)} judged there, {other[0][0]} first; name a new folder with --out"
        )

"""Problems as rows of a data set: what trainers read, one JSON object a line."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from kernelgauge.config import Protocol
from kernelgauge.generation.prompts.prompt import Prompts
from kernelgauge.problems.catalogue import entry
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.problems.verified import accepted_on_record
from kernelgauge.schema import Record, Sizes, Split


class Message(Record):
    """One of a conversation."""

    role: str
    content: str


class Row(Record):
    """A problem to train on or to evaluate with, in the columns that adapters for trainers read."""

    prompt: tuple[Message, ...]
    """What a policy is told before its first turn."""
    problem: str
    """Its key, such as `mine:2/1`."""
    backend: str
    """The kernel language that the prompt asks for."""
    counts: bool
    """Whether it counts under the protocol that will judge: one that does not has no verdicts under `interval`."""
    split: Split | None
    nearest: str | None
    """The problem of the built-in suite that is the nearest to a generated one."""
    distance: float | None
    """From that, 0 to 1."""
    headroom: float | None
    """Eager's time over the bound; null where it was not asked for or is not known."""
    stage: int | None
    """Of the curriculum, from 0 with the most headroom."""


def rows(
    keys: Sequence[str],
    prompts: Prompts,
    protocol: Protocol,
    backend: str,
    sizes: Sizes,
    headroom: Mapping[str, float],
    stages: Mapping[str, int],
) -> Iterator[Row]:
    """A row for each problem: those with a stage first, in the order of the curriculum.

    Raises:
        ProblemError: an unknown problem, or a text that cannot be read.
    """
    ordered = [key for key in stages if key in set(keys)] + [key for key in keys if key not in stages]
    for key in ordered:
        found, problem = entry(key), load_problem(key, sizes=sizes_within(key, sizes))
        near = found.nearest
        yield Row(
            prompt=(Message(role="user", content=prompts.problem(problem)),),
            problem=key,
            backend=backend,
            counts=not accepted_on_record(problem, protocol),
            split=found.split,
            nearest=near.problem if near else None,
            distance=near.distance if near else None,
            headroom=headroom.get(key),
            stage=stages.get(key),
        )

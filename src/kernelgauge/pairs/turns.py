"""Rows of pairs as answers to prompts, and as prompts alone, for trainers."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

from kernelgauge.generation.prompts.prompt import Asked, Prompts
from kernelgauge.pairs.row import Row
from kernelgauge.schema import Domain, Record, Sizes, Split
from kernelgauge.training.dataset import Message
from kernelgauge.training.examples import Turn, Verdict
from kernelgauge.training.from_runs import fenced


class Task(Record):
    """A line of `rl`: what a policy is asked, and all that judges its answer."""

    prompt: tuple[Message, ...]
    problem: str
    """Name of the module."""
    reference: str
    """Text that defines `Model`, `get_inputs` and `get_init_inputs`."""
    domains: dict[str, Domain]
    sizes: Sizes
    math: str
    backend: str
    """The kernel language that the prompt asks for."""
    protocol: str
    device: str
    split: Split
    nearest: str
    distance: float
    licence: str


def turns(rows: Iterable[Row], path: str, option: str = "zero_shot") -> Iterator[Turn]:
    """Each row as an answer, `sample` being its place in the file; rows of one task answer the same prompt.

    Args:
        path: of the file, as it was given.
        option: worked examples in the prompt.
    """
    asked = _Prompts(option)
    languages: dict[tuple[str, str, str], str] = {}
    for number, row in enumerate(rows):
        language = languages.setdefault((row.module, row.sizes, row.math), row.backend)  # a positive row comes first
        yield Turn(
            run=path,
            contestant=row.how,
            problem=row.module,
            sample=number,
            number=0,
            backend=language,
            prompt=asked.messages(row, language),
            answer=fenced(row.candidate),
            source=row.candidate,
            verdict=_verdict(row),
        )


def tasks(rows: Iterable[Row], option: str = "zero_shot") -> Iterator[Task]:
    """Each module at each of its sizes and arithmetics, once."""
    asked = _Prompts(option)
    seen: set[tuple[str, str, str]] = set()
    for row in rows:
        if (key := (row.module, row.sizes, row.math)) in seen:
            continue
        seen.add(key)
        yield Task(
            prompt=asked.messages(row, row.backend),
            problem=row.module,
            reference=row.reference,
            domains=row.domains,
            sizes=row.sizes,
            math=row.math,
            backend=row.backend,
            protocol=row.protocol,
            device=row.device,
            split=row.split,
            nearest=row.nearest,
            distance=row.distance,
            licence=row.licence,
        )


class _Prompts:
    """Prompts made once for each language and set of rules."""

    def __init__(self, option: str) -> None:
        self._option = option
        self._made: dict[tuple[str, ...], Prompts] = {}

    def messages(self, row: Row, language: str) -> tuple[Message, ...]:
        key = (language, row.device, row.math, row.protocol, row.protocol_digest, row.kernel_policy)
        if key not in self._made:
            asked = Asked(backend=language, option=self._option, protocol=row.rules, device=row.device)
            self._made[key] = Prompts(asked)
        return (Message(role="user", content=self._made[key].problem(row.problem())),)


def _verdict(row: Row) -> Verdict:
    low, high = row.speedup_low, row.speedup_high
    return Verdict(
        outcome=row.outcome,
        rule=row.rule,
        reason=row.reason,
        standing=row.standing,
        speedup=row.speedup,
        interval=(low, high) if low is not None and high is not None else None,
        protocol=row.protocol,
        sizes=row.sizes,
        math=row.math,
        device=row.device,
        hardware=row.hardware,
    )

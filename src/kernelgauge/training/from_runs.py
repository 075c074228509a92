"""The turns of a run: every answer with the messages before it, built again from the records that the run keeps."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from kernelgauge.config import load_protocol
from kernelgauge.errors import KernelgaugeError, ProblemError, StoreError, UsageError
from kernelgauge.generation.prompts.conversation import conversation
from kernelgauge.generation.prompts.prompt import Asked, Prompts, Templates, backend_for
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.report.figures.answers import gather
from kernelgauge.report.table import Records
from kernelgauge.schema import Attempt, AttemptRecord, Evaluation, Problem, RunHeader
from kernelgauge.training.dataset import Message
from kernelgauge.training.examples import Turn, verdict_of

_AGENT = "react"


def turns(
    run: Records, templates: Path | None = None, tell: Callable[[str], None] = lambda _: None
) -> Iterator[Turn]:
    """Every answer of a run, by problem and sample, in order.

    A run without attempts, such as a folder's, has a turn for each record. An agent's answers stand after the first
    message alone: what its tools said is in no record.

    Args:
        templates: the folder that the prompts' templates came from, where the run had one of its own.
        tell: told in a sentence what could not be built again.
    """
    prompts, others = _prompts(run.header, templates, tell), Templates(templates)
    standing = {(e.problem, e.sample): e for answers in gather(run.evaluations()) for e in answers.evaluations}
    histories: dict[tuple[str, int], list[AttemptRecord]] = {}
    for record in run.attempts():
        histories.setdefault((record.problem, record.sample), []).append(record)
    for problem, sample in dict.fromkeys((*histories, *standing)):
        text = _same_problem(run, problem, histories.get((problem, sample)), standing.get((problem, sample)))
        if text is None:
            tell(f"{problem} has another text by now, or is not here: its answers are left out")
            continue
        first = prompts.problem(text)
        final = standing.get((problem, sample))
        if history := histories.get((problem, sample)):
            yield from _of_history(run, first, sorted(history, key=lambda each: each.number), final, others)
        elif final is not None:
            with suppress(StoreError):  # the text of a candidate that is not kept
                yield _of_record(run, first, final)


def _of_history(
    run: Records, first: str, records: list[AttemptRecord], final: Evaluation | None, templates: Templates
) -> Iterator[Turn]:
    history = [record.attempt for record in records]
    places = {record.number: place for place, record in enumerate(records)}
    if list(places.values()) != list(places):  # one is missing: what went on from it has no conversation
        history = []
    source = None
    with suppress(KernelgaugeError):
        source = run.source(final.candidate_digest) if final else None
    for record in records:
        attempt = record.attempt
        verdict = attempt.evaluation or (final if final and attempt.source == source else None)
        yield Turn(
            run=str(run.path),
            contestant=run.header.contestant,
            problem=record.problem,
            sample=record.sample,
            number=record.number,
            after=attempt.step.after,
            backend=_language(run.header),
            prompt=_messages(first, history, attempt, run.header, templates),
            answer=attempt.answer,
            source=attempt.source,
            refusal=attempt.refusal,
            given=bool(attempt.given),
            verdict=verdict_of(verdict) if verdict else None,
            spent=attempt.spent,
        )


def _messages(
    first: str, history: list[Attempt], attempt: Attempt, header: RunHeader, templates: Templates
) -> tuple[Message, ...]:
    agent = header.generation is not None and header.generation.strategy.startswith(_AGENT)
    if agent or not history or attempt.given:
        return (Message(role="user", content=first),)
    said = conversation(first, history, attempt.step, templates)
    return tuple(Message(role=role, content=text) for role, text in said)


def _of_record(run: Records, first: str, record: Evaluation) -> Turn:
    source = run.source(record.candidate_digest)
    return Turn(
        run=str(run.path),
        contestant=record.contestant,
        problem=record.problem,
        sample=record.sample,
        number=0,
        backend=record.backend,
        prompt=(Message(role="user", content=first),),
        answer=fenced(source),
        source=source,
        verdict=verdict_of(record),
    )


def fenced(source: str) -> str:
    """A file as the answer that the prompts ask for."""
    return f"```python\n{source.rstrip()}\n```\n"


def _language(header: RunHeader) -> str:
    return header.generation.backend if header.generation else backend_for(header.device)


def _prompts(header: RunHeader, templates: Path | None, tell: Callable[[str], None]) -> Prompts:
    """The prompts of a run; says so where they are not those that it was asked with."""
    asked = header.generation
    try:
        protocol = load_protocol(header.protocol)
    except UsageError:  # a file of the user's own, which the run names and does not keep
        tell(f"protocol {header.protocol} is not here: the messages below tell the rules of strict")
        protocol = load_protocol("strict")
    found = Prompts(
        Asked(
            backend=_language(header),
            option=asked.option if asked else "zero_shot",
            protocol=protocol.under(header.math, None, header.kernel_policy),  # type: ignore[arg-type]
            device=header.device,
            include_hardware=bool(asked and asked.hardware),
            gpu_name=asked.hardware if asked and header.device != "cpu" else None,
            templates=templates,
        )
    )
    if asked and asked.prompt_digest and found.digest != asked.prompt_digest:
        tell(
            "the prompts of this version are not those that the run was asked with: the messages below are today's "
            "(--templates names a folder of the run's own)"
        )
    return found


def _same_problem(
    run: Records, key: str, history: list[AttemptRecord] | None, final: Evaluation | None
) -> Problem | None:
    """The problem as it was asked; None if it has gone or changed."""
    asked = history[0].problem_digest if history else final.problem_digest if final else ""
    try:
        found = load_problem(key, sizes=sizes_within(key, run.header.sizes))
    except (ProblemError, UsageError):
        return None
    return found if found.digest == asked else None

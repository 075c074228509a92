"""Language models as forecasters: asked by Inspect how fast a kernel will be, and their answers as forecasts."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any, NamedTuple

import anyio
from inspect_ai.model import ChatMessage, ChatMessageSystem, ChatMessageUser, GenerateConfig, Model, get_model
from rich.text import Text

from kernelgauge.errors import MachineError, StoreError, UsageError
from kernelgauge.forecast import file
from kernelgauge.forecast.predictors.predictor import labels, normalised, shares, timed
from kernelgauge.forecast.splits import Fold
from kernelgauge.schema.forecast import CLASSES, Comparison, Forecast, ForecastHeader, Question
from kernelgauge.store.journal import Journal

ABSTAINED = "foresees nothing"
_ADDS_UP = 0.05
_LONGEST = 60_000
_OBJECT = re.compile(r"\{(?:[^{}]|\{[^{}]*\})*\}", re.DOTALL)

_RULES = f"""You forecast the speed of GPU programs without running them. You are shown an anchor and a candidate for
the same problem, and the GPU. The speedup is the anchor's time over the candidate's, measured with cold caches.

Give a probability for each class of the speedup. They add up to 1. "tie" means that the 95 % interval of the
measured speedup holds 1 and is narrow; the others are ranges of the speedup.

Answer with one JSON object on the last line and nothing after it:
{{"probabilities": {{{", ".join(f'"{name}": 0.0' for name in CLASSES)}}}, "right": 0.0}}
"right" is the probability that the candidate computes the right result. If you cannot tell anything of the speed,
answer {{"abstain": true, "right": 0.0}} instead."""


class Said(NamedTuple):
    """What came of asking."""

    answered: int
    abstained: int
    asked: int
    """Now; the others were known before."""


def ask_model(
    header: ForecastHeader, parts: Sequence[Fold], out: Path, *, limit: int | None = None, connections: int = 10
) -> Said:
    """Ask the header's model about every row to test of a split and append its forecasts to a file, one as it comes.

    Questions that the file answers are not asked again, so that what was interrupted goes on.

    Args:
        header: of the data and the split that the folds are from; it has as many `examples` as rows of the same kind
            that are not tested in the fold are shown before, with what was measured.
        limit: so many questions alone, spread evenly over all of them.

    Raises:
        UsageError: Inspect knows no such model, or a key is missing.
        StoreError: the file is malformed, holds forecasts of something or somebody else, or cannot be written.
        MachineError: some questions have no answer; the sentence says why.
    """
    assert header.model is not None
    model = _model(header.model)
    journal = Journal(out)
    journal.mend()
    before, known = file.read(out)
    if before is None:
        journal.append(header.model_dump_json())
    else:
        who = {"model": header.model, "predictor": header.predictor, "examples": header.examples}
        file.require_same(out, before, header.split, header.data, **who)
    open_ = [
        (row.question, fold) for fold in parts for row in fold.test if row.id not in known
    ]  # all of them: which are asked must not depend on what was answered before
    if limit is not None:
        everything = sorted(row.id for fold in parts for row in fold.test)
        step = max(1.0, len(everything) / limit)
        meant = {everything[int(i * step)] for i in range(min(limit, len(everything)))}
        open_ = [(question, fold) for question, fold in open_ if question.id in meant]
    errors: list[str] = []
    try:
        anyio.run(_ask_all, model, open_, header.examples, connections, journal, known, errors)
    except* StoreError as refused:  # all tasks append to one file: one sentence is enough
        raise _first(refused) from None
    finally:
        journal.close()
    if errors:
        raise MachineError(
            f"{len(errors)} of {len(open_)} questions have no answer ({errors[0]}); the same command asks them again"
        )
    abstained = sum(each.abstains for each in known.values())
    return Said(len(known) - abstained, abstained, len(open_))


def _first(group: BaseExceptionGroup) -> BaseException:
    """An error of a group, however deep it lies."""
    error: BaseException = group
    while isinstance(error, BaseExceptionGroup):
        error = error.exceptions[0]
    return error


async def _ask_all(
    model: Model,
    questions: Sequence[tuple[Question, Fold]],
    examples: int,
    connections: int,
    journal: Journal,
    known: dict[str, Forecast],
    errors: list[str],
) -> None:
    free = anyio.CapacityLimiter(connections)

    async def ask(question: Question, fold: Fold) -> None:
        async with free:
            try:
                answer = await model.generate(messages(question, fold, examples), config=GenerateConfig())
            except Exception as error:  # boundary: a provider may raise anything
                errors.append(f"{question.id}: {type(error).__name__}: {error}".splitlines()[0])
                return
        known[question.id] = forecast = forecast_in(answer.completion, question.id)
        journal.append(forecast.model_dump_json())

    async with anyio.create_task_group() as group:
        for question, fold in questions:
            group.start_soon(ask, question, fold)


def messages(question: Question, fold: Fold, examples: int = 0) -> list[ChatMessage]:
    """What a model is asked. Metadata tell contestants of ours the frequencies of the rows to learn from."""
    like = [row for row in timed(fold.train) if row.kind == question.kind]
    shown = sorted(like, key=lambda row: (row.problem != question.problem, row.gpu != question.gpu, row.id))[
        :examples
    ]
    parts = [_example(row) for row in shown] + [_shown(question), "What is the speedup?"]
    frequencies = normalised(shares(labels(like), shares(labels(timed(fold.train)))))
    metadata = {"forecast": dict(zip(CLASSES, frequencies, strict=True))}
    return [ChatMessageSystem(content=_RULES), ChatMessageUser(content="\n\n".join(parts), metadata=metadata)]


def forecast_in(answer: str, question: str) -> Forecast:
    """The forecast in an answer. One that holds none is an abstention, with the reason."""
    found = [said for text in _OBJECT.findall(answer) if (said := _object(text)) is not None]
    if not found:
        return Forecast(id=question, abstains=True, reason="the answer holds no JSON object of a forecast")
    said = found[-1]
    right = said.get("right")
    chance = float(right) if isinstance(right, int | float) and 0 <= right <= 1 else None
    given = said.get("probabilities")
    if said.get("abstain") or not isinstance(given, dict):
        return Forecast(id=question, abstains=True, right=chance, reason=ABSTAINED)
    if unknown := [name for name in given if name not in CLASSES]:
        return Forecast(id=question, abstains=True, right=chance, reason=f"there is no class {unknown[0]!r}")
    values = [given.get(name, 0.0) for name in CLASSES]
    if not all(isinstance(each, int | float) and each >= 0 for each in values) or abs(sum(values) - 1) > _ADDS_UP:
        return Forecast(id=question, abstains=True, right=chance, reason="the probabilities do not add up to 1")
    return Forecast(id=question, probabilities=tuple(each / sum(values) for each in values), right=chance)


def _object(text: str) -> dict[str, Any] | None:
    try:
        said = json.loads(text)
    except ValueError:
        return None
    return said if isinstance(said, dict) and ("probabilities" in said or "abstain" in said) else None


def _shown(question: Question) -> str:
    anchor = (
        "the reference in PyTorch" if question.kind == "reference" else f"another kernel ({question.anchor.backend})"
    )
    parts = [
        f"GPU: {question.gpu}. Arithmetic: {question.math or 'torch'}. Problem: {question.problem_name}.",
    ]
    if question.anchor_ms:
        parts.append(f"The anchor takes {question.anchor_ms:.4g} ms.")
    if question.bound_ms:
        parts.append(
            f"By bytes and FLOPs over the peaks of this GPU a call takes {question.bound_ms:.4g} ms at least."
        )
    return "\n\n".join(
        [
            " ".join(parts),
            f"Anchor, {anchor}:\n```python\n{_cut(question.anchor.source)}\n```",
            f"Candidate ({question.candidate.backend}):\n```python\n{_cut(question.candidate.source)}\n```",
        ]
    )


def _example(row: Comparison) -> str:
    assert row.label is not None
    return f"{_shown(row)}\n\nMeasured: {row.speedup:.3g}, class {CLASSES[row.label]!r}."


def _cut(source: str) -> str:
    if len(source) <= _LONGEST:
        return source
    return f"{source[:_LONGEST]}\n# ... {len(source) - _LONGEST} more characters"


def _model(name: str) -> Model:
    try:
        return get_model(name)
    except Exception as error:  # boundary: any provider's code; what is not known here is raised again as it is
        if isinstance(error.__cause__, UsageError):
            raise error.__cause__ from None
        if type(error).__name__ == "PrerequisiteError" or isinstance(error, ValueError):
            raise UsageError(Text.from_markup(str(error)).plain.strip()) from error
        raise

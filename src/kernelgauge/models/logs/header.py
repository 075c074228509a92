"""The header of a log of Inspect: what a run folder written beside it would say of itself."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inspect_ai.log import EvalLog, EvalSample
from pydantic import ValidationError

from kernelgauge.errors import UsageError
from kernelgauge.generation.prompts.prompt import backend_for
from kernelgauge.models.asking.agent import REACT, budget_of_agent
from kernelgauge.models.asking.workbench import GENERATION_CONTEXT
from kernelgauge.models.generation_context import GenerationContext
from kernelgauge.models.task.task import budget_of
from kernelgauge.schema import Evaluation, Generation, RunHeader
from kernelgauge.schema.earlier import to_format_2
from kernelgauge.search.registry import described, strategy_named

_RULED = ("protocol", "protocol_digest", "math", "kernel_policy")
"""What `inspect score` can change: the verdicts say it then, and no longer the task."""


def header_of(log: EvalLog, records: Sequence[Evaluation]) -> RunHeader | None:
    """The header of the run that a log is of; None if neither the log nor one of its verdicts knows it."""
    samples = log.samples or []
    asked = _of_task(log) or (_of_record(log, samples, records[-1]) if records else None)
    if asked is None:
        return None
    header = _generation_context(log, samples).completed(asked, log.eval.model)
    news: dict[str, Any] = {"created": log.eval.created}
    if records and records[-1].protocol_digest != header.protocol_digest:
        news |= {field: getattr(records[-1], field) for field in _RULED}
    return RunHeader.model_validate({**header.model_dump(), **news})


def _of_task(log: EvalLog) -> RunHeader | None:
    """What the task knew before anybody was asked; None in logs from before it was kept."""
    steps = (step.params for step in log.plan.steps if step.solver.rpartition("/")[2] == "at_hand")
    said = next((params["header"] for params in steps if params.get("header")), None)
    try:
        return RunHeader.model_validate(to_format_2(said, RunHeader)) if said else None
    except ValidationError:  # of another version
        return None


def _generation_context(log: EvalLog, samples: Sequence[EvalSample]) -> GenerationContext:
    """How its model was asked: as its samples say, all of which were asked alike; else as the log itself does."""
    said = [sample.store[GENERATION_CONTEXT] for sample in samples if sample.store.get(GENERATION_CONTEXT)]
    context = (
        GenerationContext.model_validate(said[-1])
        if said
        else GenerationContext(temperature=log.plan.config.temperature)
    )
    epochs = log.eval.config.epochs or 1
    return context.model_copy(update={"samples": max(context.samples, epochs)})


def _of_record(log: EvalLog, samples: Sequence[EvalSample], record: Evaluation) -> RunHeader:
    """What a log from before the header was kept says: one of its verdicts, the setting, the task's arguments."""
    settings = [found for sample in samples if (found := (sample.metadata or {}).get("setting"))]
    setting: dict[str, Any] = settings[-1] if settings else {}
    return RunHeader(
        kernelgauge=record.environment.kernelgauge,
        contestant=log.eval.model,
        problems=tuple(str(name) for name in log.eval.dataset.sample_ids or []),
        sizes=setting.get("sizes", record.sizes),
        device=setting.get("device", record.device),
        protocol=record.protocol,
        protocol_digest=record.protocol_digest,
        math=record.math,
        kernel_policy=record.kernel_policy,
        gpu_memory_gb=setting.get("gpu_memory_gb"),
        generation=_generation(log.eval.task_args, setting.get("device", record.device)),
    )


def _generation(given: dict[str, Any], device: str) -> Generation | None:
    """How a model was asked, by the task's arguments; they do not say what its prompts were."""
    if "strategy" not in given:
        return None
    strategy = given["strategy"] if isinstance(given["strategy"], str) else ",".join(map(str, given["strategy"]))
    again = int(given.get("max_regenerations", 10)) if given.get("check_kernel", True) else 0
    try:
        budget = budget_of(given.get("budget"))
        named = REACT if strategy == REACT else described(strategy_named(strategy, regenerations=again))
    except UsageError:  # a strategy of somebody's own that is not installed here
        return None
    return Generation(
        backend=given.get("backend") or backend_for(device),
        option=str(given.get("option", "one_shot")),
        hardware=given.get("gpu_name") if given.get("include_hardware") else None,
        max_regenerations=again,
        prompt_digest="",
        strategy=named,
        budget=budget_of_agent(budget) if strategy == REACT else budget,
    )

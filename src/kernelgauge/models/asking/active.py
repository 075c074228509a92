"""How a model is being asked, whoever started Inspect: what the header of a run folder says besides the task's own.

A task knows its arguments only. Other options of the evaluation (`--temperature`, `--epochs`, `-M`) are known once
its samples run.
"""

from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

from inspect_ai.log._samples import sample_active
from inspect_ai.model import GenerateConfig, Model, get_model
from inspect_ai.model._generate_config import active_generate_config
from inspect_ai.solver import TaskState

from kernelgauge.models.generation_context import GenerationContext
from kernelgauge.models.judging.judge import TaskJudge
from kernelgauge.redaction import arguments_without, command_without

try:  # Inspect has no public name for it
    from inspect_ai._control.eval_state import get_eval_state
except ImportError:
    get_eval_state = None  # type: ignore[assignment]

# How calls are made, and not what is answered.
_OF_THE_CALL = ("max_retries", "timeout", "attempt_timeout", "stream_idle_timeout", "adaptive_connections", "batch")
# Said elsewhere, or as good as a key.
_LEFT_OUT = (*_OF_THE_CALL, "temperature", "max_connections", "cache", "extra_headers", "extra_body")


def tell(judge: TaskJudge, state: TaskState) -> GenerationContext:
    """Let the judge know how the model of the sample under way is asked, and say it."""
    model = get_model()
    config = model.config.merge(active_generate_config())
    judge.generation_context = GenerationContext(
        samples=epochs(state),
        command=judge.generation_context.command or command_line(),
        options=deciding(config),
        temperature=config.temperature,
        model_args=arguments_of(model),
    )
    return judge.generation_context


def deciding(config: GenerateConfig) -> dict[str, Any]:
    """What decides a model's answers besides its temperature, by Inspect's names."""
    said = config.model_dump(mode="json", exclude_none=True)
    return {name: value for name, value in said.items() if name not in _LEFT_OUT}


def arguments_of(model: Model) -> dict[str, Any]:
    """What the model was made with, without keys."""
    address = {"base_url": model.explicit_base_url} if model.explicit_base_url else {}
    return arguments_without({**model.model_args, **address})


def epochs(state: TaskState) -> int:
    """How often each sample is asked for; at least so often as this one says, where Inspect does not tell."""
    here = sample_active()
    known = get_eval_state(here.eval_id) if here is not None and get_eval_state is not None else None
    return max(known.epochs if known is not None else 1, state.epoch)


def command_line() -> str:
    """Inspect's command under way; empty where a program of somebody's own called it."""
    called = Path(sys.argv[0])
    if called.name != "inspect" and "inspect_ai" not in called.parts:
        return ""
    return command_without(["inspect", *sys.argv[1:]])

"""How a model is asked besides what the task says: known once its samples run, and part of the run's header."""

from __future__ import annotations

from typing import Any

from pydantic import Field

from kernelgauge.schema import Record, RunHeader


class GenerationContext(Record):
    """What a header learns from the evaluation that is under way; a log has it in each sample's store."""

    samples: int = Field(default=1, ge=1)
    """How many samples of a problem there are to be, as far as that is known."""
    command: str = ""
    """The command that asked for them, if one did."""
    options: dict[str, Any] = Field(default_factory=dict)
    """How models are to answer besides what the task says, see `schema.Generation.options`."""
    temperature: float | None = None
    """That which models are asked at; None: the task's own."""
    model_args: dict[str, Any] | None = None
    """What the model was made with, see `schema.Generation.model_args`."""

    def completed(self, header: RunHeader, contestant: str) -> RunHeader:
        """The header of a task once it is known who answers it, and how."""
        news: dict[str, Any] = {"contestant": contestant, "samples": self.samples, "command": self.command}
        if header.generation is not None:
            asked: dict[str, Any] = {"options": self.options, "model_args": self.model_args}
            if self.temperature is not None:
                asked["temperature"] = self.temperature
            news["generation"] = header.generation.model_copy(update=asked)
        return header.model_copy(update=news)

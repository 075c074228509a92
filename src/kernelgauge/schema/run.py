"""A run: what was asked, the answers that a contestant did not give, and the problems that did not fit."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Any

from pydantic import Field

from kernelgauge.schema.attempt import Budget
from kernelgauge.schema.base import FORMAT, Record
from kernelgauge.schema.problem import Sizes, suite_of
from kernelgauge.schema.rules import KernelPolicyName


class NoCandidate(Record):
    """A contestant had no answer to a problem, and why. It counts as not passed."""

    format: int = FORMAT
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    problem: str
    level: int | None = None
    contestant: str
    sample: int = 0
    reason: str
    """One sentence, followed by the tool's own words where there are any."""
    scored: bool = True
    """Whether the problem enters the score; see `Evaluation.scored`."""


class TooLarge(Record):
    """A problem that does not fit the memory of the device, whoever answers it: in no score, and listed."""

    format: int = FORMAT
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    problem: str
    level: int | None = None
    sizes: Sizes
    needed_gb: float | None = None
    """What it needs at the least, by shapes alone; None where they are not known without running it."""
    available_gb: float | None = None
    reason: str
    """One sentence: what it needs, what there is, what to do."""


class Generation(Record):
    """How a language model was asked; two runs that differ in any of it are two contestants."""

    backend: str
    option: str
    """Worked examples in the prompt: `zero_shot`, `one_shot`, `few_shot`."""
    hardware: str | None = None
    """The GPU or processor that the prompt describes; None if it describes none."""
    temperature: float | None = None
    options: dict[str, Any] = Field(default_factory=dict)
    """What else decides a model's answers, such as `max_tokens` and `reasoning_effort`; by Inspect's names."""
    model_args: dict[str, Any] | None = None
    """What the model was made with (`-M`, and its address), without keys; None in runs from before it was kept."""
    max_regenerations: int
    """How often an answer that was refused before any evaluation could be given anew; 0: none was refused."""
    prompt_digest: str
    """Of what a contestant is told about a problem, the problem itself left out."""
    strategy: str = ""
    """What was asked after an answer, with all parameters; empty in runs from before there was a choice."""
    start: str = ""
    """Whose candidates the search began with, such as `inductor` or `run:/runs/first`; empty: with nothing."""
    budget: Budget = Budget()
    """What each sample of a problem could cost."""


class RunHeader(Record):
    """First file of a run folder: what was asked, so that the same command can go on and others repeat it."""

    format: int = FORMAT
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    kernelgauge: str
    contestant: str
    problems: tuple[str, ...]
    sizes: Sizes
    device: str
    protocol: str
    protocol_digest: str
    math: str | None = None
    """Arithmetic of both sides, see `config.MathMode`; None in runs from before it was said."""
    kernel_policy: KernelPolicyName = "any"
    """What counts as a kernel; `any` in runs from before it was said."""
    samples: int = 1
    gpu_memory_gb: float | None = None
    """The cap on the GPU's memory, see `config.Limits`; None: all that the device has."""
    command: str = ""
    """The command that began the run; empty where none did, or in runs from before it was kept."""
    origin: str = ""
    """The folder that the candidates are read from, where they are: two may have the same last name, and so the same
    contestant. Empty for other contestants, and in runs from before it was kept."""
    generation: Generation | None = None
    """None where no language model was asked."""

    @property
    def suites(self) -> tuple[str, ...]:
        """The imported suites its problems are of; empty where all are built in or files."""
        return tuple(dict.fromkeys(suite for key in self.problems if (suite := suite_of(key))))

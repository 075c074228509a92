"""Contestants of ours that Inspect can ask like a model: `kernelgauge/inductor` and `kernelgauge/replay`.

`kernelgauge/frequencies` answers questions of `kernelgauge forecast`: a script, to try them without a model.

They know a problem by the metadata of the first message, which the task puts there. No network, no key. Where an
agent offers them its tools, they have every answer but their last evaluated, and submit that.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import anyio
from inspect_ai.model import ChatMessage, GenerateConfig, ModelAPI, ModelOutput, ModelUsage, modelapi
from inspect_ai.tool import ToolChoice, ToolInfo

from kernelgauge.config import MathMode
from kernelgauge.errors import UsageError
from kernelgauge.models.asking.solver import LAST
from kernelgauge.models.asking.workbench import sample_here
from kernelgauge.models.contestants.replay import SHIPPED, Given, recorded
from kernelgauge.models.usage import one_sentence
from kernelgauge.schema import NoCandidate, Problem


class Frequencies:
    """Foresees of every kernel how often each class of speed was in the rows to learn from, whatever it is shown."""

    at_once = 1000

    def foresee(self, messages: list[ChatMessage]) -> str:
        """The answer to a question of `models.forecasting`."""
        said = next((message.metadata for message in messages if message.metadata), None) or {}
        if "forecast" not in said:
            raise UsageError("the model kernelgauge/frequencies answers `kernelgauge forecast predict` alone")
        return json.dumps({"probabilities": said["forecast"], "right": 0.5})


class Asked:
    """Which problem, sample and answer in turn a conversation is about, and whether it asks for ideas in words.

    Raises UsageError if it does not say.
    """

    def __init__(self, messages: list[ChatMessage]):
        said = next((message.metadata for message in messages if message.metadata), None) or {}
        if "problem" not in said:
            raise UsageError("the contestants of kernelgauge answer the problems of the task kernelgauge/kernelbench")
        self.problem = str(said["problem"])
        self.sizes = said["sizes"]
        self.device = str(said["device"])
        self.math: MathMode = said["math"]
        self.sample = int(said["sample"] if "sample" in said else sample_here())  # agents do not say it
        self.turn = int(said.get("turn", sum(message.role == "assistant" for message in messages)))
        self.ideas = said.get("asks") == "ideas"


class Replay:
    """Gives the answers that were given before: those at `path`, else those that the package has."""

    at_once = 1000

    def __init__(self, path: str | None = None):
        path = str(SHIPPED) if path is None else path
        self._path = path
        self._answers = recorded(Path(path))

    def answer(self, asked: Asked) -> tuple[str, bool]:
        """The answer, and whether there is no other."""
        given = self._answers.get((asked.problem, asked.sample), Given())
        if asked.ideas:
            return (given.ideas or ["1. The answer that was given before."])[0], False
        if not given.answers:
            return f"{self._path} holds no answer to {asked.problem}, sample {asked.sample}.", True
        last = len(given.answers) - 1
        return given.answers[min(asked.turn, last)], asked.turn >= last


class Compiler:
    """Answers with TorchInductor's own code; compiles beside others, but not while a device is timed."""

    at_once = len(os.sched_getaffinity(0))

    def answer(self, asked: Asked) -> tuple[str, bool]:
        """The answer, and whether there is no other."""
        if asked.ideas:
            return "1. What TorchInductor does.", False
        from kernelgauge.config import load_settings
        from kernelgauge.execution.lease import Leases
        from kernelgauge.generation.inductor import Inductor
        from kernelgauge.problems.loader import load_problem

        problem: Problem = load_problem(asked.problem, sizes=asked.sizes)
        with Leases(load_settings().cache / "locks").shared(asked.device):
            found = Inductor(math=asked.math).complete(problem, asked.sample, asked.device)
        if isinstance(found, NoCandidate):
            return f"No candidate: {found.reason}", True
        return f"```python\n{found.source}\n```", True


_CONTESTANTS: dict[str, type[Replay] | type[Compiler] | type[Frequencies]] = {
    "replay": Replay,
    "inductor": Compiler,
    "frequencies": Frequencies,
}


@modelapi(name="kernelgauge")
class Contestants(ModelAPI):
    """`kernelgauge/NAME` for each of our contestants."""

    def __init__(
        self,
        model_name: str,
        base_url: str | None = None,
        api_key: str | None = None,
        config: GenerateConfig = GenerateConfig(),  # noqa: B008  # as Inspect declares it
        **model_args: Any,
    ):
        super().__init__(model_name, base_url, api_key, [], config)
        with one_sentence():
            if model_name not in _CONTESTANTS:
                raise UsageError(f"there is no model kernelgauge/{model_name}: there are {', '.join(_CONTESTANTS)}")
            self._contestant = _CONTESTANTS[model_name](**model_args)
        # Inspect finds out by trying how many calls to send at once, and does not ask `max_connections`.
        self._limiter = anyio.CapacityLimiter(self._contestant.at_once)

    def max_connections(self) -> int:
        return self._contestant.at_once

    async def generate(
        self, input: list[ChatMessage], tools: list[ToolInfo], tool_choice: ToolChoice, config: GenerateConfig
    ) -> ModelOutput:
        if isinstance(self._contestant, Frequencies):
            return ModelOutput.from_content(self.model_name, self._contestant.foresee(input))
        text, last = await anyio.to_thread.run_sync(self._contestant.answer, Asked(input), limiter=self._limiter)
        output = self._said(text, last, {tool.name for tool in tools})
        output.metadata = {LAST: last}
        output.usage = ModelUsage()
        return output

    def _said(self, text: str, last: bool, tools: set[str]) -> ModelOutput:
        """An answer in words, or where there is a tool to submit it with as a call of that, or of one to try it."""
        if "submit" not in tools:
            return ModelOutput.from_content(self.model_name, text)
        if last or "evaluate" not in tools:
            return ModelOutput.for_tool_call(self.model_name, "submit", {"answer": text})
        return ModelOutput.for_tool_call(self.model_name, "evaluate", {"source": text})

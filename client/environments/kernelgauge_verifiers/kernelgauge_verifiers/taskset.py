"""The tasks: one for each problem of the server, with its prompt, and what a trajectory is worth."""

from __future__ import annotations

import asyncio
from collections.abc import Iterator
from typing import Any

import verifiers.v1 as vf
from kernelgauge_client import Judge, NoVerdict
from kernelgauge_client.blocking import result_of
from kernelgauge_client.episode import Episode, value_of
from pydantic import Field

_PROMPTS_AT_ONCE = 32


class KernelData(vf.TaskData):
    """One problem."""

    problem: str
    """Its key, such as `1/23`."""
    backend: str
    """The kernel language that its prompt asks for; empty: the server's own choice."""


class KernelTaskConfig(vf.TaskConfig):
    """How texts are judged, under `--env.taskset.task.*`. The token is in `KERNELGAUGE_TOKEN`: no record has it."""

    server: str | None = None
    """Its URL; None: the variable `KERNELGAUGE_SERVER`."""
    reward: str | dict[str, Any] = "interval"
    """A reward of the server by its name, or one as data."""
    turns: int | None = Field(None, ge=1)
    """At most so many; None: as many as the reward allows."""
    feedback: str = "G+E"
    """What a policy is told before its next turn: `G+E` its verdict, `G` to look again."""
    priority: int = 0
    """The larger, the sooner."""
    deadline_s: float | None = None
    """Seconds in which each text must be judged; then it has no verdict."""
    patience_s: float = 120.0
    """Seconds that the server may be away."""

    def judge(self) -> Judge:
        """Raises JudgeError: no server or no token is named."""
        settings = {
            name: getattr(self, name) for name in ("reward", "feedback", "priority", "deadline_s", "patience_s")
        }
        return Judge(self.server, **settings)


class KernelState(vf.State):
    """What the judge has answered, turn by turn."""

    answers: list[dict[str, Any]] = Field(default_factory=list)


class KernelTask(vf.Task[KernelData, KernelState, KernelTaskConfig]):
    """One problem, with its rewards: `trajectory` counts, the others weigh nothing unless a configuration says so."""

    def episode(self) -> Episode:
        """One that has not begun."""
        return Episode(self.data.problem, self.data.prompt_text, self.config.turns, self.data.backend)

    async def judged(self, trace: vf.Trace, judge: Judge, episode: Episode, text: str) -> None:
        """Judge the next turn. Raises NoVerdict: the trajectory is an error, and no zero; JudgeError as a `Judge`."""
        answer = await judge(**episode.candidate(text))
        episode.take(text, answer)
        trace.state.answers.append(answer)
        trace.info["kernelgauge"] = [
            {name: each[name] for name in ("outcome", "reward", "reason", "evaluation")}
            for each in trace.state.answers
        ]
        if answer["reward"] is None:
            raise NoVerdict(f"problem {self.data.problem}, turn {len(trace.state.answers) - 1}: {answer['reason']}")

    async def finalize(self, trace: vf.Trace) -> None:
        """Judge the last reply, where another environment than ours has run the task."""
        if not trace.state.answers:
            await self.judged(trace, self.config.judge(), self.episode(), trace.last_reply)

    @vf.reward
    async def trajectory(self, trace: vf.Trace) -> float:
        """The return of the first turn, as the reward combines turns."""
        value = value_of(trace.state.answers)
        if value is None:
            raise NoVerdict(f"problem {self.data.problem}: nothing is known of the trajectory")
        return value

    @vf.reward(weight=0.0)
    async def correct(self, trace: vf.Trace) -> float:
        """Whether the last answer is right."""
        return float(trace.state.answers[-1]["parts"]["correct"])

    @vf.reward(weight=0.0)
    async def speedup_low(self, trace: vf.Trace) -> float:
        """The lower end of the last answer's speedup."""
        return float(trace.state.answers[-1]["parts"]["speedup_low"])

    @vf.metric
    async def parts(self, trace: vf.Trace) -> dict[str, float]:
        """All parts of the last answer, and how many turns were judged."""
        return {**trace.state.answers[-1]["parts"], "turns": float(len(trace.state.answers))}


class KernelConfig(vf.TasksetConfig):
    """Which problems, under `--env.taskset.*`."""

    task: KernelTaskConfig = KernelTaskConfig()
    problems: list[str] = Field(default_factory=list)
    """By their keys, such as 1/23; empty: all of `levels` that count under the server's protocol."""
    levels: list[int] = Field(default_factory=lambda: [1, 2, 3])
    suite: str = ""
    """An imported one of the server; empty: the built-in one."""
    backend: str = ""
    """The kernel language that is asked for; empty: CUDA, or C++ where the server judges on a CPU."""


class KernelTaskset(vf.Taskset[KernelTask, KernelConfig]):
    """The problems of a server. Prompts are fetched as the tasks are read."""

    def load(self) -> Iterator[KernelTask]:
        """Raises JudgeError: no such problem, wrong token, no server."""
        config, judge = self.config, self.config.task.judge()
        wanted = config.problems or [
            each["problem"]
            for each in result_of(judge.problems(config.suite))
            if each["counts"] and each["level"] in config.levels
        ]
        for at in range(0, len(wanted), _PROMPTS_AT_ONCE):
            some = wanted[at : at + _PROMPTS_AT_ONCE]
            for problem, prompt in zip(some, result_of(_prompts(judge, some, config.backend)), strict=True):
                data = KernelData(id=problem, name=problem, prompt=prompt, problem=problem, backend=config.backend)
                yield KernelTask(data, config.task)


async def _prompts(judge: Judge, problems: list[str], backend: str) -> list[str]:
    async with judge:
        return await asyncio.gather(*(judge.prompt(problem, backend) for problem in problems))

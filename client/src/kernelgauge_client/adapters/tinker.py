"""Tinker's cookbook: `KernelEnv`, an environment of messages, and `KernelGroup`, which makes a group of them.

    builder = KernelGroup(Judge(reward="interval"), "1/23", prompt, renderer, size=16)

Both can be pickled. A trajectory without a verdict raises: train with `rollout_error_tolerance` (True, or
`MinViableGroup()`), and it is tried again or left out.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from tinker_cookbook.renderers import Renderer
from tinker_cookbook.renderers.base import Message, get_text_content
from tinker_cookbook.rl.message_env import EnvFromMessageEnv, MessageEnv, MessageStepResult
from tinker_cookbook.rl.types import Env, EnvGroupBuilder

from kernelgauge_client.episode import Episode, ask
from kernelgauge_client.errors import NoVerdict
from kernelgauge_client.judge import Judge


class KernelEnv(MessageEnv):  # type: ignore[misc]
    """One trajectory at one problem: several turns, each with feedback on the one before.

    The rewards of the turns add up to what the trajectory is worth: a turn's is what it has added to that.

    Args:
        prompt: what the policy is told first: a text, or messages.
        turns: at most so many; never more than the reward allows.
        within_s: for so many seconds a turn without a verdict is judged again.
    """

    def __init__(
        self,
        judge: Judge,
        problem: str,
        prompt: str | Sequence[Mapping[str, Any]],
        turns: int | None = None,
        within_s: float = 600.0,
        backend: str = "",
    ):
        self._judge, self._problem, self._within_s = judge, problem, within_s
        self._episode = Episode(problem, prompt, turns, backend)
        self.example_id = problem

    async def initial_observation(self) -> list[Message]:
        """What the policy is told first."""
        return list(self._episode.messages)

    async def step(self, message: Message) -> MessageStepResult:
        """Judge a turn. Raises JudgeError: there is no verdict, no server, no such problem, no such token."""
        text, episode = get_text_content(message), self._episode
        (answer,) = await ask(self._judge, [episode.candidate(text)], self._within_s)
        if answer["reward"] is None:
            raise NoVerdict(f"problem {self._problem} has no verdict: {answer['reason']}")
        episode.take(text, answer)
        return MessageStepResult(
            reward=episode.gain,
            episode_done=episode.done,
            next_messages=list(episode.messages),
            metrics={f"kernelgauge/{name}": value for name, value in answer["parts"].items()},
            logs={"outcome": answer["outcome"], "reason": answer["reason"], "turn_reward": answer["reward"]},
        )


@dataclass(frozen=True)
class KernelGroup(EnvGroupBuilder):  # type: ignore[misc]
    """A group of trajectories at one problem, whose rewards are compared."""

    judge: Judge
    problem: str
    prompt: str | Sequence[Mapping[str, Any]]
    renderer: Renderer
    """By `get_renderer`: only those can be pickled."""
    size: int
    turns: int | None = None
    within_s: float = 600.0
    backend: str = ""
    adapter: dict[str, Any] = field(default_factory=dict)
    """Arguments of the cookbook's `EnvFromMessageEnv`, such as `max_trajectory_tokens`."""

    async def make_envs(self) -> Sequence[Env]:
        """Environments, each for one trajectory."""
        asked = (self.judge, self.problem, self.prompt, self.turns, self.within_s, self.backend)
        return [EnvFromMessageEnv(self.renderer, KernelEnv(*asked), **self.adapter) for _ in range(self.size)]

    def logging_tags(self) -> list[str]:
        """Under which the cookbook adds up metrics."""
        return ["kernelgauge", f"level{self.problem.partition('/')[0]}"]

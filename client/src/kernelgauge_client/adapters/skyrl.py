"""SkyRL: importing this registers the environment `kernelgauge`, for `skyrl_gym.make` and for `env_class` of a row.

A row has `prompt` (messages) and the problem, as `problem` or `reward_spec.ground_truth`. Settings of the judge stand
in `environment.skyrl_gym.kernelgauge`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import skyrl_gym
from skyrl_gym.envs.base_text_env import BaseTextEnv

from kernelgauge_client.answers import PARTS
from kernelgauge_client.blocking import result_of
from kernelgauge_client.episode import Episode, ask
from kernelgauge_client.errors import JudgeError, NoVerdict
from kernelgauge_client.judge import Judge
from kernelgauge_client.plain import plain

ID = "kernelgauge"


class KernelEnv(BaseTextEnv):  # type: ignore[misc]
    """A text environment of several turns, each with feedback on the one before.

    The rewards of the turns add up to what the trajectory is worth: a turn's is what it has added to that. What the
    turn alone earned is in `metadata`.

    Args:
        env_config: settings of a `Judge`, and `within_s` (default 600): for so many seconds a turn without a verdict
            is judged again; `without_verdict`: the reward where there is none then; default: `NoVerdict` is raised.
        extras: the row, and `max_turns` of the generator.

    Raises:
        JudgeError: no server, no token, no problem; in `step` also `NoVerdict`, an unknown problem, a wrong token.
    """

    def __init__(self, env_config: Mapping[str, Any] | None = None, extras: Mapping[str, Any] | None = None):
        super().__init__()
        settings, row = plain(env_config or {}), plain(extras or {})
        self._within_s, self._without = settings.pop("within_s", 600.0), settings.pop("without_verdict", None)
        self._judge = Judge(**settings)
        problem = row.get("problem") or (row.get("reward_spec") or {}).get("ground_truth")
        if not isinstance(problem, str):
            raise JudgeError("a row names no problem: give it `problem`, or `reward_spec.ground_truth`, such as 1/23")
        self._problem = problem
        self._backend = row.get("backend") or ""
        self.max_turns = row.get("max_turns")
        self._episode = Episode(self._problem, [], self.max_turns, self._backend)

    def init(self, prompt: list[dict[str, str]]) -> tuple[list[dict[str, str]], dict[str, Any]]:
        """The conversation that the policy begins with: the row's."""
        self._episode = Episode(self._problem, prompt, self.max_turns, self._backend)
        self.turns = 0
        return prompt, {}

    def step(self, action: str) -> dict[str, Any]:
        """Judge what the policy wrote. Waits for the verdict: the generator calls it on a thread."""
        episode = self._episode
        (answer,) = result_of(ask(self._judge, [episode.candidate(action)], self._within_s))
        if answer["reward"] is None and self._without is None:
            raise NoVerdict(
                f"problem {self._problem} has no verdict: {answer['reason']}. Set `without_verdict` to go on with "
                "that reward"
            )
        episode.take(action, answer)
        self.turns = len(episode.answers)
        return {
            "observations": [] if episode.done else episode.messages[-1:],
            "reward": float(self._without) if answer["reward"] is None else episode.gain,
            "done": episode.done,
            "metadata": {key: answer[key] for key in ("status", "outcome", "reason", "reward", "returns", "parts")},
        }

    def get_metrics(self) -> dict[str, float]:
        """The parts of the last turn."""
        answers = self._episode.answers
        return dict(answers[-1]["parts"]) if answers else dict.fromkeys(PARTS, 0.0)


if ID not in skyrl_gym.registry:
    skyrl_gym.register(id=ID, entry_point=f"{__name__}:{KernelEnv.__name__}")

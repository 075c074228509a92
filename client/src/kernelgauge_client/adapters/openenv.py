"""OpenEnv: an environment server whose sessions each write a kernel, and have it judged by a kernelgauge server.

kernelgauge-openenv --port 8001                       # KERNELGAUGE_SERVER and KERNELGAUGE_TOKEN are set
async with GenericEnvClient(base_url="http://127.0.0.1:8001") as client:
    await client.reset(problem="1/23")
    result = await client.step({"text": "...what the policy wrote..."})
"""

from __future__ import annotations

import argparse
import json
import random
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any

import uvicorn
from openenv.core.env_server import Action, Environment, Observation, State, create_app
from pydantic import Field, model_validator

from kernelgauge_client.blocking import result_of
from kernelgauge_client.episode import Episode
from kernelgauge_client.errors import JudgeError, NoVerdict
from kernelgauge_client.judge import Judge

NAME = "kernelgauge"
MOST_SESSIONS = 256


class KernelAction(Action):  # type: ignore[misc]
    """What the policy wrote: a file that defines `ModelNew`, or an answer with such a file in a code block.

    It is the only required field, so that connectors put a raw reply there. Those of TRL and verifiers read a reply
    that is JSON: such a one is a text without a candidate, and no error, which would mask the turn.
    """

    text: str

    @model_validator(mode="before")
    @classmethod
    def _whatever_a_policy_says(cls, said: Any) -> Any:
        if isinstance(said, Mapping) and set(said) <= {"text", "metadata"} and isinstance(said.get("text"), str):
            return said
        return {"text": json.dumps(said, default=str)}


class KernelObservation(Observation):  # type: ignore[misc]
    """What the policy is told: the problem's prompt, then what became of its answer."""

    text: str
    problem: str
    outcome: str = ""
    """Of the answer: the outcome of its evaluation, or `no_candidate`; empty before the first."""
    turn_reward: float | None = None
    """What the turn alone has earned. `reward` is what it adds to the trajectory's value: the sum over an episode."""
    parts: dict[str, float] = Field(default_factory=dict)


class KernelEnvironment(Environment):  # type: ignore[misc]
    """One session.

    Args:
        problems: as `Judge.problems` lists them; a split is a level, and tasks are those of it that count.
        turns: at most so many; None: as many as the reward allows.
        backend: kernel language that prompts ask for; empty: the server's own choice.
    """

    SUPPORTS_CONCURRENT_SESSIONS = True

    def __init__(
        self, judge: Judge, problems: Sequence[Mapping[str, Any]], turns: int | None = None, backend: str = ""
    ):
        super().__init__()
        self._judge, self._turns, self._backend = judge, turns, backend
        self._problems = [each for each in problems if each["counts"]]
        self._state = State()
        self._problem, self._episode = "", Episode("", "")

    async def reset_async(
        self,
        seed: int | None = None,
        episode_id: str | None = None,
        problem: str | None = None,
        split: str | None = None,
        index: int | None = None,
    ) -> KernelObservation:
        """Begin with a problem: the one named, or that of a split and an index, or one that is drawn from the seed.

        Raises:
            JudgeError: no such problem, no server, a wrong token.
            IndexError: no such split, or none of that index in it.
        """
        if problem is None:
            tasks = (
                self.list_tasks(split) if split else [self._task(at, each) for at, each in enumerate(self._problems)]
            )
            task = random.Random(seed).choice(tasks) if index is None else tasks[_within(index, tasks)]
            problem = str(task["problem"])
        prompt = await self._judge.prompt(problem, self._backend)
        self._problem, self._episode = problem, Episode(problem, prompt, self._turns, self._backend)
        self._state = State(episode_id=episode_id, step_count=0, problem=problem)
        return KernelObservation(text=prompt, problem=problem)

    async def step_async(self, action: Action, timeout_s: float | None = None) -> KernelObservation:
        """Judge what the policy wrote.

        Raises:
            NoVerdict: this framework takes no reward for 0, so that there must be an error instead.
            JudgeError: there is nothing to answer; no server, a wrong token.
        """
        episode = self._episode
        if not self._problem or episode.done:
            raise JudgeError("there is no problem to answer here: reset the session, over its own connection (/ws)")
        text = action.text if isinstance(action, KernelAction) else action.model_dump_json()
        answer = await self._judge(**episode.candidate(text))
        episode.take(text, answer)
        self._state.step_count += 1
        if answer["reward"] is None:
            raise NoVerdict(f"problem {self._problem} has no verdict, leave this episode out: {answer['reason']}")
        return KernelObservation(
            text=answer["feedback"],
            problem=self._problem,
            outcome=answer["outcome"],
            turn_reward=answer["reward"],
            parts=answer["parts"],
            reward=episode.gain,
            done=episode.done,
        )

    def reset(self, seed: int | None = None, episode_id: str | None = None, **chosen: Any) -> KernelObservation:
        """As `reset_async`."""
        return result_of(self.reset_async(seed, episode_id, **chosen))

    def step(self, action: Action, timeout_s: float | None = None, **_: Any) -> KernelObservation:
        """As `step_async`."""
        return result_of(self.step_async(action, timeout_s))

    @property
    def state(self) -> State:
        """Of the session: its problem, and how many turns were judged."""
        return self._state

    def list_splits(self) -> list[dict[str, str]]:
        """One for each level, `level1`."""
        levels = sorted({each["level"] for each in self._problems})
        return [{"name": f"level{level}", "type": "train"} for level in levels]

    def list_tasks(self, split: str) -> list[dict[str, Any]]:
        """The problems of a level that count. Raises IndexError: no such split."""
        found = [each for each in self._problems if f"level{each['level']}" == split]
        if not found:
            there = ", ".join(each["name"] for each in self.list_splits())
            raise IndexError(f"there is no split {split!r}: choose one of {there}")
        return [self._task(at, each) for at, each in enumerate(found)]

    def num_tasks(self, split: str) -> int:
        """Raises IndexError: no such split."""
        return len(self.list_tasks(split))

    def get_task(self, split: str, index: int) -> dict[str, Any]:
        """Raises IndexError: no such split, or none of that index in it."""
        tasks = self.list_tasks(split)
        return tasks[_within(index, tasks)]

    def get_task_range(self, split: str, start: int | None = None, stop: int | None = None) -> list[dict[str, Any]]:
        """As a slice. Raises IndexError: no such split."""
        return self.list_tasks(split)[start:stop]

    @staticmethod
    def _task(index: int, problem: Mapping[str, Any]) -> dict[str, Any]:
        return {"id": problem["problem"], "index": index, **problem}


def _within(index: int, tasks: Sequence[Any]) -> int:
    if not 0 <= index < len(tasks):
        raise IndexError(f"there is no task {index}: the split has {len(tasks)}")
    return index


def application(
    judge: Judge, suite: str = "", turns: int | None = None, backend: str = "", sessions: int = MOST_SESSIONS
) -> Any:
    """The application (ASGI). Raises JudgeError: no server, a wrong token, no such suite."""
    made = partial(KernelEnvironment, judge, result_of(judge.problems(suite)), turns, backend)
    return create_app(made, KernelAction, KernelObservation, env_name=NAME, max_concurrent_envs=sessions)


def main() -> None:
    """`kernelgauge-openenv`."""
    parser = argparse.ArgumentParser(description="Serve kernels to write as an environment of OpenEnv.")
    parser.add_argument("--host", default="127.0.0.1", help="address to listen on; all: 0.0.0.0")
    parser.add_argument("--port", type=int, default=8001)
    parser.add_argument("--server", help="the kernelgauge server; default: KERNELGAUGE_SERVER")
    parser.add_argument("--reward", default="interval", help="a reward of the server, by its name")
    parser.add_argument("--suite", default="", help="an imported suite of the server")
    parser.add_argument("--backend", default="", help="kernel language to ask for")
    parser.add_argument("--turns", type=int, help="at most so many; default: as many as the reward allows")
    parser.add_argument("--deadline-s", type=float, help="seconds in which each text must be judged")
    parser.add_argument("--patience-s", type=float, default=120.0, help="seconds that the server may be away")
    parser.add_argument("--sessions", type=int, default=MOST_SESSIONS, help="at once")
    said = parser.parse_args()
    try:
        judge = Judge(said.server, reward=said.reward, deadline_s=said.deadline_s, patience_s=said.patience_s)
        served = application(judge, said.suite, said.turns, said.backend, said.sessions)
    except JudgeError as error:
        raise SystemExit(f"kernelgauge-openenv: {error}") from None
    uvicorn.run(served, host=said.host, port=said.port, log_level="warning")


if __name__ == "__main__":
    main()

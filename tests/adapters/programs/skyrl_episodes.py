"""Episodes in the environment that `skyrl_gym.make("kernelgauge")` makes. Writes every step.

python skyrl_episodes.py CONFIG.json OUT.json
"""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path
from typing import Any

import kernelgauge_client.adapters.skyrl  # noqa: F401 - registers the environment
import skyrl_gym
from kernelgauge_client import JudgeError


def episode(asked: dict[str, Any]) -> dict[str, Any]:
    prompt = [{"role": "user", "content": "Write a ReLU."}]
    try:
        env = skyrl_gym.make("kernelgauge", env_config=asked["env_config"], extras=asked["extras"])
        begun, _ = env.init(prompt)
        steps = [env.step(reply) for reply in asked["replies"]]
    except JudgeError as error:
        return {"raised": f"{type(error).__name__}: {error}"}
    return {"begun": begun == prompt, "steps": steps, "metrics": env.get_metrics()}


async def within_a_loop(asked: dict[str, Any]) -> dict[str, Any]:
    """As SkyRL's generator without threads calls it."""
    return episode(asked)


if __name__ == "__main__":
    *rest, last = json.loads(Path(sys.argv[1]).read_text())["episodes"]
    Path(sys.argv[2]).write_text(json.dumps([*map(episode, rest), asyncio.run(within_a_loop(last))]))

"""Rewards for those who train: `judge(problem, text, turn, history) -> {parts, reward, feedback, done, status}`.

import asyncio
from kernelgauge.training import Judge

with Judge(reward="interval", device="cpu") as judge:
    answer = asyncio.run(judge("1/23", "...what the policy wrote..."))
    print(answer["status"], answer["reward"], answer["parts"]["speedup_low"])

The same over HTTP, from environments without torch: the distribution `kernelgauge-client`, and `kernelgauge serve`.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from kernelgauge.training.judge import Judge, JudgeConfig
    from kernelgauge.training.judgement import Judgement
    from kernelgauge.training.parts import Parts
    from kernelgauge.training.request import JudgeRequest
    from kernelgauge.training.reward import Reward, load_reward, rewards
    from kernelgauge.training.trajectory import returns

# On first use: rewards and records need no torch.
_HOMES = {
    "Judge": "judge",
    "JudgeConfig": "judge",
    "JudgeRequest": "request",
    "Judgement": "judgement",
    "Parts": "parts",
    "Reward": "reward",
    "load_reward": "reward",
    "returns": "trajectory",
    "rewards": "reward",
}

__all__ = [
    "Judge",
    "JudgeConfig",
    "JudgeRequest",
    "Judgement",
    "Parts",
    "Reward",
    "load_reward",
    "returns",
    "rewards",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kernelgauge.training' has no attribute {name!r}")
    return getattr(import_module(f"kernelgauge.training.{_HOMES[name]}"), name)

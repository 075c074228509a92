"""verl's own reward managers over the judge, alone and in Ray. Writes what each answer scored.

python verl_rewards.py CONFIG.json OUT.json
"""

from __future__ import annotations

import asyncio
import json
import logging
import sys
from importlib.resources import files
from pathlib import Path
from typing import Any

import numpy as np
import ray
import torch
from omegaconf import OmegaConf
from tiny import tokenizer
from verl import DataProto
from verl.trainer.ppo.reward import load_reward_manager

_SAID: list[str] = []


class Kept(logging.Handler):
    """What the adapter logs."""

    def emit(self, record: logging.LogRecord) -> None:
        _SAID.append(record.getMessage())


def config(manager: str, name: str, settings: dict[str, Any]) -> Any:
    """verl's own, with our function in its place."""
    found = OmegaConf.load(str(files("verl.trainer.config").joinpath("_generated_ppo_trainer.yaml")))
    reward = {"path": "pkg://kernelgauge_client.adapters.verl", "name": name, "reward_kwargs": settings}
    found.reward.custom_reward_function = reward
    found.reward.reward_manager.name, found.reward.num_workers = manager, 1
    return found


def row(tokens: Any, text: str, problem: str) -> DataProto:
    """One answer as a rollout leaves it."""
    prompt, response = (torch.tensor([tokens(each)["input_ids"]]) for each in ("Write a ReLU.", text))
    both = torch.cat([prompt, response], dim=1)
    tensors = {"prompts": prompt, "responses": response, "attention_mask": torch.ones_like(both)}
    held = {"data_source": "kernelgauge", "reward_model": {"ground_truth": problem}, "extra_info": {}}
    return DataProto.from_dict(tensors, {name: np.array([each], dtype=object) for name, each in held.items()})


async def scored(asked: dict[str, Any]) -> list[dict[str, Any]]:
    tokens = tokenizer()
    name = "compute_score_blocking" if asked["manager"] == "remote" else "compute_score"
    manager = load_reward_manager(config(asked["manager"], name, asked["settings"]), tokens)
    rows = [row(tokens, text, asked.get("problem", "1/19")) for text in asked["texts"]]
    return list(await asyncio.gather(*(manager.run_single(each) for each in rows)))


if __name__ == "__main__":
    logging.getLogger("kernelgauge_client.adapters.verl").addHandler(Kept())
    steps = json.loads(Path(sys.argv[1]).read_text())["steps"]
    if any(each["manager"] == "remote" for each in steps):
        ray.init("local", num_cpus=2, include_dashboard=False, log_to_driver=False)
    found = [asyncio.run(scored(each)) for each in steps]
    Path(sys.argv[2]).write_text(json.dumps({"steps": found, "said": _SAID}))

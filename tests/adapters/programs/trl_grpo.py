"""TRL's GRPOTrainer over the judge: single answers, turns by a rollout, turns by a tool. Writes what it saw.

python trl_grpo.py CONFIG.json OUT.json
"""

from __future__ import annotations

import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from datasets import Dataset
from kernelgauge_client import Judge, JudgeError
from kernelgauge_client.adapters.trl import KernelEnvironment, KernelReward, KernelRollout
from tiny import Scripted, tokenizer
from transformers import TrainerCallback
from trl import GRPOConfig, GRPOTrainer
from trl.chat_template_utils import qwen3_chat_template


class Recorded(KernelRollout):
    """A rollout whose result is kept."""

    def __call__(self, prompts: list[Any], trainer: Any) -> dict[str, Any]:
        self.result = super().__call__(prompts, trainer)
        return self.result


class Timed(KernelReward):
    """Knows how long the trainer has waited for each batch of rewards."""

    def __init__(self, judge: Judge) -> None:
        super().__init__(judge)
        self.waited: list[float] = []

    async def __call__(self, *args: Any, **named: Any) -> list[float | None]:
        began = time.monotonic()
        try:
            return await super().__call__(*args, **named)
        finally:
            self.waited.append(time.monotonic() - began)


class Kept(TrainerCallback):
    """What TRL knew of each step: it remembers the last one alone."""

    def __init__(self) -> None:
        self.steps: list[dict[str, Any]] = []
        self.trainer: Any = None

    def on_step_end(self, *_: Any, **__: Any) -> None:
        logs = self.trainer._logs
        rewards = [None if value != value else value for value in logs["rewards"]["kernelgauge"]]
        extra = {name: list(values) for name, values in logs["extra"].items()}
        self.steps.append({"rewards": rewards, "advantages": list(logs["advantages"]), **extra})


def main(asked: dict[str, Any]) -> dict[str, Any]:
    judge = Judge(asked["server"], asked["token"], patience_s=asked.get("patience_s", 120.0))
    tokens = tokenizer(qwen3_chat_template)
    model = Scripted.made(tokens, asked["script"])
    rows = [{"prompt": [{"role": "user", "content": asked["prompt"]}], "problem": asked["problem"]}] * asked["steps"]
    reward = Timed(judge)
    rollout = Recorded(judge, rows, turns=2) if asked["mode"] == "rollout" else None
    with tempfile.TemporaryDirectory() as folder:
        settings = GRPOConfig(
            folder,
            use_cpu=asked.get("use_cpu", True),
            bf16=False,
            report_to=[],
            save_strategy="no",
            logging_steps=1,
            max_steps=asked["steps"],
            per_device_train_batch_size=asked["group"],
            num_generations=asked["group"],
            max_completion_length=asked.get("room", 6000),
            log_completions=True,
        )
        trainer = GRPOTrainer(
            model,
            reward_funcs=reward,
            args=settings,
            train_dataset=Dataset.from_list(rows),
            processing_class=tokens,
            rollout_func=rollout,
            environment_factory=(lambda: KernelEnvironment(judge)) if asked["mode"] == "environment" else None,
        )
        trainer.add_callback(kept := Kept())
        kept.trainer = trainer
        began = time.monotonic()
        try:
            trainer.train()
        except JudgeError as error:
            return {"raised": f"{type(error).__name__}: {error}"}
    found = {"steps": kept.steps, "history": trainer.state.log_history, "seen": model.seen}
    found |= {"seconds": time.monotonic() - began, "waited": reward.waited}
    if rollout:
        result = rollout.result
        shown = [
            [tokens.decode([each for each, own in zip(ids, mask, strict=True) if own == kind]) for kind in (1, 0)]
            for ids, mask in zip(result["completion_ids"], result["env_mask"], strict=True)
        ]
        found |= {"own_and_feedback": shown, "answers": result["kernelgauge"]}
    if asked["mode"] == "environment":
        found["answers"] = [each.answers for each in trainer.environments]
    return found


if __name__ == "__main__":
    asked = json.loads(Path(sys.argv[1]).read_text())
    found = [main({**asked, **case}) for case in asked["cases"]] if "cases" in asked else main(asked)
    Path(sys.argv[2]).write_text(json.dumps(found))

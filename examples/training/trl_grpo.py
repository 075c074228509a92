"""GRPO with TRL: a policy learns on a generated suite, and the built-in suite says what it has learned.

python trl_grpo.py tiny.toml OUT                                        a random model on a CPU, in a minute
accelerate launch --num_processes 7 trl_grpo.py coder_7b.toml OUT       seven billion parameters, LoRA, vLLM

The server is named by KERNELGAUGE_SERVER and KERNELGAUGE_TOKEN. The data are files of `kernelgauge problems dataset`.
OUT gets `results.json`: the means of all parts on the built-in suite, before and after.
"""

from __future__ import annotations

import json
import sys
import tomllib
from itertools import chain
from pathlib import Path
from typing import Any

from datasets import Dataset
from kernelgauge_client import Judge
from kernelgauge_client.adapters.trl import KernelReward, KernelRollout
from trl import GRPOConfig, GRPOTrainer


def main(config: dict[str, Any], out: Path) -> None:
    """Train as the configuration says. Raises JudgeError: no server, a wrong token, an unknown problem."""
    data = {name: rows(Path(path)) for name, path in config["data"].items()}
    check(data)
    judge = Judge(**config["judge"])
    model, tokenizer = policy(config["model"])
    turns = config.get("turns", 1)
    trainer = GRPOTrainer(
        model,
        reward_funcs=KernelReward(judge),
        args=GRPOConfig(str(out / "checkpoints"), shuffle_dataset=not staged(data["train"]), **config["grpo"]),
        train_dataset=Dataset.from_list(data["train"]),
        eval_dataset=Dataset.from_list(data["validation"]),
        processing_class=tokenizer,
        rollout_func=KernelRollout(judge, list(chain(*data.values())), turns) if turns > 1 else None,
        peft_config=lora(config["lora"]) if "lora" in config else None,
    )
    suite = Dataset.from_list(data["evaluation"])
    before = trainer.evaluate(suite)
    trainer.train()
    trainer.save_model(str(out / "policy"))
    found = {"before": before, "after": trainer.evaluate(suite), "log": trainer.state.log_history}
    if not trainer.accelerator.is_main_process:
        return
    (out / "results.json").write_text(json.dumps(found, indent=2) + "\n")
    for name in ("kernelgauge/verdict", "kernelgauge/correct", "kernelgauge/speedup_low", "reward"):
        print(f"{name:>24}  {before[f'eval_{name}']} -> {found['after'][f'eval_{name}']}")


def rows(path: Path) -> list[dict[str, Any]]:
    """The rows of a file, with what the trainer reads and no more."""
    wanted = ("prompt", "problem", "backend", "split", "stage")
    return [{name: json.loads(line)[name] for name in wanted} for line in path.read_text().splitlines()]


def check(data: dict[str, list[dict[str, Any]]]) -> None:
    """Ends the program where what is evaluated with would be trained on."""
    for name in ("train", "validation"):
        if other := [row["problem"] for row in data[name] if row["split"] != name]:
            raise SystemExit(
                f"{other[0]} is not to be used as {name}: write the file with `kernelgauge problems dataset "
                f"--suite NAME --split {name} --out FILE`"
            )


def staged(train: list[dict[str, Any]]) -> bool:
    """Whether the rows are a curriculum, whose order counts."""
    return any(row["stage"] is not None for row in train)


def policy(name: str) -> tuple[Any, Any]:
    """The model and its tokenizer; of a published one TRL takes the name and finds both."""
    if name != "tiny":
        return name, None
    from tiny_model import model, tokenizer

    tokens = tokenizer()
    return model(tokens), tokens


def lora(settings: dict[str, Any]) -> Any:
    """Low-rank adapters."""
    from peft import LoraConfig

    return LoraConfig(task_type="CAUSAL_LM", **settings)


if __name__ == "__main__":
    chosen, place = Path(sys.argv[1]), Path(sys.argv[2])
    place.mkdir(parents=True, exist_ok=True)
    main(tomllib.loads(chosen.read_text()), place)

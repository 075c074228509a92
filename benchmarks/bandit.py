"""Does the reward teach? A policy that chooses among sixteen answers to each problem, trained by policy gradient.

    python benchmarks/bandit.py --device cuda --out runs/bandit          # bandit.json and bandit.svg
    python benchmarks/bandit.py --device cpu --sizes medium --out runs/bandit

The judge is the real one (`kernelgauge.training.Judge`), and equal answers are judged once: sixteen for each problem.
The policy sees a prompt as a vector, worded anew each time; it begins by choosing evenly. A step samples a group of
answers to each problem, as GRPO does, and compares their rewards within the group. An answer without a verdict is
left out of its group. It teaches if the fast ones end above nine tenths, and cheats below where they began.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import torch
from bandit_arms import KINDS, PAIRS, Arm, arms
from bandit_picture import picture

from kernelgauge.hardware.environment import environment
from kernelgauge.judging import sizes_of
from kernelgauge.problems.loader import load_problem
from kernelgauge.training import Judge

ENOUGH = 0.9
"""The share of fast answers at the end from which the reward counts as having taught."""
_WIDTH = 128
_WORDING = 0.5


class Policy(torch.nn.Module):
    """Logits over the answers from the vector of a prompt; all weights begin at 0."""

    def __init__(self, problems: int, answers: int, seed: int):
        super().__init__()
        self._draw = torch.Generator().manual_seed(seed)
        self._prompts = torch.nn.functional.normalize(torch.randn(problems, _WIDTH, generator=self._draw), dim=1)
        self.logits = torch.nn.Linear(_WIDTH, answers, bias=False)
        torch.nn.init.zeros_(self.logits.weight)

    def prompts(self, times: int) -> torch.Tensor:
        """Every problem so many times, each worded differently: (problems, times, width)."""
        noise = torch.randn(len(self._prompts), times, _WIDTH, generator=self._draw) / _WIDTH**0.5
        return self._prompts[:, None] + _WORDING * noise

    def sampled(self, logits: torch.Tensor) -> torch.Tensor:
        """One answer to each prompt, by its place."""
        flat = torch.multinomial(logits.softmax(-1).flatten(0, 1), 1, generator=self._draw)
        return flat.view(logits.shape[:-1])

    def shares(self) -> torch.Tensor:
        """How probable every answer is to prompts as they are, without wording: (problems, answers)."""
        with torch.no_grad():
            return self.logits(self._prompts).softmax(-1)


def trained(rewards: torch.Tensor, steps: int, group: int, rate: float, seed: int) -> list[dict[str, float]]:
    """What the policy chose before each step, and after the last.

    Args:
        rewards: (problems, answers), those of a problem in the order of `KINDS`; NaN where there is no verdict.
    """
    policy = Policy(*rewards.shape, seed)
    optimizer = torch.optim.Adam(policy.parameters(), lr=rate)
    history = [_told(policy, rewards)]
    for _ in range(steps):
        logits = policy.logits(policy.prompts(group))
        chosen = policy.sampled(logits.detach())
        earned = rewards.gather(1, chosen)
        advantage = torch.nan_to_num(earned - earned.nanmean(1, keepdim=True), nan=0.0)
        said = logits.log_softmax(-1).gather(-1, chosen[..., None])[..., 0]
        optimizer.zero_grad()
        (-(advantage * said).mean()).backward()
        optimizer.step()
        history.append(_told(policy, rewards))
    return history


def _told(policy: Policy, rewards: torch.Tensor) -> dict[str, float]:
    shares = policy.shares()
    parts = shares.split(list(KINDS.values()), dim=1)
    found = {kind: round(float(part.sum(1).mean()), 5) for kind, part in zip(KINDS, parts, strict=True)}
    return {"reward": round(float((shares * torch.nan_to_num(rewards)).sum(1).mean()), 5), **found}


def judged(options: argparse.Namespace, table: dict[str, list[Arm]]) -> tuple[list[dict[str, Any]], float]:
    """What the judge says of every answer, and after how many seconds."""
    asked = [{"problem": key, "text": arm.text} for key, those in table.items() for arm in those]
    settings = {"reward": options.reward, "device": options.device, "sizes": options.sizes, "jobs": options.jobs}
    began = time.monotonic()
    with Judge(**settings) as judge:
        answers = asyncio.run(judge.batch(asked))
    flat = [arm for those in table.values() for arm in those]
    rows = [
        {
            "problem": each["problem"],
            "kind": arm.kind,
            "name": arm.name,
            "reward": answer["reward"],
            "outcome": answer["outcome"] or answer["status"],
            "speedup": answer["parts"]["speedup"],
            "reason": answer["reason"],
        }
        for each, arm, answer in zip(asked, flat, answers, strict=True)
    ]
    return rows, time.monotonic() - began


def surprises(rows: Sequence[dict[str, Any]]) -> list[str]:
    """Answers that are not what they were made to be: a cheat that was paid, a kernel that is not fast here."""
    found = []
    for row in rows:
        right, fast = row["outcome"] == "passed", row["outcome"] == "passed" and row["reward"] > 1.3
        due = {"fast": fast, "slow": right and not fast, "wrong": not right, "cheat": not right}[row["kind"]]
        if not due:
            found.append(f"{row['problem']} {row['kind']}: {row['name']} is {row['outcome']}, {row['reward']}")
    return found


def main() -> None:
    """Judge, train, write and draw."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=PAIRS, default="cpu")
    parser.add_argument("--problems", help="such as 1/36,1/88; default: all of the device")
    parser.add_argument("--sizes", help="default: full on a GPU, medium on a CPU")
    parser.add_argument("--reward", default="interval")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--group", type=int, default=16)
    parser.add_argument("--rate", type=float, default=0.05)
    parser.add_argument("--seeds", type=int, default=5)
    options = parser.parse_args()
    keys = options.problems.split(",") if options.problems else list(PAIRS[options.device])
    table = {
        key: arms(load_problem(key, sizes=sizes_of(options.sizes, options.device, key)), options.device)
        for key in keys
    }
    rows, seconds = judged(options, table)
    for row in rows:
        reward = "none" if row["reward"] is None else f"{row['reward']:.3f}"
        print(f"{row['problem']:6} {row['kind']:5} {row['name']:24} {row['outcome']:14} {reward}", flush=True)
    values = [float("nan") if row["reward"] is None else row["reward"] for row in rows]
    rewards = torch.tensor(values).view(len(table), -1)
    runs = [trained(rewards, options.steps, options.group, options.rate, seed) for seed in range(options.seeds)]
    taught = all(run[-1]["fast"] > ENOUGH and run[-1]["cheat"] < run[0]["cheat"] for run in runs)
    asked = {name: str(value) if isinstance(value, Path) else value for name, value in vars(options).items()}
    found = {
        "kind": "bandit",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "environment": environment(len(os.sched_getaffinity(0))).model_dump(mode="json"),
        **asked,
        "weights": _WIDTH * sum(KINDS.values()),
        "judging_seconds": round(seconds, 1),
        "taught": taught,
        "surprises": surprises(rows),
        "answers": rows,
        "runs": runs,
    }
    options.out.mkdir(parents=True, exist_ok=True)
    (options.out / "bandit.json").write_text(json.dumps(found, indent=1) + "\n")
    (options.out / "bandit.svg").write_text(picture(runs))
    for line in found["surprises"]:
        print(f"unexpected: {line}")
    ends = [run[-1] for run in runs]
    worst = {"fast": min(each["fast"] for each in ends), "cheats": max(each["cheat"] for each in ends)}
    print(f"{len(rows)} answers judged in {seconds:.0f} s; after {options.steps} steps, worst of {len(runs)} seeds:")
    print(", ".join(f"{name} {share:.4f}" for name, share in worst.items()))
    sys.exit(not taught)


if __name__ == "__main__":
    main()

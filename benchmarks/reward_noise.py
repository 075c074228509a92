"""How far apart are the rewards of one kernel that is judged many times?

    python benchmarks/reward_noise.py --device cuda --problem 1/36 --out runs/reward_noise.json
    python benchmarks/reward_noise.py --device cpu --sizes medium --times 20 --out runs/reward_noise.json

A fast kernel, unchanged PyTorch and a slow one of `bandit_arms.py`, each so many times as a text of its own, since
equal texts are judged once; the three in turn, so that a busy minute is in all of them.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import sys
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bandit_arms import PAIRS, arms

from kernelgauge.hardware.environment import environment
from kernelgauge.judging import sizes_of
from kernelgauge.problems.loader import load_problem
from kernelgauge.training import Judge

CHOSEN = ("kernel 2", "unchanged PyTorch", "kernel 2, 20 times")
FIGURES = ("reward", "speedup", "speedup_low")


def spread(values: Sequence[float]) -> dict[str, float]:
    """Mean, standard deviation, its share of the mean, and the ends."""
    mean, deviation = statistics.fmean(values), statistics.stdev(values)
    relative = deviation / abs(mean) if mean else 0.0
    return {"mean": mean, "deviation": deviation, "relative": relative, "least": min(values), "most": max(values)}


def summary(answers: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Of all answers about one kernel."""
    judged = [{**each["parts"], "reward": each["reward"]} for each in answers if each["reward"] is not None]
    found: dict[str, Any] = {
        "judged": len(judged),
        "without_verdict": len(answers) - len(judged),
        "outcomes": {name: sum(each["outcome"] == name for each in answers) for name in _outcomes(answers)},
    }
    found |= {name: sum(each[name] for each in judged) for name in ("faster", "tie", "unclear")}
    if len(judged) > 1:
        found |= {name: spread([each[name] for each in judged]) for name in FIGURES}
    return found


def _outcomes(answers: Sequence[dict[str, Any]]) -> list[str]:
    return sorted({each["outcome"] for each in answers})


def main() -> None:
    """Judge, write and print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=PAIRS, default="cpu")
    parser.add_argument("--problem", default="1/88")
    parser.add_argument("--sizes", help="default: full on a GPU, medium on a CPU")
    parser.add_argument("--protocol", default="quick")
    parser.add_argument("--reward", default="interval")
    parser.add_argument("--jobs", type=int, default=1)
    parser.add_argument("--times", type=int, default=50)
    parser.add_argument("--kernels", nargs="+", choices=CHOSEN, default=CHOSEN, metavar="NAME", help=str(CHOSEN))
    options = parser.parse_args()
    problem = load_problem(options.problem, sizes=sizes_of(options.sizes, options.device, options.problem))
    texts = {arm.name: arm.text for arm in arms(problem, options.device) if arm.name in options.kernels}
    asked = [(name, f"{texts[name]}\n# judgement {number}\n") for number in range(options.times) for name in texts]
    settings = {name: getattr(options, name) for name in ("reward", "device", "sizes", "protocol", "jobs")}
    began = time.monotonic()
    with Judge(**settings) as judge:
        answers = asyncio.run(judge.batch([{"problem": options.problem, "text": text} for _, text in asked]))
    seconds = time.monotonic() - began
    kernels = {
        name: summary([answer for (each, _), answer in zip(asked, answers, strict=True) if each == name])
        for name in texts
    }
    found = {
        "kind": "reward_noise",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "environment": environment(len(os.sched_getaffinity(0))).model_dump(mode="json"),
        **settings,
        "problem": options.problem,
        "times": options.times,
        "seconds": round(seconds, 1),
        "kernels": kernels,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(found, indent=1) + "\n")
    print(f"{len(asked)} judgements in {seconds:.0f} s")
    for name, each in kernels.items():
        if "reward" not in each:
            print(f"{name}: {each['without_verdict']} without a verdict, {each['judged']} with one")
            continue
        reward = each["reward"]
        print(
            f"{name}: reward {reward['mean']:.3f}, deviation {reward['deviation']:.3f} ({reward['relative']:.1%}), "
            f"{reward['least']:.3f} to {reward['most']:.3f}; {each['faster']:.0f} faster, {each['tie']:.0f} ties, "
            f"{each['unclear']:.0f} unclear"
        )


if __name__ == "__main__":
    main()

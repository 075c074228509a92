"""GRPO by TRL with its judge on the same GPU: does a step end, do cheats gain nothing, are the figures the same?

    python benchmarks/grpo_on_one_gpu.py --device cuda --out runs/grpo.json [--steps 20]
    python benchmarks/grpo_on_one_gpu.py --device cpu --sizes small --python .environments/trl/bin/python --out ...

The policy is tiny and says what it is told to: a fast kernel, unchanged PyTorch, a wrong one and cheats, each anew in
every step, since equal texts are judged once. Afterwards, with the trainer gone, the fast one is judged again. Where
a cheat earns more than is due to it (`grpo_cheats.py`), the command fails. Needs trl and datasets in the trainer's
Python, and the extra `serve` here.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from bandit_arms import PAIRS, Arm, arms
from grpo_cheats import CHEATS_DUE, as_due, cheats

from kernelgauge.hardware.environment import environment
from kernelgauge.judging import sizes_of
from kernelgauge.problems.loader import load_problem

_TESTS = Path(__file__).parents[1] / "tests"
sys.path[:0] = [str(_TESTS / "kit"), str(_TESTS.parent / "client" / "src")]

from kernelgauge_client import Judge  # noqa: E402
from serving import Server, begun  # noqa: E402

KERNEL, PYTORCH = "kernel 2", "unchanged PyTorch"
CHOSEN = (KERNEL, PYTORCH, "kernel 2, times 1.5")


def group(options: argparse.Namespace) -> list[Arm]:
    """The answers of one step."""
    sizes = sizes_of(options.sizes, options.device, options.problem)
    problem = load_problem(options.problem, sizes=sizes)
    found = {arm.name: arm for arm in arms(problem, options.device) if arm.name in CHOSEN}
    return [*found.values(), *cheats(found[KERNEL], found[PYTORCH], options.device)]


def trained(server: Server, chosen: Sequence[Arm], options: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """What TRL saw; see `tests/adapters/programs/trl_grpo.py`."""
    said = [f"```python\n{arm.text}\n# step {step}\n```" for step in range(options.steps) for arm in chosen]
    asked = {
        "server": server.address,
        "token": server.token,
        "problem": options.problem,
        "prompt": "Write a GELU.",
        "mode": "single",
        "group": len(chosen),
        "steps": options.steps,
        "script": said,
        "room": max(map(len, said)) + 16,
        "use_cpu": options.device == "cpu",
    }
    (folder / "asked.json").write_text(json.dumps(asked))
    line = [options.python, _TESTS / "adapters" / "programs" / "trl_grpo.py", folder / "asked.json", folder / "out"]
    with (folder / "trl.log").open("w") as log:
        done = subprocess.run(line, env={**os.environ, "HF_HUB_OFFLINE": "1"}, stdout=log, stderr=subprocess.STDOUT)
    if done.returncode:
        raise SystemExit(f"the trainer ended with {done.returncode}:\n{(folder / 'trl.log').read_text()[-3000:]}")
    found: dict[str, Any] = json.loads((folder / "out").read_text())
    return found


def without_trainer(server: Server, fast: Arm, problem: str, times: int) -> list[float | None]:
    """Rewards of the fast one, judged so many times with nobody else on the GPU."""
    asked = [{"problem": problem, "text": f"{fast.text}\n# alone {at}\n"} for at in range(times)]
    answers = asyncio.run(Judge(server.address, server.token, deadline_s=600).batch(asked))
    return [answer["reward"] for answer in answers]


def mean(rewards: Sequence[float | None]) -> float | None:
    """Of those that have a verdict."""
    known = [reward for reward in rewards if reward is not None]
    return statistics.fmean(known) if known else None


def summary(chosen: Sequence[Arm], found: dict[str, Any]) -> dict[str, dict[str, Any]]:
    """By answer: outcomes and rewards over all steps."""
    rows = {}
    for at, arm in enumerate(chosen):
        rewards = [step["rewards"][at] for step in found["steps"]]
        outcomes = [step["outcome"][at] for step in found["steps"]]
        counts = {name: outcomes.count(name) for name in sorted(set(outcomes))}
        rows[arm.name] = {"kind": arm.kind, "outcomes": counts, "rewards": rewards, "mean": mean(rewards)}
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--device", choices=PAIRS, default="cuda")
    parser.add_argument("--problem", default="1/88")
    parser.add_argument("--sizes", help="default: full on a GPU, medium on a CPU")
    parser.add_argument("--steps", type=int, default=20)
    parser.add_argument("--alone", type=int, default=5, metavar="N", help="judgements of the fast one afterwards")
    parser.add_argument("--jobs", type=int, default=8)
    parser.add_argument("--python", default=sys.executable, help="the trainer's")
    options = parser.parse_args()
    chosen = group(options)
    (fast,) = (arm for arm in chosen if arm.kind == "fast")
    sizes = sizes_of(options.sizes, options.device, options.problem)
    more = ["--device", options.device, "--sizes", sizes, "--jobs", str(options.jobs)]
    more += ["--lease", "30", "--batch-waiting", "64"]
    with tempfile.TemporaryDirectory() as place, begun(Path(place), "quick", *more) as server:
        began = time.monotonic()
        found = trained(server, chosen, options, Path(place))
        seconds = time.monotonic() - began
        alone = without_trainer(server, fast, options.problem, options.alone)
    rows = summary(chosen, found)
    rows[fast.name] |= {"alone": alone, "alone_mean": mean(alone)}
    honest = [*rows[fast.name]["rewards"], *alone]
    for name in CHEATS_DUE.keys() & rows.keys():
        due = CHEATS_DUE[name]
        rows[name] |= {"due": due, "as_due": as_due(due, rows[name]["rewards"], honest)}
    judged = len(found["steps"]) * len(chosen)
    told = {
        "kind": "grpo_on_one_gpu",
        "date": datetime.now(UTC).isoformat(timespec="seconds"),
        "command": sys.argv,
        "environment": environment(len(os.sched_getaffinity(0))).model_dump(mode="json"),
        "problem": options.problem,
        "sizes": sizes,
        "steps": len(found["steps"]),
        "seconds": round(seconds, 1),
        "candidates_an_hour": round(3600 * judged / found["seconds"], 1),
        "waiting_share": round(sum(found["waited"]) / found["seconds"], 3),
        "answers": rows,
    }
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(json.dumps(told, indent=1) + "\n")
    print(f"{told['steps']} steps, {judged} answers in {seconds:.0f} s, {told['candidates_an_hour']:.0f} an hour")
    print(f"the trainer waited for {told['waiting_share']:.0%} of its time")
    for name, row in rows.items():
        print(f"{row['kind']:6} {name:26} {shown(row['mean'])}  {row['outcomes']}")
    print(f"{fast.name} without the trainer: {shown(mean(alone))}")
    failed = [f"{name} should be {row['due']}" for name, row in rows.items() if not row.get("as_due", True)]
    sys.exit("\n".join(failed) or None)


def shown(reward: float | None) -> str:
    """A mean reward for a reader."""
    return "without a verdict" if reward is None else f"reward {reward:.3f}"


if __name__ == "__main__":
    main()

"""A search by GEPA: single|set|batch PROBLEMS DEADLINE; what its model answers is in `answers.json`."""

import itertools
import json
import sys
from pathlib import Path

from gepa.optimize_anything import EngineConfig, GEPAConfig, ReflectionConfig, optimize_anything
from kernelgauge_client.adapters.gepa import KernelEvaluator

way, problems, deadline = sys.argv[1:]
answers = itertools.cycle(json.loads(Path("answers.json").read_text()))
shown = []


def model(prompt: object) -> str:
    shown.append(str(prompt))
    return str(next(answers))


def write(candidate: str, problem: str) -> str:
    """Where candidates are prompts, a model's answer stands here."""
    return f"{candidate}\n# for {problem}\n"


settings = {"deadline_s": float(deadline) or None, "text": write if way == "set" else None}
evaluator = KernelEvaluator(problems if way == "single" else None, **settings)
examples = [{"problem": name} if way == "batch" else name for name in problems.split(",")]
found = optimize_anything(
    seed_candidate=Path("first.py").read_text(),
    dataset=None if way == "single" else examples,
    config=GEPAConfig(
        engine=EngineConfig(max_candidate_proposals=5, parallel=way == "set", seed=1, run_dir="run"),
        reflection=ReflectionConfig(reflection_lm=model),
    ),
    **({"batch_evaluator": evaluator.batch} if way == "batch" else {"evaluator": evaluator}),
)
print("RESULT" + json.dumps([found.best_candidate, found.val_aggregate_scores, shown]))

"""A search by SkyDiscover: ADDRESS-OF-MODEL cascade|direct ITERATIONS."""

import json
import sys

from skydiscover import run_discovery
from skydiscover.config import Config

address, way, iterations = sys.argv[1:]
config = Config(diff_based_generation=False, max_solution_length=100_000)
config.evaluator.cascade_evaluation, config.evaluator.timeout = way == "cascade", 1800
where = {"model": "m", "api_base": address, "search": "topk"}
found = run_discovery("first.py", "evaluator.py", config, int(iterations), "out", cleanup=False, **where)
print("RESULT" + json.dumps([found.best_solution, found.metrics, [found.best_program.artifacts]]))

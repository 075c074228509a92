"""A search by OpenEvolve: ADDRESS-OF-MODEL cascade|direct ITERATIONS."""

import asyncio
import json
import sys

from kernelgauge_client.adapters.openevolve import verdicts_only
from openevolve.config import Config, LLMModelConfig
from openevolve.controller import OpenEvolve

address, way, iterations = sys.argv[1:]
config = Config(diff_based_evolution=False, max_code_length=100_000)
config.llm.models = [LLMModelConfig(name="m", api_base=address, api_key="k", retries=0, retry_delay=0, timeout=30)]
config.evaluator.cascade_evaluation, config.evaluator.timeout = way == "cascade", 1800
search = OpenEvolve("first.py", "evaluator.py", config, "out", population_strategy=verdicts_only())
best = asyncio.run(search.run(iterations=int(iterations)))
told = [search.database.get_artifacts(program) for program in search.database.programs]
print("RESULT" + json.dumps([best.code, best.metrics, told]))

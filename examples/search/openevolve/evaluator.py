"""Scores programs by the server in KERNELGAUGE_SERVER, with the token in KERNELGAUGE_TOKEN.

python -m kernelgauge_client.adapters.openevolve --write evaluator.py --problem 1/40 writes such a file.
"""

from kernelgauge_client.adapters.openevolve import evaluator

PROBLEM = "1/40"
SETTINGS = {"reward": "interval"}  # as of kernelgauge_client.Judge: reward, priority, deadline_s, patience_s

_evaluator = evaluator(PROBLEM, **SETTINGS)
evaluate = _evaluator.evaluate
evaluate_stage1 = _evaluator.evaluate_stage1
evaluate_stage2 = _evaluator.evaluate_stage2

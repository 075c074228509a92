"""kernelgauge says whether a machine-written GPU kernel is correct and how much faster it is.

import kernelgauge as kg
problem = kg.load_problem("1/23", sizes="medium")
result = kg.evaluate(problem, open("softmax.py").read())
print(result.outcome, result.speedup, result.speedup_interval)
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kernelgauge.errors import KernelgaugeError, MachineError
    from kernelgauge.problems.loader import load_problem
    from kernelgauge.runs import load
    from kernelgauge.schema import Candidate, Evaluation, Outcome, Problem
    from kernelgauge.session.session import Session, evaluate

# Imported on first use: `import kernelgauge` must cost next to nothing and never bring torch.
_HOMES = {
    "Candidate": "kernelgauge.schema",
    "Evaluation": "kernelgauge.schema",
    "Outcome": "kernelgauge.schema",
    "Problem": "kernelgauge.schema",
    "KernelgaugeError": "kernelgauge.errors",
    "MachineError": "kernelgauge.errors",
    "Session": "kernelgauge.session.session",
    "evaluate": "kernelgauge.session.session",
    "load": "kernelgauge.runs",
    "load_problem": "kernelgauge.problems.loader",
}

__all__ = [
    "Candidate",
    "Evaluation",
    "KernelgaugeError",
    "MachineError",
    "Outcome",
    "Problem",
    "Session",
    "__version__",
    "evaluate",
    "load",
    "load_problem",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kernelgauge' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

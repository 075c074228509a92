"""kernelgauge says whether a machine-written GPU kernel is correct and how much faster it is.

import kernelgauge as kg
problem = kg.load_problem("1/23", sizes="medium")
result = kg.evaluate(problem, open("softmax.py").read())
print(result.outcome, result.speedup, result.speedup_interval)
found = kg.run("folder:answers", "runs/answers", levels=[1])
print(len(found.latest()), "judged")
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

__version__ = "0.1.0"

if TYPE_CHECKING:
    from kernelgauge.config import Limits, Protocol
    from kernelgauge.errors import KernelgaugeError, MachineError
    from kernelgauge.packaging.apply import apply
    from kernelgauge.packaging.package import package
    from kernelgauge.problems.loader import load_problem
    from kernelgauge.report.runs import StoredRun
    from kernelgauge.runs import load
    from kernelgauge.schema import (
        Attempt,
        AttemptRecord,
        Bound,
        Candidate,
        Environment,
        Evaluation,
        NoCandidate,
        Outcome,
        Problem,
        Profile,
        RunHeader,
        Spent,
        Timing,
        TooLarge,
        Trial,
    )
    from kernelgauge.session.default import evaluate, profile
    from kernelgauge.session.run import run
    from kernelgauge.session.session import Session

# Imported on first use: `import kernelgauge` must cost next to nothing and never bring torch.
_HOMES = {
    "Attempt": "kernelgauge.schema",
    "AttemptRecord": "kernelgauge.schema",
    "Bound": "kernelgauge.schema",
    "Candidate": "kernelgauge.schema",
    "Environment": "kernelgauge.schema",
    "Evaluation": "kernelgauge.schema",
    "NoCandidate": "kernelgauge.schema",
    "Outcome": "kernelgauge.schema",
    "Problem": "kernelgauge.schema",
    "Profile": "kernelgauge.schema",
    "RunHeader": "kernelgauge.schema",
    "Spent": "kernelgauge.schema",
    "Timing": "kernelgauge.schema",
    "TooLarge": "kernelgauge.schema",
    "Trial": "kernelgauge.schema",
    "Limits": "kernelgauge.config",
    "Protocol": "kernelgauge.config",
    "KernelgaugeError": "kernelgauge.errors",
    "MachineError": "kernelgauge.errors",
    "StoredRun": "kernelgauge.report.runs",
    "Session": "kernelgauge.session.session",
    "apply": "kernelgauge.packaging.apply",
    "package": "kernelgauge.packaging.package",
    "evaluate": "kernelgauge.session.default",
    "profile": "kernelgauge.session.default",
    "run": "kernelgauge.session.run",
    "load": "kernelgauge.runs",
    "load_problem": "kernelgauge.problems.loader",
}

__all__ = [
    "Attempt",
    "AttemptRecord",
    "Bound",
    "Candidate",
    "Environment",
    "Evaluation",
    "KernelgaugeError",
    "Limits",
    "MachineError",
    "NoCandidate",
    "Outcome",
    "Problem",
    "Profile",
    "Protocol",
    "RunHeader",
    "Session",
    "Spent",
    "StoredRun",
    "Timing",
    "TooLarge",
    "Trial",
    "__version__",
    "apply",
    "evaluate",
    "load",
    "load_problem",
    "package",
    "profile",
    "run",
]


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module 'kernelgauge' has no attribute {name!r}")
    return getattr(import_module(_HOMES[name]), name)

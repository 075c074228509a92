"""What Inspect finds under the name `kernelgauge`; `pyproject.toml` names this module as the entry point."""

from kernelgauge.inspect.agent import working_agent
from kernelgauge.inspect.contestants import Contestants
from kernelgauge.inspect.metrics import by_level, geometric_mean, overall
from kernelgauge.inspect.scorer import kernel
from kernelgauge.inspect.solver import search
from kernelgauge.inspect.task import kernelbench
from kernelgauge.inspect.tools import evaluate, profile, read_problem
from kernelgauge.inspect.workbench import at_hand

__all__ = [
    "Contestants",
    "at_hand",
    "by_level",
    "evaluate",
    "geometric_mean",
    "kernel",
    "kernelbench",
    "overall",
    "profile",
    "read_problem",
    "search",
    "working_agent",
]

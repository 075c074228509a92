"""What Inspect finds under the name `kernelgauge`; `pyproject.toml` names this module as the entry point."""

from kernelgauge.models.asking.agent import working_agent
from kernelgauge.models.asking.solver import search
from kernelgauge.models.asking.tools import evaluate, profile, read_problem
from kernelgauge.models.asking.workbench import at_hand
from kernelgauge.models.contestants.providers import Contestants
from kernelgauge.models.judging.metrics import by_level, geometric_mean, overall
from kernelgauge.models.judging.scorer import kernel
from kernelgauge.models.task.task import kernelbench

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

"""What Inspect finds under the name `kernelgauge`; `pyproject.toml` names this module as the entry point."""

from kernelgauge.inspect.contestants import Contestants
from kernelgauge.inspect.metrics import by_level, geometric_mean, overall
from kernelgauge.inspect.scorer import kernel
from kernelgauge.inspect.solver import sample
from kernelgauge.inspect.task import kernelbench

__all__ = ["Contestants", "by_level", "geometric_mean", "kernel", "kernelbench", "overall", "sample"]

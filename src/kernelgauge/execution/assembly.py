"""A supervisor with all it needs on this machine, put together from settings alone, so that any process can."""

from __future__ import annotations

from kernelgauge.backends.cache import BuildCache
from kernelgauge.config import Settings
from kernelgauge.evaluation.correctness.screening import Screening
from kernelgauge.evaluation.resources.bound import Bounds
from kernelgauge.evaluation.resources.memory_fit import MemoryFit
from kernelgauge.evaluation.supervisor import Supervisor
from kernelgauge.execution.build_pool import BuildPool
from kernelgauge.sandbox.zygote_client import Zygote


def assembled(settings: Settings) -> Supervisor:
    """A supervisor with a zygote of its own, and with the caches that all supervisors of these settings share."""
    zygote = Zygote(settings)
    bounds = Bounds(zygote, settings.cache)
    return Supervisor(
        zygote,
        BuildCache(settings.builds),
        Screening(zygote, settings.cache / "screening"),
        bounds,
        MemoryFit(bounds, settings.limits.gpu_memory_gb),
        BuildPool().slot,
    )

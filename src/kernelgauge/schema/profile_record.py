"""Where the time of one forward goes: the record behind `kernelgauge profile`.

A profile is a description, not a verdict: its figures are what the candidate's own process measured.
"""

from __future__ import annotations

from datetime import UTC, datetime
from typing import Annotated, Any, Literal
from uuid import uuid4

from pydantic import Field, model_validator

from kernelgauge.schema.base import FORMAT, Record, finite
from kernelgauge.schema.evaluation import Environment, Outcome
from kernelgauge.schema.problem import Sizes

Finite = Annotated[float, Field(ge=0, allow_inf_nan=False)]
_LAUNCH_BOUND = 0.5
_ROUNDING = 1e-6


class ProfileRow(Record):
    """One kernel, memory copy or operator."""

    name: str
    calls: Finite
    """Per forward."""
    time_us: Finite
    """Per forward: time on the GPU; on a CPU time in the operator itself, without those it calls."""
    share: Finite
    """Of the time in all rows, 0 to 1."""


class Stall(Record):
    """Why warps waited, by the name ncu has for it."""

    reason: str
    percent: Finite
    """Of the time between two instructions of a warp."""


class Counters(Record):
    """What the hardware counted of one kernel's longest launch; None where there is no such counter on this GPU."""

    name: str
    launches: int = Field(ge=1)
    time_us: Finite
    """Of the longest launch, alone on the GPU; by ncu with cold caches."""
    dram_gb_s: Finite | None
    dram_percent: Finite | None
    """Of peak memory bandwidth."""
    sm_percent: Finite | None
    """Of the peak rate of the busiest unit in the multiprocessors."""
    tensor_percent: Finite | None
    """Use of the tensor cores."""
    occupancy_percent: Finite | None
    """Warps resident, of the most there can be."""
    registers: Finite | None
    """Per thread."""
    stalls: tuple[Stall, ...]
    """The largest first."""


class Profile(Record):
    """Where the time of a candidate's forward goes, or of the reference's."""

    format: int = FORMAT
    id: str = Field(default_factory=lambda: uuid4().hex)
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    problem: str
    problem_name: str
    problem_digest: str
    sizes: Sizes
    math: str = "ieee"
    """Arithmetic it computes in; see `config.MathMode`."""
    backend: str
    candidate_digest: str | None
    """None for the reference itself."""
    device: str
    environment: Environment
    isolation: tuple[str, ...] = ()
    outcome: Outcome | None = None
    """What the candidate did wrong; None if it ran. Whether its answers are right was not looked at."""
    reason: str = ""
    log: str = ""
    """The end of what compiler and worker printed, where something failed."""
    rows_are: Literal["kernels", "operators"] = "operators"
    forwards: int = Field(default=0, ge=0)
    """How many were traced: kernels are means over them, operators those of the one with the median time."""
    wall_us: Finite | None = None
    """Per forward, back to back and without the profiler."""
    busy_us: Finite | None = None
    """Time per forward in which the GPU did something; None where the rows are operators."""
    launches: Finite = 0
    """Kernels per forward; where the rows are operators, those that forward itself called."""
    peak_bytes: int = Field(default=0, ge=0)
    """Most memory that PyTorch had allocated at once during a forward, beside inputs and parameters."""
    rows: tuple[ProfileRow, ...] = ()
    """The ten that took most time, the longest first."""
    rest: ProfileRow | None = None
    """All others together; its name says how many."""
    counters: tuple[Counters, ...] = ()
    notes: tuple[str, ...] = ()
    seconds: Finite = 0.0
    """What it took to make, waiting for the device left out."""

    @model_validator(mode="after")
    def _consistent(self) -> Profile:
        ran = self.outcome is None
        if self.outcome is Outcome.PASSED:
            raise ValueError("a profile says nothing about correctness, so it cannot pass")
        if ran != (self.wall_us is not None) or ran != (self.forwards > 0):
            raise ValueError("a forward that ran has a time, and nothing else has")
        if ran != (self.reason == ""):
            raise ValueError("a candidate that failed needs a reason, and no other has one")
        if not ran and (self.rows or self.counters):
            raise ValueError(f"a candidate that is {self.outcome} cannot have a profile")
        if (self.busy_us is not None) != (ran and self.rows_are == "kernels"):
            raise ValueError("the GPU's busy time goes with kernels, and only with them")
        if sum(row.share for row in (*self.rows, *([self.rest] if self.rest else ()))) > 1 + _ROUNDING:
            raise ValueError("the shares add up to more than the whole")
        return self

    @property
    def gaps(self) -> float | None:
        """Share of the wall time in which the GPU did nothing; None where that is not known."""
        if not self.wall_us or self.busy_us is None:
            return None
        return max(0.0, 1 - self.busy_us / self.wall_us)

    @property
    def launch_bound(self) -> bool:
        """Whether the GPU waits for the host most of the time."""
        return self.gaps is not None and self.gaps > _LAUNCH_BOUND

    def summary(self) -> dict[str, Any]:
        """The object that `kernelgauge profile --json` prints: the record, and what follows from it."""
        found = {**self.model_dump(mode="json"), "gaps": self.gaps, "launch_bound": self.launch_bound}
        return {name: finite(value) for name, value in found.items()}

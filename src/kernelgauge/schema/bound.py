"""The least time the hardware allows: what a machine can do, what a problem needs, and the bound that follows.

Bandwidths are in GB/s (1e9 bytes a second), rates in FLOP/s (a multiply-add is two), times in milliseconds.
"""

from __future__ import annotations

from datetime import datetime
from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernelgauge.schema.base import FORMAT, Record

Precision = Literal["fp64", "fp32", "tf32", "fp16", "bf16"]
Positive = Annotated[float, Field(gt=0, allow_inf_nan=False)]


class Peaks(Record):
    """What one device can do: measured on this machine, or published for this model of GPU."""

    format: int = FORMAT
    created: datetime | None = None
    """When they were measured."""
    device: Literal["cpu", "cuda"]
    name: str
    """The processor or GPU as it calls itself."""
    source: Literal["measured", "published"]
    read_gbs: Positive
    """Bytes read a second where next to nothing is written."""
    copy_gbs: Positive
    """Bytes read and bytes written a second, added up, in a large copy."""
    ceiling_gbs: Positive
    """What no kernel exceeds: on a GPU the rate of its memory pins, on a CPU a multiple of the best measured."""
    flops: dict[Precision, Positive]
    """FLOP/s of large matrix products, by precision; those that the device has not are missing."""
    cache_bytes: int = Field(ge=0)
    """What may be kept away from memory: L2 of a GPU, all L2 and L3 of a CPU."""
    note: str = ""
    """How the figures came about: sizes, or the data sheet."""

    @model_validator(mode="after")
    def _consistent(self) -> Peaks:
        if self.ceiling_gbs < max(self.read_gbs, self.copy_gbs):
            raise ValueError("a bandwidth is above the ceiling")
        if "fp32" not in self.flops:
            raise ValueError("peaks need a rate for fp32")
        return self

    @property
    def label(self) -> str:
        """Where the figures come from, for a reader: `measured`, or `published for NVIDIA H200`."""
        return "measured" if self.source == "measured" else f"published for {self.name}"


class Work(Record):
    """What one call has to do at the least; bytes in the dtypes used, None where nothing is counted."""

    flops: int | None = Field(default=None, ge=0)
    """Matrix products, convolutions and attention as written, dense; None if there are none."""
    inputs: int = Field(ge=0)
    """Bytes of inputs read, each element once."""
    parameters: int = Field(ge=0)
    """Bytes of parameters read, each element once."""
    outputs: int = Field(ge=0)
    """Bytes of outputs written, each element once."""
    narrowest: Literal["float64", "float32", "half"] = "float32"
    """The narrowest floating dtype among inputs, parameters and outputs."""

    @property
    def bytes(self) -> int:
        return self.inputs + self.parameters + self.outputs

    @property
    def intensity(self) -> float | None:
        """FLOPs a byte."""
        return self.flops / self.bytes if self.flops is not None and self.bytes else None


class Bound(Record):
    """The least time the hardware allows for a call, and how far reference and candidate are from it."""

    bound_ms: Positive
    """The longer of both times below."""
    bytes_ms: float = Field(ge=0)
    """By bytes that must cross the memory bus; 0 where all fits into the cache."""
    flops_ms: float = Field(ge=0)
    """By FLOPs at the best rate that keeps the precision asked for; 0 where none are counted."""
    binding: Literal["memory", "arithmetic"]
    share: Positive
    """Bound over candidate time: how much of what is possible the candidate reaches."""
    headroom: Positive
    """Reference time over bound: how many times faster than the reference a kernel could be at most."""
    work: Work
    rate: str
    """Which arithmetic `flops_ms` is about: `fp32`, `tf32`, or `tf32 in 3 products`."""
    peaks: str
    """Where the machine's figures come from; see `Peaks.label`."""
    review: str = ""
    """Why a person should look at the candidate; empty if nothing is remarkable."""

    @model_validator(mode="after")
    def _consistent(self) -> Bound:
        longer = max(self.bytes_ms, self.flops_ms)
        if self.bound_ms != longer:
            raise ValueError(f"the bound {self.bound_ms} is not the longer of its two parts ({longer})")
        if self.binding != ("memory" if self.bytes_ms >= self.flops_ms else "arithmetic"):
            raise ValueError(f"{self.binding} does not bind: it is the shorter part")
        return self

"""Memory of the GPU: what one evaluation took. GB are 2**30 bytes, as on the label of a card."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field, model_validator

from kernelgauge.schema.base import Record

GB = 2**30

Amount = Annotated[float, Field(ge=0, allow_inf_nan=False)]


class GpuMemory(Record):
    """What an evaluation took of a GPU's memory, each figure by whoever knows it best."""

    available_gb: Amount
    """What there was for it: all that the device has, or the cap."""
    cap_gb: Amount | None = None
    """The cap asked for (`config.Limits.gpu_memory_gb`); None: none."""
    needed_gb: Amount | None = None
    """What a copy of the reference needs at the least, by shapes alone (`checks.memory`); None where shapes are not
    known without running it."""
    before_gb: Amount | None = None
    """What was in use before anything of this evaluation came, by the driver: by other programs, and by this one's
    processes that stood ready. None in older records."""
    peak_gb: Amount
    """The most that was in use at once, all processes together, by the driver; looked at every few milliseconds while
    both sides were opened and checked, not while they were timed."""
    regions_gb: Amount
    """The most that the parent had given out as regions at once, counted."""
    reference_gb: Amount | None = None
    """What the reference's worker held at last, by the driver: its CUDA context, and memory taken in whatever way.
    None where the driver does not tell."""
    candidate_gb: Amount | None = None
    """The same of the candidate's worker; where that ran out of memory, what its end gave back."""
    reference_claim_gb: Amount | None = None
    """The most that PyTorch's allocator gave out in the reference's worker: that worker's word."""
    candidate_claim_gb: Amount | None = None
    """The same of the candidate's worker: its word, which knows nothing of memory taken past PyTorch."""

    @property
    def line(self) -> str:
        """All of it in one sentence, for a reader."""
        workers = []
        for name, held, claim in (
            ("reference", self.reference_gb, self.reference_claim_gb),
            ("candidate", self.candidate_gb, self.candidate_claim_gb),
        ):
            said = "" if claim is None else f", {claim:.2f} by its own word"
            if held is not None:
                workers.append(f"{name}'s worker held {held:.2f}{said}")
        there = f"{self.available_gb:.4g} GB" + ("" if self.cap_gb is None else " (cap)")
        before = [] if self.before_gb is None else [f"{self.before_gb:.2f} in use before"]
        parts = [f"{self.peak_gb:.2f} of {there} at most", *before, f"regions {self.regions_gb:.2f}", *workers]
        return "; ".join(parts)

    @model_validator(mode="after")
    def _cap_holds(self) -> GpuMemory:
        if self.cap_gb is not None and self.available_gb > self.cap_gb:
            raise ValueError(f"{self.available_gb} GB cannot be available under a cap of {self.cap_gb} GB")
        return self

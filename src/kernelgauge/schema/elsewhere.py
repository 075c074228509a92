"""What others have said of a candidate that was judged before it came here."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field, model_validator

from kernelgauge.schema.base import Record

Label = Literal["honest", "cheat", "unknown"]

Line = Annotated[str, Field(min_length=1, max_length=400, pattern=r"^[^\x00-\x1f\x7f]+$")]


class Elsewhere(Record):
    """A verdict that somebody else gave: a word of theirs, which decides nothing here."""

    compiled: bool
    correct: bool
    speedup: Annotated[float, Field(gt=0, allow_inf_nan=False)] | None
    """Over eager PyTorch; null where it was not timed."""
    hardware: Line
    source: Line
    """Where candidate and verdict are from, and under which licence."""
    label: Label = "unknown"
    """What people who have read the candidate hold it for."""
    protocol: Line | None = None
    """What it was judged by, such as `KernelBench v0.1`."""
    precision: Line | None = None
    """Arithmetic it was judged in, such as `fp32`."""
    notes: str = Field(default="", max_length=4000)

    @model_validator(mode="after")
    def _consistent(self) -> Elsewhere:
        if self.correct and not self.compiled:
            raise ValueError("what did not compile cannot have been correct")
        if self.speedup is not None and not self.correct:
            raise ValueError("what was not correct has no speedup")
        return self

    @property
    def line(self) -> str:
        """For a reader."""
        fast = f", {self.speedup:.3g}x" if self.speedup is not None else ""
        said = f"correct{fast}" if self.correct else "wrong" if self.compiled else "did not compile"
        by = ", ".join(each for each in (self.protocol, self.precision) if each)
        label = f"; held for {'a cheat' if self.label == 'cheat' else self.label}" if self.label != "unknown" else ""
        return f"{said} on {self.hardware}{f' by {by}' if by else ''}{label} ({self.source})"

"""Which elements of an output are wrong: where they lie, and what they look like."""

from __future__ import annotations

from pydantic import Field, model_validator

from kernelgauge.schema.base import Record


class WrongElement(Record):
    """One element that is not what it should be."""

    index: tuple[int, ...]
    got: float
    due: float


class Difference(Record):
    """The wrong elements of one output of a checked call."""

    output: int = Field(ge=0)
    """Which of several outputs: the one with the largest share of wrong elements."""
    shape: tuple[int, ...]
    wrong: int = Field(ge=1)
    """Elements that are further off than the protocol allows."""
    region: tuple[tuple[int, int], ...]
    """First and last index with a wrong element, in each dimension."""
    first: tuple[WrongElement, ...] = ()
    """The first few of them."""
    hints: tuple[str, ...] = ()
    """What the wrong elements have in common, each in a clause: a tail, a factor, another order of indices."""

    @property
    def total(self) -> int:
        count = 1
        for size in self.shape:
            count *= size
        return count

    @model_validator(mode="after")
    def _consistent(self) -> Difference:
        if self.wrong > self.total:
            raise ValueError(f"{self.wrong} of {self.total} elements cannot be wrong")
        if len(self.region) != len(self.shape):
            raise ValueError("the region needs a range for each dimension")
        if any(not 0 <= low <= high < size for (low, high), size in zip(self.region, self.shape, strict=True)):
            raise ValueError(f"the region {self.region} does not lie in the shape {self.shape}")
        return self

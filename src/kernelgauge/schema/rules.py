"""What a candidate broke or may have broken of the rules, and what it was seen to run."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, model_validator

from kernelgauge.schema.base import Record

KernelPolicyName = Literal["default", "kernel-required", "any"]
"""What counts as a kernel. `default`: library calls beside own kernels; `kernel-required`: at least one own kernel
must run; `any`: whatever computes the right answer."""

KERNEL_POLICIES: tuple[KernelPolicyName, ...] = ("default", "kernel-required", "any")

KernelRule = Literal[
    "imports_evaluator", "inherits_reference", "torch_compile", "torch_fallback", "no_own_kernel", "dynamic_code"
]
"""The rules about what counts as a kernel; `checks.rules` says which set refuses what."""


class Finding(Record):
    """One place of a candidate's text that a rule is about, or one fact of its run."""

    rule: KernelRule
    severity: Literal["refuse", "review"]
    """`refuse`: the candidate is rejected for it; `review`: somebody should look."""
    line: int | None = Field(default=None, ge=1)
    """In the candidate's file, from 1; None where only the run showed it."""
    column: int | None = Field(default=None, ge=1)
    reason: str
    excerpt: str = ""
    evidence: str = ""
    """What was seen while it ran; empty where nothing was watched, or nothing had to be."""

    @model_validator(mode="after")
    def _has_a_place_or_evidence(self) -> Finding:
        if (self.line is None) != (self.column is None):
            raise ValueError("a place has a line and a column")
        if self.line is None and not self.evidence:
            raise ValueError("a finding without a line needs evidence from the run")
        return self


class Executed(Record):
    """One kernel, compiled function or operator in the call that was watched."""

    name: str
    calls: int = Field(ge=1)
    time_us: float = Field(ge=0, allow_inf_nan=False)


class ExecutedWork(Record):
    """What a candidate ran in one call, as its own process saw it: it may accuse, and an acquittal is a claim."""

    own: tuple[Executed, ...]
    """Kernels and compiled functions that the candidate's build or its own process made."""
    others: tuple[Executed, ...]
    """Kernels of libraries on a GPU, operators of PyTorch that compute on a CPU."""
    own_share: float | None = Field(default=None, ge=0, le=1)
    """Share of the own ones in the time of both; None where the time of the own ones is not seen."""
    compiled_graphs: int = Field(default=0, ge=0)
    """Graphs that `torch.compile` made, from the import on."""

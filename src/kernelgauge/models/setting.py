"""How candidates are judged in a task, as the values that Inspect stores in its log."""

from __future__ import annotations

import os
from pathlib import Path
from typing import get_args

from pydantic import Field, field_validator

from kernelgauge.config import MathMode, Protocol, load_protocol
from kernelgauge.errors import UsageError
from kernelgauge.hardware.environment import best_device
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.schema import RULE_SETS, Problem, Record, Sizes

PRECISIONS = ("fp32", "fp16", "bf16")


class Setting(Record):
    """Everything that decides a verdict besides problem and candidate, and where evaluations run."""

    device: str
    sizes: Sizes
    protocol: str = "strict"
    precision: str = "fp32"
    math: str | None = None
    """Arithmetic of both sides, see `config.MathMode`; None: the protocol's, or what `precision` says."""
    timing_method: str | None = None
    num_correct_trials: int | None = Field(None, ge=1)
    """Checked calls, see `config.Protocol.counting`; None: the protocol's."""
    num_perf_trials: int | None = Field(None, ge=2)
    """Timed calls; None: the protocol's."""
    measure_performance: bool = True
    rules: str | None = None
    """What counts as a kernel; None: what the protocol says."""
    build_dir: Path | None = None
    """Folder of the build cache; None: below that of this installation."""
    out: Path | None = None
    """Run folder that records are appended to; None: they are in Inspect's log only."""
    jobs: int | None = Field(None, ge=1)
    """Candidates built and (on a CPU) checked at once; None: one on a CPU, else as many as there are cores."""
    gpu_memory_gb: float | None = Field(None, gt=0)
    """The cap on the GPU's memory, see `config.Limits`."""
    budget_tokens: int | None = Field(None, ge=1)
    """What all calls of the run may read and write; None: without limit."""
    budget_usd: float | None = Field(None, gt=0)

    @field_validator("build_dir", "out")
    @classmethod
    def _absolute(cls, path: Path | None) -> Path | None:
        """A log may be scored again, or a task go on, from another folder."""
        return path.expanduser().absolute() if path else None

    @property
    def usual_jobs(self) -> int:
        return self.jobs or (1 if self.device == "cpu" else len(os.sched_getaffinity(0)))

    def chosen_protocol(self) -> Protocol:
        """The protocol under these options. Raises UsageError if they contradict each other."""
        if self.rules is not None and self.rules not in RULE_SETS:
            raise UsageError(f"there are no rules {self.rules!r}: there are {', '.join(RULE_SETS)}")
        if self.precision not in PRECISIONS:
            raise UsageError(f"there is no precision {self.precision!r}: choose one of {', '.join(PRECISIONS)}")
        narrow = None if self.precision == "fp32" else self.precision
        if self.math is not None and self.math not in get_args(MathMode):
            raise UsageError(f"there is no arithmetic {self.math!r}: choose one of {', '.join(get_args(MathMode))}")
        if self.math and narrow and self.math != narrow:
            raise UsageError(f"math {self.math} and precision {narrow} are two different arithmetics")
        math = self.math or narrow
        rules = load_protocol(self.protocol)
        if self.timing_method is not None:
            from kernelgauge.timing.timers import check_timer

            check_timer(self.timing_method, self.device, rules)
        if math or self.timing_method or self.rules:
            rules = rules.under(math, self.timing_method, self.rules)  # type: ignore[arg-type]
        return rules.counting(self.num_correct_trials, self.num_perf_trials)

    def problem(self, name: str) -> Problem:
        """The problem of that name at this setting's sizes, or at its own where it has no others."""
        return load_problem(name, sizes=sizes_within(name, self.sizes))


def device_of(device: str | int | None) -> str:
    """`cpu`, `cuda`, `cuda:1`; None: every GPU where there is one, else the CPU; a number: that GPU.

    Raises UsageError for anything else.
    """
    if device is None:
        return best_device()
    named = f"cuda:{device}" if str(device).isdecimal() else str(device)
    kind, _, number = named.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()) or named == "cpu:":
        raise UsageError(f"there is no device {device!r}: name cpu, cuda, or one GPU such as cuda:1")
    return named


def sizes_of(sizes: str | None, device: str) -> Sizes:
    """The sizes asked for, or those that fit the device. Raises UsageError for an unknown name."""
    if sizes is None:
        return "medium" if device == "cpu" else "full"
    if sizes not in get_args(Sizes):
        raise UsageError(f"there are no sizes {sizes!r}: choose one of {', '.join(get_args(Sizes))}")
    return sizes  # type: ignore[return-value]

"""What came out: the record of one candidate, its checked calls, its timing and its environment.

Times are milliseconds, errors are relative to the root mean square of the oracle's output, speedup is reference time
divided by candidate time.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from datetime import UTC, datetime
from enum import StrEnum
from typing import Any, Literal
from uuid import uuid4

from pydantic import Field, model_validator

from kernelgauge.schema.base import FORMAT, Record, digest, finite
from kernelgauge.schema.bound import Bound
from kernelgauge.schema.comparison import BaselineSpeedup, check_modes
from kernelgauge.schema.difference import Difference
from kernelgauge.schema.elsewhere import Elsewhere
from kernelgauge.schema.memory import GpuMemory
from kernelgauge.schema.problem import Sizes
from kernelgauge.schema.rules import ExecutedWork, Finding, KernelPolicyName
from kernelgauge.schema.timing import Standing, Timing, standing_of, tells


class Outcome(StrEnum):
    """What happened to a candidate. All of these are data; none is an exception."""

    PASSED = "passed"
    BUILD_FAILED = "build_failed"
    LOAD_FAILED = "load_failed"
    RUNTIME_ERROR = "runtime_error"
    WRONG_SHAPE = "wrong_shape"
    WRONG_VALUE = "wrong_value"
    WRONG_PRECISION = "wrong_precision"
    TIMED_OUT = "timed_out"
    OUT_OF_MEMORY = "out_of_memory"
    REJECTED = "rejected"


ROUNDING = "rounding"
"""Among trivial answers: rounding the inputs changes the problem's answer, so that nobody can say which is right."""


def why_weak(trivial_answers: Sequence[str]) -> str:
    """What is wrong with a problem, as a part of a sentence whose subject is the protocol."""
    answers = [name for name in trivial_answers if name != ROUNDING]
    parts = [f"would accept {', '.join(answers)}"] if answers else []
    parts += ["cannot tell what is right, since rounding decides"] if ROUNDING in trivial_answers else []
    return " and ".join(parts)


class Trial(Record):
    """One checked call: how far the candidate's output was from the oracle's, and what was allowed."""

    variant: str
    """How the inputs were drawn: `own`, `signed`, `scaled`, `normal`, `offgrid`, `planted`, `large`."""
    error: float
    """The protocol's error of the output: under `strict` its root mean square relative to the scale of the oracle's
    output, under `v0.1` the largest multiple of the tolerance; infinite where they cannot be compared."""
    allowed: float
    reference_error: float
    """The same error for eager PyTorch in the working precision."""
    worst: float = 0.0
    """Largest single-element error, in the same relative unit."""
    reference_worst: float = 0.0
    honest_error: float | None = None
    """The error that honest float32 arithmetic was found to make of these inputs in the worst usual order, where that
    was asked because the usual bound refused the answer: then `allowed` may follow from it."""
    agreed: bool
    difference: Difference | None = None
    """Which elements are wrong; None where the trial agreed, or no element stands out."""

    @model_validator(mode="after")
    def _finite_when_agreed(self) -> Trial:
        if self.agreed and self.difference is not None:
            raise ValueError("a trial that agreed has no wrong elements")
        if self.agreed and not math.isfinite(self.error):
            raise ValueError("a trial cannot agree with an error that is not finite")
        return self


class NotVaried(Record):
    """Arguments that were the same in every call, so that nobody can say whether a candidate has read them."""

    constructor: tuple[str, ...] = ()
    """Of `Model`: all that it is given. Other values would be another problem."""
    forward: tuple[str, ...] = ()
    """Of `forward`: what all draws have in common and no variant changes: a number, a mask that never masks."""

    @property
    def line(self) -> str:
        """For a reader; empty if there are none."""
        parts = {"constructor": self.constructor, "forward": self.forward}
        return "; ".join(f"{of}: {', '.join(names)}" for of, names in parts.items() if names)


class Environment(Record):
    """Where a figure was measured; two figures are comparable only if these agree."""

    kernelgauge: str
    python: str
    torch: str
    triton: str | None
    compiler: str | None
    cuda: str | None
    platform: str
    cpu: str
    cores: int
    threads: int
    """CPU threads of a worker; beside a GPU at most `evaluation.launcher.BESIDE_A_GPU` of them."""
    memory_gb: float
    gpu: str | None = None
    driver: str | None = None

    @property
    def digest(self) -> str:
        return digest(self.model_dump_json())


class Evaluation(Record):
    """The record of one candidate: what happened, the numbers, and everything needed to judge it again."""

    format: int = FORMAT
    id: str = Field(default_factory=lambda: uuid4().hex)
    created: datetime = Field(default_factory=lambda: datetime.now(UTC))
    problem: str
    level: int | None
    problem_name: str
    problem_digest: str
    sizes: Sizes
    contestant: str
    sample: int
    backend: str
    candidate_digest: str
    protocol: str
    protocol_digest: str
    math: str | None = None
    """Arithmetic of both sides: `torch`, `ieee`, `tf32`, `fp16`, `bf16`, see `config.MathMode`; None in records from
    before it was said."""
    kernel_policy: KernelPolicyName = "any"
    """What counts as a kernel."""
    device: str
    environment: Environment
    isolation: tuple[str, ...]
    """Which isolation layers stood around the worker: `network`, `pid`, `ipc`, `mount`, `limits`, `files`, `reads`,
    `syscalls`. See docs/explanation/isolation.md."""
    outcome: Outcome
    reason: str = ""
    """One sentence: what happened, where; empty for a pass."""
    rule: str | None = None
    """The rule that a rejected candidate broke."""
    findings: tuple[Finding, ...] = ()
    """What the text and a watched run say under `kernel_policy`; the first is what a candidate was rejected for."""
    executed: ExecutedWork | None = None
    """What a watched call ran; None where no rule needed that, or it did not come to it."""
    weight_sync: Literal["seed", "state_dict"] = "seed"
    """How both sides got equal parameters."""
    trials: tuple[Trial, ...] = ()
    not_varied: NotVaried | None = None
    """Arguments that a candidate may have hard-coded unnoticed; None where nothing was drawn, and in records from
    before it was said."""
    trivial_answers: tuple[str, ...] = ()
    """Work-skipping answers this protocol would have accepted on this problem; also `ROUNDING`."""
    scored: bool = True
    """Whether the problem enters the score: under most protocols only if no trivial answer would have passed."""
    timing: Timing | None = None
    baseline_speedups: tuple[BaselineSpeedup, ...] = ()
    """Speedup over PyTorch's modes, where they were measured on this machine; eager, which `timing` has, included."""
    bound: Bound | None = None
    """The least time the hardware allows; None where nothing was timed or no bound can be given."""
    gpu_memory: GpuMemory | None = None
    """What it took of the GPU's memory; None on a CPU, and where it never came to the device."""
    elsewhere: Elsewhere | None = None
    """What others had said of the candidate when it was judged; it decides nothing."""
    notes: tuple[str, ...] = ()
    first_call_s: float | None = Field(default=None, ge=0, allow_inf_nan=False)
    """Seconds of the candidate's first call in a fresh process, the longest of these: what compiles or tunes when it
    is first called is in it, and in no time. None where no call came back."""
    seconds: dict[str, float] = Field(default_factory=dict)
    """Where the evaluation's own time went, by stage."""
    log: str = ""
    """The end of what compiler and worker printed."""

    @model_validator(mode="after")
    def _consistent(self) -> Evaluation:
        passed = self.outcome is Outcome.PASSED
        if self.timing is not None and not passed:
            raise ValueError(f"a candidate that is {self.outcome} cannot have a time")
        if self.bound is not None and self.timing is None:
            raise ValueError("a bound is compared with a time, and there is none")
        if passed and not all(trial.agreed for trial in self.trials):
            raise ValueError("a pass needs every trial to agree")
        if passed and not self.trials:
            raise ValueError("a pass needs at least one checked trial")
        if (self.rule is not None) != (self.outcome is Outcome.REJECTED):
            raise ValueError("a rejection names its rule, and nothing else does")
        refused = [finding.rule for finding in self.findings if finding.severity == "refuse"]
        if refused and self.rule not in refused:
            raise ValueError("a finding that refuses is what the candidate is rejected for")
        if self.findings and self.kernel_policy == "any":
            raise ValueError("where any kernel counts there is nothing to find")
        if not self.scored and not self.trivial_answers:
            raise ValueError("a problem is left out only because of a trivial answer")
        if not passed and not self.reason:
            raise ValueError("a candidate that did not pass needs a reason")
        if self.baseline_speedups and self.timing is None:
            raise ValueError("a speedup over a baseline needs a time")
        check_modes(self.baseline_speedups)
        return self

    @property
    def passed(self) -> bool:
        return self.outcome is Outcome.PASSED

    @property
    def speedup(self) -> float | None:
        return self.timing.speedup if self.timing else None

    @property
    def speedup_interval(self) -> tuple[float, float] | None:
        return self.timing.interval if self.timing else None

    @property
    def speedup_over_strongest(self) -> BaselineSpeedup | None:
        """The speedup over the fastest mode of PyTorch; None where none was measured, or what was is out of date."""
        return next((each for each in self.baseline_speedups if each.strongest), None)

    @property
    def standing(self) -> Standing | None:
        """Against 1.0, by the whole interval; None where there is no time."""
        return standing_of(self.timing.interval) if self.timing else None

    def faster_than(self, p: float) -> bool:
        """Whether this counts towards fast_p: correct, and the whole interval above p (p = 0: correct).

        An interval too wide to tell anything is above nothing.
        """
        if not self.passed or p == 0:
            return self.passed
        return self.timing is not None and tells(self.timing.interval) and self.timing.interval[0] > p

    def summary(self) -> dict[str, Any]:
        """The flat object that `kernelgauge eval --json` prints; times in ms, null where there is no number."""
        strongest = self.speedup_over_strongest
        row: dict[str, Any] = {
            "format": self.format,
            "problem": self.problem,
            "name": self.problem_name,
            "level": self.level,
            "contestant": self.contestant,
            "sample": self.sample,
            "backend": self.backend,
            "protocol": self.protocol,
            "sizes": self.sizes,
            "device": self.device,
            "math": self.math,
            "kernel_policy": self.kernel_policy,
            "rules": self.kernel_policy,  # its first name, which STABILITY.md promises
            "outcome": self.outcome.value,
            "reason": self.reason,
            "rule": self.rule,
            "findings": [finding.model_dump() for finding in self.findings],
            "executed": self.executed.model_dump() if self.executed else None,
            "standing": self.standing,
            "speedup": self.speedup,
            "speedup_interval": list(self.timing.interval) if self.timing else None,
            "strongest_baseline": strongest.mode if strongest else None,
            "speedup_over_strongest": strongest.speedup if strongest else None,
            "speedup_over_strongest_interval": list(strongest.interval) if strongest else None,
            "reference_ms": self.timing.reference_ms if self.timing else None,
            "candidate_ms": self.timing.candidate_ms if self.timing else None,
            "device_reference_ms": self.timing.device_reference_ms if self.timing else None,
            "device_candidate_ms": self.timing.device_candidate_ms if self.timing else None,
            "launch_bound": self.timing.launch_bound if self.timing else None,
            "bound_ms": self.bound.bound_ms if self.bound else None,
            "bound_by": self.bound.binding if self.bound else None,
            "bound_share": self.bound.share if self.bound else None,
            "bound_peaks": self.bound.peaks if self.bound else None,
            "headroom": self.bound.headroom if self.bound else None,
            "review": self.bound.review if self.bound else "",
            "samples": len(self.timing.candidate_samples_ms) if self.timing else 0,
            "gpu_memory_peak_gb": self.gpu_memory.peak_gb if self.gpu_memory else None,
            "gpu_memory_available_gb": self.gpu_memory.available_gb if self.gpu_memory else None,
            "scored": self.scored,
            "trivial_answers": list(self.trivial_answers),
            "not_varied": self.not_varied.model_dump(mode="json") if self.not_varied else None,
            "trials": [trial.model_dump() for trial in self.trials],
            "weight_sync": self.weight_sync,
            "isolation": list(self.isolation),
            "elsewhere": self.elsewhere.model_dump(mode="json") if self.elsewhere else None,
            "notes": list(self.notes),
            "first_call_s": self.first_call_s,
            "seconds": self.seconds,
            "log": self.log,
            "candidate_digest": self.candidate_digest,
            "id": self.id,
        }
        return {name: finite(value) for name, value in row.items()}

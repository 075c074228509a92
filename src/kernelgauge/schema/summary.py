"""The flat object that `--json` prints of an evaluation, as a type: its JSON Schema comes from here.

Where a number is not finite, it holds null.
"""

from __future__ import annotations

from kernelgauge.schema.base import Record
from kernelgauge.schema.comparison import Mode
from kernelgauge.schema.elsewhere import Elsewhere
from kernelgauge.schema.evaluation import NotVaried, Outcome, Trial
from kernelgauge.schema.problem import Sizes
from kernelgauge.schema.rules import ExecutedWork, Finding, KernelPolicyName
from kernelgauge.schema.timing import Standing


class Summary(Record):
    """What `kernelgauge eval --json` prints, and a row of `report --json`: `Evaluation.summary`."""

    format: int
    """Version of the records' format."""
    problem: str
    name: str
    """Of the problem."""
    level: int | None
    contestant: str
    sample: int
    backend: str
    protocol: str
    sizes: Sizes
    device: str
    math: str | None
    kernel_policy: KernelPolicyName
    """What counts as a kernel."""
    rules: KernelPolicyName
    """The same, under its first name."""
    outcome: Outcome
    reason: str
    rule: str | None
    findings: tuple[Finding, ...]
    executed: ExecutedWork | None
    standing: Standing | None
    """Against 1.0, by the whole interval; null where there is no time."""
    speedup: float | None
    """Reference time over candidate time; null where there is no time, as all that is measured."""
    speedup_interval: tuple[float, float] | None
    """Confidence interval of `speedup`."""
    strongest_baseline: Mode | None
    """The fastest mode of PyTorch that was measured before."""
    speedup_over_strongest: float | None
    speedup_over_strongest_interval: tuple[float, float] | None
    reference_ms: float | None
    candidate_ms: float | None
    device_reference_ms: float | None
    device_candidate_ms: float | None
    launch_bound: bool | None
    bound_ms: float | None
    """The least time that the hardware allows."""
    bound_by: str | None
    """What it is bound by: `memory` or `arithmetic`."""
    bound_share: float | None
    """`bound_ms` over `candidate_ms`."""
    bound_peaks: str | None
    """Where the figures of the hardware come from."""
    headroom: float | None
    """Reference time over `bound_ms`: how many times faster a kernel could be at most."""
    review: str
    """Why somebody should look at the time; empty if nothing is odd."""
    samples: int
    """Timed calls of the candidate."""
    gpu_memory_peak_gb: float | None
    gpu_memory_available_gb: float | None
    scored: bool
    trivial_answers: tuple[str, ...]
    not_varied: NotVaried | None
    trials: tuple[Trial, ...]
    weight_sync: str
    isolation: tuple[str, ...]
    elsewhere: Elsewhere | None
    notes: tuple[str, ...]
    first_call_s: float | None
    seconds: dict[str, float]
    log: str
    candidate_digest: str
    id: str

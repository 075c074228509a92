"""Settings of this installation, and the protocols as data.

`KERNELGAUGE_CACHE` names the folder for builds and locks; by default `kernelgauge` below `XDG_CACHE_HOME`.
"""

from __future__ import annotations

import os
import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator
from pydantic_core import to_json

from kernelgauge.errors import UsageError
from kernelgauge.schema import KernelPolicyName, Record, digest
from kernelgauge.schema.earlier import earlier_keys, protocol_as_first_named

PUBLIC_SEED = 42
"""The seed of published KernelBench runs."""


MathMode = Literal["torch", "ieee", "tf32", "fp16", "bf16"]
"""Arithmetic of both sides. `torch`: float32 as PyTorch comes; `ieee`: float32 without TF32; `tf32`: float32 with
TF32 allowed in products and convolutions; `fp16`, `bf16`: parameters and float inputs cast to that type."""

NARROW = ("tf32", "fp16", "bf16")


class Inputs(Record):
    """Where the arguments of each call come from; one variant at least is the problem's own draw."""

    seeds: Literal["secret", "public"]
    variants: tuple[Literal["own", "signed", "normal", "scaled", "offgrid", "planted", "large"], ...] = Field(
        min_length=1
    )
    """One checked trial per entry; a variant outside an input's domain leaves that input as drawn."""

    @model_validator(mode="after")
    def _own_among_them(self) -> Inputs:
        if "own" not in self.variants:
            raise ValueError("variants need 'own': the timed calls are drawn that way")
        return self


class Parameters(Record):
    """How weights, biases and buffers come about, on both sides alike."""

    initialisation: Literal["default", "randomised"]
    seed: Literal["secret", "public"]


class Tolerance(Record):
    """When an output counts as right; errors relative to the root mean square of the oracle's output."""

    rule: Literal["oracle", "allclose"]
    math: MathMode
    """Arithmetic on both sides alike; see `MathMode`."""
    multiple: float = 0.0
    floor: float = 0.0
    worst_multiple: float = 0.0
    narrow_multiple: float = 0.0
    """`multiple` where eager itself computes in a narrow type, which rounds honest rewrites and eager much alike."""
    narrow_worst_multiple: float = 0.0
    worst_floor: float = 0.0
    coarse: float = 0.0
    """Least root mean square allowed under `large` inputs, a hundred times that for the worst element: they ask if
    an answer is finite and follows the right branches, not how exact it is."""
    honest_multiple: float = 0.0
    """Of the error that honest float32 arithmetic, in the worst order usual, was found to make of the inputs; asked
    where all else refuses an answer. 0: never."""
    honest_most: float = 0.0
    """What is allowed so at the most: root mean square."""
    honest_worst: float = 0.0
    """The same for the single worst element."""
    absolute: float = 0.0
    relative: float = 0.0
    check_timed_calls: bool
    """Whether the outputs of the very calls that were timed are verified too."""

    @property
    def multiples(self) -> tuple[float, float]:
        """Of eager's own error that a candidate may make: root mean square, worst element."""
        if self.math in NARROW:
            return self.narrow_multiple, self.narrow_worst_multiple
        return self.multiple, self.worst_multiple

    @model_validator(mode="after")
    def _has_a_tolerance(self) -> Tolerance:
        oracle = (self.multiple, self.floor, self.worst_multiple, self.worst_floor)
        if self.rule == "oracle" and not all(value > 0 for value in oracle):
            raise ValueError("rule 'oracle' needs multiple, floor, worst_multiple and worst_floor above zero")
        if (
            self.rule == "oracle"
            and self.math in NARROW
            and not (self.narrow_multiple and self.narrow_worst_multiple)
        ):
            raise ValueError(f"math {self.math!r} needs narrow_multiple and narrow_worst_multiple above zero")
        if self.rule == "allclose" and not (self.absolute > 0 or self.relative > 0):
            raise ValueError("rule 'allclose' needs an absolute or relative tolerance")
        return self


class TimingPlan(Record):
    """How reference and candidate are timed against each other."""

    interleaved: bool
    processes: int = Field(ge=1)
    """How many fresh pairs of processes share the samples: where memory happens to lie differs between them."""
    recheck_band: float = Field(default=0.0, ge=0)
    """A ratio nearer to 1 than this, but not within half the resolution, is measured in more processes: the first may
    explain it. So is one of which more than the resolution was charged to one side. 0: never."""
    recheck_processes: int = Field(default=1, ge=1)
    """How many pairs of processes that makes in all; a tie that is still more than half the resolution off 1 takes
    more (`evaluation.rounds`)."""
    warmups: int = Field(ge=0)
    min_samples: int = Field(ge=2)
    max_samples: int = Field(ge=2)
    half_width: float = Field(ge=0)
    """Stop once the interval of the ratio is within this share of the estimate on both sides; 0: fixed count."""
    resolution: float = Field(ge=0, lt=1)
    """Least relative half width an interval may claim on this device, from A/A runs; sampling ends there too."""
    budget_seconds: float = Field(gt=0)
    confidence: float = Field(gt=0.5, lt=1)
    fresh_inputs: bool
    timer: str = "host_time"
    """How a worker times its own calls; see `timing.timers`."""

    @model_validator(mode="after")
    def _ordered(self) -> TimingPlan:
        if self.min_samples > self.max_samples:
            raise ValueError("min_samples is above max_samples")
        return self


class Score(Record):
    """Whether a problem that a work-skipping answer would pass enters fast_p."""

    weak_problems: Literal["excluded", "counted"]


class Protocol(Record):
    """All rules of a judgement."""

    name: str
    summary: str
    inputs: Inputs
    parameters: Parameters
    tolerance: Tolerance
    timing: TimingPlan
    gpu_timing: dict[str, Any] = Field(default_factory=dict)
    """What of `timing` is otherwise on a GPU."""
    score: Score
    kernel_policy: KernelPolicyName = "default"
    """What counts as a kernel; see `checks.rules`."""
    imports: Literal["own", "reference"] = "own"
    """`own`: a candidate's file stands alone; `reference`: what the problem's text imports at its top level is there
    too, as in published runs, which had both texts in one namespace."""

    @model_validator(mode="after")
    def _large_inputs_have_a_tolerance(self) -> Protocol:
        judged = self.tolerance.rule == "oracle" and self.tolerance.coarse > 0
        if "large" in self.inputs.variants and not judged:
            raise ValueError("variant 'large' needs rule 'oracle' with coarse above zero")
        return self

    @model_validator(mode="after")
    def _gpu_timing_is_valid(self) -> Protocol:
        self.timing_on("cuda")
        return self

    def timing_on(self, device: str) -> TimingPlan:
        """The timing rules for this device."""
        if device == "cpu":
            return self.timing
        return TimingPlan.model_validate(self.timing.model_dump() | self.gpu_timing)

    def under(
        self, math: MathMode | None = None, timer: str | None = None, kernel_policy: KernelPolicyName | None = None
    ) -> Protocol:
        """The same protocol under another arithmetic, with another timer, or under another kernel policy.

        Raises:
            UsageError: it has no tolerance for that arithmetic.
        """
        changed = self.model_dump()
        if math is not None:
            changed["tolerance"]["math"] = math
        if timer is not None:
            changed["timing"]["timer"] = timer
            changed["gpu_timing"]["timer"] = timer
        if kernel_policy is not None:
            changed["kernel_policy"] = kernel_policy
        try:
            return Protocol.model_validate(changed)
        except ValidationError as error:
            raise UsageError(f"protocol {self.name} cannot be used so: {first_complaint(error)}") from error

    def counting(self, trials: int | None = None, samples: int | None = None) -> Protocol:
        """The same rules with so many checked calls and timed calls; None: as many as they have.

        A protocol that decides by itself when it has seen enough takes both for the least that it may be allowed: it
        checks no fewer than its own, and its largest number of samples is never lowered.
        """
        content = self.model_dump()
        fixed = not self.timing.interleaved
        if trials is not None:
            variants = list(self.inputs.variants)
            kept = trials if fixed else max(trials, len(variants))
            content["inputs"]["variants"] = (variants + ["own"] * trials)[:kept]
        if samples is not None:
            for name, device in (("timing", "cpu"), ("gpu_timing", "cuda")):
                own = self.timing_on(device)
                wanted = {"max_samples": samples if fixed else max(samples, own.max_samples)}
                wanted |= {"min_samples": samples} if fixed else {}
                content[name] |= {field: count for field, count in wanted.items() if getattr(own, field) != count}
        try:
            return Protocol.model_validate(content)
        except ValidationError as error:
            raise UsageError(f"protocol {self.name} cannot be used so: {first_complaint(error)}") from error

    @property
    def digest(self) -> str:
        """Of all that decides a figure; `kernel_policy` and `imports` decide who gets one, and the policy stands
        beside it in records and headers."""
        return self._digest(*(set(Protocol.model_fields) - {"kernel_policy", "imports"}))

    @property
    def judgement_digest(self) -> str:
        """Of what decides which answers are right: all but timing and score."""
        return self._digest("inputs", "parameters", "tolerance")

    def _digest(self, *fields: str) -> str:
        """Of these fields under their first names: renaming a rule does not change it."""
        return digest(to_json(protocol_as_first_named(self.model_dump(include=set(fields)))).decode())


def protocols() -> list[str]:
    """Names of the shipped protocols, default first."""
    found = [p.name.removesuffix(".toml") for p in resources.files("kernelgauge.protocols").iterdir()]
    return sorted((name for name in found if not name.startswith("__")), key=lambda n: (n != "strict", n))


def first_complaint(error: ValidationError) -> str:
    """The first thing a record did not accept, in one line: field and reason."""
    first = error.errors()[0]
    field = ".".join(str(part) for part in first["loc"])
    return f"{field}: {first['msg']}" if field else first["msg"]


def load_protocol(name: str) -> Protocol:
    """A shipped protocol by name, or a protocol from a `.toml` file of the user's own.

    Raises:
        UsageError: unknown name, unreadable file, or rules that contradict themselves.
    """
    if name.endswith(".toml"):
        path = Path(name)
        try:
            text = path.read_text(encoding="utf-8")
        except FileNotFoundError as error:
            raise UsageError(f"protocol file {name} does not exist") from error
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"protocol file {name} cannot be read: {error}") from error
    elif name in protocols():
        text = resources.files("kernelgauge.protocols").joinpath(f"{name}.toml").read_text()
    else:
        raise UsageError(f"unknown protocol {name!r}; there are {', '.join(protocols())}, or give a .toml file")
    try:
        content = tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"protocol {name} is malformed: {error}") from error
    if renamed := earlier_keys(content):
        named = ", ".join(f"{old} is {new} now" for old, new in renamed)
        raise UsageError(f"protocol {name} has keys from before they were renamed: {named}")
    try:
        found = Protocol.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"protocol {name} is malformed: {first_complaint(error)}") from error
    if found.name != name and found.name in protocols() and found != load_protocol(found.name):
        raise UsageError(
            f"protocol {name} calls itself {found.name!r}, and is not the shipped one: give it another name"
        )
    return found


class Limits(Record):
    """What a worker may use before it is stopped."""

    build_seconds: float = 600.0
    load_seconds: float = 180.0
    call_seconds: float = 60.0
    """For a call of the reference, and of a candidate as long as nobody knows how long the reference takes."""
    hang_seconds: float = 10.0
    """A call that leaves no files for so long is taken for a hang, if it also lasts longer than `hang_times` the
    reference's slowest call: meanwhile nobody else has the device. Never more than `call_seconds`."""
    hang_times: float = 20.0
    opening_hang_seconds: float = 30.0
    """An import or a construction that leaves no files for so long is taken for a hang, if it also lasts longer than
    `hang_times` what the reference's own take: what is imported may come from a cold disk. Never more than
    `load_seconds`."""
    first_call_seconds: float = 300.0
    """For the first call in each fresh process, in which compilers and autotuners work, as long as files they leave
    show that: after `call_seconds` without any it is taken for a hang. Where everything was built ahead, or compiled
    in a rehearsal that came to its end, the limit without files is that of any other call."""
    memory_gb: float | None = None
    """Memory of the machine that a CPU worker and all it has started may hold; None: half of it."""
    file_gb: float = 2.0
    """Largest file a worker may write."""
    disk_gb: float = 8.0
    """What a worker and all it has started may hold on disk in all."""
    gpu_memory_gb: float | None = Field(default=None, gt=0)
    """Memory of the GPU for everything that judges one candidate together; None: all that the device has."""


class Settings(Record):
    """Settings of one session."""

    cache: Path
    builds: Path
    """Folder of the build cache."""
    threads: int = Field(ge=1)
    limits: Limits = Limits()


def load_settings(threads: int | None = None, limits: Limits | None = None, builds: Path | None = None) -> Settings:
    """Settings from the environment; `threads` defaults to the cores this process may use."""
    base = os.environ.get("KERNELGAUGE_CACHE")
    if not base:
        home = Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache")
        base = str(home / "kernelgauge")
    cache = Path(base).expanduser().absolute()
    return Settings(
        cache=cache,
        builds=builds.absolute() if builds else cache / "builds",
        threads=threads or len(os.sched_getaffinity(0)),
        limits=limits or Limits(),
    )

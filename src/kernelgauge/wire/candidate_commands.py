"""Commands to a sealed worker: load, construct and run one candidate, or the reference as its opponent."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from kernelgauge.config import MathMode
from kernelgauge.wire.commands import Command
from kernelgauge.wire.initialisers import Randomise

CANDIDATE_FILE = "candidate.py"
"""Name of the file that a command has built or loaded, whoever wrote it."""


@dataclass(frozen=True)
class Build(Command, answer="loaded"):
    """Compile a file into `build_dir`."""

    path: str
    backend: str
    build_dir: str
    hidden: bool = False
    """Whether to build as if there were no GPU."""
    lent: list[str] = field(default_factory=list)
    """Import statements that the file's namespace begins with; see `checks.stand_alone`."""
    math: MathMode = "ieee"
    """The arithmetic of the workers that load what is built."""


@dataclass(frozen=True)
class Rehearse(Command, answer="loaded"):
    """Compile into `build_dir` what a first call would compile, on tensors without values; see `worker.rehearsal`."""

    path: str
    backend: str
    build_dir: str
    attribute: str
    init: Any
    """The constructor's arguments, as `arguments.encode` writes them."""
    arguments: list[dict[str, Any]]
    """Of the call: `{"tensor": {"shape": ..., "dtype": ...}}`, or `{"value": ...}`."""
    math: MathMode
    card: dict[str, Any]
    """What is known of the GPU, by the names that PyTorch gives its properties."""
    seconds: float
    lent: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Load(Command, answer="loaded"):
    """Import a file, and look for the class in it."""

    path: str
    backend: str
    attribute: str
    build_dir: str | None = None
    lent: list[str] = field(default_factory=list)


@dataclass(frozen=True)
class Construct(Command, answer="constructed"):
    """Construct the model on the device."""

    attribute: str
    init: Any
    """The constructor's arguments, as `arguments.encode` writes them."""
    seed: int
    randomise: Randomise | None
    math: MathMode
    device: str
    state: str | None = None
    """Path of parameters to load into it, as `torch.save` writes them."""
    frugal: bool = False
    """Whether large outputs are let go as soon as they have been copied out; see `outputs.GivenOut`."""


@dataclass(frozen=True)
class DigestParameters(Command, answer="done", stage="parameters"):
    """A digest of the model's parameters; see `parameters.parameter_digest`."""

    values: bool


@dataclass(frozen=True)
class Trim(Command, answer="staged"):
    """Give back what PyTorch keeps of the device's memory for later calls."""


@dataclass(frozen=True)
class Stage(Command, answer="staged", call_follows=True):
    """Take the next call's arguments, as views of the input region; what is in it may come later."""

    arguments: list[Any]


@dataclass(frozen=True)
class Forward(Command, answer="computed", timed=True):
    """One call: run, wait for the device, say so, and when the parent has read its clock (`Copy`) copy the outputs.

    The seed comes with the call: random numbers are work, and are drawn inside the clock.
    """

    timer: str
    seed: int


@dataclass(frozen=True)
class Copy(Command, answer="done", timed=True):
    """Copy the outputs of the call out; only within `Forward`."""


@dataclass(frozen=True)
class StageBatch(Command, answer="staged", stage="stage batch"):
    """Take the arguments of a batch of calls, and where each is to put its outputs."""

    calls: list[list[Any]]
    expected: list[list[dict[str, Any]]]


@dataclass(frozen=True)
class RunBatch(Command, answer="done", stage="forward", timed=True):
    """All calls of the batch, one after the other, and the outputs of each copied out; then wait for the device."""

    compute: bool
    """Without, whatever stands in place of the next call's outputs is copied."""
    seeds: list[int]


@dataclass(frozen=True)
class TakeSamples(Command, answer="done", stage="samples"):
    """Let a timer measure many calls on the arguments staged last."""

    timer: str
    warmups: int
    count: int
    seed: int


@dataclass(frozen=True)
class PeakMemory(Command, answer="done", stage="memory"):
    """The most that PyTorch's allocator has given out on the device so far, in bytes."""


@dataclass(frozen=True)
class ProfileForward(Command, answer="done", stage="profile"):
    """Where the time of a forward on the staged inputs goes; with `named`, in compiled functions as well."""

    named: bool


@dataclass(frozen=True)
class ForwardForNcu(Command, answer="done", stage="forward"):
    """A forward on the staged inputs that ncu profiles."""


@dataclass(frozen=True)
class StartNcu(Command, answer="ready", stage="start ncu"):
    """Become this command line, around a worker on the same channel."""

    line: list[str]
    sealed: bool


@dataclass(frozen=True)
class Watch(Command, answer="staged"):
    """Trace the candidate from its import on; told with the answer is whether kernels can be seen at all."""

    device: str
    places: list[list[int]]
    """First and last lines to ask about."""


@dataclass(frozen=True)
class Observe(Command, answer="done"):
    """What a forward on the staged inputs runs."""

    warmups: int

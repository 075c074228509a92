"""How candidates are judged: one record, with the same defaults on the command line, in Inspect's task, on a server
and in Python.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import get_args

from pydantic import Field

from kernelgauge.config import NARROW, MathMode, Protocol, load_protocol
from kernelgauge.errors import DeviceMissing, ProblemError, UsageError
from kernelgauge.hardware import environment
from kernelgauge.problems import loader
from kernelgauge.problems.catalogue import suite_named
from kernelgauge.problems.loader import load_problem, sizes_within
from kernelgauge.schema import KERNEL_POLICIES, Problem, Record, Sizes, suite_of

PRECISIONS = ("fp32", "fp16", "bf16")


class Judging(Record):
    """Everything that decides a verdict besides problem and candidate; `device_of`, `sizes_of` give defaults."""

    device: str
    sizes: Sizes
    protocol: str = "strict"
    """Name of a shipped protocol, or the path of a `.toml` file."""
    precision: str | None = None
    """`fp16` and `bf16` are names of arithmetics too; `fp32` leaves the protocol its own."""
    math: str | None = None
    """Arithmetic of both sides, see `config.MathMode`; None: the protocol's, or what `precision` says."""
    timing_method: str | None = None
    """Which timer; None: the protocol's."""
    num_correct_trials: int | None = Field(default=None, ge=1)
    """Checked calls, see `config.Protocol.counting`; None: the protocol's."""
    num_perf_trials: int | None = Field(default=None, ge=2)
    """Timed calls; None: the protocol's."""
    measure_performance: bool = True
    kernel_policy: str | None = None
    """What counts as a kernel; None: what the protocol says."""
    gpu_memory_gb: float | None = Field(default=None, gt=0)
    """The cap on the GPU's memory, see `config.Limits`."""

    def chosen_protocol(self) -> Protocol:
        """The protocol under these options. Raises UsageError if they contradict each other."""
        check_cap(self.gpu_memory_gb, self.device)
        math = arithmetic_of(self.math, self.precision)
        protocol = protocol_under(self.protocol, self.device, math, self.timing_method, self.kernel_policy)
        return protocol.counting(self.num_correct_trials, self.num_perf_trials)

    def problem(self, name: str | Path) -> Problem:
        """The problem of that name at these sizes, or at its own where it has no others."""
        return load_problem(name, sizes=sizes_within(name, self.sizes))


def protocol_under(
    protocol: str | Protocol, device: str, math: MathMode | None, timer: str | None, kernel_policy: str | None
) -> Protocol:
    """A protocol under another arithmetic, with another timer, or with another kernel policy; None: its own.

    Raises UsageError for unknown names, and for a timer that does not fit device or protocol.
    """
    found = protocol if isinstance(protocol, Protocol) else load_protocol(protocol)
    if kernel_policy is not None and kernel_policy not in KERNEL_POLICIES:
        raise UsageError(f"there is no kernel policy {kernel_policy!r}: there are {', '.join(KERNEL_POLICIES)}")
    if timer is not None:
        from kernelgauge.timing.timers import check_timer

        check_timer(timer, device, found)
    return found.under(math, timer, kernel_policy) if math or timer or kernel_policy else found  # type: ignore[arg-type]


def check_cap(gpu_memory_gb: float | None, device: str) -> None:
    """Raises UsageError where there is no GPU's memory to cap."""
    if gpu_memory_gb is not None and device == "cpu":
        raise UsageError("--gpu-memory goes with --device cuda: on a CPU there is no such memory to limit")


def arithmetic_of(math: str | None, precision: str | None) -> MathMode | None:
    """The arithmetic asked for by either name; None where that is the protocol's own.

    Raises UsageError for an unknown name, and where both are named and differ: fp32 is no narrower arithmetic.
    """
    if precision is not None and precision not in PRECISIONS:
        raise UsageError(f"there is no precision {precision!r}: choose one of {', '.join(PRECISIONS)}")
    if math is not None and math not in get_args(MathMode):
        raise UsageError(f"there is no arithmetic {math!r}: choose one of {', '.join(get_args(MathMode))}")
    named = None if precision in (None, "fp32") else precision
    if math is not None and precision is not None and math != named and (named or math in NARROW):
        raise UsageError(f"--math {math} and --precision {precision} are two different arithmetics")
    return math or named  # type: ignore[return-value]


def device_of(device: str | int | None) -> str:
    """`cpu`, `cuda`, `cuda:1`; None: every GPU where there is one, else the CPU; a number: that GPU.

    Raises UsageError for anything else.
    """
    if device is None:
        return environment.best_device()
    named = f"cuda:{device}" if str(device).isdecimal() else str(device)
    kind, _, number = named.partition(":")
    if kind not in ("cpu", "cuda") or (number and not number.isdecimal()) or named == "cpu:":
        raise UsageError(f"there is no device {device!r}: name cpu, cuda, or one GPU such as cuda:1")
    return named


def running_device(device: str | int | None) -> str:
    """The same, to run candidates on. Raises DeviceMissing where this machine has no such device."""
    where = device_of(device)
    if reason := environment.missing_device(where):
        raise DeviceMissing(f"{reason}; --device cpu runs on the processor")
    return where


def sizes_of(sizes: str | None, device: str, problem: str | Path | None = None) -> Sizes:
    """The sizes asked for, or those that fit the device: full on a GPU, medium on a CPU.

    Args:
        problem: one from elsewhere may have only its own sizes; these are the default then.

    Raises:
        UsageError: an unknown name.
    """
    if sizes is None:
        fitting: Sizes = "medium" if device == "cpu" else "full"
        return fitting if problem is None else sizes_within(problem, fitting)
    if sizes not in get_args(Sizes):
        raise UsageError(f"there are no sizes {sizes!r}: choose one of {', '.join(get_args(Sizes))}")
    return sizes  # type: ignore[return-value]


def sizes_of_run(sizes: str | None, device: str, keys: Sequence[str]) -> Sizes:
    """The sizes asked for, or those that fit the device; `full` if these problems' suites have no others.

    Raises ProblemError if the sizes were asked for and one of these problems has not got them.
    """
    wanted = sizes_of(sizes, device)
    if wanted == "pretrained" and not any(wanted in loader.sizes_of(key) for key in keys):
        raise ProblemError("none of these problems has published weights: those of level 4 have")
    if sizes is not None:
        loader.check_sizes(keys, wanted)
    imported = {suite_of(key) for key in keys}
    having = (each.sizes for suite in imported for each in suite_named(suite).entries.values())
    return wanted if sizes or None in imported or any(wanted in has for has in having) else "full"


def check_secret(protocol: Protocol) -> None:
    """Raises UsageError if whoever writes a candidate can know the inputs it is judged on."""
    if protocol.inputs.seeds != "secret" or protocol.parameters.seed != "secret":
        raise UsageError(
            f"protocol {protocol.name} draws from public seeds: candidates of strangers and of policies in training "
            "are judged under secret ones (strict, quick)"
        )

"""Options several verbs share, and what they mean."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from kernelgauge.errors import UsageError
from kernelgauge.redaction import command_without
from kernelgauge.schema import Sizes

if TYPE_CHECKING:
    from kernelgauge.config import Protocol


class SizesOption(StrEnum):
    """Which set of size constants."""

    full = "full"
    medium = "medium"
    small = "small"
    odd = "odd"
    pretrained = "pretrained"


class SplitOption(StrEnum):
    """Which part of a suite that was generated to train on."""

    train = "train"
    validation = "validation"


class DeviceOption(StrEnum):
    """Where candidates run."""

    cpu = "cpu"
    cuda = "cuda"


class MathOption(StrEnum):
    """Arithmetic of both sides."""

    torch = "torch"
    ieee = "ieee"
    tf32 = "tf32"
    fp16 = "fp16"
    bf16 = "bf16"


class PrecisionOption(StrEnum):
    """KernelBench's names for the type that parameters and float inputs have."""

    fp32 = "fp32"
    fp16 = "fp16"
    bf16 = "bf16"


class KernelPolicyOption(StrEnum):
    """What counts as a kernel."""

    default = "default"
    kernel_required = "kernel-required"
    anything = "any"


PROBLEMS = "Problems"
JUDGING = "Judging"
ASKING = "Asking"
BUDGET = "Budget"
"""Panels of `--help`, the same for every verb; what is in none is about the verb itself."""

OutFolder = Annotated[Path, typer.Option("--out", help="Run folder; an existing one is resumed.")]
LevelNames = Annotated[
    str | None, typer.Option("--level", help="Levels, such as 1,2; default: all but 4.", rich_help_panel=PROBLEMS)
]
ProblemNames = Annotated[
    str | None, typer.Option("--problems", help="Problems, such as 1/19,2/14.", rich_help_panel=PROBLEMS)
]
Limit = Annotated[
    int | None, typer.Option("--limit", min=1, help="Only the first so many.", rich_help_panel=PROBLEMS)
]
BackendName = Annotated[
    str | None,
    typer.Option("--backend", help="Kernel language; default: recognised from the file.", rich_help_panel=JUDGING),
]
SizesName = Annotated[
    SizesOption | None,
    typer.Option(
        "--sizes",
        help="Size constants; default: full on a GPU, medium on a CPU. pretrained is full with published weights.",
        rich_help_panel=PROBLEMS,
    ),
]
DeviceName = Annotated[
    DeviceOption | None,
    typer.Option("--device", help="Default: cuda where a GPU is, else cpu.", rich_help_panel=JUDGING),
]
ProtocolName = Annotated[
    str, typer.Option("--protocol", help="strict, quick, v0.1, or a .toml file.", rich_help_panel=JUDGING)
]
MathName = Annotated[
    MathOption | None,
    typer.Option(
        "--math",
        help="Arithmetic of both sides; default: the protocol's (strict: ieee, v0.1: torch).",
        rich_help_panel=JUDGING,
    ),
]
PrecisionName = Annotated[
    PrecisionOption | None,
    typer.Option(
        "--precision",
        help="fp16 or bf16: the same as --math; fp32: the protocol's own arithmetic.",
        rich_help_panel=JUDGING,
    ),
]
TimerName = Annotated[
    str | None,
    typer.Option(
        "--timer",
        help="host_time, cuda_event, cuda_graph, queued_event; with v0.1 also do_bench, do_bench_impl, cupti.",
        rich_help_panel=JUDGING,
    ),
]
KernelPolicyFlag = Annotated[
    KernelPolicyOption | None,
    typer.Option(
        "--kernel-policy",
        help="What counts as a kernel: default, kernel-required, any; default: the protocol's (strict: default).",
        rich_help_panel=JUDGING,
    ),
]
GpuMemoryGb = Annotated[
    float | None,
    typer.Option(
        "--gpu-memory",
        min=0.1,
        metavar="GB",
        help="Simulate a GPU with this much memory by reserving the rest; default: all it has.",
        rich_help_panel=JUDGING,
    ),
]
SuiteName = Annotated[
    str | None,
    typer.Option(
        "--suite", help="The imported suite that is meant; default: the built-in one.", rich_help_panel=PROBLEMS
    ),
]
ExecutorName = Annotated[
    str | None,
    typer.Option(
        "--executor",
        metavar="NAME",
        help="Who judges: local (default), or ray[:ADDRESS][,option=value...] for a Ray cluster.",
        rich_help_panel=JUDGING,
    ),
]
CheckedCalls = Annotated[
    int | None,
    typer.Option(
        "--num-correct-trials",
        min=1,
        help="Checked calls; strict: at least. Default: the protocol's.",
        rich_help_panel=JUDGING,
    ),
]
TimedCalls = Annotated[
    int | None,
    typer.Option(
        "--num-perf-trials",
        min=2,
        help="Timed calls; strict: at most, if need be. Default: the protocol's.",
        rich_help_panel=JUDGING,
    ),
]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def chosen_device(device: DeviceOption | None) -> str:
    """The device asked for, or the best one here."""
    from kernelgauge.judging import device_of

    return device_of(value_of(device))


def running_device(device: DeviceOption | None) -> str:
    """The same, to run candidates on; raises DeviceMissing."""
    from kernelgauge import judging

    return judging.running_device(value_of(device))


def chosen_sizes(sizes: SizesOption | None, device: str, problem: str | None = None) -> Sizes:
    """The sizes asked for, or those that fit the device; a problem from elsewhere may have only its own."""
    from kernelgauge.judging import sizes_of

    return sizes_of(value_of(sizes), device, problem)


def sizes_of_run(sizes: SizesOption | None, device: str, keys: Sequence[str]) -> Sizes:
    """The sizes of a run, see `judging.sizes_of_run`."""
    from kernelgauge import judging

    return judging.sizes_of_run(value_of(sizes), device, keys)


def chosen_protocol(
    protocol: str,
    math: MathOption | None,
    precision: PrecisionOption | None,
    timer: str | None,
    device: str,
    kernel_policy: KernelPolicyOption | None = None,
) -> Protocol:
    """The protocol, under the arithmetic, with the timer and the kernel policy asked for.

    Raises:
        UsageError: unknown names, two different arithmetics, or a timer that does not fit device or protocol.
    """
    from kernelgauge.judging import arithmetic_of, protocol_under

    return protocol_under(
        protocol, device, arithmetic_of(value_of(math), value_of(precision)), timer, value_of(kernel_policy)
    )


def value_of(option: StrEnum | None) -> str | None:
    """The word that was typed."""
    return option.value if option else None


def command_line() -> str:
    """The command under way, as a shell would take it again; a key that was given for a model is left out."""
    return command_without(["kernelgauge", *sys.argv[1:]])


def chosen_gpu_memory(gpu_memory: float | None, device: str) -> float | None:
    """The cap asked for; raises UsageError where there is no GPU's memory to cap."""
    from kernelgauge.judging import check_cap

    check_cap(gpu_memory, device)
    return gpu_memory


def parse_levels(text: str | None) -> list[int] | None:
    """`"1,2,3"` as numbers; raises UsageError."""
    if text is None:
        return None
    try:
        return [int(part) for part in _parts(text)]
    except ValueError:
        raise UsageError(f"--level wants numbers such as 1 or 1,2,3, not {text!r}") from None


def parse_names(text: str | None) -> list[str] | None:
    """`"1/19,2/14"` as names; raises UsageError."""
    return None if text is None else _parts(text)


def _parts(text: str) -> list[str]:
    """What stands between commas. Nothing there is a variable that was not set, and must not mean everything."""
    found = [part.strip() for part in text.split(",") if part.strip()]
    if not found:
        raise UsageError(f"a list that names nothing, {text!r}: leave the option out to mean all")
    return found


def parse_range(option: str, text: str | None) -> tuple[float, float]:
    """`"10:50"`, `":10"` or `"50:"` as two numbers; raises UsageError."""
    low, colon, high = (text or ":").partition(":")
    try:
        if not colon:
            raise ValueError
        return float(low or "-inf"), float(high or "inf")
    except ValueError:
        raise UsageError(f"{option} wants a range such as 10:50, :10 or 50:, not {text!r}") from None

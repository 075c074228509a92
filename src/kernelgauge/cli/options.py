"""Options several verbs share, and what they mean."""

from __future__ import annotations

from enum import StrEnum
from typing import Annotated

import typer

from kernelgauge.errors import UsageError
from kernelgauge.schema import Sizes


class SizesOption(StrEnum):
    """Which set of size constants."""

    full = "full"
    medium = "medium"
    small = "small"
    odd = "odd"


class DeviceOption(StrEnum):
    """Where candidates run."""

    cpu = "cpu"
    cuda = "cuda"


BackendName = Annotated[
    str | None, typer.Option("--backend", help="Kernel language; default: recognised from the file.")
]
SizesName = Annotated[
    SizesOption | None,
    typer.Option("--sizes", help="Size constants; default: full on a GPU, medium on a CPU."),
]
DeviceName = Annotated[DeviceOption | None, typer.Option("--device", help="Default: cuda where a GPU is, else cpu.")]
ProtocolName = Annotated[str, typer.Option("--protocol", help="strict, v0.1, or a .toml file.")]
AsJson = Annotated[bool, typer.Option("--json", help="Print one JSON object.")]


def chosen_device(device: DeviceOption | None) -> str:
    """The device asked for, or the best one here."""
    from kernelgauge.hardware import gpu

    return device.value if device else "cuda" if gpu() else "cpu"


def chosen_sizes(sizes: SizesOption | None, device: str, problem: str | None = None) -> Sizes:
    """The sizes asked for, or those that fit the device; a user's own file has only its own."""
    if sizes is not None:
        return sizes.value  # type: ignore[return-value]
    from kernelgauge.problems.loader import is_own_file

    if problem is not None and is_own_file(problem):
        return "full"
    return "full" if device == "cuda" else "medium"


def parse_levels(text: str | None) -> list[int] | None:
    """`"1,2,3"` as numbers; raises UsageError."""
    if text is None:
        return None
    try:
        return [int(part) for part in text.split(",") if part.strip()]
    except ValueError:
        raise UsageError(f"--level wants numbers such as 1 or 1,2,3, not {text!r}") from None


def parse_names(text: str | None) -> list[str] | None:
    """`"1/19,2/14"` as names."""
    return [part.strip() for part in text.split(",") if part.strip()] if text else None

"""What a finished build consists of, and by which route each part was built."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import ConfigDict, Field, ValidationError

from kernelgauge.kernels.building import NOTE
from kernelgauge.schema import Record

_LARGEST_NOTE = 4096


class Part(Record):
    """One extension or kernel. The candidate's own process wrote this: to be shown, not to be relied on."""

    model_config = ConfigDict(extra="ignore")

    name: str = Field(max_length=1000)
    route: Literal["raw", "slim", "full"]
    seconds: float = Field(ge=0, allow_inf_nan=False)


def parts(build_dir: Path) -> list[Part]:
    """The parts of a build in the order of their names; what cannot be read is left out."""
    found = []
    for path in build_dir.glob(f"*/*/{NOTE}"):
        if not path.is_file():  # a pipe, say, which nobody would ever write to
            continue
        try:
            with path.open("rb") as note:
                found.append(Part.model_validate_json(note.read(_LARGEST_NOTE)))
        except (OSError, ValidationError):
            continue
    return sorted(found, key=lambda part: part.name)

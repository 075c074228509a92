"""What follows the name of the executor: `ray:ADDRESS,model=H100,judges=8`."""

from __future__ import annotations

from typing import Literal

from pydantic import Field, ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import UsageError
from kernelgauge.schema import Record


class ClusterOptions(Record):
    """Which cluster, and what of it a run uses."""

    address: str = "auto"
    """`HOST:PORT` of the head; `auto`: that of RAY_ADDRESS, or the cluster that this machine is part of."""
    model: str = ""
    """A part of the name of the GPU (on a CPU: of the processor) that figures are to come from."""
    judges: int | None = Field(default=None, ge=1)
    """How many judge at the most; an autoscaler is asked for so many. None: one for each GPU that is there."""
    builds: int | None = Field(default=None, ge=0)
    """How many build beside them; None: as many as CPUs and memory allow, up to 8 for each judge."""
    build_gb: float = Field(default=4.0, gt=0)
    """Memory that each of them takes of its node."""
    wait: float = Field(default=300.0, gt=0)
    """Seconds without any judge after which a run ends; what it has judged stays."""
    walls: Literal["needed", "none"] = "needed"
    """`needed`: a node without the isolation layers that strangers' candidates need is refused; `none`: no layer is
    asked for, and records say which stood."""


def options_from(given: str) -> ClusterOptions:
    """The options in `ADDRESS,option=value,...`, where each part may be missing. Raises UsageError."""
    address, *rest = given.split(",")
    if "=" in address:
        address, rest = "", [address, *rest]
    if address.startswith("ray://"):
        raise UsageError("ray:// is Ray's client, which a run does not use: start it on a node of the cluster")
    chosen = {"address": address} if address else {}
    for part in filter(None, rest):
        name, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"the executor ray wants OPTION=VALUE, not {part!r}")
        chosen[name.strip()] = value.strip()
    if unknown := set(chosen) - set(ClusterOptions.model_fields):
        known = ", ".join(ClusterOptions.model_fields)
        raise UsageError(f"the executor ray has no option {min(unknown)!r}: there are {known}")
    try:
        return ClusterOptions.model_validate(chosen)
    except ValidationError as error:
        raise UsageError(f"the executor ray: {first_complaint(error)}") from error

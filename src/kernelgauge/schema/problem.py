"""What is judged: a problem and a candidate, as text with its names."""

from __future__ import annotations

import re
from typing import Literal

from pydantic import Field

from kernelgauge.schema.base import Record, digest
from kernelgauge.schema.elsewhere import Elsewhere

Sizes = Literal["full", "medium", "small", "odd", "pretrained"]
"""Which values a problem's constants have; `pretrained`: the full sizes, with published weights, not random ones."""
Domain = Literal["real", "positive", "symmetric", "upper_triangular", "lower_triangular", "fixed"]
Split = Literal["train", "validation"]
"""Which part of a generated suite a problem is in: what a policy learns from, or what shows how far it has come."""


class Weakness(Record):
    """Why a problem accepts an answer that skips the work, as measured at the published inputs."""

    severity: Literal["fatal", "weak", "minor"]
    kinds: tuple[str, ...]
    note: str


class ParameterDraws(Record):
    """How parameters are drawn at random where PyTorch's own draws hide what a problem computes.

    Only protocols that randomise parameters ask for it: `initialisation = "randomised"`.
    """

    gain: float = Field(default=1.0, gt=0)
    """Factor of what PyTorch's initialisers draw for weights and biases."""
    bias: float = 0.0
    """Added to what they draw for biases: to parameters of one dimension."""
    drawn: float = Field(default=1.0, gt=0)
    """Factor of parameters that the problem's text draws itself, by `torch.randn`."""


class Nearest(Record):
    """Which problem of the built-in suite is the nearest to a generated one."""

    problem: str
    """Its key, such as `1/23`."""
    name: str
    distance: float = Field(ge=0, le=1)
    """0 for the same computation, 1 for nothing in common; see `problems.distance`."""

    @property
    def label(self) -> str:
        """Key and name together, as in messages: `1/23_softmax`."""
        return f"{self.problem}_{self.name}"


class Problem(Record):
    """A reference: source text that defines `Model`, `get_inputs` and `get_init_inputs`."""

    key: str
    """`"1/23"` for a problem of the built-in suite, `"mine:1/23"` for one of the imported suite `mine`, the path for
    a user's own file."""
    name: str
    level: int | None = None
    """0 for a problem of an imported suite that has no level, None for a user's own file."""
    number: int | None = None
    sizes: Sizes = "full"
    """Which set of size constants stands in `source`; a user's own file is always `full`."""
    source: str
    domains: dict[str, Domain] = Field(default_factory=dict)
    """Per input of `forward`: which other values make sense (`real`: any number, `positive`: any above zero,
    `symmetric`, `upper_triangular`, `lower_triangular`: any number in matrices of that structure, `fixed`: only what
    `get_inputs` draws). An input that is not named is classified from its own draws."""
    parameters: ParameterDraws = ParameterDraws()
    tags: tuple[str, ...] = ()
    weakness: Weakness | None = None
    shortcuts: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """By protocol: answers it is known to accept instead of the work: zeros, low precision, a parameter ignored."""

    @property
    def digest(self) -> str:
        return digest(self.source)


SUITE_NAME = r"[a-z0-9][a-z0-9_-]{0,63}"
"""What an imported suite can be called, as a regular expression."""


def suite_of(key: str) -> str | None:
    """The imported suite that a problem's key names; None for the built-in suite and a user's own file."""
    match = re.fullmatch(rf"({SUITE_NAME}):[0-9]+/[0-9]+", key)
    return match[1] if match else None


LARGEST_CANDIDATE_MB = 2
"""Of a candidate's text, in units of 2**20 bytes; TorchInductor writes 1.4 of a DenseNet."""


class Candidate(Record):
    """Source text that defines `ModelNew`, and who wrote it for which problem."""

    problem: str
    source: str
    backend: str
    contestant: str = "person"
    sample: int = 0
    origin: str = ""
    """Where the text came from, for messages: a path, or the contestant's own words."""
    elsewhere: Elsewhere | None = None
    """What others have said of it before."""

    @property
    def digest(self) -> str:
        return digest(f"{self.backend}\n{self.source}")

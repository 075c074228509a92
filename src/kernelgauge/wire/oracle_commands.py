"""Commands to the oracle, which draws inputs and knows the right answers."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from kernelgauge.checks.accumulation import Variances
from kernelgauge.config import MathMode
from kernelgauge.schema import Domain
from kernelgauge.wire.commands import Command
from kernelgauge.wire.initialisers import Randomise


@dataclass(frozen=True)
class OpenProblem(Command, answer="described", stage="open"):
    """Import the problem, read its constructor's arguments and the shapes of its inputs."""

    path: str
    seed: int
    domains: Mapping[str, Domain]
    device: str
    math: MathMode
    cap_gb: float | None
    frugal: bool = False
    """Whether to keep no memory between its answers."""


@dataclass(frozen=True)
class ConstructReference(Command, answer="constructed", stage="construct"):
    """Build the reference; with `precise` in float64."""

    init: Any
    seed: int
    randomise: Randomise | None
    precise: bool


@dataclass(frozen=True)
class SaveState(Command, answer="staged", stage="save"):
    """Store the parameters that the reference was constructed with, before any cast."""

    path: str


@dataclass(frozen=True)
class Draw(Command, answer="drawn"):
    """Draw the arguments of one call, and write their tensors into the region `inputs`."""

    seed: int
    variant: str


@dataclass(frozen=True)
class Expect(Command, answer="done"):
    """Run the reference on the arguments just drawn; outputs go into the region `truth`."""

    seed: int


@dataclass(frozen=True)
class LearnTruth(Command, answer="done"):
    """Run the reference on the arguments drawn first: shapes of the right outputs, and whether it takes variances."""

    seed: int


@dataclass(frozen=True)
class Imitate(Command, answer="done"):
    """What an answer would be that cuts this corner and is exact otherwise, into the region `shortcut`."""

    seed: int
    shortcut: str


@dataclass(frozen=True)
class Err(Command, answer="done"):
    """How far from the region `truth` honest float32 arithmetic could be, for the arguments just drawn."""

    seed: int
    noise: int
    """Seed of the errors."""
    variances: Variances
    """Whether they are taken from means of squares."""

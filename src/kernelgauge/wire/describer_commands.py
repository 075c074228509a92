"""Commands to the describer, which runs a problem's own code to describe it.

The one file that goes with each is where the answer is written to, as JSON.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from kernelgauge.config import MathMode
from kernelgauge.schema import Domain
from kernelgauge.wire.commands import Command


@dataclass(frozen=True)
class Describe(Command, answer="described"):
    """Shapes, names and work of a problem at the sizes in its text, without its memory."""

    path: str
    math: MathMode


@dataclass(frozen=True)
class DescribeCall(Command, answer="described", stage="call"):
    """What a model is constructed with and called on at the sizes in the text."""

    path: str
    math: MathMode


@dataclass(frozen=True)
class RunOnce(Command, answer="described", stage="run"):
    """A forward at the sizes in the text, and again from the same seed."""

    path: str
    seed: int


@dataclass(frozen=True)
class RequiredBytes(Command, answer="described", stage="certain"):
    """Bytes of inputs and outputs that must move at the sizes in the text."""

    path: str
    domains: Mapping[str, Domain]
    device: str
    math: MathMode
    seed: int

"""Rewards as data: what a turn earns by its parts, and how the turns of a trajectory add up.

The shipped ones are `rewards/*.toml`, each with its source. A reward is plain data: it can be pickled, written as
JSON, and sent to a server.
"""

from __future__ import annotations

import tomllib
from importlib import resources
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, ValidationError, model_validator

from kernelgauge.config import first_complaint
from kernelgauge.errors import UsageError
from kernelgauge.schema import KernelPolicyName, Record
from kernelgauge.training.amounts import MOST, Amount
from kernelgauge.training.parts import Parts

DEFAULT = "interval"
"""The reward where none is named."""


class Failures(Record):
    """What a turn earns that is not right."""

    no_candidate: Amount = 0.0
    """The text holds no candidate."""
    not_built: Amount = 0.0
    """It was not built or not loaded."""
    wrong: Amount = 0.0
    """It was built, and failed, hung or answered wrong."""
    rejected: Amount = 0.0
    """It broke a rule: never more than a wrong one earns."""


class Speed(Record):
    """What the speedup of a right candidate adds: `weight` times the speedup, which may be limited."""

    weight: Amount
    figure: Literal["speedup", "speedup_low"] = "speedup"
    """The point estimate, or the lower end of its interval."""
    ties_as_one: bool = False
    """Whether a speedup whose interval contains 1 is 1; one too wide to tell is then never above 1."""
    review_as_one: bool = False
    """Whether one that seems faster than its hardware allows (`review`) is never above 1: nobody has looked at it."""
    ceiling: Literal["none", "bound"] = "none"
    """`bound`: no more than the hardware allows (`headroom`), where that is known."""
    most: float | None = Field(default=None, gt=0, le=MOST)
    """No more than this; with a ceiling, where the ceiling is not known. None: without limit."""

    def of(self, parts: Parts) -> float:
        """What it adds."""
        if not parts.timed:
            return 0.0
        gain: float = getattr(parts, self.figure)
        if self.ties_as_one:
            gain = 1.0 if parts.tie else min(gain, 1.0) if parts.unclear else gain
        if self.review_as_one and parts.review:
            gain = min(gain, 1.0)
        if self.ceiling == "bound" and parts.bound_known:
            # A reference in cache may be faster than the bound of its bytes: a tie with it is no less than 1.
            gain = min(gain, max(1.0, parts.headroom))
        elif self.most is not None:
            gain = min(gain, self.most)
        return self.weight * gain


class Step(Record):
    """What is added where a speedup is reached. Of several each needs the one before it."""

    over: Literal["eager", "compile"]
    """`compile`: not reached where `torch.compile` was not measured."""
    at_least: float = Field(gt=0, le=MOST)
    adds: Amount

    def reached(self, parts: Parts) -> bool:
        """Whether the speedup is at least that, by its point estimate."""
        return (parts.speedup if self.over == "eager" else parts.speedup_over_compile) >= self.at_least


class CoverageTerm(Record):
    """What the share of time in the candidate's own kernels adds, where that is known; where it is not, nothing."""

    weight: Amount = 0.0
    least: float = Field(default=0.0, ge=0, le=1)
    """With less than this the whole of what the turn earns is multiplied by `factor`."""
    factor: float = Field(default=1.0, ge=0, le=1)


class Turns(Record):
    """How the rewards of a trajectory's turns become the return of each turn; see `training.trajectory`."""

    most: int = Field(default=1, ge=1)
    """After so many turns a trajectory is done."""
    combine: Literal["sum", "max", "last", "each"] = "each"
    """Of this turn and all later ones the discounted sum, the discounted largest, the last; or each for itself."""
    discount: float = Field(default=1.0, ge=0, le=1)
    """By each turn in between (gamma)."""


class Reward(Record):
    """One way to turn parts into a reward."""

    name: str = Field(min_length=1, max_length=80)
    summary: str = Field(default="", max_length=1000)
    source: str = Field(default="", max_length=1000)
    """Where its figures come from."""
    kernel_policy: KernelPolicyName | None = None
    """Which kernel policy candidates must be judged under for it; None: any."""
    weak_problems: Literal["no_verdict", "counted"] = "counted"
    """`no_verdict`: nothing is rewarded on a problem that does not count under the protocol: no work would be too."""
    correct: Amount
    """What a right candidate earns."""
    speed: Speed | None = None
    steps: tuple[Step, ...] = Field(default=(), max_length=100)
    coverage: CoverageTerm | None = None
    failures: Failures = Failures()
    turns: Turns = Turns()

    @model_validator(mode="after")
    def _in_order(self) -> Reward:
        if self.failures.rejected > self.failures.wrong:
            raise ValueError(
                "a candidate that breaks a rule would earn more than a wrong one: lower failures.rejected"
            )
        if max(self.failures.wrong, self.failures.not_built, self.failures.no_candidate) > self.correct:
            raise ValueError("a candidate that fails would earn more than a right one: raise correct")
        return self

    def of(self, parts: Parts) -> float:
        """What a turn with a verdict earns; no more than a history can hold."""
        return min(max(self._earned(parts), -MOST), MOST)

    def _earned(self, parts: Parts) -> float:
        if not parts.formatted:
            return self.failures.no_candidate
        if parts.rejected:
            return self.failures.rejected
        if not parts.correct:
            return self.failures.wrong if parts.built else self.failures.not_built
        earned = self.correct + (self.speed.of(parts) if self.speed else 0.0)
        for step in self.steps:
            if not step.reached(parts):
                break
            earned += step.adds
        if self.coverage is None or not parts.coverage_known:
            return earned
        earned += self.coverage.weight * parts.coverage
        return earned if parts.coverage >= self.coverage.least else earned * self.coverage.factor


def rewards() -> list[str]:
    """Names of the shipped rewards, default first."""
    found = [path.name.removesuffix(".toml") for path in _folder().iterdir() if path.name.endswith(".toml")]
    return sorted(found, key=lambda name: (name != DEFAULT, name))


def load_reward(named: str | Reward | dict[str, Any]) -> Reward:
    """A reward by its name, from a `.toml` file of one's own, or from plain data.

    Raises UsageError: unknown name, unreadable file, or data that contradict themselves.
    """
    if isinstance(named, Reward):
        return named
    if not isinstance(named, str):
        return _valid(named, "the reward")
    if named in rewards():
        text = _folder().joinpath(f"{named}.toml").read_text(encoding="utf-8")
    elif named.endswith(".toml"):
        try:
            text = Path(named).read_text(encoding="utf-8")
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the reward file {named} cannot be read: {error}") from error
    else:
        raise UsageError(f"there is no reward {named!r}: name one of {', '.join(rewards())}, or a .toml file")
    try:
        return _valid(tomllib.loads(text), f"the reward {named}")
    except tomllib.TOMLDecodeError as error:
        raise UsageError(f"the reward {named} is malformed: {error}") from error


def _valid(content: dict[str, Any], where: str) -> Reward:
    try:
        return Reward.model_validate(content)
    except ValidationError as error:
        raise UsageError(f"{where} cannot be used: {first_complaint(error)}") from error


def _folder() -> Any:
    return resources.files("kernelgauge.training") / "rewards"

"""One problem verified: described, run at reduced sizes, tried with answers that skip work."""

from __future__ import annotations

import random
import time
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any

from kernelgauge.config import Protocol
from kernelgauge.errors import ProblemError
from kernelgauge.problems.facts import facts
from kernelgauge.problems.loader import load_problem, sizes_of
from kernelgauge.problems.verified import Verified, record, verified, with_earlier
from kernelgauge.schema import Record, Sizes, suite_of
from kernelgauge.session.session import Session
from kernelgauge.verification.facts import (
    bytes_difference,
    differences,
    fingerprint_differences,
    minimal_bytes,
    misbehaviour,
    size_differences,
)

REDUCED: tuple[Sizes, ...] = ("small", "odd")
_FULL: Sizes = "full"
# What rounding averages away only shows in a large output, what luck decides only in several draws.
_DRAWS: dict[Sizes, tuple[int, int]] = {"small": (3, 10), "medium": (2, 5)}
# Of a parameter ignored: a deep model has a thousand, each costs a forward in float64.
_MOST_PARAMETERS = 24


class ProblemResult(Record):
    """What verification found out about one problem."""

    problem: str
    name: str
    level: int | None
    broken: tuple[str, ...]
    """Why nothing judged against this problem means anything, or is no longer comparable; empty if it is sound."""
    trivial_answers: dict[str, tuple[str, ...]]
    """By protocol: answers without the work that it would accept; under `strict` such a problem does not count."""
    shortcuts: dict[str, tuple[str, ...]]
    """By protocol: cut corners it would accept: low precision, a parameter ignored (of at most 24)."""
    idle: tuple[str, ...]
    """Parameters without any effect on the output, such as a bias before a normalisation."""
    protocols: dict[str, str]
    """Digests of these protocols."""
    flops: int | None = None
    bytes: int | None = None
    fingerprints: dict[str, dict[str, tuple[float, float]]]
    """By size: root mean square and signed mean of inputs, parameters and output under seed 0."""
    seconds: float

    @property
    def intensity(self) -> float | None:
        """FLOPs per byte of minimal traffic."""
        return self.flops / self.bytes if self.flops and self.bytes else None


def verify_all(
    session: Session, keys: Sequence[str], protocols: Sequence[Protocol], jobs: int = 1
) -> Iterator[ProblemResult]:
    """Findings in the order of `keys`; a problem whose own code fails is broken, not an exception.

    Raises:
        UsageError: no problem is called so.
        MachineError: the machine failed.
    """
    with ThreadPoolExecutor(jobs) as pool:
        try:
            yield from pool.map(partial(verify, session, protocols=protocols), keys)
        finally:
            pool.shutdown(cancel_futures=True)


def verify(session: Session, key: str, protocols: Sequence[Protocol] = ()) -> ProblemResult:
    """Describe at full size, run at `small` and `odd`, and try trivial answers at `small` and `medium`."""
    started = time.monotonic()
    examined = _Examined(session, key)
    examined.describe()
    for size in [size for size in REDUCED if size in sizes_of(key)] or [_FULL]:
        examined.run(size)
    examined.compare()
    for protocol in protocols:
        examined.screen(protocol)
    return examined.finding(time.monotonic() - started)


def keep(findings: Sequence[ProblemResult]) -> None:
    """Record what was found about problems of the built-in suite as its own data."""
    record(
        {
            found.problem: with_earlier(
                Verified(
                    trivial_answers=found.trivial_answers,
                    shortcuts=found.shortcuts,
                    idle=found.idle,
                    fingerprints={
                        size: {what: (float(f"{a:.7g}"), float(f"{b:.7g}")) for what, (a, b) in prints.items()}
                        for size, prints in found.fingerprints.items()
                    },
                    digest=(problem := load_problem(found.problem)).digest,
                    parameters=problem.parameters,
                    protocols=found.protocols,
                ),
                verified(found.problem),
            )
            for found in findings
            if suite_of(found.problem) is None and found.level is not None
        }
    )


class _Examined:
    """One problem while it is verified."""

    def __init__(self, session: Session, key: str):
        self._session = session
        self._key = key
        self._full = load_problem(key)
        built_in = self._full.key == f"{self._full.level}/{self._full.number}"
        self._facts = facts(self._full.level or 0, self._full.number or 0) if built_in else None
        self._recorded = verified(self._full.key) if built_in else None
        self._described: dict[str, Any] | None = None
        self._bytes: int | None = None
        self._runs: dict[Sizes, dict[str, Any]] = {}
        self._broken: list[str] = []
        self._trivial: dict[str, tuple[str, ...]] = {}
        self._shortcuts: dict[str, tuple[str, ...]] = {}
        self._idle: list[str] = []
        self._protocols: dict[str, str] = {}

    def describe(self) -> None:
        try:
            self._described = self._session.describe(self._full)
        except ProblemError as error:
            self._broken.append(str(error))

    def run(self, size: Sizes) -> None:
        try:
            found = self._runs[size] = self._session.try_out(load_problem(self._key, sizes=size))
        except ProblemError as error:
            self._broken.append(f"{size}: {error}")
            return
        complaints = list(misbehaviour(found, may_draw="random" in self._full.tags))
        if self._facts is not None and size != _FULL:
            at_size = self._facts.small if size == "small" else self._facts.odd
            complaints += size_differences(found, self._facts, at_size)
        if self._recorded is not None and size in self._recorded.fingerprints:
            complaints += fingerprint_differences(found["fingerprints"], self._recorded.fingerprints[size])
        self._broken += [f"{size}: {complaint}" for complaint in complaints]

    def compare(self) -> None:
        """The full sizes against the facts; needs `describe`, and `run` for which parameters are reached."""
        if self._described is None:
            return
        unreached = next(iter(self._runs.values()))["unreached"] if self._runs else []
        self._bytes = minimal_bytes(self._described, unreached)
        if self._facts is not None:
            found = (
                *differences(self._described, self._facts),
                *bytes_difference(self._described, unreached, self._facts),
            )
            self._broken += [f"full size: {complaint}" for complaint in found]

    def screen(self, protocol: Protocol) -> None:
        """Trivial answers and shortcuts under one protocol; parameters ignored only at the first size that runs."""
        if not self._runs or self._broken:
            return
        first = next(iter(self._runs))
        parameters = list(self._described["bytes"]["parameters"]) if self._described else []
        parameters = _some([name for name in parameters if name in self._runs[first]["state"]], self._key)
        sizes, secret = [first], protocol.inputs.seeds == "secret"
        has = sizes_of(self._key)
        # A language model's medium size takes minutes.
        if protocol.score.weak_problems == "excluded" and "medium" in has and "pretrained" not in has:
            sizes.append("medium")
        screened = []
        for size in sizes:
            problem, tried = load_problem(self._key, sizes=size), parameters if size == first else []
            try:
                screened.append(
                    self._session.screen(problem, protocol, tried, _DRAWS.get(size, (1, 1)) if secret else (1, 1))
                )
            except ProblemError as error:
                self._broken.append(f"{protocol.name}, {size}: {error}")
                return
        self._protocols[protocol.name] = protocol.judgement_digest
        self._trivial[protocol.name] = _merged(each.trivial_answers for each in screened)
        self._shortcuts[protocol.name] = _merged(each.shortcuts for each in screened)
        if protocol.parameters.initialisation == "randomised":
            self._idle = [*screened[0].idle]

    def finding(self, seconds: float) -> ProblemResult:
        without_effect = {f"without {name}" for name in self._idle}
        return ProblemResult(
            problem=self._full.key,
            name=self._full.name,
            level=self._full.level,
            broken=tuple(self._broken),
            trivial_answers=self._trivial,
            shortcuts={
                protocol: tuple(each for each in accepted if each not in without_effect)
                for protocol, accepted in self._shortcuts.items()
            },
            idle=tuple(self._idle),
            protocols=self._protocols,
            flops=self._described["flops"] if self._described else None,
            bytes=self._bytes,
            fingerprints={size: found["fingerprints"] for size, found in self._runs.items()},
            seconds=round(seconds, 2),
        )


def _some(parameters: list[str], seed: str) -> list[str]:
    """All of them, or as many as are tried, the same ones each time: evenly spaced ones could all be biases."""
    if len(parameters) <= _MOST_PARAMETERS:
        return parameters
    chosen = set(random.Random(seed).sample(parameters, _MOST_PARAMETERS))
    return [name for name in parameters if name in chosen]


def _merged(several: Iterable[tuple[str, ...]]) -> tuple[str, ...]:
    return tuple(dict.fromkeys(each for found in several for each in found))

"""Does a problem say anything under a protocol? Asked once per problem, before any candidate.

A problem that a work-skipping answer would pass is marked on every record and, where the protocol says so, left out
of the score: for all candidates alike, whether they pass or fail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import torch

from kernelgauge.backends.cache import locked
from kernelgauge.checks.numerics import distances
from kernelgauge.checks.probes import Probes
from kernelgauge.config import Protocol
from kernelgauge.evaluation import judge
from kernelgauge.evaluation.check import Facts, prepare
from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.reference import Reference
from kernelgauge.schema import Environment, Problem, digest

# Relative to the output: what float64 itself leaves, behind a normalisation that divides by something small too.
_NO_EFFECT = 1e-9


def surviving_probes(reference: Reference) -> tuple[str, ...]:
    """The trivial answers that pass every trial of the protocol on this problem."""
    agreement = reference.protocol.agreement
    probes: Probes | None = None
    for variant in reference.protocol.inputs.variants:
        facts = prepare(reference, variant)
        given = reference.given()
        probes = probes or Probes(len(given))

        def accepts(answer: list[torch.Tensor], facts: Facts = facts) -> bool:
            return judge.compare(agreement, "own", answer, facts.truth, facts.eager)[0].agreed

        probes.see(facts.answer, given, accepts)
        if not probes.alive:
            break
    return probes.survivors() if probes else ()


@dataclass(frozen=True)
class Weighed:
    """What a protocol would let through on one problem."""

    trivial: tuple[str, ...]
    """Answers without the work; see `checks.probes`."""
    shortcuts: tuple[str, ...]
    """Cut corners; see `Oracle.imitate`."""
    idle: tuple[str, ...]
    """Parameters that make no difference at all, here."""


def weigh(zygote: Zygote, problem: Problem, protocol: Protocol, device: str, parameters: Sequence[str]) -> Weighed:
    """Try every trivial answer and every shortcut on one problem.

    Raises:
        ProblemError: the reference itself fails.
    """
    with Reference(zygote, problem, protocol, device) as reference:
        trivial = surviving_probes(reference)
        shortcuts, idle = surviving_shortcuts(reference, parameters)
    return Weighed(trivial, tuple(shortcuts), tuple(idle))


def surviving_shortcuts(reference: Reference, parameters: Sequence[str]) -> tuple[list[str], list[str]]:
    """Cut corners that pass every trial, and the parameters among them that make no difference at all.

    Tried are inputs and parameters in TF32 and in bfloat16, and each parameter ignored; see `Oracle.imitate`. Under
    randomised parameters a parameter without effect (a bias before a normalisation) is algebra, not a weakness.
    """
    agreement = reference.protocol.agreement
    alive = ["tf32", "bfloat16", *(f"without {name}" for name in parameters)]
    idle: list[str] = []
    for variant in reference.protocol.inputs.variants:
        facts = prepare(reference, variant)
        passing = []
        for shortcut in alive:
            name = shortcut.removeprefix("without ")
            if name in idle:  # what made no difference once is not tried again: large models have hundreds
                passing.append(shortcut)
                continue
            exact = reference.imitate(shortcut)
            if name != shortcut and all(found.rms <= _NO_EFFECT for found in distances(exact, facts.truth)):
                idle.append(name)
            answer = [tensor.to(due.dtype) for tensor, due in zip(exact, facts.answer, strict=True)]
            if judge.compare(agreement, "own", answer, facts.truth, facts.eager)[0].agreed:
                passing.append(shortcut)
        alive = passing
    return alive, idle


class Admissions:
    """Answers kept on disk by problem, protocol, device and installation."""

    def __init__(self, zygote: Zygote, root: Path):
        self._zygote = zygote
        self._root = root

    def trivial(self, problem: Problem, protocol: Protocol, device: str, environment: Environment) -> tuple[str, ...]:
        """Trivial answers the protocol would accept on this problem; measured the first time, then remembered.

        Raises:
            ProblemError: the reference itself fails.
        """
        described = [problem.source, problem.domains, protocol.digest, device, environment.torch]
        path = self._root / f"{digest(json.dumps(described, sort_keys=True))}.json"
        with locked(path.with_suffix(".lock")):
            if path.is_file():
                return tuple(json.loads(path.read_text()))
            with Reference(self._zygote, problem, protocol, device) as reference:
                found = surviving_probes(reference)
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(found))
            partial.rename(path)
            return found

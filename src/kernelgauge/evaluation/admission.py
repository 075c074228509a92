"""Does a problem say anything under a protocol? Asked once per problem, before any candidate.

A problem that a work-skipping answer would pass is marked on every record and, where the protocol says so, left out
of the score: for all candidates alike, whether they pass or fail.
"""

from __future__ import annotations

import json
from pathlib import Path

import torch

from kernelgauge.backends.cache import locked
from kernelgauge.checks.probes import Probes
from kernelgauge.config import Protocol
from kernelgauge.evaluation import judge
from kernelgauge.evaluation.check import Facts, prepare
from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.reference import Reference
from kernelgauge.schema import Environment, Problem, digest


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

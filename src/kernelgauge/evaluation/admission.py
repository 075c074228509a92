"""Does a problem say anything under a protocol? Asked once per problem, before any candidate.

A problem that a work-skipping answer would pass is marked on every record and, where the protocol says so, left out
of the score: for all candidates alike, whether they pass or fail.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.cache import locked
from kernelgauge.checks.numerics import distances
from kernelgauge.checks.probes import BLIND, Probes
from kernelgauge.config import Protocol
from kernelgauge.evaluation.check import acceptance, prepare, trials
from kernelgauge.evaluation.launcher import Zygote
from kernelgauge.evaluation.reference import Reference
from kernelgauge.schema import Environment, Problem, digest

PRECISIONS = ("tf32", "bfloat16")
_WITHOUT = "without "

# Relative to the output: what float64 itself leaves, behind a normalisation that divides by something small too.
_NO_EFFECT = 1e-9


def surviving_probes(reference: Reference) -> set[str]:
    """The trivial answers that pass on this problem, with these weights.

    An answer passes if every trial accepts it; one that needs no inputs passes if every trial with the problem's own
    accepts it, since those are the inputs that are timed.
    """
    everywhere: Probes | None = None
    blind = Probes(BLIND)
    for variant in trials(reference, blind):
        facts = prepare(reference, variant)
        given = reference.given()
        everywhere = everywhere or Probes([*BLIND, *(f"input {index}" for index in range(len(given)))])
        accepts = acceptance(reference, facts)
        everywhere.see(facts.answer, given, accepts)
        if facts.variant == "own":
            blind.see(facts.answer, given, accepts)
    return blind.survivors() | (everywhere.survivors() if everywhere else set())


@dataclass(frozen=True)
class Weighed:
    """What a protocol would let through on one problem, in at least one of several draws."""

    trivial: tuple[str, ...]
    """Answers without the work; see `checks.probes`."""
    shortcuts: tuple[str, ...]
    """Cut corners; see `Oracle.imitate`."""
    idle: tuple[str, ...]
    """Parameters that made no difference in any trial, here."""


def weigh(
    zygote: Zygote,
    problem: Problem,
    protocol: Protocol,
    device: str,
    parameters: Sequence[str],
    draws: tuple[int, int] = (1, 1),
) -> Weighed:
    """Try every trivial answer and every shortcut on one problem.

    Args:
        parameters: those to ignore, one at a time; in the first draw only, as each costs a forward in every trial.
        draws: of weights and inputs: at least so many, and more up to the second number while luck has a say, that
            is as long as low precision passes some trials and not others.

    Raises:
        ProblemError: the reference itself fails.
    """
    trivial: set[str] = set()
    shortcuts: dict[str, None] = {}
    idle: set[str] = set()
    tried = [*PRECISIONS, *(f"{_WITHOUT}{name}" for name in parameters)]
    least, most = draws
    for number in range(1, most + 1):
        with Reference(zygote, problem, protocol, device) as reference:
            trivial |= surviving_probes(reference)
            found = surviving_shortcuts(reference, tried, thorough=most > 1)
        shortcuts |= dict.fromkeys(found.passing)
        idle |= found.idle
        tried = list(PRECISIONS)
        if number >= least and not found.lucky - set(shortcuts):
            break
    return Weighed(tuple(sorted(trivial)), tuple(shortcuts), tuple(name for name in parameters if name in idle))


@dataclass(frozen=True)
class Shortcuts:
    """What became of cut corners in the trials of one draw of weights."""

    passing: tuple[str, ...]
    """Those that pass every trial."""
    lucky: frozenset[str]
    """Those that pass some trial, of those tried."""
    idle: frozenset[str]
    """Parameters without any effect in any trial."""


def surviving_shortcuts(reference: Reference, shortcuts: Sequence[str], thorough: bool = False) -> Shortcuts:
    """Try cut corners (see `Oracle.imitate`) in every trial of the protocol, refused ones no more unless `thorough`.

    Under randomised parameters one without effect (a bias before a normalisation) is algebra, not a weakness, and one
    that the constructor sets to a value is known to every candidate: neither is a cut corner.
    """
    alive, lucky = list(shortcuts), set()
    idle = {each.removeprefix(_WITHOUT) for each in shortcuts if each.startswith(_WITHOUT)}
    for variant in reference.protocol.inputs.variants:
        facts = prepare(reference, variant)
        accepts = acceptance(reference, facts)
        for shortcut in [each for each in shortcuts if each in alive or (thorough and each in PRECISIONS)]:
            exact, changed = reference.imitate(shortcut)
            name = shortcut.removeprefix(_WITHOUT)
            if any(found.rms > _NO_EFFECT for found in distances(exact, facts.truth)):
                idle.discard(name)
            given = not changed and name != shortcut and reference.randomise
            if not given and accepts([part.to(due.dtype) for part, due in zip(exact, facts.answer, strict=True)]):
                lucky.add(shortcut)
            elif shortcut in alive:
                alive.remove(shortcut)
                idle.discard(name)
    return Shortcuts(tuple(alive), frozenset(lucky), frozenset(idle))


class Admissions:
    """Answers kept on disk by problem, protocol, device and installation."""

    def __init__(self, zygote: Zygote, root: Path):
        self._zygote = zygote
        self._root = root

    def trivial(self, problem: Problem, protocol: Protocol, device: str, environment: Environment) -> tuple[str, ...]:
        """Work-skipping answers the protocol would accept on this problem; measured the first time, then remembered.

        Where it leaves weak problems out, low precision is among them.

        Raises:
            ProblemError: the reference itself fails.
        """
        described = [problem.source, problem.domains, protocol.digest, device, environment.torch]
        path = self._root / f"{digest(json.dumps(described, sort_keys=True))}.json"
        with locked(path.with_suffix(".lock")):
            if path.is_file():
                return tuple(json.loads(path.read_text()))
            with Reference(self._zygote, problem, protocol, device) as reference:
                found = sorted(surviving_probes(reference))
                if protocol.score.weak_problems == "excluded":
                    found += surviving_shortcuts(reference, PRECISIONS).passing
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(found))
            partial.rename(path)
            return tuple(found)

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
from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.checks.numerics import distances
from kernelgauge.checks.probes import BLIND, Accepts, Probes
from kernelgauge.config import NARROW, Protocol
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.correctness.trials import Facts, acceptance, prepare, trials
from kernelgauge.evaluation.sides.reference import Reference
from kernelgauge.problems.verified import PRECISIONS
from kernelgauge.sandbox.zygote_client import Zygote, worker_device
from kernelgauge.schema import ROUNDING, Environment, Problem, digest

_WITHOUT = "without "

# Relative to the output: what float64 itself leaves, behind a normalisation that divides by something small too.
_NO_EFFECT = 1e-9


@dataclass(frozen=True)
class Screened:
    """What a protocol would let through on one problem, in at least one of several draws."""

    trivial_answers: tuple[str, ...]
    """Answers without the work; see `checks.probes`."""
    shortcuts: tuple[str, ...]
    """Cut corners; see `Oracle.imitate`."""
    idle: tuple[str, ...]
    """Parameters that made no difference in any trial, here."""


def screen(
    zygote: Zygote,
    problem: Problem,
    protocol: Protocol,
    device: str,
    parameters: Sequence[str],
    draws: tuple[int, int] = (1, 1),
) -> Screened:
    """Try every trivial answer and every shortcut on one problem.

    Args:
        parameters: those to ignore, one at a time; in the first draw only, as each costs a forward in every trial.
        draws: of weights and inputs: at least so many, and more up to the second number while luck has a say, that
            is as long as low precision passes some trials and not others.

    Raises:
        ProblemError: the reference itself fails.
    """
    trivial_answers: set[str] = set()
    shortcuts: dict[str, None] = {}
    idle: set[str] = set()
    tried = [*PRECISIONS, *(f"{_WITHOUT}{name}" for name in parameters)]
    least, most = draws
    for number in range(1, most + 1):
        with Reference(zygote, problem, protocol, device) as reference:
            screening = ScreeningTrials(reference, tried, thorough=most > 1)
            screening.all_trials()
        trivial_answers |= screening.trivial_answers()
        found = screening.shortcuts()
        shortcuts |= dict.fromkeys(found.passing)
        idle |= found.idle
        tried = list(PRECISIONS)
        if number >= least and not found.lucky - set(shortcuts):
            break
    return Screened(
        tuple(sorted(trivial_answers)), tuple(shortcuts), tuple(name for name in parameters if name in idle)
    )


@dataclass(frozen=True)
class Shortcuts:
    """What became of cut corners in the trials of one draw of weights."""

    passing: tuple[str, ...]
    """Those that pass every trial."""
    lucky: frozenset[str]
    """Those that pass some trial, of those tried; large inputs aside."""
    idle: frozenset[str]
    """Parameters without any effect in any trial."""


class ScreeningTrials:
    """Trivial answers and cut corners, tried against one trial after another of one draw of weights.

    An answer passes if every trial accepts it; one that needs no inputs passes if every trial with the problem's own
    accepts it, since those are the inputs that are timed. Under randomised parameters a shortcut without effect (a
    bias before a normalisation) is algebra, not a weakness, and one that the constructor sets to a value is known to
    every candidate: neither is a cut corner.

    Args:
        shortcuts: those to try; see `Oracle.imitate`.
        thorough: go on with low precision that some trial has refused, to see whether luck has a say.
        asks: the oracle what honest arithmetic makes of the inputs, wherever that may decide. Else cut corners are
            taken to pass there, and `undecided` says so of those that no trial refuses: most fall in another trial
            at once, and asking costs up to twelve forwards each time.
    """

    def __init__(
        self, reference: Reference, shortcuts: Sequence[str] = (), thorough: bool = False, asks: bool = True
    ):
        self._reference = reference
        self._asks = asks
        self._doubtful: set[str] = set()
        self._thorough = thorough
        self._shortcuts = tuple(shortcuts)
        self._alive = list(shortcuts)
        self._lucky: set[str] = set()
        self._idle = {each.removeprefix(_WITHOUT) for each in shortcuts if each.startswith(_WITHOUT)}
        self._everywhere: Probes | None = None
        self._trials = 0
        self.gave_up = False
        """Beside a candidate, memory may not suffice: then nothing that was found counts."""
        self.blind = Probes(BLIND, reference.plan.tight)

    def see(self, facts: Facts) -> None:
        """Try everything against the trial that was prepared last; give up where memory does not suffice for that."""
        if self.gave_up:
            return
        try:
            self._see(facts)
        except (ReferenceTooLarge, torch.OutOfMemoryError):
            self.give_up()

    def give_up(self) -> bool:
        """Keep nothing of earlier trials and try no more; False if that was so already."""
        given_up, self.gave_up = self.gave_up, True
        self._everywhere = None
        self.blind.forget()
        self._reference.forget_shortcuts()
        return not given_up

    def _see(self, facts: Facts) -> None:
        reference, accepts = self._reference, acceptance(self._reference, facts)
        given = reference.given()
        if self._everywhere is None:
            names = [*BLIND, *(f"input {index}" for index in range(len(given)))]
            self._everywhere = Probes(names, reference.plan.tight)
            if not reference.takes_products:
                # There low precision saves nothing, since inputs are read in float32: no corner is cut.
                self._shortcuts = tuple(each for each in self._shortcuts if each not in PRECISIONS)
                self._alive = [each for each in self._alive if each not in PRECISIONS]
        self._everywhere.see(facts.answer, given, accepts)
        if facts.variant == "own":
            self.blind.see(facts.answer, given, accepts)
        self._trials += 1
        if self._trials <= len(reference.protocol.inputs.variants):
            self._cut_corners(facts, accepts, acceptance(reference, facts, asks=False))

    def _cut_corners(self, facts: Facts, accepts: Accepts, would_accept: Accepts) -> None:
        """Those refused already are tried to see whether luck has a say: that is not worth asking the oracle."""
        honest = self._reference.honest
        for shortcut in self._shortcuts:
            if shortcut not in self._alive and not (self._thorough and shortcut in PRECISIONS):
                continue
            exact, changed = self._reference.imitate(shortcut)
            name = shortcut.removeprefix(_WITHOUT)
            if any(found.rms > _NO_EFFECT for found in distances(exact, facts.truth)):
                self._idle.discard(name)
            given = not changed and name != shortcut and self._reference.randomise is not None
            judge = accepts if self._asks and shortcut in self._alive else would_accept
            undecided = honest.undecided
            passes = not given and judge(exact)
            if not self._asks and honest.undecided > undecided:
                self._doubtful.add(shortcut)
                passes = True
            if passes:
                if facts.variant != "large":  # judged coarsely: what passes there passes by no luck
                    self._lucky.add(shortcut)
            elif shortcut in self._alive:
                self._alive.remove(shortcut)
                self._idle.discard(name)
        if not self._alive and not self._thorough:  # no later trial asks for one
            self._reference.forget_shortcuts()

    def trivial_answers(self) -> set[str]:
        """The answers without the work that pass; `ROUNDING` where nothing right could."""
        found = self.blind.survivors() | (self._everywhere.survivors() if self._everywhere else set())
        return found | ({ROUNDING} if self._reference.rounding_decides else set())

    @property
    def undecided(self) -> bool:
        """Whether what passed may only have done so because nobody was asked."""
        return not self._doubtful.isdisjoint(self._alive)

    def shortcuts(self) -> Shortcuts:
        """What became of the cut corners."""
        return Shortcuts(tuple(self._alive), frozenset(self._lucky), frozenset(self._idle))

    @property
    def settled(self) -> bool:
        """Whether all has been refused, so that no further trial can change anything."""
        refused = self._everywhere is not None and self._everywhere.settled and self.blind.settled
        return self.gave_up or (refused and not self._alive and not self._thorough)

    def all_trials(self) -> None:
        """Go through the protocol's trials for nothing else than this, until all is settled.

        The inputs that show low precision come first, then the problem's own: with two draws of them, an earlier
        answer and a constant are refused too.
        """
        for variant in trials(self._reference, self.blind, first=("offgrid", "own")):
            self._see(prepare(self._reference, variant))
            if self.settled:
                return


def precisions(protocol: Protocol) -> tuple[str, ...]:
    """The narrow types that say, where they pass, that a problem is weak: none where they are allowed anyway."""
    weak = protocol.score.weak_problems == "excluded" and protocol.tolerance.math not in NARROW
    return PRECISIONS if weak else ()


class Screening:
    """Answers kept on disk by problem, protocol, device and installation: the same for all candidates."""

    def __init__(self, zygote: Zygote, root: Path):
        self._zygote = zygote
        self._root = root

    def known(
        self, problem: Problem, protocol: Protocol, device: str, environment: Environment
    ) -> tuple[str, ...] | None:
        """What is remembered of this problem; None if nothing is."""
        path = self._path(problem, protocol, device, environment)
        return tuple(json.loads(path.read_text())) if path.is_file() else None

    def keep(
        self, screening: ScreeningTrials, problem: Problem, protocol: Protocol, device: str, environment: Environment
    ) -> tuple[str, ...]:
        """Remember what a screening found, unless another has come first; returns what is remembered."""
        path = self._path(problem, protocol, device, environment)
        with locked(path.with_suffix(".lock")):
            if path.is_file():
                return tuple(json.loads(path.read_text()))
            found = (*sorted(screening.trivial_answers()), *screening.shortcuts().passing)
            partial = path.with_suffix(".partial")
            partial.write_text(json.dumps(found))
            partial.rename(path)
            return found

    def trivial_answers(
        self,
        problem: Problem,
        protocol: Protocol,
        device: str,
        environment: Environment,
        plan: MemoryPlan = USUAL,
    ) -> tuple[str, ...]:
        """Work-skipping answers the protocol would accept on this problem; measured the first time, then remembered.

        Where it leaves weak problems out, low precision is among them.

        Args:
            plan: how memory is shared out.

        Raises:
            ProblemError: the reference itself fails.
        """
        found = self.known(problem, protocol, device, environment)
        if found is not None:
            return found
        with Reference(self._zygote, problem, protocol, device, plan=plan) as reference:
            screening = ScreeningTrials(reference, precisions(protocol))
            try:
                screening.all_trials()
            except torch.OutOfMemoryError as error:  # in the parent's own arithmetic
                raise ReferenceTooLarge(f"problem {problem.key}: {str(error).splitlines()[0]}") from error
            return self.keep(screening, problem, protocol, device, environment)

    def _path(self, problem: Problem, protocol: Protocol, device: str, environment: Environment) -> Path:
        place = [worker_device(device), environment.gpu if device != "cpu" else None, environment.torch]
        judged = [protocol.judgement_digest, protocol.score.weak_problems]
        described = [problem.source, problem.domains, problem.parameters.model_dump(), *judged, *place]
        return self._root / f"{digest(json.dumps(described, sort_keys=True))}.json"

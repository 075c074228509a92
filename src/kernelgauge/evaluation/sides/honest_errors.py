"""What honest float32 arithmetic makes of the inputs just drawn: asked only where the usual bound refuses."""

from __future__ import annotations

import math
import secrets
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from typing import TYPE_CHECKING

import torch

from kernelgauge.checks.accumulation import Variances
from kernelgauge.checks.numerics import Allowance, Distance, distances, honest_allowance
from kernelgauge.config import NARROW
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.sides.problem_process import ReferenceRaised

if TYPE_CHECKING:
    from kernelgauge.evaluation.sides.reference import Reference

# Forwards with other noise: before the spread of what they say is trusted, and for one answer at the most.
_LEAST, _MOST = 4, 12
# An error is called by a mechanism's name if that one makes it to within this factor.
_ALIKE = 2.0
# A variance from the mean of squares errs by one rounding of that at the least, and by this much more at the most
# than the longest honest chain.
_SHORT_OF = 64.0
# Of the error: no more may be left beside what the mechanism answers.
_EXPLAINED = 0.8
# Times the most that is allowed where `offgrid` inputs themselves are normalised: a mean that a long sum takes of
# them errs as narrow types do, and these show in other trials, since every element of such an output is rounded.
_NORMALISED = 4
# Above what is allowed after the least number of forwards: more of them will not say otherwise.
_FAR = 2.5
_OPERANDS = {"tf32": "TF32", "bfloat16": "bfloat16"}
# A larger error is not asked about: bfloat16 keeps 8 bits, which makes 0.004 of each operand.
_NARROW_AT_MOST = 0.1


class HonestErrors:
    """Errors of honest float32 arithmetic for one reference, by the variant of the inputs they were found on.

    Args:
        reference: whose oracle is asked about the inputs it has drawn last.
    """

    def __init__(self, reference: Reference):
        self._reference = reference
        self._found: dict[str, list[list[Distance]]] = {}
        self._here: list[list[Distance]] = []
        """Those of the inputs drawn last: all answers to them are judged by the same."""
        self._unknown = False
        self._normalised = False
        self.asked = 0
        """Forwards with noise so far."""
        self.undecided = 0
        """Answers refused without asking where asking might have said otherwise."""

    def inputs_changed(self) -> None:
        """Other inputs have been drawn."""
        self._here = []

    def widen(
        self,
        variant: str,
        found: Sequence[Distance],
        usual: Sequence[Allowance],
        asks: bool = True,
    ) -> tuple[list[Allowance], list[float | None]]:
        """What is allowed where honest arithmetic may be further off than usual, and how far that was found to be.

        Earlier draws of the same variant are asked first. What no width would save is not asked about.

        Args:
            found: errors of an answer, one for each output.
            usual: what is allowed anyway.
            asks: the oracle, where what is known does not settle it.
        """
        tolerance = self._reference.protocol.tolerance
        nothing: tuple[list[Allowance], list[float | None]] = list(usual), [None] * len(usual)
        if self._unknown or tolerance.math in NARROW or not self._reference.precise:
            return nothing
        most = tolerance.honest_most * (_NORMALISED if variant == "offgrid" else 1)
        refused = [error for limit, error in zip(usual, found, strict=True) if not limit.accepts(error)]
        if not refused or any(not (error.rms <= most and error.worst <= tolerance.honest_worst) for error in refused):
            return nothing
        known, here = self._found.setdefault(variant, []), self._here
        with self._asking(), ExitStack() as once:
            while True:
                for draws in (known, here):
                    widened = self._widened(draws, usual, variant)
                    if all(limit.accepts(error) for limit, error in zip(widened, found, strict=True)):
                        return widened, self._typical(draws)
                settled = len(here) >= _MOST or (len(here) >= _LEAST and self._hopeless(found, widened, usual))
                if not asks or settled:
                    self.undecided += not settled
                    return widened, self._typical(here) if here else nothing[1]
                once.enter_context(self._reference.cleared())
                drawn = self._draw()
                known.append(drawn)
                here.append(drawn)
        return nothing

    @staticmethod
    def _hopeless(found: Sequence[Distance], widened: Sequence[Allowance], usual: Sequence[Allowance]) -> bool:
        refused = [
            limit.used(error)
            for error, limit, own in zip(found, widened, usual, strict=True)
            if not own.accepts(error)
        ]
        return max(refused) > _FAR

    def remembered(self) -> _Remembered:
        """The same, without asking the oracle any more."""
        return _Remembered(self)

    def explain(self, found: Distance, outputs: Sequence[torch.Tensor], truth: Sequence[torch.Tensor]) -> str:
        """What makes an error of this size in one of the outputs, as far as that is known; else nothing.

        Rounded operands only where they explain the outputs' values, too.
        """
        if not self._reference.precise or self._reference.protocol.tolerance.math in NARROW:
            return ""
        with self._asking():
            if self._reference.takes_variances and self._cancelled(found):
                return (
                    "cancellation: as a variance from the mean of squares less the squared mean errs, in float32, "
                    "where the mean is large beside the deviation"
                )
            return self._rounded(found, outputs, truth) if found.rms <= _NARROW_AT_MOST else ""
        return ""

    def _rounded(self, found: Distance, outputs: Sequence[torch.Tensor], truth: Sequence[torch.Tensor]) -> str:
        best, why = _EXPLAINED * found.rms, ""
        for precision, name in _OPERANDS.items():
            imitated = self._reference.imitate(precision)[0]
            made = self._largest(distances(imitated, truth))
            left = self._largest(distances(outputs, imitated))
            if made / _ALIKE <= found.rms <= made * _ALIKE and left < best:
                best, why = (
                    left,
                    f"rounding inputs and parameters to {name} makes nearly this error ({made:.2g})",
                )
        return why

    def _cancelled(self, found: Distance) -> bool:
        one = self._largest(self._draw("one_pass"))
        if not one / _SHORT_OF <= found.rms <= _ALIKE * 4 * one:
            return False
        two = self._largest(self._draw("two_pass"))
        return one > 4 * two and found.rms > 4 * two

    @staticmethod
    def _largest(found: Sequence[Distance]) -> float:
        return max(each.rms for each in found)

    def _draw(self, variances: Variances = "usual") -> list[Distance]:
        self.asked += 1
        errors, normalised = self._reference.err(secrets.randbits(62), variances)
        self._normalised |= normalised
        return errors

    @contextmanager
    def _asking(self) -> Iterator[None]:
        """Give back the memory that asking takes; where it does not suffice, nothing more is asked."""
        reference = self._reference
        try:
            yield
        except (ReferenceTooLarge, ReferenceRaised, torch.OutOfMemoryError) as error:
            self._unknown = True
            reason = str(error).splitlines()[0]
            reference.notes.append(f"what honest float32 arithmetic makes of the inputs is not known: {reason}")
        finally:
            reference.forget_shortcuts()

    def _widened(
        self, draws: Sequence[Sequence[Distance]], usual: Sequence[Allowance], variant: str
    ) -> list[Allowance]:
        if len(draws) < _LEAST:
            return list(usual)
        tolerance = self._reference.protocol.tolerance
        times = _NORMALISED if variant == "offgrid" and self._normalised else 1
        return [
            honest_allowance(tolerance, [draw[output] for draw in draws], limit, times)
            for output, limit in enumerate(usual)
        ]

    @staticmethod
    def _typical(draws: Sequence[Sequence[Distance]]) -> list[float | None]:
        return [
            math.sqrt(sum(each.rms**2 for each in of_output) / len(draws)) for of_output in zip(*draws, strict=True)
        ]


class _Remembered:
    """What earlier answers have taught."""

    def __init__(self, errors: HonestErrors):
        self._errors = errors

    def widen(
        self, variant: str, found: Sequence[Distance], usual: Sequence[Allowance]
    ) -> tuple[list[Allowance], list[float | None]]:
        return self._errors.widen(variant, found, usual, asks=False)

    def explain(self, found: Distance, outputs: Sequence[torch.Tensor], truth: Sequence[torch.Tensor]) -> str:
        return self._errors.explain(found, outputs, truth)

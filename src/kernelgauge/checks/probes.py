"""Work-skipping answers, tried on every problem: if one of them passes, a pass says nothing.

Each probe is an answer somebody could give without doing the work. The set starts complete and shrinks with every
trial that refuses a probe; what is left after the last trial would have been accepted.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence

import torch

Accepts = Callable[[list[torch.Tensor]], bool]


def _typical(tensor: torch.Tensor) -> float | int:
    """One number to stand for a whole output: its mean, or its first element where numbers are labels."""
    if tensor.numel() == 0:
        return 0
    return float(tensor.double().mean()) if tensor.is_floating_point() else int(tensor.flatten()[0].real)


def _fits(answer: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    return all(a.shape == e.shape and a.dtype == e.dtype for a, e in zip(answer, expected, strict=True))


class Probes:
    """The trivial answers that have passed every trial so far."""

    def __init__(self, inputs: int):
        self.alive = {"zeros", "ones", "constant", "replay", *(f"input {i}" for i in range(inputs))}
        self._previous: list[torch.Tensor] | None = None
        self._replayed = False

    def see(self, expected: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], accepts: Accepts) -> None:
        """Try every probe still alive against one trial.

        Args:
            expected: the right outputs of this trial, in the working precision.
            inputs: the tensors forward was given.
            accepts: whether the protocol would take these outputs for right on this trial.
        """
        for name in sorted(self.alive):
            answer = self._answer(name, expected, inputs)
            if answer is not None and not (_fits(answer, expected) and accepts(answer)):
                self.alive.discard(name)
        self._replayed = self._replayed or self._previous is not None
        self._previous = [tensor.clone() for tensor in expected]

    def survivors(self) -> tuple[str, ...]:
        """Probes that no trial refused; those that need a second trial only if there was one."""
        untried = set() if self._replayed else {"constant", "replay"}
        return tuple(sorted(self.alive - untried))

    def _answer(
        self, name: str, expected: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]
    ) -> list[torch.Tensor] | None:
        if name == "zeros":
            return [torch.zeros_like(tensor) for tensor in expected]
        if name == "ones":
            return [torch.ones_like(tensor) for tensor in expected]
        if name.startswith("input "):
            return [inputs[int(name.removeprefix("input "))] for _ in expected]
        if self._previous is None:
            return None
        if name == "replay":
            return self._previous
        return [torch.full_like(tensor, _typical(old)) for tensor, old in zip(expected, self._previous, strict=True)]

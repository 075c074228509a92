"""Work-skipping answers, tried on every problem: if one of them passes, a pass says nothing.

Each probe is an answer somebody could give without doing the work: a constant, the answer of another call, an input.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence

import torch

from kernelgauge.checks.host_copies import to_device, to_host

Accepts = Callable[[list[torch.Tensor]], bool]

BLIND = ("constant", "ones", "replay", "zeros")
"""Probes that need not even read the inputs."""

# Elements at a time.
_SUMMED = 1 << 26


def _typical(tensor: torch.Tensor) -> float | int:
    """One number to stand for a whole output: its mean, or its first element where numbers are labels."""
    if tensor.numel() == 0:
        return 0
    if not tensor.is_floating_point():
        return int(tensor.flatten()[0].real)
    pieces = tensor.reshape(-1).split(_SUMMED)  # in float64, a copy of all of it may have no room
    return sum(float(piece.sum(dtype=torch.float64)) for piece in pieces) / tensor.numel()


def _fits(answer: Sequence[torch.Tensor], expected: Sequence[torch.Tensor]) -> bool:
    return all(a.shape == e.shape and a.dtype == e.dtype for a, e in zip(answer, expected, strict=True))


class Probes:
    """Trivial answers, and which of them every trial so far has accepted.

    Args:
        names: those to try: of `BLIND`, and `input 0` and so on.
        on_host: keep earlier answers in host memory: the device has no room for them.
    """

    def __init__(self, names: Iterable[str], on_host: bool = False):
        self._names = sorted(names)
        self._on_host = on_host
        self._refused: set[str] = set()
        self._accepted: set[str] = set()
        self._previous: list[torch.Tensor] | None = None
        self._typical: list[float | int] | None = None

    def see(self, expected: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor], accepts: Accepts) -> None:
        """Try every probe that none has refused against one more trial.

        Args:
            expected: the right outputs of this trial, in the working precision.
            inputs: the tensors forward was given.
            accepts: whether the protocol would take these outputs for right on this trial.
        """
        for name in [name for name in self._names if name not in self._refused]:
            answer = self._answer(name, expected, inputs)
            if answer is not None:
                passes = _fits(answer, expected) and accepts(answer)
                (self._accepted if passes else self._refused).add(name)
        self._typical = [_typical(tensor) for tensor in expected]
        # A full-size output may take gigabytes: kept only while somebody may still answer with it.
        needed = "replay" in self._names and "replay" not in self._refused
        self._previous = [self._copied(tensor) for tensor in expected] if needed else None

    def _copied(self, tensor: torch.Tensor) -> torch.Tensor:
        return to_host(tensor) if self._on_host else tensor.clone()

    def forget(self) -> None:
        """Give back what is kept of the last trial: an answer with it is not tried in the next."""
        self._previous = None

    @property
    def settled(self) -> bool:
        """Whether every probe has been refused, so that no further trial can change anything."""
        return self._refused.issuperset(self._names)

    def survivors(self) -> set[str]:
        """Those that every trial accepted; a probe that needs an earlier answer is not tried in the first."""
        return self._accepted - self._refused

    def _answer(
        self, name: str, expected: Sequence[torch.Tensor], inputs: Sequence[torch.Tensor]
    ) -> list[torch.Tensor] | None:
        if name in ("zeros", "ones"):
            return [_filled(tensor, int(name == "ones")) for tensor in expected]
        if name.startswith("input "):
            return [inputs[int(name.removeprefix("input "))] for _ in expected]
        if name == "replay" or self._typical is None:
            if self._previous is None:
                return None
            return [to_device(before, due.device) for before, due in zip(self._previous, expected, strict=True)]
        return [_filled(tensor, value) for tensor, value in zip(expected, self._typical, strict=True)]


def _filled(like: torch.Tensor, value: float | int) -> torch.Tensor:
    """A tensor of one value in every place, in the memory of one element."""
    return torch.full((), value, dtype=like.dtype, device=like.device).expand(like.shape)

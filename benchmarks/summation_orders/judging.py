"""The evaluator's own judgement of trials, in this process: no worker and no clock."""

from __future__ import annotations

import secrets
import tempfile
from collections.abc import Sequence
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import torch

from kernelgauge.checks.inputs import vary
from kernelgauge.checks.numerics import Distance, distances
from kernelgauge.config import Protocol
from kernelgauge.errors import ReferenceTooLarge
from kernelgauge.evaluation.correctness.trials import Facts, prepare
from kernelgauge.evaluation.correctness.verdicts import compare
from kernelgauge.evaluation.sides.honest_errors import HonestErrors
from kernelgauge.evaluation.sides.right_answers import in_domain
from kernelgauge.schema import Problem, Trial
from kernelgauge.wire.messages import Claim
from kernelgauge.wire.oracle_commands import ConstructReference, Imitate, OpenProblem
from kernelgauge.worker.oracle import Oracle
from kernelgauge.worker.rounding_noise import RoundingNoise


class InProcess:
    """A reference and its oracle without processes: as `Reference`, as far as `prepare` and `HonestErrors` ask."""

    def __init__(self, problem: Problem, protocol: Protocol, device: str):
        self.protocol, self.problem = protocol, problem
        self.math = protocol.tolerance.math
        self.precise = True
        self.randomise = True
        self.notes: list[str] = []
        self.last_claim = Claim(event="done")
        self.answers = SimpleNamespace(to=self._answers)
        self.honest = HonestErrors(self)  # type: ignore[arg-type]
        self.oracle = Oracle()
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "problem.py"
            path.write_text(problem.source)
            described = self.oracle.open(OpenProblem(str(path), 1, problem.domains, device, self.math, None))
        self._init = described["data"]["init"]
        self._weights = secrets.randbits(62)
        self.call_seed = 0
        self._truth: list[torch.Tensor] = []
        self.oracle.construct(ConstructReference(self._init, self._weights, True, True))
        model = self.oracle._construct(self._init, self._weights, True)
        self.model = model.to(device)
        """In float32."""

    def draw(self, variant: str) -> None:
        """New inputs, as the evaluator draws them."""
        self.honest.inputs_changed()
        oracle = self.oracle
        oracle.arguments = []
        drawn = oracle._drawn(secrets.randbits(62))
        oracle.arguments = [vary(value, variant, domain) for value, domain in zip(drawn, oracle.domains, strict=True)]
        oracle.variant = variant
        self.call_seed = secrets.randbits(62)

    def run(self) -> list[torch.Tensor]:
        """The float32 model's answer to the inputs drawn last."""
        oracle, precise, own = self.oracle, self.oracle.precise, self.oracle.model
        try:
            oracle.precise, oracle.model = False, self.model
            return oracle._forward(self.call_seed)
        finally:
            oracle.precise, oracle.model = precise, own

    def _answers(self, variant: str) -> tuple[list[torch.Tensor], list[torch.Tensor]]:
        self.draw(variant)
        answer = self.run()
        self._truth = self._exactly() if in_domain(variant, answer) else answer
        return answer, self._truth

    def _exactly(self, noise: RoundingNoise | None = None) -> list[torch.Tensor]:
        try:
            return self.oracle._forward(self.call_seed, noise)
        except torch.OutOfMemoryError as error:
            raise ReferenceTooLarge(str(error)) from error

    def eager_distances(self, answer: list[torch.Tensor], truth: list[torch.Tensor]) -> list[Distance]:
        return distances(answer, truth)

    def err(self, noise: int, variances: Any = "usual") -> tuple[list[Distance], bool]:
        generator = torch.Generator(self.oracle.device).manual_seed(noise)
        rounding = RoundingNoise(generator, self.oracle.variant == "offgrid", variances)
        return distances(self._exactly(rounding), self._truth), rounding.normalised

    def imitate(self, precision: str) -> list[torch.Tensor]:
        """An answer that is exact but for inputs and parameters rounded so."""
        kept: dict[str, list[torch.Tensor]] = {}
        self.oracle._write = lambda region, outputs: kept.setdefault(region, list(outputs)) and {}  # type: ignore
        self.oracle.imitate(Imitate(self.call_seed, precision))
        return [tensor.float() if tensor.is_floating_point() else tensor for tensor in kept["shortcut"]]

    def forget_shortcuts(self) -> None:
        """There is no region to give back."""

    def trial(self, variant: str) -> Facts:
        """A trial as the evaluator prepares it."""
        return prepare(self, variant)  # type: ignore[arg-type]

    def judge(self, facts: Facts, outputs: Sequence[torch.Tensor], wide: bool = True) -> Trial:
        """The evaluator's judgement of an answer, with or without what honest arithmetic makes."""
        tolerance = self.protocol.tolerance
        honest = facts.honest if wide else None
        return compare(tolerance, facts.variant, outputs, facts.truth, facts.eager, honest)[0]

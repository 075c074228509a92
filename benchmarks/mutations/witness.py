"""Is a changed text a fault? Decided in float64, by rules that are not the evaluator's.

Text and reference run in float64 on the same inputs and parameters. There a rewrite that computes the same thing
differs by some 1e-15, and by 1e-9 at most (`honest` is held to that); a text that differs by more than 1e-6 computes
something else, however small float32 makes it look. A text that is finite in float64 and not in float32, where eager
is finite, is a fault too. What differs nowhere is an equivalent text, and what raises or has another shape is
stillborn: anything would refuse it. Neither is counted.

Compiled kernels have no float64 form. They run in float32, and count as faults where they are 64 times as far from
float64 as eager is, and by more than 1e-5: honest rewrites stay within 2.5 times.

Inputs are the problem's own draws and, where an input may be any real number, standard normal ones, also with another
mean, small and large; parameters are as constructed, and scattered around that as training leaves them.
"""

from __future__ import annotations

import copy
import math
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import ModuleType
from typing import Any, Literal

import torch

from kernelgauge.schema import Problem

FAULT = 1e-6
"""Root mean square of the difference, relative to that of the right output, all in float64."""
FAULT_WORST = 1e-5
"""The same for the single worst element."""
COMPILED = (64.0, 1e-5, 64.0, 1e-3)
"""For compiled kernels: multiple of eager's error and least error, first root mean square, then worst element."""
SAYS_NOTHING = 1e-3
"""Where eager itself is this far from float64, a case is ill-conditioned and no witness."""
SAME = 1e-9
"""What an honest rewrite may differ by in float64."""

Verdict = Literal["witnessed", "equivalent", "stillborn"]


@dataclass(frozen=True)
class Case:
    """One kind of input: the problem's own draw, or `mean + deviation * normal` where an input may be any number."""

    name: str
    mean: float = 0.0
    deviation: float | None = None
    trained: bool = True
    """Whether parameters are scattered around what the constructor made."""


CASES = (
    Case("own", trained=False),
    Case("own, trained"),
    Case("normal", deviation=1.0),
    Case("shifted", mean=3.0, deviation=1.0),
    Case("negative", mean=-3.0, deviation=0.5),
    Case("small", deviation=0.01),
    Case("large", deviation=30.0),
)


@dataclass(frozen=True)
class MutantResult:
    """What a text is; for a fault, the first case that shows it."""

    verdict: Verdict
    case: str = ""
    deviation: float = 0.0
    """The largest found where nothing was witnessed."""
    eager_error: float = 0.0
    """Root mean square of eager's float32 output against float64, in that case."""
    detail: str = ""


def flat(outputs: Any) -> list[torch.Tensor]:
    """The tensors of a result in order."""
    if isinstance(outputs, torch.Tensor):
        return [outputs]
    values = outputs.values() if isinstance(outputs, dict) else outputs
    return [tensor for item in values for tensor in flat(item)]


def deviation(outputs: Sequence[torch.Tensor], right: Sequence[torch.Tensor]) -> tuple[float, float]:
    """Root mean square and largest difference relative to the root mean square of what is right; of several outputs
    the largest. Integers: the share that differs.

    Raises ValueError where number or shapes differ.
    """
    if len(outputs) != len(right) or any(o.shape != r.shape for o, r in zip(outputs, right, strict=True)):
        raise ValueError("another shape")
    pairs = [_one(o, r) for o, r in zip(outputs, right, strict=True)]
    return max(rms for rms, _ in pairs), max(worst for _, worst in pairs)


def _one(output: torch.Tensor, right: torch.Tensor) -> tuple[float, float]:
    if not right.is_floating_point():
        share = float((output != right).double().mean())
        return share, share
    output, right = output.double(), right.double()
    finite = right.isfinite()
    if not torch.equal(finite, output.isfinite()):
        return math.inf, math.inf
    difference, kept = (output - right)[finite], right[finite]
    if kept.numel() == 0:
        return 0.0, 0.0
    scale = float(kept.square().mean().sqrt()) or 1.0
    return float(difference.square().mean().sqrt()) / scale, float(difference.abs().max()) / scale


@contextmanager
def _default(dtype: torch.dtype) -> Iterator[None]:
    before = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(before)


def _module(text: str) -> dict[str, Any]:
    # A real module's name space: level 3 classes refer to each other by name.
    scope = vars(ModuleType("text"))
    exec(compile(text, "text", "exec"), scope)
    return scope


class Bench:
    """One problem with its right answers for every case, worked out when they are first needed."""

    def __init__(self, problem: Problem, seed: int = 1234, device: str = "cpu"):
        self._problem = problem
        self._seed = seed
        self._device = torch.device(device)
        self._scope = _module(problem.source)
        self._right: dict[str, list[torch.Tensor]] = {}
        self._eager: dict[str, tuple[float, float]] = {}
        self._states: dict[str, dict[str, torch.Tensor]] = {}

    def _inputs(self, case: Case) -> list[Any]:
        torch.manual_seed(self._seed + 1)
        drawn = self._scope["get_inputs"]()
        names = self._scope["Model"].forward.__code__.co_varnames[1:]
        return [
            self._varied(value, self._problem.domains.get(name, "fixed"), case)
            for name, value in zip(names, drawn, strict=False)
        ]

    @staticmethod
    def _varied(value: Any, domain: str, case: Case) -> Any:
        if not isinstance(value, torch.Tensor) or domain == "fixed" or case.deviation is None:
            return value
        drawn = case.mean + case.deviation * torch.randn(value.shape)
        return (drawn.abs() if domain == "positive" else drawn).to(value.dtype)

    def _built(self, scope: dict[str, Any], name: str, case: Case) -> torch.nn.Module:
        torch.manual_seed(self._seed)
        model = scope[name](*self._scope["get_init_inputs"]())
        if name == "Model" and case.name not in self._states:
            given = self._scope["get_init_inputs"]()
            state = _scattered(model, given) if case.trained else model.state_dict()
            self._states[case.name] = copy.deepcopy(state)
        model.load_state_dict(self._states[case.name], strict=False)
        return model

    def _run(self, scope: dict[str, Any], name: str, case: Case, dtype: torch.dtype) -> list[torch.Tensor]:
        model = self._built(scope, name, case).to(self._device, dtype)
        arguments = [self._placed(value, dtype) for value in self._inputs(case)]
        with _default(dtype), torch.no_grad():
            torch.manual_seed(self._seed + 2)
            return [tensor.clone() for tensor in flat(model(*arguments))]

    def _placed(self, value: Any, dtype: torch.dtype) -> Any:
        if not isinstance(value, torch.Tensor):
            return value
        return value.to(self._device, dtype if value.is_floating_point() else value.dtype)

    def right(self, case: Case) -> list[torch.Tensor]:
        """The reference's outputs in float64."""
        if case.name not in self._right:
            self._right[case.name] = self._run(self._scope, "Model", case, torch.float64)
        return self._right[case.name]

    def eager_error(self, case: Case) -> tuple[float, float]:
        """Of the reference in float32: root mean square and worst element."""
        if case.name not in self._eager:
            right = self.right(case)  # builds the reference's parameters, too
            self._eager[case.name] = deviation(self._run(self._scope, "Model", case, torch.float32), right)
        return self._eager[case.name]

    def _cases(self) -> Iterator[Case]:
        return (case for case in CASES if self.eager_error(case)[0] < SAYS_NOTHING)

    def examine(self, text: str) -> MutantResult:
        """What a candidate's text is: a fault, an equivalent of the reference, or nothing that runs."""
        largest = 0.0
        try:
            scope = _module(text)
            for case in self._cases():
                right = self.right(case)
                rms, worst = deviation(self._run(scope, "ModelNew", case, torch.float64), right)
                if rms > FAULT or worst > FAULT_WORST:
                    return MutantResult("witnessed", case.name, rms, self.eager_error(case)[0])
                largest = max(largest, rms)
            for case in self._cases():
                if not self._finite(scope, "ModelNew", case) and self._finite(self._scope, "Model", case):
                    detail = "not finite in float32, where eager is"
                    return MutantResult("witnessed", case.name, math.inf, self.eager_error(case)[0], detail)
        except Exception as error:  # boundary: a changed text may do anything
            return MutantResult("stillborn", detail=f"{type(error).__name__}: {error}"[:200])
        return MutantResult("equivalent", deviation=largest)

    def examine_compiled(self, scope: dict[str, Any]) -> MutantResult:
        """The same for the name space of a candidate with compiled kernels, in float32."""
        multiple, least, worst_multiple, worst_least = COMPILED
        largest = 0.0
        for case in self._cases():
            right = self.right(case)
            rms, worst = deviation(self._run(scope, "ModelNew", case, torch.float32), right)
            eager, eager_worst = self.eager_error(case)
            if rms > max(multiple * eager, least) or worst > max(worst_multiple * eager_worst, worst_least):
                return MutantResult("witnessed", case.name, rms, eager)
            largest = max(largest, rms)
        return MutantResult("equivalent", deviation=largest)

    def _finite(self, scope: dict[str, Any], name: str, case: Case) -> bool:
        outputs = self._run(scope, name, case, torch.float32)
        return all(bool(each.isfinite().all()) for each in outputs if each.is_floating_point())


def _scattered(model: torch.nn.Module, given: Sequence[Any]) -> dict[str, torch.Tensor]:
    """Parameters half their own size away from where they were constructed, and statistics as after training.

    A single number that the constructor was given stays: every candidate is given it too.
    """
    numbers = [each for each in given if isinstance(each, int | float)]
    state = copy.deepcopy(model.state_dict())
    learnt = {
        name
        for name, parameter in model.named_parameters()
        if parameter.numel() > 1 or not any(math.isclose(float(parameter), each, rel_tol=1e-6) for each in numbers)
    }
    for name, tensor in state.items():
        if name in learnt or name.endswith(("running_mean", "running_var")):
            size = float(tensor.square().mean().sqrt()) if tensor.numel() else 0.0
            tensor += torch.randn(tensor.shape) * (0.5 * size if size else 0.3)
        if name.endswith("running_var"):
            tensor.abs_().add_(0.05)
    return state

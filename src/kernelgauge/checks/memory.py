"""How much device memory it takes to judge a problem, from its shapes alone. Pure functions.

It is a floor: what a copy of the reference takes for certain, so that a refusal because of it is never wrong. On top
comes what nobody knows without running it, such as intermediate results.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from kernelgauge.checks.memory_plan import USUAL, MemoryPlan
from kernelgauge.schema import GB

_PRECISE = 8
# Of a process that has started CUDA and the libraries most models use; every driver seen takes more.
_CONTEXT = 400 * 2**20
_PROCESSES = 3
# `checks.numerics` looks at so many elements together, in two float64 temporaries.
_COMPARED = 1 << 26


@dataclass(frozen=True)
class Call:
    """Bytes of one call: in the arithmetic of both sides, and as the oracle has them in float64."""

    inputs: int
    outputs: int
    parameters: int
    precise_inputs: int
    precise_outputs: int
    precise_parameters: int
    largest_output: int
    """Elements of the largest output."""

    @classmethod
    def of(cls, described: Mapping[str, Any]) -> Call:
        """From what `worker.describer.describe` says; outputs that it does not know count as nothing."""
        outputs = described["output"] or []
        parameters = described["bytes"]["parameters"]
        elements = sum(math.prod(described["state"].get(name, [0])) for name in parameters)
        return cls(
            inputs=described["bytes"]["inputs"],
            outputs=sum(map(_bytes, outputs)),
            parameters=sum(parameters.values()),
            precise_inputs=sum(_precise_bytes(each) for each in described["inputs"] if "shape" in each),
            precise_outputs=sum(map(_precise_bytes, outputs)),
            precise_parameters=_PRECISE * elements,
            largest_output=max((math.prod(each["shape"]) for each in outputs), default=0),
        )


@dataclass(frozen=True)
class Floor:
    """Bytes that all processes need at once in one phase of judging a copy of the reference, by what they are for."""

    phase: str
    reference: int
    """Its regions of inputs and outputs, parameters, and the outputs of the last call."""
    candidate: int
    """The same of a candidate like it."""
    copies: int
    """The inputs as drawn, and copies of outputs out of the sides' reach."""
    oracle: int
    """Inputs, parameters and outputs of the oracle's own, in float64 where the protocol asks for it."""
    expected: int
    """The right outputs on the device, with the temporaries of comparing them as usual."""
    contexts: int
    precise: bool

    @property
    def whole(self) -> int:
        return self.reference + self.candidate + self.evaluators

    @property
    def evaluators(self) -> int:
        """What neither reference nor candidate would take by themselves."""
        return self.copies + self.oracle + self.expected + self.contexts

    def told(self) -> str:
        """The parts in GB, in words."""
        parts = {
            "the reference": self.reference,
            "a candidate like it": self.candidate,
            "copies of inputs and outputs out of their reach": self.copies,
            "the oracle" + (" in float64" if self.precise else ""): self.oracle,
            "expected outputs": self.expected,
            "CUDA contexts": self.contexts,
        }
        listed = ", ".join(f"{what} {in_gb(size):.1f}" for what, size in parts.items() if size)
        return f"{listed}; of these, {in_gb(self.evaluators):.1f} GB are the evaluator's own"


def least(call: Call, precise: bool, plan: MemoryPlan = USUAL) -> Floor:
    """What it takes at the least: the phase that takes the most.

    Args:
        precise: whether the oracle computes in float64, as it does where the protocol asks for it.
        plan: how memory is shared out.
    """
    return max(phases(call, precise, plan), key=lambda floor: floor.whole)


def phases(call: Call, precise: bool, plan: MemoryPlan) -> list[Floor]:
    """What each phase that may take the most takes at the least, under a plan."""
    return _tight(call, precise, plan) if plan.tight else [_usual(call, precise)]


def _usual(call: Call, precise: bool) -> Floor:
    """While the oracle computes the right outputs of the second trial."""
    side = call.inputs + 2 * call.outputs + call.parameters
    return Floor(
        phase="answering",
        reference=side,
        candidate=side,
        copies=call.inputs + 2 * call.outputs,
        oracle=call.precise_parameters + call.precise_inputs + call.precise_outputs
        if precise
        else call.parameters + call.inputs,
        expected=call.precise_outputs + 2 * _PRECISE * min(call.largest_output, _COMPARED) if precise else 0,
        contexts=_PROCESSES * _CONTEXT,
        precise=precise,
    )


def _tight(call: Call, precise: bool, plan: MemoryPlan) -> list[Floor]:
    """While inputs of a timed call are drawn, when both sides are to find the memory for their outputs ready; and
    while the oracle answers, when both have given that back, and the reference its region of inputs too."""
    side = call.inputs + 2 * call.outputs + call.parameters
    parameters = call.precise_parameters if precise else call.parameters
    expected = call.precise_outputs if precise and not plan.truth_on_host else 0
    drawing = Floor(
        phase="drawing",
        reference=side,
        candidate=side,
        copies=call.inputs + call.outputs,
        oracle=parameters + call.inputs,
        expected=expected,
        contexts=_PROCESSES * _CONTEXT,
        precise=precise,
    )
    if not precise:
        return [drawing]
    answering = replace(
        drawing,
        phase="answering",
        reference=call.outputs + call.parameters,
        candidate=side - call.outputs,
        copies=call.inputs,
        oracle=parameters + call.precise_inputs + call.precise_outputs,
    )
    return [drawing, answering]


def surplus(free: int, cap: int) -> int:
    """Bytes of a device to hold back, so that no more than `cap` are free."""
    return max(0, free - cap)


def in_gb(size: float) -> float:
    """Bytes in GB, to three digits behind the point."""
    return round(size / GB, 3)


def _bytes(tensor: Mapping[str, Any]) -> int:
    return int(math.prod(tensor["shape"])) * _width(tensor["dtype"])


def _precise_bytes(tensor: Mapping[str, Any]) -> int:
    width = _PRECISE if "float" in tensor["dtype"] else _width(tensor["dtype"])
    return int(math.prod(tensor["shape"])) * width


def _width(dtype: str) -> int:
    """Bytes of one element by the name of its dtype, at least one."""
    bits = "".join(character for character in dtype.partition("_")[0] if character.isdigit())
    return max(int(bits or 8) // 8, 1)

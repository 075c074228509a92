"""Wrong, cheating and slow kernels made from a right one; what they are is for the judge to say."""

from __future__ import annotations

import math
import random
import re
from collections.abc import Iterator
from dataclasses import dataclass

from kernelgauge.pairs.mutations import faults
from kernelgauge.pairs.row import How, Row

_WEIGHTS: dict[How, float] = {"mutation": 0.6, "cheat": 0.25, "slow": 0.15}
_FASTEST = 8
"""More calls in a row than this would make a slow kernel that nobody writes."""

_AFTER = """

_forward = ModelNew.forward


def {name}(self, *inputs):
{body}

ModelNew.forward = {name}
"""
_WRAPPED = {
    "keeps its first answer": (
        "_kept",
        'if "_answer" not in self.__dict__:\n    self._answer = _forward(self, *inputs)\nreturn self._answer',
    ),
    "answers zeros": (
        "_zeros",
        "answer = _forward(self, *inputs)\n"
        "return torch.utils._pytree.tree_map_only(torch.Tensor, torch.zeros_like, answer)",
    ),
    "answers the mean of its answer everywhere": (
        "_mean",
        "answer = _forward(self, *inputs)\n"
        "even = lambda tensor: torch.full_like(tensor, tensor.double().mean().item())\n"
        "return torch.utils._pytree.tree_map_only(torch.Tensor, even, answer)",
    ),
    "rounds its inputs to bfloat16": (
        "_rounded",
        "def rounded(tensor):\n"
        "    return tensor.bfloat16().to(tensor.dtype) if tensor.is_floating_point() else tensor\n\n"
        "inputs = torch.utils._pytree.tree_map_only(torch.Tensor, rounded, list(inputs))\n"
        "return _forward(self, *inputs)",
    ),
    "writes to its input": (
        "_overwriting",
        "answer = _forward(self, *inputs)\n"
        "for tensor in inputs:\n"
        "    if isinstance(tensor, torch.Tensor) and tensor.is_floating_point():\n"
        "        tensor.mul_(0.5)\n"
        "return answer",
    ),
}
_NARROW = ("fp16", "bf16")


@dataclass(frozen=True)
class Proposal:
    """A text that should be refused, or pass and be slow."""

    how: How
    what: str
    source: str
    backend: str


def proposals(parent: Row) -> Iterator[Proposal]:
    """Negatives of a positive row, of all kinds, in an order that hangs on its id alone."""
    draw = random.Random(parent.id)
    kinds: dict[How, Iterator[Proposal]] = {
        "mutation": _mutations(parent),
        "cheat": iter(draw.sample(found := list(_cheats(parent)), len(found))),
        "slow": iter([_slow(parent)] if parent.speedup is not None and parent.speedup < _FASTEST else []),
    }
    while kinds:
        (kind,) = draw.choices(list(kinds), [_WEIGHTS[each] for each in kinds])
        proposal = next(kinds[kind], None)
        if proposal is None:
            del kinds[kind]
        else:
            yield proposal


def _mutations(parent: Row) -> Iterator[Proposal]:
    for name, change, text in faults(parent.candidate, parent.id):
        if parent.math in _NARROW and "low_precision" in name:  # it computes in few bits anyway
            continue
        yield Proposal("mutation", f"{name.removeprefix('triton_')}: {change.what}", text, parent.backend)


def _cheats(parent: Row) -> Iterator[Proposal]:
    for what, (name, body) in _WRAPPED.items():
        if parent.math in _NARROW and "bfloat16" in what:
            continue
        yield Proposal("cheat", what, _after(parent.candidate, name, body), parent.backend)
    yield Proposal("cheat", "inherits from the reference", f"{parent.reference}\n\n{_HEIR}", "torch")
    yield Proposal("cheat", "has torch.compile do the work", f"{_renamed(parent.reference)}\n\n{_COMPILED}", "torch")


_HEIR = "class ModelNew(Model):\n    pass\n"
_COMPILED = "ModelNew.forward = torch.compile(ModelNew.forward)\n"


def _slow(parent: Row) -> Proposal:
    times = math.ceil(1.5 * (parent.speedup or 1.0)) + 1
    body = f"for _ in range({times - 1}):\n    _forward(self, *inputs)\nreturn _forward(self, *inputs)"
    source = _after(parent.candidate, "_repeated", body)
    return Proposal("slow", f"computes its answer {times} times", source, parent.backend)


def _after(candidate: str, name: str, body: str) -> str:
    lines = "\n".join(f"    {line}" if line else "" for line in body.splitlines())
    return candidate.rstrip("\n") + "\n" + _AFTER.format(name=name, body=lines)


def _renamed(reference: str) -> str:
    return re.sub(r"\bModel\b", "ModelNew", reference)

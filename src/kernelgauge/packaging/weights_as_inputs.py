"""Problem and candidate as an operator sees them: the weights come with each call instead of the constructor.

A candidate that packs its weights in its constructor is right where it is judged, and wrong as an operator. So what
is packaged is judged once more in this form, sealed as ever.
"""

from __future__ import annotations

import io
import tokenize
from collections.abc import Mapping, Sequence

from kernelgauge.schema import Problem

_RENAMED_IN_PROBLEM = {"Model": "_Whole", "get_inputs": "_whole_inputs", "get_init_inputs": "_whole_init_inputs"}
_RENAMED_IN_CANDIDATE = {"ModelNew": "_WholeNew"}
_RENAMED_IN_REFERENCE = {**_RENAMED_IN_PROBLEM, "Model": "_WholeNew"}

_PROBLEM = """

import torch as _torch


class Model(_torch.nn.Module):
    def __init__(self, *init):
        super().__init__()
        # Beside the module tree: its weights are those of each call, and these must not be drawn with it.
        self.__dict__["_whole"] = _Whole(*init)

    def _apply(self, fn, recurse=True):
        self._whole._apply(fn)
        return super()._apply(fn, recurse)

    def forward(self, {arguments}):
        weights = dict(zip({names!r}, ({weights})))
        return _torch.func.functional_call(self._whole, weights, ({inputs}))


def get_inputs():
    model = _Whole(*_whole_init_inputs())
    weights = {{**dict(model.named_parameters()), **dict(model.named_buffers())}}
    return [*_whole_inputs(), *(weights[name].detach().clone() for name in {names!r})]


def get_init_inputs():
    return _whole_init_inputs()
"""

_CANDIDATE = """

import torch as _torch


class ModelNew(_torch.nn.Module):
    def __init__(self, *init):
        super().__init__()
        self.__dict__["_whole"] = _WholeNew(*{init})

    def _apply(self, fn, recurse=True):
        self._whole._apply(fn)
        return super()._apply(fn, recurse)

    def forward(self, {arguments}):
        for name, tensor in zip({names!r}, ({weights})):
            owner, _, last = name.rpartition(".")
            module = self._whole.get_submodule(owner)
            holder = module._parameters if last in module._parameters else module._buffers
            holder[last] = tensor
        return self._whole({inputs})
"""


def problem_with_weights(problem: Problem, inputs: Sequence[str], state: Sequence[str]) -> Problem:
    """The problem whose forward takes `inputs` and then the weights of these names.

    The text begins with the problem's own, whose `Model`, `get_inputs` and `get_init_inputs` have other names there.
    """
    text = _renamed(problem.source, _RENAMED_IN_PROBLEM) + _PROBLEM.format(**_parts(inputs, state))
    return problem.model_copy(update={"source": text, "shortcuts": {}, "weakness": None})


def candidate_with_weights(source: str, inputs: Sequence[str], state: Sequence[str]) -> str:
    """The candidate that answers it: what a package does with the one that was judged."""
    return _renamed(source, _RENAMED_IN_CANDIDATE) + _CANDIDATE.format(init="init", **_parts(inputs, state))


def reference_with_weights(source: str, inputs: Sequence[str], state: Sequence[str]) -> str:
    """A problem's own reference as a candidate, made as that problem makes it, whatever the one that it answers."""
    parts = _parts(inputs, state)
    return _renamed(source, _RENAMED_IN_REFERENCE) + _CANDIDATE.format(init="_whole_init_inputs()", **parts)


def _parts(inputs: Sequence[str], state: Sequence[str]) -> dict[str, object]:
    weights = [f"_weight_{number}" for number in range(len(state))]
    return {
        "arguments": ", ".join([*inputs, *weights]),
        "names": tuple(state),
        "weights": "".join(f"{name}, " for name in weights),
        "inputs": "".join(f"{name}, " for name in inputs),
    }


def _renamed(source: str, names: Mapping[str, str]) -> str:
    """The text with these names replaced wherever they stand as names, every other byte as it was."""
    lines = list(io.StringIO(source))  # at the ends that Python's tokens count by, no others
    found = [
        token
        for token in tokenize.generate_tokens(io.StringIO(source).readline)
        if token.type == tokenize.NAME and token.string in names
    ]
    for token in reversed(found):
        row, column = token.start
        line = lines[row - 1]
        lines[row - 1] = line[:column] + names[token.string] + line[column + len(token.string) :]
    return "".join(lines)

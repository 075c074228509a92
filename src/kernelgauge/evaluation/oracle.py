"""The oracle: a trusted process that runs the problem's own code and never sees a candidate.

It draws inputs from secret seeds, computes the expected outputs (in float64 where the protocol asks for it), and
writes both into regions that only the parent can read. Keeping it out of the parent means that a reference that
crashes, hangs or eats memory costs one process and a clear message.
"""

from __future__ import annotations

import copy
import socket
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelgauge.backends.loading import import_file
from kernelgauge.checks.inputs import classify, vary
from kernelgauge.evaluation.arguments import decode, encode
from kernelgauge.evaluation.channel import TensorSpec, receive, send
from kernelgauge.evaluation.initialisers import randomised
from kernelgauge.evaluation.regions import Region, dtype_name, lay_out
from kernelgauge.evaluation.worker import failure, flatten

Specs = list[dict[str, Any]]


def _as_specs(tensors: list[torch.Tensor]) -> Specs:
    laid_out = lay_out([(tuple(tensor.shape), dtype_name(tensor.dtype)) for tensor in tensors])
    return [spec.model_dump() for spec in laid_out]


class Oracle:
    """One problem, constructed once: its draws and its expected outputs."""

    def __init__(self) -> None:
        self.module: ModuleType | None = None
        self.model: Any = None
        self.precise = False
        self.arguments: list[Any] = []
        self.domains: list[str] = []
        self.regions: list[Region] = []
        self.expected: list[torch.Tensor] = []

    def open(self, path: str, seed: int, domains: dict[str, str]) -> dict[str, Any]:
        """Import the problem, read its constructor arguments and the shape of its inputs."""
        self.module = import_file(Path(path), "problem")
        init = list(self.module.get_init_inputs())
        torch.manual_seed(seed)
        first = list(self.module.get_inputs())
        torch.manual_seed(seed + 1)
        second = list(self.module.get_inputs())
        names = self.module.Model.forward.__code__.co_varnames[1:]
        self.domains = [
            domains.get(names[i] if i < len(names) else "", "") or classify(first[i], second[i])
            for i in range(len(first))
        ]
        self.arguments = first
        tensors = [a for a in first if isinstance(a, torch.Tensor)]
        return {"event": "described", "data": {"init": encode(init), "inputs": _as_specs(tensors)}}

    def construct(self, init: Any, seed: int, randomise: bool, precise: bool, save: str | None) -> dict[str, Any]:
        """Build the reference; with `precise` in float64; with `save`, store its float32 parameters there."""
        torch.manual_seed(seed)
        assert self.module is not None
        with torch.no_grad():
            if randomise:
                with randomised():
                    model = self.module.Model(*decode(init))
            else:
                model = self.module.Model(*decode(init))
        if save is not None:
            torch.save(model.state_dict(), save)
        self.precise = precise
        self.model = copy.deepcopy(model).double() if precise else model
        return {"event": "constructed"}

    def attach(self, sizes: list[int], descriptors: list[int]) -> dict[str, Any]:
        self.regions = [Region(fd, size) for fd, size in zip(descriptors, sizes, strict=True)]
        return {"event": "staged"}

    def draw(self, seed: int, variant: str) -> dict[str, Any]:
        """Draw the arguments of one call and write the tensors into the first region."""
        assert self.module is not None
        torch.manual_seed(seed)
        drawn = list(self.module.get_inputs())
        self.arguments = [vary(value, variant, domain) for value, domain in zip(drawn, self.domains, strict=True)]
        tensors = [a for a in self.arguments if isinstance(a, torch.Tensor)]
        specs = _as_specs(tensors)
        views = self.regions[0].tensors([TensorSpec(**spec) for spec in specs])
        for view, tensor in zip(views, tensors, strict=True):
            view.copy_(tensor)
        remaining = iter(specs)
        described = [
            {"tensor": next(remaining)} if isinstance(a, torch.Tensor) else {"value": encode(a)}
            for a in self.arguments
        ]
        return {"event": "drawn", "data": {"arguments": described}}

    def expect(self, seed: int) -> dict[str, Any]:
        """Run the reference on the arguments just drawn; outputs go into the second region where it is attached."""
        default = torch.get_default_dtype()
        if self.precise:
            torch.set_default_dtype(torch.float64)  # so that states the forward makes itself are float64 too
        try:
            torch.manual_seed(seed)
            with torch.no_grad():
                outputs = flatten(self.model(*[self._raise_precision(a) for a in self.arguments]))
        finally:
            torch.set_default_dtype(default)
        specs = _as_specs(outputs)
        if len(self.regions) > 1:
            views = self.regions[1].tensors([TensorSpec(**spec) for spec in specs])
            for view, output in zip(views, outputs, strict=True):
                view.copy_(output)
        return {"event": "done", "tensors": specs}

    def _raise_precision(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            # A copy: a reference that writes to its inputs must not change what the candidate is given.
            return value.double() if self.precise and value.is_floating_point() else value.clone()
        return value


def serve(channel: socket.socket) -> None:
    """Answer commands until the parent hangs up."""
    oracle = Oracle()
    while True:
        command, descriptors = receive(channel)
        stage = command.pop("do")
        try:
            if descriptors:
                command["descriptors"] = descriptors
            claim = getattr(oracle, stage)(**command)
        except Exception as error:  # whatever the reference's own code raises, told to the parent
            claim = failure(stage, error)
        send(channel, claim)

"""The oracle: a trusted process that runs the problem's own code and never sees a candidate.

It draws inputs from secret seeds, computes the expected outputs (in float64 where the protocol asks for it), and
writes both into regions that only the parent can read. Keeping it out of the parent means that a reference that
crashes, hangs or eats memory costs one process and a clear message.
"""

from __future__ import annotations

import inspect
import socket
from contextlib import AbstractContextManager, nullcontext
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from kernelgauge.backends.loading import import_file
from kernelgauge.checks.inputs import classify, rounded, unchanged, vary, vary_into
from kernelgauge.checks.numerics import distances
from kernelgauge.config import MathMode
from kernelgauge.schema import GB
from kernelgauge.wire.arguments import decode, encode
from kernelgauge.wire.commands import Attach, Command, Detach, Warm
from kernelgauge.wire.initialisers import Randomise, randomised
from kernelgauge.wire.math_modes import cast, set_flags, working_dtype
from kernelgauge.wire.messages import TensorSpec
from kernelgauge.wire.oracle_commands import (
    ConstructReference,
    Draw,
    Err,
    Expect,
    Imitate,
    LearnTruth,
    OpenProblem,
    SaveState,
)
from kernelgauge.wire.outputs import flatten
from kernelgauge.wire.regions import Region, dtype_name, lay_out
from kernelgauge.wire.shared_memory import opened
from kernelgauge.worker import serving
from kernelgauge.worker.accumulating_operators import PRODUCT, VARIANCES
from kernelgauge.worker.called_operators import Operators
from kernelgauge.worker.rounding_noise import RoundingNoise
from kernelgauge.worker.same_draws import SameDraws
from kernelgauge.worker.serving import Answer, warm_up

Specs = list[dict[str, Any]]

# Of the device's memory, what the oracle keeps for its next draw: giving back and asking again costs a millisecond or
# more per gigabyte. More of it where as much as this is free for the sides anyway.
_KEPT, _KEPT_AT_MOST, _FREE = 1 / 64, 1 / 4, 1 / 2
# Elements at a time.
_COPIED = 1 << 26


def _names_of(function: Any, count: int, skip: int = 0) -> list[str]:
    """What a function calls its first arguments after those that are skipped; a number where one has no name."""
    try:
        names = list(inspect.signature(function).parameters.values())[skip:]
    except (TypeError, ValueError):  # written in C
        names = []
    known = [each.name for each in names if each.kind in (each.POSITIONAL_ONLY, each.POSITIONAL_OR_KEYWORD)]
    return [known[i] if i < len(known) else f"argument {i + 1}" for i in range(count)]


def _as_specs(tensors: list[torch.Tensor]) -> Specs:
    laid_out = lay_out([(tuple(tensor.shape), dtype_name(tensor.dtype)) for tensor in tensors])
    return [spec.model_dump() for spec in laid_out]


def _copy(place: torch.Tensor, output: torch.Tensor) -> None:
    """In pieces where elements lie in another order: on the way to the host, PyTorch makes a copy on the device."""
    if output.is_contiguous() or not output.dim() or not output.numel():
        place.copy_(output)
        return
    rows = max(1, _COPIED * len(output) // output.numel())
    for to, piece in zip(place.split(rows), output.split(rows), strict=True):
        to.copy_(piece)


class Oracle:
    """One problem, constructed once: its draws and its expected outputs."""

    def __init__(self) -> None:
        self.module: ModuleType | None = None
        self.model: Any = None
        self.precise = False
        self.arguments: list[Any] = []
        self.variant = "own"
        self.domains: list[str] = []
        self.device = torch.device("cpu")
        self.math: MathMode = "torch"
        self.regions: dict[str, Region] = {}
        self._draws = False
        self._built: tuple[Any, int, Randomise | None] = (None, 0, None)
        self._plain: list[Any] = []
        self._memory = 0
        self._frugal = False

    def answer(self, command: Command) -> Answer:
        """Do what a command says."""
        match command:
            case Warm():
                warm_up(command.device)
                return {"event": "staged"}
            case OpenProblem():
                return self.open(command)
            case ConstructReference():
                return self.construct(command)
            case SaveState():
                torch.save(self._construct(*self._built).state_dict(), command.path)
                return {"event": "staged"}
            case Attach():
                (self.regions[command.name],) = opened(command.regions, command.descriptors, str(self.device))
                return {"event": "staged"}
            case Detach():
                self.regions.pop(command.name).close()
                return {"event": "staged"}
            case Draw():
                return self.draw(command)
            case LearnTruth():
                return self.learn_truth(command)
            case Expect():
                return self._write("truth", self._forward(command.seed))
            case Imitate():
                return self.imitate(command)
            case Err():
                return self.err(command)
            case _:
                raise TypeError(f"the oracle has no answer to {type(command).__name__}")

    def open(self, command: OpenProblem) -> Answer:
        """Inputs are drawn, and expected outputs computed, on the device: a published size takes minutes on a CPU."""
        self.device = torch.device(command.device)
        if self.device.type == "cuda":
            total = torch.cuda.get_device_properties(self.device).total_memory
            self._memory = int(min(total, total if command.cap_gb is None else command.cap_gb * GB))
            self._frugal = command.frugal
        self.math = command.math
        set_flags(command.math)
        self.module = import_file(Path(command.path), "problem")
        init = list(self.module.get_init_inputs())
        first, second = self._drawn(command.seed), self._drawn(command.seed + 1)
        names = _names_of(self.module.Model.forward, len(first), skip=1)
        draws = zip(first, second, strict=True)
        self.domains = [
            command.domains.get(name, "") or classify(*both) for name, both in zip(names, draws, strict=True)
        ]
        self.arguments = first
        tensors = [a for a in first if isinstance(a, torch.Tensor)]
        described = {
            "init": encode(init),
            "inputs": _as_specs(tensors),
            "constructor": _names_of(self.module.Model, len(init)),
            "alike": {
                name: domain
                for name, domain, *draws in zip(names, self.domains, first, second, strict=True)
                if unchanged(*draws)
            },
        }
        return {"event": "described", "data": described}

    def _drawn(self, seed: int) -> list[Any]:
        assert self.module is not None
        torch.manual_seed(seed)
        with self.device:
            return [cast(value, self.math) for value in self.module.get_inputs()]

    def construct(self, command: ConstructReference) -> Answer:
        self._built, self._plain = (command.init, command.seed, command.randomise), []
        self.precise = command.precise
        model = cast(self._construct(*self._built), self.math).to(self.device)
        self.model = model.double() if self.precise else model
        return {"event": "constructed"}

    def _construct(self, init: Any, seed: int, randomise: Randomise | None) -> Any:
        assert self.module is not None
        torch.manual_seed(seed)
        with torch.no_grad(), nullcontext() if randomise is None else randomised(**randomise):
            return self.module.Model(*decode(init))

    def draw(self, command: Draw) -> Answer:
        self.variant = command.variant
        specs = self._place(self._drawn(command.seed), command.variant)
        self._let_go()
        remaining = iter(specs)
        described = [
            {"tensor": next(remaining)} if isinstance(a, torch.Tensor) else {"value": encode(a)}
            for a in self.arguments
        ]
        return {"event": "drawn", "data": {"arguments": described}}

    def _place(self, drawn: list[Any], variant: str) -> Specs:
        """Vary what was drawn on its way into the region, and keep views of that: copies would take gigabytes."""
        specs = _as_specs([value for value in drawn if isinstance(value, torch.Tensor)])
        places = iter(self.regions["inputs"].tensors([TensorSpec(**spec) for spec in specs]))
        self.arguments = []
        for value, domain in zip(drawn, self.domains, strict=True):
            if isinstance(value, torch.Tensor):
                place = next(places)
                vary_into(place, value, variant, domain)
                self.arguments.append(place)
            else:
                self.arguments.append(vary(value, variant, domain))
        return specs

    def learn_truth(self, command: LearnTruth) -> Answer:
        with Operators() as called:
            outputs = self._forward(command.seed)
        self._draws = called.draw
        said = {"variances": bool(called.names & VARIANCES), "products": any(map(PRODUCT.search, called.names))}
        return self._write("truth", outputs) | {"data": said}

    def imitate(self, command: Imitate) -> Answer:
        """The answer of somebody who cuts one corner.

        `tf32`, `bfloat16`: inputs and parameters rounded so, as a kernel on tensor cores would read them.
        `without NAME`: as if the parameter still had the constant it is constructed with by default, zero where it
        is drawn at random.
        """
        shortcut = command.shortcut
        kept = {name: tensor.detach().clone() for name, tensor in self.model.named_parameters()}
        precision = ""
        try:
            with torch.no_grad():
                if shortcut.startswith("without "):
                    name = shortcut.removeprefix("without ")
                    self.model.get_parameter(name).fill_(self._default(name))
                else:
                    precision = shortcut
                    for tensor in self.model.parameters():
                        tensor.copy_(rounded(tensor, shortcut))
                changed = any(not torch.equal(p, kept[n]) for n, p in self.model.named_parameters())
            outputs = self._forward(command.seed, precision=precision)
            return self._write("shortcut", outputs) | {"data": {"changed": changed}}
        finally:
            with torch.no_grad():
                for name, tensor in self.model.named_parameters():
                    tensor.copy_(kept[name])

    def err(self, command: Err) -> Answer:
        """How far honest float32 arithmetic may be from the right outputs, which `Expect` has written.

        Also whether `offgrid` inputs themselves were normalised. The answer with its errors stays here: beside all
        that lies on the device then, outputs of a published size have no room for a copy.
        """
        generator = torch.Generator(self.device).manual_seed(command.noise)
        rounding = RoundingNoise(generator, self.variant == "offgrid", command.variances)
        outputs = self._forward(command.seed, rounding)
        truth = self.regions["truth"].tensors([TensorSpec(**spec) for spec in _as_specs(outputs)])
        errors = [{"rms": each.rms, "worst": each.worst} for each in distances(outputs, truth)]
        outputs.clear()
        self._let_go()
        return {"event": "done", "data": {"errors": errors, "normalised": rounding.normalised}}

    def _default(self, name: str) -> float:
        """The constant a parameter starts with under PyTorch's default initialisers; 0 for one drawn at random."""
        if not self._plain:
            init, seed, _ = self._built
            self._plain = [self._construct(init, other, randomise=None) for other in (seed, seed + 1)]
        first, second = (model.get_parameter(name) for model in self._plain)
        # One element alone would look like a constant under any single seed.
        constant = first.numel() and torch.equal(first, second) and bool((first == first.flatten()[0]).all())
        return float(first.flatten()[0]) if constant else 0.0

    def _forward(self, seed: int, noise: RoundingNoise | None = None, precision: str = "") -> list[torch.Tensor]:
        default = torch.get_default_dtype()
        if self.precise:
            torch.set_default_dtype(torch.float64)  # so that states the forward makes itself are float64 too
        try:
            torch.manual_seed(seed)
            with torch.no_grad():
                arguments = [self._raise_precision(rounded(a, precision) if precision else a) for a in self.arguments]
                if noise is None:
                    with self._same_draws():
                        return flatten(self.model(*arguments))
                noise.mark(arguments)
                with noise, self._same_draws(), self._without_fused_cells():
                    return flatten(self.model(*arguments))
        finally:
            torch.set_default_dtype(default)

    def _same_draws(self) -> AbstractContextManager[Any]:
        return SameDraws(working_dtype(self.math)) if self.precise and self._draws else nullcontext()

    def _without_fused_cells(self) -> AbstractContextManager[Any]:
        """cuDNN runs a recurrent network as one operator; without it, its sums show."""
        recurrent = any(isinstance(each, torch.nn.RNNBase) for each in self.model.modules())
        return torch.backends.cudnn.flags(enabled=False) if recurrent else nullcontext()

    def _write(self, region: str, outputs: list[torch.Tensor]) -> Answer:
        specs = _as_specs(outputs)
        if region in self.regions:
            views = self.regions[region].tensors([TensorSpec(**spec) for spec in specs])
            for index, view in enumerate(views):
                _copy(view, outputs[index])
        outputs.clear()
        self._let_go()
        return {"event": "done", "tensors": specs}

    def _let_go(self) -> None:
        """Wait for the device, and give back what the next draws will not need again: the sides share its memory."""
        if self.device.type == "cuda":
            torch.cuda.synchronize()
            if not self._may_keep(torch.cuda.memory_reserved()):
                torch.cuda.empty_cache()

    def _may_keep(self, reserved: int) -> bool:
        if self._frugal or reserved > _KEPT_AT_MOST * self._memory:
            return not reserved
        if reserved <= _KEPT * self._memory:
            return True
        free, _ = torch.cuda.mem_get_info()
        return free >= _FREE * self._memory

    def _raise_precision(self, value: Any) -> Any:
        if isinstance(value, torch.Tensor):
            # A copy: a reference that writes to its inputs must not change what the candidate is given.
            return value.to(torch.float64, copy=True) if self.precise and value.is_floating_point() else value.clone()
        return value


def serve(channel: socket.socket) -> None:
    """Answer commands until the parent hangs up."""
    serving.serve(channel, Oracle().answer)

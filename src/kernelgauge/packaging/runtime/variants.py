"""One kernel with the one set of shapes that it was judged for."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from types import ModuleType
from typing import Any

import torch

from .files import content, module_of
from .functional import Functional, own, tensors_of
from .guards import Argument, aligned, first_miss
from .machine import indexed, lacked, missing_tool, multiplies_in_tf32, on, why_other

Results = tuple[torch.Tensor, ...]
# A judge casts whole models to these, with whatever they hold beside their weights.
_CAST = {"fp16": torch.float16, "bf16": torch.bfloat16}


class Variant:
    """A kernel and its reference. Both are loaded when they are first needed.

    Args:
        given: its entry in `package.json`.
        warn: told once, in a sentence, why the kernel is never used here.
    """

    def __init__(self, home: Path, name: str, given: dict[str, Any], warn: Callable[[str], None]) -> None:
        self.name = name
        self.given = given
        self.device: str = given["machine"]["device"]
        self.arguments = [Argument(each) for each in given["arguments"]]
        self.inputs = given["inputs"]
        self.state: list[str] = given["state"]
        self.results: list[dict[str, Any]] = given["results"]
        self._home = home
        self._warn = warn
        self._judged_on = tuple(sorted(given["machine"].items()))
        self._loaded: dict[str, Functional | None] = {}
        self._references: dict[str, Functional] = {}
        self._loading = threading.RLock()

    def miss(self, arguments: Sequence[Any]) -> str | None:
        """Why shapes, types and layout of a call are not the judged ones; None if they are."""
        return first_miss(self.arguments, arguments, self.device)

    def alike(self, arguments: Sequence[Any]) -> bool:
        """Whether shapes, types and numbers of a call are the judged ones, wherever and however its tensors lie."""
        return len(arguments) == len(self.arguments) and all(
            wanted.alike(each) for wanted, each in zip(self.arguments, arguments, strict=True)
        )

    def unusable(self, arguments: Sequence[Any]) -> str | None:
        """Why a call that fits goes to PyTorch all the same; None if the kernel can have it."""
        if not aligned(arguments):
            return "alignment"
        if self.given["math"] == "tf32" and not multiplies_in_tf32():
            return "arithmetic"
        where = _device_of(arguments, self.device)
        if self.elsewhere(where):
            return "machine"
        return None if self._kernel(where) else "broken"

    def call(self, arguments: Sequence[Any]) -> Results:
        """The kernel's results, laid out as the reference's. Only where `miss` and `unusable` are None."""
        where = _device_of(arguments, self.device)
        kernel = self._kernel(where)
        assert kernel is not None
        with torch.no_grad(), on(where):
            found = own(tensors_of(kernel(arguments[: self.inputs], arguments[self.inputs :])), arguments)
        return tuple(_laid_out(each, wanted["stride"]) for each, wanted in zip(found, self.results, strict=True))

    def reference(self, arguments: Sequence[Any]) -> Results:
        """What PyTorch computes, in the caller's mode of gradients. Raises whatever the reference raises."""
        reference = self._reference(_device_of(arguments, self.device))
        return tensors_of(reference(arguments[: self.inputs], arguments[self.inputs :]))

    def reference_model(self) -> torch.nn.Module:
        """The reference as a module, without its weights."""
        model: torch.nn.Module = self._reference(indexed(self.device)).model
        return model

    def unloadable(self) -> str | None:
        """Why its reference cannot be loaded, so that no module is compared with it; None if it can. A warning says
        so once. Only where `elsewhere` is None."""
        try:
            self.reference_model()
        except Exception as error:  # boundary: a stranger's module, or one that was changed
            reason = f"its reference cannot be loaded: {_first_line(error)}"
            self._warn(f"no module is swapped for {self.name}: {reason}")
            return reason
        return None

    def _reference(self, device: str) -> Functional:
        if device not in self._references:
            with self._loading:
                self._references[device] = self._constructed("reference", "Model", device)
        return self._references[device]

    def example(self) -> list[Any]:
        """Arguments of the judged call: the problem's own inputs and freshly drawn weights, on the judged device."""
        module = self._reference_module("example")
        with torch.no_grad(), torch.random.fork_rng():
            torch.manual_seed(0)
            model = module.Model(*module.get_init_inputs())
            inputs = list(module.get_inputs())
        weights = dict([*model.named_parameters(), *model.named_buffers()])
        found = [*inputs, *(weights[name].detach() for name in self.state)]
        return [
            each.to(self.device, wanted.dtype) if isinstance(each, torch.Tensor) else each
            for each, wanted in zip(found, self.arguments, strict=True)
        ]

    def build(self, device: str) -> str | None:
        """Load and build the kernel now, and call it once, since some languages compile what is called. Returns why
        it cannot be used, or None."""
        where = indexed(device)
        if reason := self.elsewhere(where):
            return reason
        if self._kernel(where):
            try:
                self.call([each.to(where) if isinstance(each, torch.Tensor) else each for each in self.example()])
            except Exception as error:  # boundary: a stranger's module, and the compilers that it calls
                self._say_broken(error)
                self._loaded[where] = None
        return None if self._kernel(where) else f"operator {self.name} could not be built"

    def elsewhere(self, device: str | None = None) -> str | None:
        """Why this machine is none on which the kernel is used; None if it is. A warning says so once."""
        if reason := why_other(indexed(device or self.device), self._judged_on):
            self._warn(f"its kernels are not used, PyTorch computes instead: {reason}")
        return reason

    def _kernel(self, device: str) -> Functional | None:
        if device not in self._loaded:
            with self._loading:
                if device not in self._loaded:
                    self._loaded[device] = self._load(device)
        return self._loaded[device]

    def _load(self, device: str) -> Functional | None:
        try:
            content(self._home / self.given["candidate"]["file"], self.given["candidate"]["sha256"])
            if reason := missing_tool(self.given["backend"], self.given["machine"].get("triton")):
                self._warn(f"its {self.given['backend']} kernels are not used, PyTorch computes instead: {reason}")
                return None
            with on(device):
                return self._constructed("candidate", "ModelNew", device)
        except Exception as error:  # boundary: a stranger's module, and the compilers that it calls
            self._say_broken(error)
            return None

    def _say_broken(self, error: Exception) -> None:
        if reason := lacked(error):
            self._warn(f"{reason}: kernels that need it are not used, PyTorch computes instead")
            return
        self._warn(f"the kernel of {self.name} is not used, PyTorch computes instead: {_first_line(error)}")

    def _constructed(self, which: str, attribute: str, device: str) -> Functional:
        init = self._reference_module("arguments").get_init_inputs()
        file = self.given[which]
        label = f"{__package__}.loaded.{self.name}_{which}_{file['sha256'][:12]}"
        module = module_of(self._home / file["file"], file["sha256"], label, self.given["variables"])
        return Functional(module, attribute, init, self.state, device, _CAST.get(self.given["math"]))

    def _reference_module(self, what: str) -> ModuleType:
        file = self.given["reference"]
        label = f"{__package__}.loaded.{self.name}_{what}_{file['sha256'][:12]}"
        return module_of(self._home / file["file"], file["sha256"], label)


def _first_line(error: Exception) -> str:
    return f"{type(error).__name__}: {(str(error).strip().splitlines() or [''])[0][:300]}"


def _device_of(arguments: Sequence[Any], otherwise: str) -> str:
    return next((str(each.device) for each in arguments if isinstance(each, torch.Tensor)), indexed(otherwise))


def _laid_out(found: torch.Tensor, strides: Sequence[int]) -> torch.Tensor:
    """With the reference's strides, which code compiled around an operator relies on."""
    if list(found.stride()) == list(strides):
        return found
    return torch.empty_strided(found.shape, strides, dtype=found.dtype, device=found.device).copy_(found)

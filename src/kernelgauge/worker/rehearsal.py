"""A candidate's first call, rehearsed in its build: its kernels are compiled, and nothing is computed.

No GPU is there. Tensors of the problem's shapes without memory (PyTorch's meta device) say that they lie on one, and
what PyTorch is asked about the card is answered from its data sheet. What cannot be known without values ends the
rehearsal: what was compiled until then is kept, the rest is compiled in the first call. No verdict depends on it.
"""

from __future__ import annotations

import os
import signal
import traceback
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, nullcontext
from pathlib import Path
from types import SimpleNamespace
from typing import Any, ClassVar, NoReturn
from unittest.mock import patch

import torch
from torch.overrides import TorchFunctionMode
from torch.utils._device import _device_constructors
from torch.utils._pytree import tree_leaves, tree_map

from kernelgauge.backends.loading import import_file
from kernelgauge.backends.registry import backend_named
from kernelgauge.backends.triton import REHEARSED_TO_ITS_END, TritonBackend
from kernelgauge.wire.arguments import decode
from kernelgauge.wire.candidate_commands import Rehearse
from kernelgauge.wire.math_modes import cast, set_flags

_GPU = torch.device("cuda", 0)
_META = torch.device("meta")
# Elements.
_SMALL = 1 << 16


class _TimeIsUp(BaseException):
    """The rehearsal has had its seconds. No `Exception`, lest the candidate take it for one of its own."""


def rehearse(command: Rehearse) -> None:
    """Import, construct and call the candidate, and keep what its compiler has left; raises nothing of its doing."""
    backend = backend_named(command.backend)
    assert isinstance(backend, TritonBackend)
    try:
        with _within(command.seconds), torch.no_grad(), backend.compiling_only(), _as_on(command.card):
            _call(command)
        (Path(command.build_dir) / REHEARSED_TO_ITS_END).touch()
    except BaseException:  # boundary: a stranger's code, where values and the device may be missing
        traceback.print_exc()
    backend.keep(Path(os.environ[backend.cache_variable]), Path(command.build_dir) / backend.name)


def _call(command: Rehearse) -> None:
    set_flags(command.math)
    module = import_file(Path(command.path), "candidate")
    model = cast(getattr(module, command.attribute)(*decode(command.init)), command.math).to(_GPU)
    model(*[_argument(each) for each in command.arguments])


def _argument(told: dict[str, Any]) -> Any:
    if "tensor" not in told:
        return decode(told["value"])
    return torch.empty(told["tensor"]["shape"], dtype=getattr(torch, told["tensor"]["dtype"]), device=_GPU)


@contextmanager
def _within(seconds: float) -> Iterator[None]:
    """End what runs in this thread after so long; what never comes back to Python is the parent's to end."""

    def over(*_: object) -> NoReturn:
        raise _TimeIsUp(f"a rehearsal has {seconds:g} s")

    before = signal.signal(signal.SIGALRM, over)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


@contextmanager
def _as_on(card: dict[str, Any]) -> Iterator[None]:
    """While open, tensors have no memory and say that they lie on the GPU, and PyTorch answers for that card.

    Questions that are not answered here are PyTorch's to refuse: it finds no GPU.
    """
    properties = SimpleNamespace(**card)
    answers: dict[str, Callable[..., Any]] = {
        "is_available": lambda: True,
        "device_count": lambda: 1,
        "current_device": lambda: 0,
        "get_device_properties": lambda device=None: properties,
        "get_device_capability": lambda device=None: (properties.major, properties.minor),
        "get_device_name": lambda device=None: properties.name,
        "synchronize": lambda device=None: None,
        "set_device": lambda device: None,
        "device": lambda device: nullcontext(),
    }
    with ExitStack() as stack:
        for name, answer in answers.items():
            stack.enter_context(patch.object(torch.cuda, name, answer))
        stack.enter_context(_conversion_replaces_parameters())
        stack.enter_context(_OnGpu())
        yield


@contextmanager
def _conversion_replaces_parameters() -> Iterator[None]:
    """While open, a module moved to another device gets new parameters: the meta device's data fits into no other."""
    before = torch.__future__.get_overwrite_module_params_on_conversion()
    torch.__future__.set_overwrite_module_params_on_conversion(True)
    try:
        yield
    finally:
        torch.__future__.set_overwrite_module_params_on_conversion(before)


def _address(tensor: torch.Tensor) -> int:
    """Where it would lie if its storage began at 0, as an allocator's do on a multiple of 16: kernels are specialised
    for that."""
    return int(tensor.storage_offset()) * tensor.element_size() if tensor.is_meta else tensor.data_ptr()


class _OnGpu(TorchFunctionMode):
    """Tensors of the meta device pass for the GPU's, and whoever names a GPU gets the meta device.

    A small tensor of the CPU has values, as tables have that a forward computes its launches from; a large one, such
    as a parameter before it is moved to the GPU, is of the meta device too. What is computed with one of that is.
    """

    _answers: ClassVar[dict[Any, Callable[..., Any]]] = {
        torch.Tensor.device.__get__: lambda tensor: _GPU if tensor.is_meta else tensor.device,  # type: ignore[attr-defined]
        torch.Tensor.is_cuda.__get__: lambda tensor: tensor.is_meta,  # type: ignore[attr-defined]
        torch.Tensor.is_meta.__get__: lambda tensor: False,  # type: ignore[attr-defined]
        torch.Tensor.get_device: lambda tensor: 0 if tensor.is_meta else -1,
        torch.Tensor.data_ptr: _address,
        torch.Tensor.cuda: lambda tensor, *_, **__: tensor.to(_META),
        torch.Tensor.cpu: lambda tensor, *_, **__: tensor,
    }

    def __torch_function__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: dict[str, Any] | None = None
    ) -> Any:
        if answer := self._answers.get(func):
            return answer(*args, **(kwargs or {}))
        given, named = tree_map(_moved, (args, kwargs or {}))
        if any(isinstance(each, torch.Tensor) and each.is_meta for each in tree_leaves((given, named))):
            given, named = tree_map(_without_values, (given, named))
        elif func in _device_constructors() and named.get("device") != _META:
            made = func(*given, **named | {"device": _META})
            if made.numel() > _SMALL:
                return made
        return func(*given, **named)


def _moved(value: Any) -> Any:
    """The meta device where a GPU is named."""
    named = isinstance(value, str) and value.partition(":")[0] == "cuda"
    return _META if named or (isinstance(value, torch.device) and value.type == "cuda") else value


def _without_values(value: Any) -> Any:
    """The meta device where another is named, and a tensor of it for one of another."""
    if isinstance(value, torch.Tensor):
        return value.to(_META)
    named = isinstance(value, str) and value == "cpu"
    return _META if named or isinstance(value, torch.device) else value

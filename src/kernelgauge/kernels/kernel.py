"""A CUDA kernel from its text: compiled by NVRTC, launched by the driver on PyTorch's current stream."""

from __future__ import annotations

import struct
import threading
from collections.abc import Callable, Sequence
from typing import Any

from kernelgauge.kernels import building, driver, signature
from kernelgauge.kernels.signature import SLOT, Parameter

Extent = int | tuple[int, ...]
_NUMBERS = (int, float, bool)


class _OfThread(threading.local):
    """What one thread launches with: two that share a buffer would take each other's arguments."""

    def __init__(self, device: int, arguments: int, cooperative: bool):
        driver.bind(device)
        self.launch = driver.Launch(arguments, SLOT, cooperative)


class CudaKernel:
    """A kernel that a call launches. Made by `cuda_kernel`."""

    def __init__(self, source: str, name: str, options: Sequence[str], found: Sequence[Parameter], cooperative: bool):
        self.name = name
        self._definition = (source, name, tuple(options))
        self._parameters = tuple(found)
        self._pack = signature.packer(found).pack_into
        self._cooperative = cooperative
        self._code: tuple[bytes, str] | None = None
        self._handles: dict[int, int] = {}
        self._shared: dict[int, int] = {}
        # Bound at the first launch: a build knows neither PyTorch's CUDA nor a driver.
        self._device: Callable[[], int] | None = None
        self._stream: Callable[[int], int]
        self._of_thread: _OfThread

    def compile(self) -> None:
        """Compile now, if that has not happened, rather than at the first launch. Raises CompileError."""
        if self._code is None:
            self._code = building.code(*self._definition)

    def __call__(self, grid: Extent, block: Extent, *arguments: Any, shared: int = 0) -> None:
        """Launch on the current stream of the current device; returns at once.

        Args:
            grid: blocks: a number, or up to three (x, y, z).
            block: threads a block, likewise.
            arguments: one for each parameter: CUDA tensors (or None) for pointers, Python numbers for the rest.
            shared: bytes of dynamic shared memory a block; over 48 KiB the driver's leave is asked for by itself.

        Raises:
            TypeError: arguments that do not fit the parameters.
            LaunchError: the driver refused.
        """
        device = self._device() if self._device else self._open()
        launch = self._of_thread.launch
        handle = self._handles.get(device) or self._load(device)
        if shared > self._shared[device]:
            driver.allow_shared(handle, shared)
            self._shared[device] = shared
        try:
            self._pack(launch.buffer, 0, *[a if type(a) in _NUMBERS else _value(a) for a in arguments])
        except (struct.error, OverflowError) as error:
            raise TypeError(self._mismatch(arguments, error)) from None
        try:
            status = launch(handle, (*_three(grid), *_three(block)), shared, self._stream(device))
        except (struct.error, TypeError):
            text = "are whole numbers or up to three of them each, and shared memory a number of bytes"
            raise TypeError(f"kernel {self.name}: grid {grid} and block {block} {text}, not {shared}") from None
        if status:
            driver.check(status, f"launch kernel {self.name}: grid {grid}, block {block}, {shared} bytes shared")

    def _open(self) -> int:
        import torch

        self._stream = torch._C._cuda_getCurrentRawStream
        torch.cuda.init()
        device = torch._C._cuda_getDevice()
        self._of_thread = _OfThread(device, len(self._parameters), self._cooperative)
        self._device = torch._C._cuda_getDevice
        return device

    def _load(self, device: int) -> int:
        self.compile()
        assert self._code is not None
        self._shared[device] = 0
        handle = self._handles[device] = driver.load(*self._code)
        return handle

    def _mismatch(self, arguments: Sequence[Any], error: Exception) -> str:
        due = ", ".join(each.text for each in self._parameters)
        given = ", ".join(type(argument).__name__ for argument in arguments)
        return f"kernel {self.name} takes ({due}) and was given ({given}): {error}"

    def __repr__(self) -> str:
        return f"CudaKernel({self.name})"


def cuda_kernel(
    source: str,
    name: str,
    *,
    options: Sequence[str] = (),
    parameters: Sequence[str] | None = None,
    cooperative: bool = False,
) -> CudaKernel:
    """A kernel from CUDA C++ text.

    While a candidate is built it is compiled at once, so that an error is a `build_failed` with the compiler's line;
    elsewhere at its first launch. Compiling needs no GPU.

    Args:
        source: device code. It may include the toolkit's headers (`cuda_fp16.h`, `cub/cub.cuh`, `cuda/std/limits`),
            not PyTorch's nor the C++ library's.
        name: the `__global__` function, or an instance of a template: `softmax<float, 256>`.
        options: for NVRTC, such as `--use_fast_math` or `-DTILE=64`.
        parameters: C types of its parameters (`["float*", "int"]`); by default read from the source, which cannot be
            done where they are parameters of the template.
        cooperative: whether its blocks wait for each other (`cooperative_groups::this_grid().sync()`).

    Raises:
        SignatureError: the function is not in the source, or a parameter is neither a pointer nor a number.
        CompileError: NVRTC refused; what it printed.
        CompilerMissing: there is no NVRTC here.
    """
    if parameters is None:
        found = signature.parameters(source, name)
    else:
        found = [signature.parameter(text) for text in parameters]
    kernel = CudaKernel(source, name, options, found, cooperative)
    if building.under_way():
        kernel.compile()
    return kernel


def _value(argument: Any) -> Any:
    """The number that stands for an argument: a tensor's address, 0 for None, any other as it is."""
    try:
        if argument.is_cuda:
            return argument.data_ptr()
    except AttributeError:
        return 0 if argument is None else argument
    raise TypeError(f"a kernel takes tensors on a GPU, and was given one on {argument.device}")


def _three(extent: Extent) -> tuple[int, ...]:
    return (extent, 1, 1) if type(extent) is int else (*extent, 1, 1)[:3]  # type: ignore[misc]

"""Backend `numba`: CUDA kernels in Python by numba-cuda, compiled on a GPU, run by its simulator on a CPU."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.hardware.environment import package_version
from kernelgauge.kernels.toolkit import cuda_home

# The latest release that was seen to use numpy.row_stack, which NumPy 2.5 has not.
_STACKS_ROWS = [0, 30, 4]


@dataclass(frozen=True)
class NumbaBackend(EmbeddedBackend):
    """On a CPU each thread of a block is a thread of Python: the simulator says whether a small kernel is right."""

    name: str = "numba"
    devices: tuple[str, ...] = ("cuda", "cpu")
    title: str = "numba-cuda"
    module: str = "numba.cuda"
    makers: tuple[str, ...] = ("jit",)
    kernel_names: tuple[str, ...] = ("{}", "_ZN*{}B2v*")  # where nobody has demangled it
    others_kernels: str = r"numba::"  # its own reductions, scans and the like
    cpu_launchers: tuple[str, ...] = ("numba.cuda.simulator.kernel:FakeCUDAKernel.__call__",)
    package: str = "numba-cuda"

    def no_compiler(self, device: str) -> str | None:
        installed = package_version(self.package) or ""
        old = [int(number) for number in re.findall(r"\d+", installed)[:3]] <= _STACKS_ROWS
        if device == "cuda" and old and not hasattr(numpy, "row_stack"):
            return (
                f"numba-cuda {installed} compiles nothing beside NumPy {numpy.__version__}: pip install 'numpy<2.5'"
            )
        return super().no_compiler(device)

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = super().environment(device, scratch) | {"NUMBA_CACHE_DIR": str(scratch / "numba")}
        if device == "cpu":
            return variables | {"NUMBA_ENABLE_CUDASIM": "1"}
        home = cuda_home()  # libNVVM lies there
        return variables | ({"CUDA_HOME": str(home)} if home else {})

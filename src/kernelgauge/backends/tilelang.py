"""Backend `tilelang`: compiled by nvcc on a GPU, and as far as TileLang can by g++ on a CPU."""

from __future__ import annotations

import json
import shutil
from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.kernels.toolkit import architectures, cuda_home


@dataclass(frozen=True)
class TileLangBackend(EmbeddedBackend):
    """On a CPU only loops and plain arithmetic compile: no tiles, no products, no functions such as `T.exp`."""

    name: str = "tilelang"
    devices: tuple[str, ...] = ("cuda", "cpu")
    title: str = "TileLang"
    module: str = "tilelang"
    makers: tuple[str, ...] = ("prim_func", "jit", "Kernel")
    kernel_names: tuple[str, ...] = ("{}", "{}_kernel")
    package: str = "tilelang"
    cache_variable: str = (
        "TILELANG_CACHE_DIR"  # its build has the device, which TileLang asks for where it is imported
    )

    def no_compiler(self, device: str) -> str | None:
        if shutil.which("g++") is None:
            return "no C++ compiler: g++ is not on the path (Debian: apt-get install g++)"
        if device == "cuda" and cuda_home() is None:
            return "no CUDA compiler: nvcc is neither on the path nor under CUDA_HOME"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = super().environment(device, scratch) | {"TILELANG_PRINT_ON_COMPILATION": "0"}
        if device == "cpu":
            variables["TILELANG_DEFAULT_TARGET"] = "c"
            return variables
        # By name and not by a look at the GPU, so that what a build compiled ahead is what a worker looks for.
        variables["TILELANG_DEFAULT_TARGET"] = json.dumps({"kind": "cuda", "arch": f"sm_{architectures()[0]}"})
        home = cuda_home()
        return variables | ({"CUDA_HOME": str(home)} if home else {})

"""Backend `warp`: NVIDIA Warp, which brings its own compilers: NVRTC for a GPU, Clang for a CPU."""

from __future__ import annotations

import os
import sys
import traceback
from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.backends.loading import import_file
from kernelgauge.kernels.toolkit import architectures


@dataclass(frozen=True)
class WarpBackend(EmbeddedBackend):
    """A text's kernels are compiled in its build. On a CPU they are compiled too, and run one thread at a time."""

    name: str = "warp"
    devices: tuple[str, ...] = ("cuda", "cpu")
    builds_on_host: bool = True
    title: str = "Warp"
    module: str = "warp"
    makers: tuple[str, ...] = ("kernel",)
    kernel_names: tuple[str, ...] = ("{}_*_cuda_kernel_forward", "{}_cuda_kernel_forward")
    cpu_launchers: tuple[str, ...] = ("warp:launch", "warp._src.context:launch", "warp._src.context:Launch.launch")
    package: str = "warp-lang"
    cache_variable: str = "WARP_CACHE_PATH"

    def builds(self, source: str, device: str) -> bool:
        return device != "cpu"

    def build(self, path: Path, build_dir: Path) -> None:
        try:
            module = import_file(path, "candidate")
            warp = sys.modules["warp"]
            warp.compile_aot_module(module, arch=int(architectures()[0].rstrip("a")))
        except Exception:  # boundary: generic kernels have no types yet; what is wrong is judged when it is called
            traceback.print_exc()
        self.keep(Path(os.environ[self.cache_variable]), build_dir / self.name)

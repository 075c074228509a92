"""Backend `cutile`: cuTile, NVIDIA's tiles in Python (`cuda.tile`), which its own compiler `tileiras` compiles."""

from __future__ import annotations

import shutil
from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.kernels.toolkit import cuda_home, wheel_folders


@dataclass(frozen=True)
class CuTileBackend(EmbeddedBackend):
    """Needs a driver of r580 or newer, and for Hopper a compiler of CUDA 13.3 or newer."""

    name: str = "cutile"
    devices: tuple[str, ...] = ("cuda",)
    title: str = "cuTile (cuda.tile)"
    module: str = "cuda.tile"
    makers: tuple[str, ...] = ("kernel",)
    kernel_names: tuple[str, ...] = ("{}", "{}_K*")  # then the types of the arguments
    package: str = "cuda-tile"

    def no_compiler(self, device: str) -> str | None:
        home = cuda_home()
        folders = [folder / "bin" for folder in (*wheel_folders(), *([home] if home else []))]
        if shutil.which("tileiras") or any((folder / "tileiras").is_file() for folder in folders):
            return None
        return "cuTile's compiler tileiras is not installed: pip install 'kernelgauge[cutile]', or CUDA 13.3 or newer"

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        home = cuda_home()
        variables = {"CUDA_TILE_TEMP_DIR": str(scratch / "cutile")} | ({"CUDA_HOME": str(home)} if home else {})
        return super().environment(device, scratch) | variables

"""Backend `cute`: CuTe's Python form (CUTLASS DSL), which brings its own compiler; runs on a GPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.embedded import EmbeddedBackend


@dataclass(frozen=True)
class CuteBackend(EmbeddedBackend):
    name: str = "cute"
    devices: tuple[str, ...] = ("cuda",)
    title: str = "CuTe (CUTLASS's Python DSL)"
    module: str = "cutlass"
    makers: tuple[str, ...] = ("kernel",)
    kernel_names: tuple[str, ...] = ("kernel_cutlass_{}_*",)  # then the types of the arguments
    package: str = "nvidia-cutlass-dsl"

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        return super().environment(device, scratch) | {"CUTE_DSL_CACHE_DIR": str(scratch / "cute")}

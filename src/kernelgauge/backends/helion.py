"""Backend `helion`: PyTorch's own language of tiles, which becomes Triton; on a CPU its interpreter runs it."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.hardware.environment import package_version


@dataclass(frozen=True)
class HelionBackend(EmbeddedBackend):
    """Never searches for a configuration: what counts is the one that the text names, or Helion's default."""

    name: str = "helion"
    devices: tuple[str, ...] = ("cuda", "cpu")
    title: str = "Helion"
    module: str = "helion"
    makers: tuple[str, ...] = ("kernel", "jit")
    kernel_names: tuple[str, ...] = ("_helion_{}",)
    cpu_launchers: tuple[str, ...] = ("helion.runtime.kernel:Kernel.__call__",)
    package: str = "helion"

    def preload(self, source: str, device: str) -> tuple[str, ...]:
        return ("helion",) if device == "cpu" else ()  # it looks for GPUs, and the zygote must not start one

    def no_compiler(self, device: str) -> str | None:
        if device == "cuda" and package_version("triton") is None:
            return "Helion compiles by Triton, which is not installed: pip install 'kernelgauge[triton]'"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = {
            "HELION_AUTOTUNE_EFFORT": "none",
            "HELION_AUTOTUNE_PRECOMPILE": "",  # of several named configurations: no process of its own for each
            "HELION_AUTOTUNE_PROGRESS_BAR": "0",
            "TRITON_CACHE_DIR": str(scratch / "triton"),
        }
        return (
            super().environment(device, scratch) | variables | ({"HELION_INTERPRET": "1"} if device == "cpu" else {})
        )

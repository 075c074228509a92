"""Backend `triton`: compiled on a GPU, run by Triton's interpreter on a CPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.base import Backend
from kernelgauge.hardware import gpu, package_version


@dataclass(frozen=True)
class TritonBackend(Backend):
    """On a CPU the interpreter says whether a kernel is right, not how fast; its bfloat16 arithmetic is wrong."""

    name: str = "triton"
    devices: tuple[str, ...] = ("cuda", "cpu")

    def missing(self, device: str) -> str | None:
        if reason := super().missing(device):
            return reason
        if package_version("triton") is None:
            return "Triton is not installed: pip install 'kernelgauge[triton]'"
        if device == "cuda" and gpu() is None:
            return "no NVIDIA GPU is visible here: nvidia-smi lists none"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = {"TRITON_CACHE_DIR": str(scratch / "triton")}
        if device == "cpu":
            variables["TRITON_INTERPRET"] = "1"
        return variables

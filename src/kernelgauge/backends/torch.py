"""Backend `torch`: a candidate in plain PyTorch. The reference itself is built and run this way."""

from dataclasses import dataclass

from kernelgauge.backends.base import Backend
from kernelgauge.hardware import gpu


@dataclass(frozen=True)
class TorchBackend(Backend):
    name: str = "torch"
    devices: tuple[str, ...] = ("cpu", "cuda")

    def missing(self, device: str) -> str | None:
        if device == "cuda" and gpu() is None:
            return "no NVIDIA GPU is visible here: nvidia-smi lists none"
        return super().missing(device)

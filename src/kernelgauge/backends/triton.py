"""Backend `triton`: compiled on a GPU, run by Triton's interpreter on a CPU."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.embedded import EmbeddedBackend


@dataclass(frozen=True)
class TritonBackend(EmbeddedBackend):
    """On a CPU the interpreter says whether a kernel is right, not how fast; its bfloat16 arithmetic is wrong."""

    name: str = "triton"
    devices: tuple[str, ...] = ("cuda", "cpu")
    title: str = "Triton"
    package: str = "triton"

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = {"TRITON_CACHE_DIR": str(scratch / "triton")}
        if device == "cpu":
            variables["TRITON_INTERPRET"] = "1"
        return variables

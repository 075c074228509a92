"""Backend `triton`: compiled on a GPU, run by Triton's interpreter on a CPU."""

from __future__ import annotations

import os
import traceback
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType
from typing import Any
from unittest.mock import patch

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.triton_cache import keep, restore
from kernelgauge.hardware.environment import gpu, package_version

_KEPT = "triton"
# Texts that TorchInductor has written: their kernels are compiled as they are imported, one after the other.
_INDUCTOR = "torch._inductor"
_INDUCTOR_MODULES = (
    *("torch._inductor.async_compile", "torch._inductor.runtime.triton_heuristics"),
    "torch._inductor.select_algorithm",
)


@dataclass(frozen=True)
class TritonBackend(EmbeddedBackend):
    """On a CPU the interpreter says whether a kernel is right, not how fast; its bfloat16 arithmetic is wrong."""

    name: str = "triton"
    devices: tuple[str, ...] = ("cuda", "cpu")
    builds_on_host: bool = True
    title: str = "Triton"
    package: str = "triton"

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = {"TRITON_CACHE_DIR": str(scratch / "triton")}
        if device == "cpu":
            variables["TRITON_INTERPRET"] = "1"
        return variables

    def preload(self, source: str, device: str) -> tuple[str, ...]:
        if device == "cpu":  # whether it interprets is decided when it is imported
            return ()
        return ("triton", "triton.language", *(_INDUCTOR_MODULES if _INDUCTOR in source else ()))

    def fingerprint(self) -> str:
        return f"{package_version('torch')} {package_version('triton')} {gpu()}"

    def builds(self, source: str) -> bool:
        return _INDUCTOR in source

    def build(self, path: Path, build_dir: Path) -> None:
        from torch._inductor.runtime import triton_helpers
        from torch._inductor.runtime.triton_heuristics import CachingAutotuner

        compile_and_load = CachingAutotuner.precompile

        def compile_only(kernel: Any, *_: Any, **__: Any) -> None:
            compile_and_load(kernel, warm_cache_only=True)

        # No driver is chosen, which would ask for a device: the text says what it compiles for.
        driverless = patch.object(triton_helpers, "set_driver_to_gpu", lambda: None)
        with driverless, patch.object(CachingAutotuner, "precompile", compile_only):
            try:
                import_file(path, "candidate")
            except Exception:  # boundary: what goes wrong here, or afterwards, is judged when loaded
                traceback.print_exc()
        keep(Path(os.environ["TRITON_CACHE_DIR"]), build_dir / _KEPT)

    def load(self, path: Path, build_dir: Path | None) -> ModuleType:
        if build_dir is not None and (build_dir / _KEPT).is_dir():
            restore(build_dir / _KEPT, Path(os.environ["TRITON_CACHE_DIR"]))
        return super().load(path, build_dir)

"""Backend `triton`: compiled on a GPU, run by Triton's interpreter on a CPU."""

from __future__ import annotations

import os
import traceback
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.backends.loading import import_file
from kernelgauge.backends.triton_cache import keep, restore
from kernelgauge.hardware.environment import gpu
from kernelgauge.kernels.toolkit import architectures

# Texts that TorchInductor has written: their kernels are compiled as they are imported, one after the other.
_INDUCTOR = "torch._inductor"
_INDUCTOR_MODULES = (
    *("torch._inductor.async_compile", "torch._inductor.runtime.triton_heuristics"),
    "torch._inductor.select_algorithm",
)
_WARP = 32
REHEARSED_TO_ITS_END = "rehearsed_to_its_end"
"""A file in the folder of a build whose rehearsal came to its end; see `worker.rehearsal`."""
# In a text that chooses among configurations by timing them, which leaves no files.
_TRIES = "autotun"


@dataclass(frozen=True)
class TritonBackend(EmbeddedBackend):
    """On a CPU the interpreter says whether a kernel is right, not how fast; its bfloat16 arithmetic is wrong."""

    name: str = "triton"
    devices: tuple[str, ...] = ("cuda", "cpu")
    builds_on_host: bool = True
    title: str = "Triton"
    module: str = "triton"
    makers: tuple[str, ...] = ("jit",)
    cpu_launchers: tuple[str, ...] = ("triton.runtime.interpreter:GridExecutor.__call__",)
    package: str = "triton"
    cache_variable: str = "TRITON_CACHE_DIR"

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        return super().environment(device, scratch) | ({"TRITON_INTERPRET": "1"} if device == "cpu" else {})

    def preload(self, source: str, device: str) -> tuple[str, ...]:
        if device == "cpu":  # whether it interprets is decided when it is imported
            return ()
        return ("triton", "triton.language", *(_INDUCTOR_MODULES if _INDUCTOR in source else ()))

    def fingerprint(self) -> str:
        return f"{super().fingerprint()} {gpu()}"

    def builds(self, source: str, device: str) -> bool:
        return _INDUCTOR in source or super().builds(source, device)

    def rehearses(self, source: str, device: str) -> bool:
        return device != "cpu" and not self.builds(source, device)

    def compiled_all(self, source: str, build_dir: Path | None) -> bool:
        rehearsed = build_dir is not None and (build_dir / REHEARSED_TO_ITS_END).exists()
        return rehearsed and _TRIES not in source

    def build(self, path: Path, build_dir: Path) -> None:
        if _INDUCTOR not in path.read_text():
            return super().build(path, build_dir)
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
        self.keep(Path(os.environ[self.cache_variable]), build_dir / self.name)

    @contextmanager
    def without_device(self) -> Iterator[None]:
        from triton.backends.compiler import GPUTarget
        from triton.runtime import driver

        target = GPUTarget("cuda", int(architectures()[0].rstrip("a")), _WARP)
        # All that `warmup` of a kernel asks its driver for.
        stand_in = SimpleNamespace(
            get_current_device=lambda: 0, get_current_stream=lambda device: 0, get_current_target=lambda: target
        )
        with patch.object(driver, "_active", stand_in):
            yield

    @contextmanager
    def compiling_only(self) -> Iterator[None]:
        """While open, kernels that are launched are compiled instead, for what KERNELGAUGE_ARCHITECTURE names."""
        from triton.runtime.autotuner import Autotuner
        from triton.runtime.jit import JITFunction

        compile_and_launch = JITFunction.run

        def only_compile(kernel: Any, *given: Any, grid: Any, warmup: bool = False, **options: Any) -> Any:
            compiled = compile_and_launch(kernel, *given, grid=grid, warmup=True, **options)
            _prepare_launch(compiled)
            return compiled

        tuned = patch.object(Autotuner, "run", _every_configuration)
        with self.without_device(), patch.object(JITFunction, "run", only_compile), tuned:
            yield

    def keep(self, cache: Path, kept: Path) -> None:
        keep(cache, kept)

    def restore(self, kept: Path, cache: Path) -> None:
        restore(kept, cache)


def _prepare_launch(compiled: Any) -> None:
    """Compile what launches a kernel: until Triton 3.6 a C extension for each signature, and one for the driver."""
    from triton.backends.nvidia import driver

    if compiled is None or not hasattr(driver, "make_launcher"):
        return
    with suppress(Exception):  # boundary: without a compiler or a driver's library, the first call says so
        driver.CudaUtils()
        driver.CudaLauncher(compiled.src, compiled.metadata)


def _every_configuration(tuner: Any, *given: Any, **options: Any) -> Any:
    """In place of `Autotuner.run`: what it would compile to choose among; the last that compiles is returned."""
    tuner.nargs = dict(zip(tuner.arg_names, given, strict=False))
    configurations = tuner.prune_configs(options) if len(tuner.configs) > 1 else tuner.configs
    made = error = None
    for each in configurations:
        chosen = each.all_kwargs()
        if each.pre_hook is not None:
            each.pre_hook({**tuner.nargs, **options, **chosen})
        try:
            made, tuner.best_config = tuner.fn.run(*given, **options, **chosen), each
        except Exception as wrong:  # boundary: the tuner passes over a configuration that does not compile
            error = wrong
    tuner.nargs = None
    if made is None and error is not None:
        raise error
    return made

"""Backend `torch`: a candidate in plain PyTorch. The reference itself is built and run this way.

A candidate that uses `torch.compile` may define `compile_ahead()`, which calls its model once on inputs of the right
shapes. The build then runs it, and what it leaves in TorchInductor's cache goes to every worker of that candidate.
"""

from __future__ import annotations

import multiprocessing
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kernelgauge.backends.base import Backend
from kernelgauge.backends.cpp import instruction_set
from kernelgauge.backends.loading import import_file
from kernelgauge.hardware.environment import first_line, gpu, missing_device, package_version

_AHEAD = "def compile_ahead("


@dataclass(frozen=True)
class TorchBackend(Backend):
    name: str = "torch"
    title: str = "PyTorch"
    devices: tuple[str, ...] = ("cpu", "cuda")
    compiles_for_math: bool = True  # TorchInductor's cache asks whether TF32 is allowed, and whether somebody said so

    def missing(self, device: str) -> str | None:
        return super().missing(device) or missing_device(device)

    def preload(self, source: str, device: str) -> tuple[str, ...]:
        return ("torch._dynamo", "torch._inductor.compile_fx") if "torch.compile(" in source else ()

    def fingerprint(self) -> str:
        versions = [package_version("torch"), package_version("triton"), first_line("g++", "--version")]
        return f"{versions} {instruction_set()} {gpu()}"

    def builds(self, source: str, device: str) -> bool:
        return _AHEAD in source

    def build(self, path: Path, build_dir: Path) -> None:
        import torch._inductor.config as inductor

        # The workers find all of it in the cache, and keep to one compiler thread.
        inductor.compile_threads = _compiler_processes()
        os.environ["TORCHINDUCTOR_COMPILE_THREADS"] = str(_cores())  # threads that compile what autotuning tries
        _without_autotune_files()
        import_file(path, "candidate").compile_ahead()
        # Triton's own files name their folder, which moves; TorchInductor's cache can write them anew.
        shutil.rmtree(build_dir / "inductor" / "triton", ignore_errors=True)

    def load(self, path: Path, build_dir: Path | None) -> ModuleType:
        if build_dir is not None:  # what is in its cache is found under the settings it was built with
            _without_autotune_files()
        return super().load(path, build_dir)


def _without_autotune_files() -> None:
    """Have kernels choose their configuration in every process: their file for it would lie where they were built."""
    import torch._inductor.config as inductor

    inductor.autotune_local_cache = False


def _compiler_processes() -> int:
    """Every core, where a pool of processes can start: that takes a named semaphore, which not all allow.

    One on a GPU: Triton asks for it in every process of the pool, and behind a build's isolation layers no child can
    start it.
    """
    if os.environ.get("CUDA_VISIBLE_DEVICES"):
        return 1
    try:
        multiprocessing.Lock()
    except OSError:
        return 1
    return _cores()


def _cores() -> int:
    return len(os.sched_getaffinity(0))

"""Backend `gluon`: Triton's language of explicit layouts, which Triton brings and compiles; runs on a GPU."""

from __future__ import annotations

from dataclasses import dataclass

from kernelgauge.backends.triton import TritonBackend


@dataclass(frozen=True)
class GluonBackend(TritonBackend):
    """Its layouts are those of a GPU's threads, so that nothing interprets it on a CPU."""

    name: str = "gluon"
    devices: tuple[str, ...] = ("cuda",)
    title: str = "Gluon (triton.experimental.gluon)"
    module: str = "triton.experimental.gluon"
    cpu_launchers: tuple[str, ...] = ()

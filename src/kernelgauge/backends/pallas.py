"""Backend `pallas`: JAX's language of kernels, lowered by Triton on a GPU, interpreted on a CPU.

JAX and PyTorch meet in the candidate's worker alone, a process of its own: the parent, the zygote and the reference
never import JAX. Tensors pass by DLPack, which has each side's stream wait for the other's.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

from kernelgauge.backends.embedded import EmbeddedBackend
from kernelgauge.hardware.environment import package_version
from kernelgauge.kernels.toolkit import cuda_home

_OF_XLA = r"(?:\w*fusion\w*|wrapped_\w+|triton_(?:softmax|gemm)\w*|(?:loop|input|copy|transpose)_\d+)$"
# Of `jax.experimental.pallas.ops`.
_READY_MADE = r"|(?:(?:mha|ln|rms)_(?:forward|backward)|_vmappable_|paged_attention|hopper_|ragged_dot)\w*$"


@dataclass(frozen=True)
class PallasBackend(EmbeddedBackend):
    """What JAX's compiler XLA makes of plain operations is a library's work; own kernels come from `pallas_call`."""

    name: str = "pallas"
    devices: tuple[str, ...] = ("cuda", "cpu")
    title: str = "Pallas (JAX)"
    module: str = "jax.experimental.pallas"
    makers: tuple[str, ...] = ("pallas_call", "kernel")
    others_kernels: str = _OF_XLA + _READY_MADE
    package: str = "jax"

    def no_compiler(self, device: str) -> str | None:
        if device == "cuda" and not any(package_version(f"jax-cuda{major}-plugin") for major in (13, 12)):
            return "JAX is installed without its plug-in for CUDA: pip install 'jax[cuda13]'"
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = {
            "JAX_PLATFORMS": "cpu" if device == "cpu" else "cuda",
            "JAX_COMPILATION_CACHE_DIR": str(scratch / "jax"),
            "XLA_PYTHON_CLIENT_PREALLOCATE": "false",  # three quarters of a GPU that holds PyTorch's tensors too
            "TF_CPP_MIN_LOG_LEVEL": "2",
        }
        home = cuda_home()
        if device != "cpu" and home:  # ptxas and libdevice
            variables["XLA_FLAGS"] = f"--xla_gpu_cuda_data_dir={home}"
        return super().environment(device, scratch) | variables

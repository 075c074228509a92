"""CUDA kernels from Python: `cuda_kernel` compiles a text in milliseconds and launches it on PyTorch's stream.

The one part of kernelgauge that candidates import. It needs neither a build step nor the evaluator.
"""

from kernelgauge.kernels.driver import LaunchError
from kernelgauge.kernels.kernel import CudaKernel, cuda_kernel
from kernelgauge.kernels.nvrtc import CompileError, CompilerMissing
from kernelgauge.kernels.signature import SignatureError

__all__ = ["CompileError", "CompilerMissing", "CudaKernel", "LaunchError", "SignatureError", "cuda_kernel"]

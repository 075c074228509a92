"""GPU kernels to write, judged by a kernelgauge server, as a taskset of verifiers."""

from kernelgauge_verifiers.env import KernelEnv
from kernelgauge_verifiers.taskset import KernelTaskset

__all__ = ["KernelEnv", "KernelTaskset"]

"""What kernel languages embedded in Python share: a package to install, and kernels compiled in their first call."""

from __future__ import annotations

from dataclasses import dataclass

from kernelgauge.backends.base import Backend
from kernelgauge.hardware.environment import missing_device, package_version


@dataclass(frozen=True)
class EmbeddedBackend(Backend):
    """No build: each worker compiles what it calls into its own scratch folder, before anything is timed."""

    title: str = ""
    """The language as its makers write it."""
    package: str = ""
    """The distribution that brings it; the extra of kernelgauge that asks for it is named as the backend."""

    def missing(self, device: str) -> str | None:
        if reason := super().missing(device):
            return reason
        if package_version(self.package) is None:
            return f"{self.title} is not installed: pip install 'kernelgauge[{self.name}]'"
        if reason := self.no_compiler(device):
            return reason
        return missing_device(device)

    def no_compiler(self, device: str) -> str | None:
        """Which program besides the package is missing to compile for `device`, in a sentence; None if none is."""
        return None

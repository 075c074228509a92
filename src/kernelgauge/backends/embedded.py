"""What kernel languages embedded in Python share: a package to install, and kernels compiled in their first call.

Where a language can compile for a GPU that is not there, a candidate may define `compile_ahead()`. The build calls
it, and what the compiler leaves in its cache goes to every worker of that candidate: no call and no GPU waits for it.
"""

from __future__ import annotations

import os
import re
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from types import ModuleType

from kernelgauge.backends.base import Backend
from kernelgauge.backends.loading import import_file
from kernelgauge.hardware.environment import missing_device, package_version
from kernelgauge.kernels.toolkit import ARCHITECTURE, architecture

_AHEAD = re.compile(r"^def compile_ahead\(", re.MULTILINE)


@dataclass(frozen=True)
class EmbeddedBackend(Backend):
    """Each worker compiles what its build has not into its own scratch folder, before anything is timed."""

    package: str = ""
    """The distribution that brings it; the extra of kernelgauge that asks for it is named as the backend."""
    cache_variable: str = ""
    """Names the folder in which its compiler keeps and finds what it has compiled; empty if there is no such folder,
    or it cannot compile without the GPU."""

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

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        variables = {} if device == "cpu" else {ARCHITECTURE: architecture()}
        return variables | ({self.cache_variable: str(scratch / self.name)} if self.cache_variable else {})

    def fingerprint(self) -> str:
        if not self.cache_variable:
            return ""
        return f"{package_version('torch')} {self.package} {package_version(self.package)} {architecture()}"

    def builds(self, source: str, device: str) -> bool:
        return device != "cpu" and bool(self.cache_variable) and bool(_AHEAD.search(source))

    def build(self, path: Path, build_dir: Path) -> None:
        with self.without_device():
            import_file(path, "candidate").compile_ahead()
        self.keep(Path(os.environ[self.cache_variable]), build_dir / self.name)

    def load(self, path: Path, build_dir: Path | None) -> ModuleType:
        if build_dir is not None and (build_dir / self.name).is_dir():
            self.restore(build_dir / self.name, Path(os.environ[self.cache_variable]))
        return super().load(path, build_dir)

    @contextmanager
    def without_device(self) -> Iterator[None]:
        """While open, the language compiles for what KERNELGAUGE_ARCHITECTURE names, and asks no driver."""
        yield

    def keep(self, cache: Path, kept: Path) -> None:
        """Copy what a process needs that is to run these kernels, if there are any; `kept` must not exist yet."""
        if cache.is_dir():
            shutil.copytree(cache, kept, symlinks=True)

    def restore(self, kept: Path, cache: Path) -> None:
        """Copy it to the folder that the language looks into."""
        shutil.copytree(kept, cache, symlinks=True, dirs_exist_ok=True)

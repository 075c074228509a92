"""Extensions compiled and not linked: on a PyTorch without CUDA, nvcc can still say whether a candidate is right C++.

PyTorch writes the sources, the flags and ninja's file as ever; only ninja is asked for the object files alone.
"""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from torch.utils import cpp_extension

from kernelgauge.backends.extension import Compile, CompiledOnly
from kernelgauge.kernels.toolkit import cuda_home

# A header that only a PyTorch with CUDA brings.
_WITHOUT_CMAKE = "-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"


def compile_only(original: Compile) -> Compile:
    """`load_inline` or `load` of PyTorch, to the object files and no further.

    The function returned raises RuntimeError with what the compilers printed, or CompiledOnly.
    """

    def compile_objects(**call: Any) -> Any:
        flags = {
            option: [*(call.get(option) or []), _WITHOUT_CMAKE] for option in ("extra_cflags", "extra_cuda_cflags")
        }
        with _objects_only():
            return original(**(call | flags))

    return compile_objects


@contextmanager
def _objects_only() -> Iterator[None]:
    kept = cpp_extension.CUDA_HOME, cpp_extension._run_ninja_build
    home = cuda_home()
    cpp_extension.CUDA_HOME = str(home) if home else None
    cpp_extension._run_ninja_build = _build_objects
    try:
        yield
    finally:
        cpp_extension.CUDA_HOME, cpp_extension._run_ninja_build = kept


def _build_objects(build_directory: str, verbose: bool, error_prefix: str) -> None:
    rules = (Path(build_directory) / "build.ninja").read_text()
    objects = re.findall(r"^build (\S+\.o):", rules, re.MULTILINE)
    done = subprocess.run(["ninja", *objects], cwd=build_directory, capture_output=True, text=True)
    if done.returncode:
        raise RuntimeError(f"{error_prefix}: {done.stdout}{done.stderr}")
    raise CompiledOnly(error_prefix)

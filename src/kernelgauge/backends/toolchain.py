"""The compilers that build extensions, and the flags PyTorch's own build gives them.

Everything here is read from files and tools: PyTorch is not imported, and no GPU is needed to compile.
"""

from __future__ import annotations

import hashlib
import importlib.util
import re
import sysconfig
from functools import cache
from pathlib import Path

from kernelgauge.hardware.environment import first_line, release_of
from kernelgauge.kernels.toolkit import architecture, cuda_home

# What PyTorch gives nvcc beside the standard and the architecture, in every version since 2.0.
_NVCC_FLAGS = (
    "-D__CUDA_NO_HALF_OPERATORS__",
    "-D__CUDA_NO_HALF_CONVERSIONS__",
    "-D__CUDA_NO_BFLOAT16_CONVERSIONS__",
    "-D__CUDA_NO_HALF2_OPERATORS__",
    "--expt-relaxed-constexpr",
)


@cache
def torch_folder() -> Path:
    """Where PyTorch is installed, without links: GCC names system headers so. Raises ImportError without one."""
    spec = importlib.util.find_spec("torch")
    if spec is None or not spec.submodule_search_locations:
        raise ImportError("PyTorch is not installed")
    return Path(spec.submodule_search_locations[0]).resolve()


@cache
def torch_build() -> str:
    """Digest of what PyTorch says of itself: version, commit, CUDA. Wheels of one version differ in the last two."""
    return hashlib.sha256((torch_folder() / "version.py").read_bytes()).hexdigest()[:16]


@cache
def standard() -> str:
    """The C++ standard PyTorch compiles extensions with: `c++17`, from 2.13 `c++20`."""
    text = (torch_folder() / "utils" / "cpp_extension.py").read_text()
    found = re.search(r"'-fPIC', '-std=(c\+\+\d+)'", text)
    return found.group(1) if found else "c++17"


def compilers(cuda: bool) -> str:
    """Versions of everything an extension is compiled with, for the name of a build."""
    host = " ".join(str(first_line(name, "--version")) for name in ("c++", "g++", "gcc"))
    home = cuda_home()
    if not cuda or home is None:
        return host
    return f"{host} {home} {release_of(str(home / 'bin' / 'nvcc'))} {architecture()}"


def include_folders(cuda: bool) -> list[Path]:
    """Where PyTorch's build of an extension looks for headers, in its order."""
    include = torch_folder() / "include"
    home = cuda_home()
    toolkit = [home / "include"] if cuda and home else []
    return [include, include / "torch/csrc/api/include", *toolkit, Path(sysconfig.get_path("include"))]


def host_command() -> list[str]:
    """PyTorch's compiler call for `main.cpp`, without name, source and output."""
    folders = [part for folder in include_folders(cuda=cuda_home() is not None) for part in ("-isystem", str(folder))]
    return ["c++", "-DTORCH_API_INCLUDE_EXTENSION_H", *folders, "-fPIC", f"-std={standard()}"]


def nvcc_command() -> list[str]:
    """PyTorch's compiler call for `cuda.cu`, without name, source, output and the candidate's own flags.

    Raises:
        RuntimeError: there is no nvcc.
    """
    home = cuda_home()
    if home is None:
        raise RuntimeError("nvcc is not installed")
    folders = [part for folder in include_folders(cuda=True) for part in ("-isystem", str(folder))]
    # A header that only a PyTorch with CUDA brings.
    configured = (torch_folder() / "include/c10/cuda/impl/cuda_cmake_macros.h").exists()
    own = [] if configured else ["-DC10_CUDA_NO_CMAKE_CONFIGURE_FILE"]
    number = architecture().replace(".", "")
    target = f"-gencode=arch=compute_{number},code=sm_{number}"
    fixed = ["-DTORCH_API_INCLUDE_EXTENSION_H", *folders, *_NVCC_FLAGS, "--compiler-options", "-fPIC"]
    return [str(home / "bin" / "nvcc"), *fixed, target, f"-std={standard()}", *own]

"""Which kernel language a source text was written for, from what it imports, calls and hands to compilers.

The text decides how a candidate is built, nothing else: a wrong guess costs a build or a refusal, never a verdict.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Mapping
from dataclasses import dataclass, field

from kernelgauge.syntax import parse

RAW = "kernelgauge.kernels"
_EXTENSION = "cpp_extension"
# Its languages come after CUDA, which needs a build: a file may have kernels in both.
_AFTER_CUDA = "triton"
_KITTENS = "kittens.cuh"
# A text for both, by macros, is CUDA's. HIP's own texts include PyTorch's headers of that name: `c10/cuda/...`.
_CUDA_TOO = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:cuda(?:_\w+)?\.h|cublas)", re.MULTILINE)
_HIP = re.compile(r"^[ \t]*#[ \t]*include[ \t]*[<\"](?:hip/|rocblas|hipblas)|\bhipLaunchKernelGGL\b", re.MULTILINE)
# What turns a text into a kernel without PyTorch's extensions: CuPy, PyCUDA, PyTorch's and CUDA's own NVRTC.
_COMPILERS = {"RawKernel", "RawModule", "SourceModule", "_compile_kernel", "nvrtcCompileProgram", "ElementwiseKernel"}
_KERNEL = re.compile(r"\b__global__\b")
_LAUNCHES_ON_A_GPU = re.compile(
    r"<<<|\bcu(?:da)?LaunchKernel|^[ \t]*#[ \t]*include[ \t]*[<\"](?:ATen/cuda|c10/cuda|torch/csrc/cuda|cuda|cudnn"
    r"|cublas|cusparse|cusolver|cufft|cutensor|nccl|cutlass|cute/|cub/|thrust/|mma\.h)",
    re.MULTILINE,
)
_SOURCES = ("cpp_sources", "cuda_sources")
_CUDA_FILE = re.compile(r"[^\n]*\.cuh?")
_CPP_FILE = re.compile(r"[^\n]*\.(?:cpp|cc|cxx|c)")


@dataclass
class _Facts:
    """What the syntax tree of a text holds."""

    modules: set[str] = field(default_factory=set)
    """What is imported, and what from it: both `a.b` and `a.b.c` of `from a.b import c`."""
    used: set[str] = field(default_factory=set)
    """Last parts of the names that are used, by what they were imported as."""
    given: set[str] = field(default_factory=set)
    """Names of arguments that are given something."""
    texts: list[str] = field(default_factory=list)
    positional_cuda: bool = False
    """Whether `load_inline` is given CUDA sources by their place."""
    with_cuda: bool = False
    """Whether an extension is linked against CUDA wherever it is built."""


def detect(source: str, modules: Mapping[str, str]) -> str:
    """The short name of the backend a source text was written for; `torch` if nothing says otherwise.

    Args:
        modules: what a file imports that is written in a language embedded in Python, and the name of its backend.
    """
    try:
        found = _facts(parse(source))
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "torch"
    longest_first = sorted(modules, key=len, reverse=True)
    spoken = [module for module in longest_first if any(_below(module, each) for each in found.modules)]
    if first := [module for module in spoken if not _below(_AFTER_CUDA, module)]:
        return modules[first[0]]
    if _EXTENSION in source and any(map(_HIP.search, found.texts)) and not any(map(_CUDA_TOO.search, found.texts)):
        return "hip"
    if _is_cuda(found, source):
        return "thunderkittens" if any(_KITTENS in text for text in found.texts) else "cuda"
    if spoken:
        return modules[spoken[0]]
    return "cpp" if _is_cpp(found, source) else "torch"


def _is_cuda(found: _Facts, source: str) -> bool:
    if (
        any(_below(RAW, each) for each in found.modules)
        or found.positional_cuda
        or "cuda_sources" in found.given
        or "CUDAExtension" in found.used
    ):
        return True
    kernel = any(map(_KERNEL.search, found.texts))
    if _EXTENSION not in source:
        return kernel and (bool(found.used & _COMPILERS) or "nvcc" in source)
    files = "load" in found.used and any(map(_CUDA_FILE.fullmatch, found.texts))
    # C++ that includes CUDA's headers or launches is for a GPU, whether nvcc compiles it or g++.
    return files or kernel or found.with_cuda or any(map(_LAUNCHES_ON_A_GPU.search, found.texts))


def _is_cpp(found: _Facts, source: str) -> bool:
    if "cpp_sources" in found.given or found.used & {"load_inline", "cpp_pybinding", "CppExtension"}:
        return True
    return _EXTENSION in source and "load" in found.used and any(map(_CPP_FILE.fullmatch, found.texts))


def _facts(tree: ast.AST) -> _Facts:
    found = _Facts()
    called = _imported_as(tree)
    prose = {id(node.value) for node in ast.walk(tree) if isinstance(node, ast.Expr)}
    for node in ast.walk(tree):
        match node:
            case ast.Import():
                found.modules.update(each.name for each in node.names)
            case ast.ImportFrom(module=str(module)):
                found.modules.update({module, *(f"{module}.{each.name}" for each in node.names)})
            case ast.Constant(value=str(text)) if id(node) not in prose:
                found.texts.append(text)
            case ast.Name():
                found.used.add(called.get(node.id, node.id))
            case ast.Attribute():
                found.used.add(node.attr)
            case ast.Dict():
                # For a call with `**`.
                pairs = [
                    (getattr(key, "value", ""), value) for key, value in zip(node.keys, node.values, strict=True)
                ]
                found.given.update(key for key, value in pairs if key in _SOURCES and _something(value))
            case ast.Call():
                found.given.update(each.arg for each in node.keywords if each.arg and _something(each.value))
                found.with_cuda |= any(each.arg == "with_cuda" and _certain(each.value) for each in node.keywords)
                inline = called.get(name := _last(node.func), name) == "load_inline"
                found.positional_cuda |= inline and len(node.args) > 2 and _something(node.args[2])
    return found


def _certain(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is True


def _imported_as(tree: ast.AST) -> dict[str, str]:
    """What the names of `from a import b as c` stand for."""
    imports = (node for node in ast.walk(tree) if isinstance(node, ast.ImportFrom))
    return {alias.asname: alias.name for node in imports for alias in node.names if alias.asname}


def _something(value: ast.expr) -> bool:
    """Whether an argument may be more than nothing: no `None`, `False`, `""` or `[]`, nor a list of these."""
    if isinstance(value, ast.Constant):
        return bool(value.value)
    return any(map(_something, value.elts)) if isinstance(value, ast.List | ast.Tuple) else True


def _below(module: str, name: str) -> bool:
    return name == module or name.startswith(f"{module}.")


def _last(function: ast.expr) -> str:
    """The last part of a called name: of `cpp_extension.load_inline` that is `load_inline`."""
    return str(getattr(function, "attr", getattr(function, "id", "")))

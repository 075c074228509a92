"""The backends by name, and which one a source text was written for."""

from __future__ import annotations

import ast
from functools import cache
from importlib import metadata

from kernelgauge.backends.base import Backend
from kernelgauge.errors import UsageError
from kernelgauge.registry import made
from kernelgauge.syntax import parse

_BUILT_IN = {
    "torch": "kernelgauge.backends.torch:TorchBackend",
    "cpp": "kernelgauge.backends.cpp:CppBackend",
    "triton": "kernelgauge.backends.triton:TritonBackend",
    "cuda": "kernelgauge.backends.cuda:CudaBackend",
    "tilelang": "kernelgauge.backends.tilelang:TileLangBackend",
    "cute": "kernelgauge.backends.cute:CuteBackend",
    "thunderkittens": "kernelgauge.backends.thunderkittens:ThunderKittensBackend",
}
_GROUP = "kernelgauge.backends"
_RAW = "kernelgauge.kernels"
# Languages embedded in Python by what a candidate imports. Triton last: others borrow its small functions.
_IMPORTED = {"tilelang": "tilelang", "cutlass": "cute", "triton": "triton"}


def names() -> list[str]:
    """Short names of all backends: the built-in ones, then those other packages register."""
    return [*_BUILT_IN, *(entry.name for entry in metadata.entry_points(group=_GROUP))]


@cache
def backend_named(name: str) -> Backend:
    """The backend of that short name or `module:Class`; raises UsageError if there is none."""
    found = made(name, _BUILT_IN, _GROUP, "backend")
    if not isinstance(found, Backend):
        raise UsageError(f"{name} is not a backend: it does not derive from kernelgauge.backends.base.Backend")
    return found


def detect(source: str) -> str:
    """The backend a source text was written for, from its imports and calls; `torch` if nothing says otherwise."""
    try:
        tree = parse(source)
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return "torch"
    modules: set[str] = set()
    keywords: set[str] = set()
    attributes: set[str] = set()
    texts: list[str] = []
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            modules.update(_RAW if alias.name.startswith(_RAW) else alias.name.split(".")[0] for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            modules.add(_RAW if node.module.startswith(_RAW) else node.module.split(".")[0])
            raw = node.module == "kernelgauge" and any(alias.name == "kernels" for alias in node.names)
            modules.update([_RAW] if raw else [])
        elif isinstance(node, ast.Constant) and isinstance(node.value, str):
            texts.append(node.value)
        elif isinstance(node, ast.Call):
            keywords.update(keyword.arg for keyword in node.keywords if keyword.arg)
            attributes.add(getattr(node.func, "attr", getattr(node.func, "id", "")))
    if language := next((name for module, name in _IMPORTED.items() if module in modules), None):
        return language
    files = texts if "load" in attributes and "cpp_extension" in source else []
    if "cuda_sources" in keywords or _RAW in modules or any(".cu" in name for name in files):
        return "thunderkittens" if any("kittens.cuh" in text for text in texts) else "cuda"
    if "cpp_sources" in keywords or attributes & {"load_inline", "cpp_pybinding"} or any(".cpp" in f for f in files):
        return "cpp"
    return "torch"

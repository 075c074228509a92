"""Which ways there are to build a text that calls PyTorch's extensions, and what memory each takes."""

from __future__ import annotations

import hashlib
import warnings
from functools import cache
from pathlib import Path

from kernelgauge.backends import toolchain
from kernelgauge.backends.base import Route
from kernelgauge.backends.cache import BuildCache
from kernelgauge.backends.slim import headers

# Peak of all compilers of one build at once, as `benchmarks/builds.py` measures it (GB).
_WITHOUT_TORCH, _SLIM, _TYPES, _EXTENSION, _HOST = 0.5, 1.6, 1.6, 3.1, 1.5


def extension_routes(source: str, builds: BuildCache, cuda: bool) -> tuple[Route, ...]:
    """The routes for a candidate's text, the fastest first.

    Args:
        builds: the cache in which slim headers are made, once for each PyTorch and compiler.
    """
    if "cpp_extension" not in source:
        return (Route("raw", _WITHOUT_TORCH),)
    if "no_implicit_headers=True" in source and "torch/" not in source and "ATen/" not in source:
        return (Route("full", _WITHOUT_TORCH),)
    device = (_EXTENSION if "torch/extension.h" in source else _TYPES) if cuda else 0.0
    full = Route("full", _HOST + device)
    folder = _slim_headers(builds)
    if folder is None:
        return (full,)
    return Route("slim", _SLIM, {"KERNELGAUGE_SLIM": str(folder)}, (folder,)), full


@cache
def recipe() -> str:
    """Digest of the code that decides how extensions are built, so that a change of it makes new builds."""
    backends = Path(__file__).parents[1]
    named = [backends / name for name in ("extension.py", "compile_only.py", "toolchain.py")]
    own = [*named, *sorted(backends.glob("slim/*.py")), *sorted(backends.parent.glob("kernels/*.py"))]
    return hashlib.sha256(b"".join(path.read_bytes() for path in own)).hexdigest()[:16]


def _slim_headers(builds: BuildCache) -> Path | None:
    """The folder of slim headers for this PyTorch and these compilers, made now if need be; None if it cannot be."""
    described = f"{toolchain.torch_build()} {toolchain.torch_folder()} {toolchain.compilers(cuda=True)} {recipe()}"
    key = "slim-" + hashlib.sha256(described.encode()).hexdigest()[:19]
    if key in _REFUSED:
        return None
    try:
        return builds.build(key, headers.make)[0]
    except (RuntimeError, OSError, StopIteration) as error:
        _REFUSED.add(key)
        warnings.warn(f"slim headers cannot be made, so extensions build the long way: {error}", stacklevel=2)
        return None


_REFUSED: set[str] = set()

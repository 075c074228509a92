"""A call of `load_inline` or `load` turned into the same call with slim headers in front of PyTorch's."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from kernelgauge.backends.slim.admission import Fit, Misfit, index_of
from kernelgauge.backends.slim.headers import CANDIDATE_HEADER, PYTHON_MACRO

_KNOWN = {
    "name",
    "cpp_sources",
    "cuda_sources",
    "sources",
    "functions",
    "extra_cflags",
    "extra_cuda_cflags",
    "extra_ldflags",
    "with_cuda",
    "is_python_module",
    "with_pytorch_error_handling",
    "no_implicit_headers",
}
_CUDA_SUFFIXES = (".cu", ".cuh")
_HOST_PREAMBLE = "#include <torch/extension.h>\n"
_CUDA_PREAMBLE = "#include <torch/types.h>\n#include <cuda.h>\n#include <cuda_runtime.h>\n"


def slimmed(call: dict[str, Any], slim: Path, folder: Path) -> dict[str, Any]:
    """The same call with slim headers.

    Args:
        call: keyword arguments for PyTorch.
        slim: what `headers.make` has filled.
        folder: of this extension; what it needs of its own is written there.

    Raises:
        Misfit: it could be another program with them, or asks for something unusual.
    """
    if unusual := sorted(key for key, value in call.items() if key not in _KNOWN and value):
        raise Misfit(f"uses {unusual[0]}")
    index = index_of(slim)
    host, cuda = _sources(call)
    flags = {False: _listed(call.get("extra_cflags")), True: _listed(call.get("extra_cuda_cflags"))}
    fits = {
        kind: [index.fit(text, flags[kind], kind) for text in texts] for kind, texts in ((False, host), (True, cuda))
    }
    every = fits[False] + fits[True]
    own = folder / "slim"
    own.mkdir()
    (own / CANDIDATE_HEADER).write_text(_candidate_header(every))
    linked = [str(slim / "factories.o")] if any(fit.factories for fit in every) else []
    return call | {
        "extra_include_paths": [str(place) for place in (own, slim / "include")],
        "extra_ldflags": [*_listed(call.get("extra_ldflags")), *linked],
    }


def _sources(call: dict[str, Any]) -> tuple[list[str], list[str]]:
    """The texts that the host compiler and nvcc get, as PyTorch will write them."""
    if "sources" in call:
        texts = [
            (Path(name).suffix in _CUDA_SUFFIXES, Path(name).read_text(errors="replace")) for name in call["sources"]
        ]
        return [text for cuda, text in texts if not cuda], [text for cuda, text in texts if cuda]
    bare = call.get("no_implicit_headers")
    bindings = " ".join([*_listed(call.get("functions")), "PYBIND11_MODULE"] if call.get("functions") else [])
    host = ("" if bare else _HOST_PREAMBLE) + "\n".join([*_listed(call["cpp_sources"]), bindings])
    cuda = _listed(call.get("cuda_sources"))
    return [host], [("" if bare else _CUDA_PREAMBLE) + "\n".join(cuda)] if cuda else []


def _candidate_header(fits: list[Fit]) -> str:
    """Operators that the host sources name do nvcc no harm, and the other way round."""
    operators = sorted({header for fit in fits for header in fit.operators})
    python = f"#define {PYTHON_MACRO}\n" if any(fit.python for fit in fits) else ""
    return "#pragma once\n" + python + "".join(f"#include <{header}>\n" for header in operators)


def _listed(value: Any) -> list[str]:
    """What PyTorch takes as one text, a list of them, or a dict by them."""
    if not value:
        return []
    return [value] if isinstance(value, str) else [str(entry) for entry in value]

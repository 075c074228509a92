"""Where PyTorch's compute and a BLAS are entered directly, so that no watcher of operators sees it. Pure functions.

Operators go through PyTorch's dispatcher, where they can be watched. `at::cpu::mm`, `at::native::...`, a `redispatch`
and the functions of a BLAS do not. A library that is to call one names it: as a symbol that the loader finds, or as a
text for `dlsym`.
"""

from __future__ import annotations

import re
from collections.abc import Sequence

from kernelgauge.checks.elf import symbols
from kernelgauge.checks.operators import makes_or_moves

# Namespaces of `at` whose functions are what the dispatcher would have called. Not `at::cuda`: streams and properties
# are there too, and on a GPU what computes is seen by its kernels.
_KERNELS = {"cpu", "native", "redispatch", "compositeexplicitautograd", "compositeimplicitautograd"}
_KERNELS |= {"compositeexplicitautogradnonfunctional"}
_OPERATORS = "_ops"
_MANGLED = re.compile(rb"_ZNK?2at(\d\w{1,1000})")
_ROUTINES = "gemm|gemmt|gemv|ger|dot|axpy|symm|symv|syrk|trmm|trsm|scal|nrm2|asum"
# As texts that `dlsym` is given; a bare `sgemm` there may be anybody's name for a kernel.
_BLAS = (
    rf"(?:scipy_)?(?:cblas_[sdczi]\w{{2,40}}|[sdcz](?:{_ROUTINES})(?:_?64)?_)"
    r"|mkl_(?!set_|get_|malloc|calloc|free|serv_|verbose|domain_)\w{3,60}|dnnl_\w{3,60}"
)
_BLAS_NAME = re.compile(_BLAS)
_BLAS_BYTES = re.compile(rb"(?<![A-Za-z0-9_])(?:" + _BLAS.encode() + rb")(?![A-Za-z0-9_])")
# As symbols that the loader is to find in another library: MKL's vector functions too.
_BLAS_SYMBOL = re.compile(
    rf"{_BLAS}|[sdcz](?:{_ROUTINES})|[SDCZ](?:{_ROUTINES.upper()})(?:_64)?_?|v[sd][A-Z]\w{{1,30}}"
)
_COMPUTING = re.compile(r"torch|blas|mkl|dnnl|blis|lapack|cudnn|cusparse|cusolver|cutensor|cufft")
_LENGTH = re.compile(r"\d{1,3}")


def past_dispatcher(parts: Sequence[str]) -> bool:
    """Whether a qualified C++ name, such as `at::cpu::mm`, computes and is not called through the dispatcher."""
    if len(parts) < 3 or parts[0] != "at":
        return False
    if parts[1] == _OPERATORS:
        return parts[-1] == "redispatch" and not makes_or_moves(parts[2])
    return parts[1] in _KERNELS and not makes_or_moves(parts[-1])


def entry(symbol: str) -> str | None:
    """The readable name of an entry point that a symbol stands for: `at::cpu::mm`, `sgemm_`; None if it is none."""
    if _BLAS_NAME.fullmatch(symbol):
        return symbol
    found = _MANGLED.match(symbol.encode(errors="replace"))
    parts = _parts(found[1].decode()) if found else []
    return "::".join(parts) if past_dispatcher(parts) else None


def entries(library: bytes) -> set[str]:
    """The entry points that a library's file names."""
    taken, own = symbols(library)
    found = {match.decode() for match in _BLAS_BYTES.findall(library)} - own
    found |= {name for name in taken if _BLAS_SYMBOL.fullmatch(name)}
    names = (_parts(each.decode()) for each in set(_MANGLED.findall(library)))
    return found | {"::".join(parts) for parts in names if past_dispatcher(parts)}


def entered(symbol: str, library: str) -> str | None:
    """What was called by ctypes, where that is a library's way to compute; None where it is not.

    Args:
        library: name of the file that the function lies in; empty if nobody knows.
    """
    return entry(symbol) or (f"{symbol} of {library}" if _COMPUTING.search(library) else None)


def of_pytorch(name: str) -> bool:
    """Whether an entry point is PyTorch's own, which everybody else calls through the dispatcher."""
    return name.startswith("at::")


def _parts(rest: str) -> list[str]:
    """`at` and the parts of a nested name that follow in its mangled form: each with its length before it."""
    parts, place = ["at"], 0
    while length := _LENGTH.match(rest, place):
        place = length.end() + int(length[0])
        parts.append(rest[length.end() : place])
    return parts

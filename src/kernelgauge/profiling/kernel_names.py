"""Names of kernels as people read them.

A templated kernel's full name runs to a thousand characters, of which the function and the functors say what it does:
`void at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, std::array<char*, 1ul> >(int, ...)`
is `vectorized_elementwise_kernel<FillFunctor>`.
"""

from __future__ import annotations

import re

_WIDTH = 72
_DEEPEST = 4
# As the profiler of PyTorch and as ncu write a namespace without a name, and a lambda in a function.
_ANONYMOUS = re.compile(r"\(anonymous namespace\)::|<?\bunnamed>::")
# As ncu writes lambdas in functions; where it leaves out namespaces, without some of the brackets.
_NCU_LAMBDA = re.compile(r"(::)?\[?lambda\([^()]*\) \(instance \d+\)\]|::operator \(\)\(\)( const)?")
# CuTe's Python form writes the types of all arguments behind a kernel's name, beginning with a tensor as a rule.
_CUTE = re.compile(r"kernel_cutlass_(\w+?)_tensorptr\w+")
# What numba-cuda and GCC add to a function's name to tell its versions apart.
_ABI = re.compile(r"\[abi:\w+\]")
_LAMBDA = re.compile(r"::[{\[]")
# Template arguments that say nothing about the work: element types, sizes, and the plumbing of PyTorch and CuTe.
_NOISE = re.compile(
    r"-?\d.*|true|false|void|bool|char|short|int|long|float|double|unsigned.*|signed.*|[Aa]rray|tuple|C|Layout"
    r"|integral_constant|\w*OffsetCalculator|LoadWithoutCast|StoreWithoutCast|u?int\d+_t"
)


def _top_level(text: str, stop: str) -> int:
    """Index of the first `stop` outside every pair of brackets; the length of the text if there is none."""
    depth = 0
    for index, character in enumerate(text):
        if depth == 0 and text.startswith(stop, index):
            return index
        depth += (character in "<({[") - (character in ">)}]")
    return len(text)


def _arguments(text: str) -> list[str]:
    """`a, b<c, d>` as its parts at the top level."""
    parts = []
    while text:
        end = _top_level(text, ",")
        parts.append(text[:end].strip())
        text = text[end + 1 :]
    return parts


def _signature(text: str) -> str:
    """A function or type without what follows its template arguments, and without its return type."""
    text = _ABI.sub("", text[: _top_level(text, "(")])
    text = _LAMBDA.split(text)[0].strip().removesuffix(" const").rstrip("&* ")
    while (space := _top_level(text, " ")) < len(text):
        text = text[space + 1 :].lstrip()
    return text


def _short(text: str, depth: int) -> str:
    text = _signature(text)
    opened = text.find("<")
    if opened < 0:
        return text.split("::")[-1]
    head = text[:opened].split("::")[-1]
    inner = text[opened + 1 : text.rfind(">")]
    shorter = [_short(part, depth + 1) for part in _arguments(inner)] if depth < _DEEPEST else []
    telling = dict.fromkeys(part for part in shorter if part and not _NOISE.fullmatch(part.split("<")[0]))
    return f"{head}<{', '.join(telling)}>" if telling else head


def _is_function(name: str) -> bool:
    """Whether a name is a C++ signature; plain names and `Memcpy HtoD (Pageable -> Device)` are not."""
    return name.endswith(")") and not name.startswith(("Memcpy", "Memset"))


def short_name(name: str) -> str:
    """A kernel's or operator's name with the C++ noise cut, at most 72 printable ASCII characters long."""
    plain = "".join(letter if " " <= letter <= "~" else "?" for letter in name)
    plain = _CUTE.sub(r"\1", _NCU_LAMBDA.sub("", _ANONYMOUS.sub("", plain)))
    found = (_short(plain, 0) if _is_function(plain) else plain) or plain
    return found if len(found) <= _WIDTH else found[: _WIDTH - 3] + "..."


def base_name(name: str) -> str:
    """The bare name of a kernel's function, which ncu can look for."""
    plain = _NCU_LAMBDA.sub("", _ANONYMOUS.sub("", name))
    return _signature(plain).split("<")[0].split("::")[-1] if _is_function(plain) else plain

"""The parameters of a `__global__` function, read from its source, and how Python values become them."""

from __future__ import annotations

import re
import struct
from collections.abc import Sequence
from dataclasses import dataclass

SLOT = 8
"""Bytes of an argument's place in the buffer: the widest of the types below."""

# C type to the code of the struct module.
_CODES = {
    "bool": "?",
    "char": "b",
    "signed char": "b",
    "int8_t": "b",
    "unsigned char": "B",
    "uint8_t": "B",
    "short": "h",
    "int16_t": "h",
    "unsigned short": "H",
    "uint16_t": "H",
    "int": "i",
    "int32_t": "i",
    "unsigned": "I",
    "unsigned int": "I",
    "uint32_t": "I",
    "long": "q",
    "long int": "q",
    "long long": "q",
    "long long int": "q",
    "int64_t": "q",
    "ptrdiff_t": "q",
    "unsigned long": "Q",
    "unsigned long int": "Q",
    "unsigned long long": "Q",
    "unsigned long long int": "Q",
    "uint64_t": "Q",
    "size_t": "Q",
    "half": "e",
    "__half": "e",
    "float": "f",
    "double": "d",
}
_QUALIFIERS = {"const", "volatile", "__restrict__", "__restrict", "__grid_constant__", "std", "::", "register"}
_KEYWORDS = {word for name in _CODES for word in name.split()}
_COMMENT = re.compile(r"//[^\n]*|/\*.*?\*/", re.DOTALL)


class SignatureError(ValueError):
    """A kernel is not in its source, or has a parameter that cannot be passed from Python."""


@dataclass(frozen=True)
class Parameter:
    """One parameter: its text and the code of its type in the struct module, `P` for a pointer."""

    text: str
    code: str


def parameters(source: str, name: str) -> list[Parameter]:
    """The parameters of the `__global__` function `name`, which may be an instance of a template.

    Raises:
        SignatureError: no such function, or a parameter of a type that Python values do not become.
    """
    base = re.escape(name.split("<", 1)[0].split("::")[-1].strip())
    text = _COMMENT.sub(" ", source)
    found = re.search(rf"__global__[^;{{}}]*?\b{base}\s*\(", text)
    if found is None:
        raise SignatureError(f"there is no `__global__ void {name}(...)` in the source")
    return [parameter(part) for part in _split(text[found.end() :])]


def parameter(text: str) -> Parameter:
    """A parameter from its declaration (`const float* x`) or its type alone (`float*`, `int`)."""
    text = " ".join(text.split())
    if "*" in text or "[" in text:
        return Parameter(text, "P")
    words = [word for word in re.findall(r"\w+|::", text.split("=")[0]) if word not in _QUALIFIERS]
    if len(words) > 1 and words[-1] not in _KEYWORDS:
        words.pop()
    code = _CODES.get(" ".join(words))
    if code is None:
        raise SignatureError(
            f"parameter `{text}`: Python values become pointers and plain numbers only; of a template, name the "
            "types in `parameters`, and anything larger goes by a pointer"
        )
    return Parameter(text, code)


def packer(found: Sequence[Parameter]) -> struct.Struct:
    """Writes one value each into consecutive slots of 8 bytes; what does not fit its type raises `struct.error`."""
    codes = ("Q" if each.code == "P" else each.code for each in found)
    return struct.Struct("=" + "".join(f"{code}{SLOT - struct.calcsize('=' + code)}x" for code in codes))


def _split(text: str) -> list[str]:
    """The parts between commas up to the parenthesis that closes the list."""
    parts, depth = [""], 0
    for character in text:
        if character == ")" and not depth:
            break
        depth += (character in "(<[{") - (character in ")>]}")
        if character == "," and not depth:
            parts.append("")
        else:
            parts[-1] += character
    return [part for part in parts if part.strip() not in ("", "void")]

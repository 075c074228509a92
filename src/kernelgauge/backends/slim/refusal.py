"""Is a compiler's refusal of slim headers a word on the candidate itself, or could the full ones help?

The first error of a translation unit decides: what follows may come of it. More headers declare more names, types and
conversions. They heal no syntax, no `#error` of the candidate's own, no name that is in no header, no wrong use of
what C++ itself defines, and nothing that ptxas says. `admission` has seen to it that the candidate calls no function
of which the full headers have another overload.
"""

from __future__ import annotations

import re
import subprocess
from functools import cache
from pathlib import Path

from kernelgauge.backends import toolchain

_UNIT = re.compile(r"^FAILED: ", re.MULTILINE)
_ERROR = re.compile(
    r"^(?P<file>[^\s:()]+)(?::|\()\d[^\n]*?\b(?:fatal )?error\b[^:\n]*:\s*(?P<said>[^\n]*)$", re.MULTILINE
)
_SOURCES = (".cpp", ".cc", ".cxx", ".cu")
_ASSEMBLER = re.compile(r"^(?:ptxas (?:error|fatal)|nvcc fatal)\b", re.MULTILINE)
# Of the machine, not of the text.
_MACHINE = re.compile(r"[Mm]emory allocation|out of memory|No space left|Killed|Could not open|cannot open")
# Standard headers that slim ones leave out bring names that no header of PyTorch's says.
_STANDARD = re.compile(r"namespace \"std\"|of ['‘]std['’]|['‘]std::")
# In the words of nvcc and of g++.
_SYNTAX = re.compile(
    r"#error |expected (?:an?|the|either)\b|unrecognized token|missing closing quote|"
    r"expected ['‘][^\w'’]+['’]|stray ['‘]|missing terminating"
)
_TWICE = re.compile(
    r'.*" has already been (?:declared|defined)|function .* has already been defined|'
    r"redefinition of|redeclaration of|declaration of .* shadows"
)
_UNKNOWN = re.compile(
    r'identifier "(\w+)" is undefined|.* has no member "(\w+)"$|'
    r"['‘](\w+)['’] (?:was not declared in this scope|does not name a type|is not a member of)|"
    r".* has no member named ['‘](\w+)['’]"
)
_CONVERSION = re.compile(
    r'(?:a value|argument) of type "([^"]+)" (?:cannot be|is incompatible)[^"]*"([^"]+)"|'
    r"(?:cannot convert|invalid conversion from) ['‘]([^'’]+)['’] to ['‘]([^'’]+)['’]"
)
_BUILT_IN = re.compile(r"^(?:const|volatile|unsigned|signed|long|short|int|char|bool|float|double|void|[\s*&])+$")


def is_own_fault(log: str) -> bool:
    """Whether the candidate would be refused with any headers.

    Args:
        log: what ninja and the compilers of one build printed.
    """
    return any(_refused_for_good(unit) for unit in _UNIT.split(log)[1:])


def _refused_for_good(unit: str) -> bool:
    first = _ERROR.search(unit)
    if first is None:
        return _ASSEMBLER.search(unit) is not None and not _MACHINE.search(unit)
    said = first["said"].strip()
    if Path(first["file"]).suffix not in _SOURCES:
        return False
    if _SYNTAX.match(said) or _TWICE.match(said):
        return True
    if (types := _CONVERSION.match(said)) is not None:
        return all(_BUILT_IN.match(each) for each in types.groups() if each)
    unknown = None if _STANDARD.search(said) else _UNKNOWN.match(said)
    return unknown is not None and not _in_headers(next(name for name in unknown.groups() if name))


@cache
def _in_headers(name: str) -> bool:
    """Whether any of PyTorch's headers has this word."""
    include = str(toolchain.torch_folder() / "include")
    return subprocess.run(["grep", "-rqw", "--", name, include], stdin=subprocess.DEVNULL).returncode != 1

"""The symbols that a shared library takes from others and gives to them, read from its file.

A stranger made it: whatever it says is read within bounds, and a file without a table of sections has none.
Follows the ELF-64 object file format, little-endian, as x86_64 and aarch64 have it.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator

_MAGIC = b"\x7fELF\x02\x01"
_HEADER = struct.Struct("<16sHHIQQQIHHHHHH")
_SECTION = struct.Struct("<IIQQQQIIQQ")
_SYMBOL = struct.Struct("<IBBHQQ")
_DYNAMIC_SYMBOLS = 11
_MOST_SECTIONS = 1000
_MOST_SYMBOLS = 200_000
_LONGEST = 1000


def symbols(library: bytes) -> tuple[set[str], set[str]]:
    """Names of its dynamic symbols: those that others are to define, and its own; none of what is no such file."""
    taken, own = set[str](), set[str]()
    try:
        for name, defined in _dynamic(library):
            (own if defined else taken).add(name)
    except (struct.error, ValueError, OverflowError):
        pass  # broken from here on
    return taken, own


def _dynamic(library: bytes) -> Iterator[tuple[str, bool]]:
    """Names, and whether they are defined here."""
    if not library.startswith(_MAGIC):
        return
    header = _HEADER.unpack_from(library)
    start, size, count = header[6], header[11], min(header[12], _MOST_SECTIONS)
    sections = [_SECTION.unpack_from(library, start + size * number) for number in range(count)]
    table = next((section for section in sections if section[1] == _DYNAMIC_SYMBOLS), None)
    if table is None or table[6] >= len(sections):
        return
    names = sections[table[6]][4]
    for number in range(1, min(table[5] // _SYMBOL.size, _MOST_SYMBOLS)):
        name, _, _, defined_in, _, _ = _SYMBOL.unpack_from(library, table[4] + _SYMBOL.size * number)
        end = library.find(b"\0", names + name, names + name + _LONGEST)
        if end > 0:
            yield library[names + name : end].decode("ascii", "replace"), bool(defined_in)

"""Texts that a Python expression spells out: constants, put together or disguised by the usual means.

Whatever is asked for here was written by a candidate's author: nothing may take more memory than `LONGEST` says.
"""

from __future__ import annotations

import ast
import base64
import codecs
import re
from collections.abc import Callable, Sequence

LONGEST = 1 << 20
"""Characters of a text, at most."""

Constant = str | bytes | int
"""What a text can be made of."""

_CODECS = ("rot13", "rot_13", "hex", "base64", "utf-8", "utf8", "ascii", "latin-1")
_PLAIN = frozenset(
    {"lower", "upper", "swapcase", "title", "capitalize", "strip", "lstrip", "rstrip", "decode", "encode", "hex"}
    | {"removeprefix", "removesuffix"}
)
_DECODERS: dict[str, Callable[..., object]] = {
    "builtins.chr": chr,
    "builtins.bytes.fromhex": bytes.fromhex,
    "binascii.unhexlify": bytes.fromhex,
    "base64.b64decode": base64.b64decode,
    "base64.urlsafe_b64decode": base64.urlsafe_b64decode,
    "base64.b32decode": base64.b32decode,
    "base64.b16decode": base64.b16decode,
    "base64.b85decode": base64.b85decode,
    "codecs.decode": lambda text, how: codecs.decode(text, how) if how in _CODECS else None,
    "codecs.encode": lambda text, how: codecs.encode(text, how) if how in _CODECS else None,
    "builtins.str": lambda given, *how: given.decode(*how) if isinstance(given, bytes) else str(given),
    "builtins.bytes": lambda given, *how: given.encode(*how) if isinstance(given, str) else None,
    "textwrap.dedent": lambda text: text,
}
# "{:>9999}" and "%*d" ask for memory, and so does "{0}" a thousand times.
_ASKS_FOR_ROOM = re.compile(r"\d{4}|\*")


def of_method(text: str | bytes, name: str, given: Sequence[Constant]) -> str | bytes | None:
    """`text.name(*given)`; None where that is no text, or none that is safely spelled out here."""
    if name in _PLAIN:
        return _tried(lambda: getattr(text, name)(*given))
    if name == "replace" and len(given) == 2 and all(isinstance(each, str | bytes) for each in given):
        grown = (len(text) + 1) * max(1, len(given[1]))  # type: ignore[arg-type]
        return _tried(lambda: text.replace(*given)) if grown <= LONGEST else None  # type: ignore[arg-type]
    if name == "format" and isinstance(text, str) and _has_room(text, "{", given):
        return _tried(lambda: text.format(*given))
    return None


def of_function(path: str, given: Sequence[Constant]) -> str | bytes | None:
    """What a function of the standard library makes of constants; None where that is no text."""
    return _tried(lambda: _DECODERS[path](*given)) if path in _DECODERS else None


def of_operator(operator: ast.operator, left: Constant, right: Constant) -> str | bytes | None:
    """Two constants joined by `+`, `%` or `*`."""
    match operator, left, right:
        case (ast.Add(), str(), str()) | (ast.Add(), bytes(), bytes()):
            return _tried(lambda: left + right) if _length(left) + _length(right) <= LONGEST else None  # type: ignore[operator]
        case (ast.Mod(), str(), _) if _has_room(left, "%", [right]):
            return _tried(lambda: left % right)
        case (ast.Mult(), str() | bytes(), int()) if len(left) * right <= LONGEST:
            return left * right
    return None


def joined(separator: str | bytes, parts: Sequence[Constant]) -> str | bytes | None:
    """`separator.join(parts)`."""
    if sum(map(_length, parts)) + len(separator) * len(parts) > LONGEST:
        return None
    return _tried(lambda: separator.join(parts))  # type: ignore[arg-type]


def sliced(text: str | bytes, bounds: ast.Slice) -> str | bytes | None:
    """`text[a:b:c]` where the bounds are numbers."""
    parts = (bounds.lower, bounds.upper, bounds.step)
    return _tried(lambda: text[slice(*(ast.literal_eval(part) if part else None for part in parts))])


def _has_room(template: str, mark: str, given: Sequence[Constant]) -> bool:
    """Whether a template cannot become longer than is bearable."""
    most = template.count(mark) * max(map(_length, given), default=0)
    return len(template) + most <= LONGEST and not _ASKS_FOR_ROOM.search(template)


def _length(given: Constant) -> int:
    return 20 if isinstance(given, int) else len(given)


def _tried(make: Callable[[], object]) -> str | bytes | None:
    """What `make` makes, if it is a text of bearable length; whatever goes wrong, it is none."""
    try:
        found = make()
    except Exception:
        return None
    return found if isinstance(found, str | bytes) and len(found) <= LONGEST else None

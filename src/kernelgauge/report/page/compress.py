"""Lines of JSON packed small: compressed in chunks, of which the page opens only the one that it needs.

A packed block begins with a line `{"packed": [0, 40, ...]}`: which line each chunk begins with. Then come the chunks,
zlib's format in base64, a line each. Browsers unpack them by `DecompressionStream`.
"""

from __future__ import annotations

import base64
import json
import zlib
from collections.abc import Iterable, Sequence

from markupsafe import Markup

CHUNK = 1 << 18
"""Characters of JSON in a chunk: unpacked in a few milliseconds, and large enough to be packed well."""


def packed(lines: Markup) -> Markup:
    """The same lines of JSON, packed. Nothing is left that could act in a page: base64 has no markup."""
    chunks: dict[int, list[str]] = {}
    start, held = 0, CHUNK
    for place, text in enumerate(lines.split("\n") if lines else ()):
        if held + len(text) > CHUNK:
            start, held = place, 0
        chunks.setdefault(start, []).append(text)
        held += len(text)
    return Markup("\n".join([json.dumps({"packed": list(chunks)}), *map(_squeezed, chunks.values())]))


def packed_size(texts: Iterable[str]) -> int:
    """Bytes that these texts take, packed."""
    return len(packed(Markup("\n".join(json.dumps(text) for text in texts))))


def _squeezed(texts: Sequence[str]) -> str:
    return base64.b64encode(zlib.compress("\n".join(texts).encode(), 9)).decode()

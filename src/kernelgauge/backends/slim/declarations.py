"""Names that C++ headers declare at namespace scope, read from preprocessed text.

Not a parser: it follows braces, tells namespaces from everything else that has some, and of what stands directly in a
namespace it takes the declared name. Members of classes, bodies and parameters are none of its business.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Sequence

Declared = dict[str, set[tuple[str, str]]]
"""By file: pairs of a namespace (`at::native`, empty for the global one) and a name declared in it."""

_TOKEN = re.compile(
    r'^\# \d+ "(?P<file>[^"\n]*)".*$'
    r'|R"(?P<mark>[^(\s]*)\((?s:.*?)\)(?P=mark)"|"(?:[^"\\\n]|\\.)*"'
    r"|\d(?:'?[\w.])*|'(?:[^'\\\n]|\\.)+'|(?P<word>[A-Za-z_]\w*)|::|[^\s\w]",
    re.MULTILINE,
)
# Keywords before a parenthesis or at the end of a declaration; no declared name.
_NO_NAMES = re.compile(
    r"alignas|alignof|asm|auto|bool|char|const|constexpr|decltype|double|explicit|extern|final|float|friend|inline|int|"
    r"long|mutable|noexcept|operator|requires|short|signed|sizeof|static|static_assert|template|typename|unsigned|"
    r"void|volatile|__attribute__|__asm__|__extension__|__inline|__restrict"
)
_CLASSES = ("class", "struct", "union", "enum")


def declarations(preprocessed: str) -> Declared:
    """What each file in the output of a compiler's `-E` declares at namespace scope."""
    found: Declared = defaultdict(set)
    scopes: list[str | None] = []  # None: braces of anything but a namespace
    head: list[str] = []  # tokens since the last declaration ended
    file, parens, closed = "", 0, 0
    for match in _TOKEN.finditer(preprocessed):
        if match["file"] is not None:
            file = match["file"]
            continue
        token = match[0]
        if token == "{":
            name = None if closed or parens else _namespace(head)
            if name is None and not closed and not parens:
                _declare(found[file], scopes, head, defined=True)
            scopes.append(name)
            closed += name is None
            if name is not None:
                head = []
        elif token == "}" and scopes:
            closed -= scopes.pop() is None
            if not closed and not parens:
                head = []
        elif closed:
            continue
        elif token == ";" and not parens:
            _declare(found[file], scopes, head, defined=False)
            head = []
        else:
            parens += (token == "(") - (token == ")")
            head.append(token)
    return dict(found)


def _namespace(head: Sequence[str]) -> str | None:
    """The name of the namespace that these tokens open, empty for an unnamed or inline one and for `extern "C"`."""
    if head[:1] == ["extern"] and len(head) == 2:
        return ""
    if "namespace" not in head[:2]:
        return None
    words = [token for token in _without_attributes(head) if token == "::" or _is_name(token)]
    return "" if "inline" in head else "".join(words[words.index("namespace") + 1 :])


def _declare(into: set[tuple[str, str]], scopes: Sequence[str | None], head: Sequence[str], defined: bool) -> None:
    name = _declared_name(_without_template(_without_attributes(head)), defined)
    if name is not None:
        into.add(("::".join(scope for scope in scopes if scope), name))


def _declared_name(head: Sequence[str], defined: bool) -> str | None:
    if not head or head[0] in ("friend", "static_assert"):
        return None
    if head[0] == "using":  # a using-declaration names what is declared elsewhere
        return head[1] if "=" in head else None
    if head[0] == "namespace":
        return head[1] if "=" in head else None
    if head[0] == "typedef":
        pointed = [head[i + 2] for i in range(len(head) - 2) if head[i : i + 2] == ["(", "*"]]
        names = pointed or [token for token in head if _is_name(token)]
        return names[-1] if names else None
    for i, token in enumerate(head[:6]):
        if token in _CLASSES and "(" not in head[:i]:
            names = [word for word in head[i + 1 :] if word not in _CLASSES]
            return names[0] if defined and names and _is_name(names[0]) else None
    return _function_or_variable(head)


def _function_or_variable(head: Sequence[str]) -> str | None:
    angles = parens = 0
    for i, token in enumerate(head):
        before = head[i - 1] if i else ""
        if token == "<" and _is_name(before):
            angles += 1
        elif token == ">" and angles:
            angles -= 1
        elif angles:
            continue
        elif token == "(" and not parens and _is_name(before):
            # `X A::f(` defines a member, or what its own namespace declares already
            return None if head[i - 2 : i - 1] == ["::"] else before
        elif token in ("=", "[") and not parens:
            return before if _is_name(before) else None
        parens += (token == "(") - (token == ")")
    return head[-1] if _is_name(head[-1]) and len(head) > 1 else None


def _is_name(token: str) -> bool:
    return (token[:1].isalpha() or token[:1] == "_") and not _NO_NAMES.fullmatch(token)


def _without_attributes(head: Sequence[str]) -> list[str]:
    """The tokens without `__attribute__((...))`, `alignas(...)` and `[[...]]`."""
    kept: list[str] = []
    skipping = depth = 0
    for i, token in enumerate(head):
        skipping = skipping or token in ("__attribute__", "alignas") or list(head[i : i + 2]) == ["[", "["]
        if not skipping:
            kept.append(token)
            continue
        depth += (token in "([") - (token in ")]")
        skipping = not (depth == 0 and token in ")]")
    return kept


def _without_template(head: Sequence[str]) -> Sequence[str]:
    """The tokens behind the parameter lists of templates."""
    while head[:1] == ["template"]:
        depth = 0
        for i, token in enumerate(head[1:], 1):
            depth += (token == "<") - (token == ">")
            if depth <= 0:
                head = head[i + 1 :]
                break
        else:
            return []
    return head

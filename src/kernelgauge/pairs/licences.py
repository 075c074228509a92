"""Under which licence the files of a folder are, and which commit of which repository they are from."""

from __future__ import annotations

import re
import subprocess
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path

from kernelgauge.errors import UsageError

_NAMES = ("LICENSE", "LICENCE", "COPYING")
_SPDX = re.compile(r"SPDX-License-Identifier:\s*([\w.+() -]+?)\s*(?:\*/|-->|$)", re.MULTILINE)
_HEAD = 2000
# A phrase of each text that no other of these has; the first that fits.
_TEXTS = (
    ("Apache-2.0", r"Apache License\s+Version 2\.0"),
    ("GPL-3.0", r"GNU GENERAL PUBLIC LICENSE\s+Version 3"),
    ("GPL-2.0", r"GNU GENERAL PUBLIC LICENSE\s+Version 2"),
    ("LGPL-3.0", r"GNU LESSER GENERAL PUBLIC LICENSE\s+Version 3"),
    ("MPL-2.0", r"Mozilla Public License,? Version 2\.0"),
    ("MIT", r"Permission is hereby granted, free of charge, to any person obtaining a copy"),
    ("BSD-3-Clause", r"Redistribution and use in source and binary forms[\s\S]*Neither the name"),
    ("BSD-2-Clause", r"Redistribution and use in source and binary forms"),
    ("Unlicense", r"This is free and unencumbered software"),
)


def licence_of(folder: Path) -> str:
    """SPDX name of the licence that lies in a folder, or in one above it up to its repository; empty without one.

    Outside a repository only what lies in the folder itself counts: what is above it is about other files.
    """
    places = (folder, *folder.parents)
    top = next((place for place in places if _is_repository(place)), folder)
    for place in places[: places.index(top) + 1]:
        if (found := _lying_in(place)) is not None:
            return found
    return ""


def licence_of_file(file: Path, root: Path, whole: str) -> str:
    """What a file below a folder is under: its own line, or the nearest licence below the folder, or the folder's.

    Empty where that nearest licence is none that is known.

    Args:
        whole: the folder's licence.
    """
    if said := said_in(file):
        return said
    for place in file.parents:
        if place == root:
            break
        if (found := _lying_in(place)) is not None:
            return found
    return whole


def joined(expressions: Iterable[str]) -> str:
    """The SPDX expression of a text that was made of parts under these: all of them hold."""
    distinct = tuple(dict.fromkeys(expressions))
    if len(distinct) == 1:
        return distinct[0]
    return " AND ".join(f"({each})" if " OR " in each else each for each in distinct)


def _lying_in(place: Path) -> str | None:
    """The licence in a folder; empty if it is none that is known, None without one or where nobody may look."""
    with suppress(OSError):
        for path in sorted(place.iterdir()):
            if path.is_file() and path.name.upper().startswith(_NAMES):
                text = path.read_text(errors="replace")
                return next((name for name, pattern in _TEXTS if re.search(pattern, text)), "")
    return None


def _is_repository(place: Path) -> bool:
    with suppress(OSError):
        return (place / ".git").exists()
    return False


def said_in(file: Path) -> str:
    """The SPDX expression at the head of a file; empty if it has none."""
    with suppress(OSError):
        if found := _SPDX.search(file.read_text(errors="replace")[:_HEAD]):
            return found[1]
    return ""


def checked(folder: Path, named: str) -> str:
    """The licence that was named, or the folder's. Raises UsageError if nobody says one."""
    found = named or licence_of(folder.resolve())
    if not found:
        raise UsageError(f"no licence that is known lies in {folder}: name it with --licence, by its SPDX name")
    return found


def repository(folder: Path) -> tuple[str, str]:
    """Address and commit of the repository that a folder is in; empty where there is none."""
    return _git(folder, "remote", "get-url", "origin"), _git(folder, "rev-parse", "HEAD")


def _git(folder: Path, *words: str) -> str:
    try:
        done = subprocess.run(["git", "-C", str(folder), *words], capture_output=True, text=True, timeout=20)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    # A key in an address is nobody else's business.
    return re.sub(r"//[^/@]*@", "//", done.stdout.strip()) if done.returncode == 0 else ""

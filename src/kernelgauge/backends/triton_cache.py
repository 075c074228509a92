"""Triton's cache on disk, moved: the files of a kernel are listed with the folder that they were made in."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

# Which files belong together, by name and path.
_GROUP = "__grp__"
# A kernel's description, its machine code and what launches it; the stages between them are many times larger, and
# nobody asks for them. What has no suffix are folders.
_NEEDED = ("", ".json", ".cubin", ".so")


def keep(cache: Path, kept: Path) -> None:
    """Copy what a process needs that is to run these kernels, if there are any; `kept` must not exist yet."""
    if cache.is_dir():
        shutil.copytree(cache, kept, ignore=lambda _, names: [n for n in names if Path(n).suffix not in _NEEDED])


def restore(kept: Path, cache: Path) -> None:
    """Copy to the folder that Triton looks into, and list its files as lying there."""
    shutil.copytree(kept, cache, dirs_exist_ok=True)
    for group in cache.glob(f"*/{_GROUP}*.json"):
        listed = json.loads(group.read_text())
        there = [name for name in listed["child_paths"] if (group.parent / name).is_file()]
        group.write_text(json.dumps(listed | {"child_paths": {name: str(group.parent / name) for name in there}}))

"""Kernels kept between the build of a candidate and its runs: compiled there, found here."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path

from kernelgauge.kernels import nvrtc
from kernelgauge.kernels.toolkit import architectures

NOTE = "route.json"
"""Beside what was built: its name, route (`raw` here) and seconds, as the building process tells them."""

_folder: Path | None = None


@contextmanager
def keeping(build_dir: Path | None) -> Iterator[None]:
    """While open, kernels are found in `build_dir / "kernels"`, and put there if that can be written to."""
    global _folder
    before, _folder = _folder, build_dir and build_dir / "kernels"
    try:
        yield
    finally:
        _folder = before


def under_way() -> bool:
    """Whether a candidate is being built or loaded, so that a kernel is wanted as soon as it is defined."""
    return _folder is not None


def code(source: str, name: str, options: Sequence[str]) -> tuple[bytes, str]:
    """A kernel's cubin and the function's name in it, from the build if it is there, else compiled now.

    Raises:
        CompileError: the compiler refused.
        CompilerMissing: there is none.
    """
    target = next((o for o in options if o.startswith(("--gpu-architecture", "-arch"))), None)
    flags = [*options] if target else [f"--gpu-architecture=sm_{architectures()[0]}", *options]
    key = hashlib.sha256(json.dumps([source, name, flags]).encode()).hexdigest()[:20]
    place = _folder and _folder / key
    if place and (place / NOTE).is_file():
        return (place / "cubin").read_bytes(), json.loads((place / NOTE).read_text())["function"]
    started = time.monotonic()
    found = nvrtc.compiled(source, name, flags)
    if place:
        note = {"name": name, "route": "raw", "seconds": round(time.monotonic() - started, 3)}
        with suppress(OSError):  # in a sealed worker, which may read a build but not add to it
            place.mkdir(parents=True, exist_ok=True)
            (place / "cubin").write_bytes(found.cubin)
            (place / NOTE).write_text(json.dumps(note | {"function": found.function}))
    return found.cubin, found.function

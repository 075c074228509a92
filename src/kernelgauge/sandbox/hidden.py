"""What workers must not read wherever it lies, and which isolation layers this machine's owner has left out."""

from __future__ import annotations

import os
import sys
import tempfile
from contextlib import suppress
from pathlib import Path

import kernelgauge
from kernelgauge.config import Settings
from kernelgauge.errors import UsageError
from kernelgauge.problems.suites import suites_folder
from kernelgauge.sandbox.isolation import LAYERS

WITHOUT = "KERNELGAUGE_WITHOUT_LAYERS"
"""Environment variable that names isolation layers to be left out, where one breaks something: `reads,syscalls`."""
_OPTIONAL = ("reads", "syscalls")


def places(settings: Settings) -> list[str]:
    """Homes, cache, suites, problems, temporary files, and the current folder unless Python is installed there."""
    own = Path(kernelgauge.__file__).parent / "problems"
    found = [Path.home(), settings.cache, settings.builds, suites_folder(), own, Path(tempfile.gettempdir())]
    with suppress(OSError):  # it may be gone
        here = Path.cwd()
        installed = [Path(prefix, part) for prefix in (sys.prefix, sys.base_prefix) for part in ("bin", "lib")]
        found += [] if any(here.is_relative_to(place) for place in installed) else [here]
    return [str(place) for place in found if place != Path("/")]  # in a container, a home may be all there is


def left_out() -> list[str]:
    """The isolation layers that are left out.

    Raises:
        UsageError: another one is named.
    """
    names = [name.strip() for name in os.environ.get(WITHOUT, "").split(",") if name.strip()]
    if unknown := [name for name in names if name not in _OPTIONAL]:
        raise UsageError(f"{WITHOUT} names {unknown[0]!r}; only {' and '.join(_OPTIONAL)} can be left out")
    return names


def what_is_missing(layers: tuple[str, ...]) -> str:
    """A sentence on the isolation layers that do not stand; empty if all do."""
    missing = [name for name in LAYERS if name not in layers]
    if not missing:
        return ""
    left = [name for name in missing if name in left_out()]
    why = f" ({WITHOUT} leaves out {', '.join(left)})" if left else ""
    layer = f"no {', '.join(missing)} isolation layer stands around a candidate here{why}"
    return f"{layer}: see docs/explanation/isolation.md"

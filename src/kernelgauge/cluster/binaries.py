"""Builds on their way from the node that compiled to the node that judges, by the name of their content."""

from __future__ import annotations

import io
import tarfile
from pathlib import Path

from kernelgauge.backends.cache import BuildCache

LARGEST_MB = 256
"""Of a build that travels, in units of 2**20 bytes; what is larger is built again where it is judged."""


class NotPortable(Exception):
    """A build that does not travel; the judging node builds it itself."""


def packed(folder: Path) -> bytes:
    """A build's folder as one piece. Raises NotPortable."""
    files = [path for path in folder.rglob("*") if path.is_file() and not path.is_symlink()]
    if sum(path.stat().st_size for path in files) > LARGEST_MB << 20:
        raise NotPortable(f"the build is larger than {LARGEST_MB} MB")
    made = io.BytesIO()
    try:
        with tarfile.open(fileobj=made, mode="w") as archive:
            archive.add(folder, arcname=".")
    except (OSError, RecursionError, tarfile.TarError) as error:
        raise NotPortable(str(error)) from error
    return made.getvalue()


def unpacked(builds: BuildCache, key: str, archive: bytes) -> Path:
    """The folder of that build in this cache, unpacked unless it is there. Raises NotPortable.

    What is in it was written beside a candidate: no path in it leaves the folder.
    """

    def make(folder: Path) -> None:
        try:
            with tarfile.open(fileobj=io.BytesIO(archive)) as found:
                found.extractall(folder, filter="data")
        except (OSError, RecursionError, tarfile.TarError) as error:
            raise NotPortable(str(error)) from error

    return builds.build(key, make)[0]

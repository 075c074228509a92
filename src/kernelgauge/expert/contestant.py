"""The files of this room as candidates, each with the parts that it uses in its text."""

from __future__ import annotations

from pathlib import Path

from kernelgauge.expert.inlining import whole
from kernelgauge.generation.folder import Folder, read_source

_CANDIDATES = Path(__file__).parent / "candidates"


class Expert(Folder):
    """One candidate for each problem that has a file here, in the language that the file is written in."""

    def __init__(self) -> None:
        super().__init__(_CANDIDATES)

    @property
    def name(self) -> str:
        return "expert"

    @property
    def origin(self) -> str:
        """Nothing beside the package itself."""
        return ""

    def text(self, file: Path) -> str:
        return whole(read_source(file))

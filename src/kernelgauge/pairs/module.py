"""A module to make pairs of: its text as a problem, and where that comes from."""

from __future__ import annotations

from typing import Literal

from pydantic import Field

from kernelgauge.problems.sizes import Constant, with_constants
from kernelgauge.schema import Domain, Nearest, Problem, Record, Sizes


class NoModule(Exception):
    """Nothing can be made of a lead; the text says why."""


class NotInTime(NoModule):
    """Nothing was made of a lead so soon; a machine with less to do may make something of it."""


SourceKind = Literal["recipe", "folder", "layers"]


class Provenance(Record):
    """Where a module comes from, and what may be done with it."""

    kind: SourceKind
    """`recipe`: drawn by this package; `folder`: extracted from somebody's files; `layers`: a layer of a library."""
    origin: str
    """The recipe with seed and number, the file and class, or the layer."""
    repository: str = ""
    """Address of the repository that a file is from, where its folder knows it."""
    commit: str = ""
    """Commit of that repository."""
    licence: str
    """SPDX expression, such as `MIT`."""


class Module(Record):
    """A reference at full sizes, its other sizes, and its provenance."""

    name: str = Field(min_length=1)
    """Of its own in a set of pairs."""
    source: str
    """Defines `Model`, `get_inputs` and `get_init_inputs`, at full sizes."""
    sizes: dict[Sizes, dict[str, Constant]]
    """Constants of the reduced sizes."""
    domains: dict[str, Domain]
    tags: tuple[str, ...]
    provenance: Provenance
    nearest: Nearest | None = None
    """Of the built-in suite; known once it has been examined."""

    def problem(self, sizes: Sizes) -> Problem:
        """The module as a problem at one of its sizes. Raises KeyError if it has not got it."""
        constants = {} if sizes == "full" else self.sizes[sizes]
        text = with_constants(self.source, constants)
        return Problem(key=self.name, name=self.name, sizes=sizes, source=text, domains=self.domains, tags=self.tags)

    def has(self, sizes: Sizes) -> bool:
        return sizes == "full" or sizes in self.sizes

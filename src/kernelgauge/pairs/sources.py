"""Where modules come from, by name: `recipe:fusion`, `folder:DIR`, `layers:torch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import count

from kernelgauge import __version__
from kernelgauge.errors import UsageError
from kernelgauge.pairs.module import Module, Provenance
from kernelgauge.problems.recipes import fusion, variants
from kernelgauge.problems.recipes.drawn import Drawn

_RECIPES = {"fusion": fusion.draw, "variants": variants.draw}


class NoModule(Exception):
    """Nothing can be made of a lead; the text says why."""


@dataclass(frozen=True)
class Lead:
    """A module that may come about: its name, and how to make it."""

    name: str
    make: Callable[[], Module]
    """Raises NoModule."""


def leads(sources: Sequence[str], seed: int, licence: str = "") -> Iterator[Lead]:
    """Leads of all sources in turn, the same ones in the same order each time; those of a recipe have no end.

    Args:
        licence: of modules from a folder; empty: what its files say.

    Raises:
        UsageError: there is no such source, or a folder without a licence.
    """
    streams = [_leads(source, seed, licence) for source in sources]
    while streams:
        for stream in tuple(streams):
            lead = next(stream, None)
            if lead is None:
                streams.remove(stream)
            else:
                yield lead


def _leads(source: str, seed: int, licence: str) -> Iterator[Lead]:
    kind, _, rest = source.partition(":")
    if kind == "recipe" and rest in _RECIPES:
        return _drawn(rest, seed)
    raise UsageError(f"there is no source {source!r}: say recipe:fusion, recipe:variants, folder:DIR or layers:torch")


def _drawn(recipe: str, seed: int) -> Iterator[Lead]:
    for number in count():
        drawn = _RECIPES[recipe](seed, number)
        origin = f"recipe {recipe}, seed {seed}, number {number}, kernelgauge {__version__}"
        yield Lead(f"{recipe}_{seed}_{number}_{drawn.name}", partial(_module, drawn, recipe, seed, number, origin))


def _module(drawn: Drawn, recipe: str, seed: int, number: int, origin: str) -> Module:
    return Module(
        name=f"{recipe}_{seed}_{number}_{drawn.name}",
        source=drawn.source,
        sizes=drawn.sizes,
        domains=drawn.domains,
        tags=drawn.tags,
        provenance=Provenance(kind="recipe", origin=origin, licence="MIT"),
    )

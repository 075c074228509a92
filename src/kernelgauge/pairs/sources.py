"""Where modules come from, by name: `recipe:fusion`, `folder:DIR`, `layers:torch`."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from importlib import metadata
from importlib.util import find_spec
from itertools import count
from pathlib import Path

from kernelgauge import __version__
from kernelgauge.errors import UsageError
from kernelgauge.pairs.extraction import Folder, Found, NotAlone
from kernelgauge.pairs.inference import inferred
from kernelgauge.pairs.layers import torch_layers
from kernelgauge.pairs.licences import checked, joined, licence_of_file, repository
from kernelgauge.pairs.module import Module, NoModule, Provenance, SourceKind
from kernelgauge.problems.recipes import fusion, variants
from kernelgauge.problems.recipes.drawn import Drawn

_RECIPES = {"fusion": fusion.draw, "variants": variants.draw}


@dataclass(frozen=True)
class Lead:
    """A module that may come about: its name, and how to make it."""

    name: str
    make: Callable[[], Module]
    """Raises NoModule."""
    endless: bool = False
    """Whether its source has no end."""


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


def finite(sources: Sequence[str]) -> list[str]:
    """Those of the sources that have an end."""
    return [source for source in sources if not source.startswith("recipe:")]


def check_sources(sources: Sequence[str], licence: str = "") -> None:
    """Raises UsageError where `leads` would."""
    for source in sources:
        _leads(source, 0, licence)


def _leads(source: str, seed: int, licence: str) -> Iterator[Lead]:
    kind, _, rest = source.partition(":")
    if kind == "recipe" and rest in _RECIPES:
        return _drawn(rest, seed)
    if kind == "folder" and rest:
        root = Path(rest).expanduser()
        return _extracted(Folder(root), "folder", rest, "", checked(root, licence) if root.is_dir() else "")
    if source == "layers:torch":
        return _layers()
    if source == "layers:torchvision":
        return _torchvision()
    raise UsageError(
        f"there is no source {source!r}: say recipe:fusion, recipe:variants, folder:DIR, layers:torch or "
        "layers:torchvision"
    )


def _layers() -> Iterator[Lead]:
    version = metadata.version("torch")
    for name, text in torch_layers():
        made = Provenance(kind="layers", origin=f"torch.nn.{name} of torch {version}", licence="BSD-3-Clause")
        lead = f"torch_{name}"
        yield Lead(lead, partial(inferred, lead, text, made, ("layer",)))


def _torchvision() -> Iterator[Lead]:
    """From its installed files, which are not imported."""
    found = find_spec("torchvision")
    if found is None or found.origin is None:
        raise UsageError("torchvision is not installed here: leave layers:torchvision out, or install it")
    version = metadata.version("torchvision")
    return _extracted(
        Folder(Path(found.origin).parent), "layers", "torchvision", f"torchvision {version}: ", "BSD-3-Clause"
    )


def _extracted(folder: Folder, kind: SourceKind, said: str, before: str, licence: str) -> Iterator[Lead]:
    """`said` is the folder as it was typed: the last names of two folders may be one."""
    address, commit = repository(folder.root) if kind == "folder" else ("", "")
    for found in folder.modules():
        made = Provenance(
            kind=kind,
            origin=f"{before}{found.path}:{found.line} {found.name}",
            repository=address,
            commit=commit,
            licence=licence,
        )
        lead = f"{said.rstrip('/')}/{found.path}:{found.name}"
        yield Lead(lead, partial(_alone, folder, found, lead, made))


def _alone(folder: Folder, found: Found, lead: str, made: Provenance) -> Module:
    """`made` names the folder's licence; the module is under those of all files that its text is from."""
    try:
        text, files = folder.alone(found)
    except NotAlone as error:
        raise NoModule(str(error)) from error
    licences = {path: licence_of_file(path, folder.root, made.licence) for path in files}
    if unknown := [path for path, licence in licences.items() if not licence]:
        where = unknown[0].relative_to(folder.root)
        raise NoModule(f"the licence nearest to {where} is none that is known")
    return inferred(lead, text, made.model_copy(update={"licence": joined(licences.values())}), ("extracted",))


def _drawn(recipe: str, seed: int) -> Iterator[Lead]:
    for number in count():
        drawn = _RECIPES[recipe](seed, number)
        origin = f"recipe {recipe}, seed {seed}, number {number}, kernelgauge {__version__}"
        name = f"{recipe}_{seed}_{number}_{drawn.name}"
        yield Lead(name, partial(_module, drawn, recipe, seed, number, origin), endless=True)


def _module(drawn: Drawn, recipe: str, seed: int, number: int, origin: str) -> Module:
    return Module(
        name=f"{recipe}_{seed}_{number}_{drawn.name}",
        source=drawn.source,
        sizes=drawn.sizes,
        domains=drawn.domains,
        tags=drawn.tags,
        provenance=Provenance(kind="recipe", origin=origin, licence="MIT"),
    )

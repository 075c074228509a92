"""The folder in which a set of pairs comes about: what was asked, every module looked at, every kernel judged."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import TracebackType
from typing import Self, TypeVar, get_args

from pydantic import Field

from kernelgauge import __version__
from kernelgauge.config import Protocol
from kernelgauge.errors import StoreError, UsageError
from kernelgauge.judging import arithmetic_of, check_secret
from kernelgauge.pairs.examination import Examined
from kernelgauge.pairs.row import Row
from kernelgauge.pairs.sources import check_sources
from kernelgauge.schema import FORMAT, KernelPolicyName, Record, Sizes
from kernelgauge.store import codec
from kernelgauge.store.disk import guarded, make_folder, read_text, write_whole
from kernelgauge.store.journal import Journal
from kernelgauge.store.lock import FolderLock

R = TypeVar("R", bound=Record)

_HEADER = "pairs.json"
_SIZES = frozenset(get_args(Sizes)) - {"pretrained"}


class Asked(Record):
    """`pairs.json`: what decides every row of a set, so that the same command goes on where one was stopped."""

    format: int = FORMAT
    kernelgauge: str
    sources: tuple[str, ...] = Field(min_length=1)
    """Such as `recipe:fusion`, `folder:src`, `layers:torch`."""
    seed: int
    sizes: tuple[Sizes, ...] = Field(min_length=1)
    maths: tuple[str, ...] = Field(min_length=1)
    negatives: float = Field(ge=0, lt=1)
    """Share of negative rows."""
    distance: float
    """The least from every problem of the built-in suite."""
    validation: float
    licence: str
    """Said of a folder's modules; empty: what its files say."""
    protocol: str
    protocol_digest: str
    kernel_policy: KernelPolicyName
    device: str


def asked_for(
    protocol: Protocol,
    device: str,
    *,
    sources: Sequence[str],
    seed: int,
    sizes: Sequence[str],
    maths: Sequence[str],
    negatives: float,
    distance: float,
    validation: float,
    licence: str,
) -> Asked:
    """What is asked, once it is known that it can be; see `Asked`.

    Raises:
        UsageError: unknown sources, sizes or arithmetics, a folder without a licence, or inputs that are no secret.
    """
    check_secret(protocol)
    check_sources(sources, licence)
    if unknown := set(sizes) - _SIZES:
        raise UsageError(f"there are no sizes {min(unknown)!r}: choose among {', '.join(sorted(_SIZES))}")
    for name in maths:
        protocol.under(arithmetic_of(name, None))
    return Asked(
        kernelgauge=__version__,
        sources=tuple(sources),
        seed=seed,
        sizes=tuple(sizes),  # type: ignore[arg-type]
        maths=tuple(maths),
        negatives=negatives,
        distance=distance,
        validation=validation,
        licence=licence,
        protocol=protocol.name,
        protocol_digest=protocol.digest,
        kernel_policy=protocol.kernel_policy,
        device=device,
    )


class Judged(Record):
    """One kernel that was asked for: its row, or why there is none."""

    format: int = FORMAT
    id: str
    row: Row | None = None
    dropped: str = ""
    """Why there is no row: no candidate, an equal of the right kernel, a verdict that did not repeat."""


class Workshop:
    """One such folder, open for one process. What is in it was finished; what was under way is not.

    Raises:
        StoreError: the folder holds something else or was asked something else, is in use, or cannot be written.
    """

    def __init__(self, path: Path, asked: Asked) -> None:
        self.path, self.asked = path, asked
        make_folder(path)
        self._lock = FolderLock(path)
        try:
            _check(path, asked)
            self._modules, self._verdicts = Journal(path / "modules.jsonl"), Journal(path / "judged.jsonl")
            for journal in (self._modules, self._verdicts):
                journal.mend()
            self.modules = {each.name: each for each in _read(self._modules, Examined)}
            self.judged = {each.id: each for each in _read(self._verdicts, Judged)}
        except BaseException:  # ctrl-C too: who never gets this object could not release its lock
            self._lock.release()
            raise

    @property
    def rows(self) -> list[Row]:
        """In the order in which they were judged."""
        return [each.row for each in self.judged.values() if each.row is not None]

    def keep_module(self, found: Examined) -> None:
        """Durable on return. Raises StoreError."""
        self._modules.append(codec.encode(found))
        self.modules[found.name] = found

    def keep(self, found: Judged) -> None:
        """Durable on return. Raises StoreError."""
        self._verdicts.append(codec.encode(found))
        self.judged[found.id] = found

    def structures(self) -> Mapping[str, str]:
        """Of the modules that were kept: the name by the structure."""
        return {each.structure: name for name, each in self.modules.items() if not each.refused}

    def close(self) -> None:
        self._modules.close()
        self._verdicts.close()
        self._lock.release()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def _check(path: Path, asked: Asked) -> None:
    """Write what is asked into a new folder; in one that is there, it must be the same."""
    file = path / _HEADER
    with guarded(path):
        names = sorted(entry.name for entry in path.iterdir())
    # Leftovers of a command that was killed when it began are no reason to refuse the folder.
    others = [name for name in names if name != "lock" and not name.endswith(".part")]
    if _HEADER in others:
        before = codec.decode(read_text(file), Asked, str(file))
        for name in Asked.model_fields:
            ours, theirs = getattr(before, name), getattr(asked, name)
            if name != "kernelgauge" and ours != theirs:
                raise StoreError(f"{path} was begun with {name} {ours!r}, not {theirs!r}; choose another folder")
    elif others:
        raise StoreError(f"{path} is not empty and no folder of pairs (it holds {others[0]}); choose another folder")
    else:
        write_whole(file, asked.model_dump_json(indent=2).encode() + b"\n")


def _read(journal: Journal, kind: type[R]) -> list[R]:
    return [codec.decode(text, kind, f"{journal.path}, line {number}") for number, text in journal.lines()]

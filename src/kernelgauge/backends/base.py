"""What a backend is: a kernel language, how it is built, and whether it can run here."""

from __future__ import annotations

import os
import re
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import resources
from pathlib import Path
from types import ModuleType
from typing import TYPE_CHECKING

from kernelgauge.backends.loading import import_file

if TYPE_CHECKING:
    from kernelgauge.backends.cache import BuildCache


# A line of a guide in whose place a text stands that several of them have.
_SHARED = re.compile(r"^<!-- (\w+) -->\n", re.MULTILINE)


@dataclass(frozen=True)
class Route:
    """One way to build a candidate."""

    name: str
    """`full` as its makers built it, `slim` with slim headers, `raw` without PyTorch's."""
    gigabytes: float
    """Memory its compilers take at most, all together."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Environment that makes the building process take this route."""
    visible: tuple[Path, ...] = ()
    """Folders of the cache that it reads."""


@dataclass(frozen=True)
class Backend:
    """A kernel language. Subclasses override what differs; the defaults are those of plain Python.

    `build` and `load` run inside a sealed process, everything else in the trusted parent.
    """

    name: str = ""
    title: str = ""
    """The language in the words of its makers, for prompts and people."""
    module: str = ""
    """What a file in this language imports, if that tells it from others: `triton.experimental.gluon`."""
    makers: tuple[str, ...] = ()
    """Last parts of the names below `module` that make a kernel of the function they decorate or are given."""
    kernel_names: tuple[str, ...] = ("{}",)
    """What its compiler calls the kernel of a function `{}`; `*` is what stands there for no function's name."""
    others_kernels: str = ""
    """How the names begin of kernels that its runtime or its packages bring or make; a pattern. Of a candidate's own
    kernel by such a name nobody knows that it is its own."""
    cpu_launchers: tuple[str, ...] = ()
    """Each `module:Class.method` by which an interpreter, a simulator or the like launches a kernel on a CPU; its
    first argument, or the `fn` of that, has the kernel's name. What a release lacks is passed over."""
    devices: tuple[str, ...] = ()
    """Where kernels in this language are kernels, and are asked for: `cpu`, `cuda`."""
    compiles: bool = False
    """Whether there is a build worth caching."""
    builds_on_host: bool = False
    """Whether its builds need no device, so that they can go on while another candidate is timed there."""
    compiles_ahead: bool = False
    """Whether its compilers have done all they do in the build, so that no call waits for one."""
    compiles_for_math: bool = False
    """Whether what its compiler makes serves one arithmetic alone (`config.MathMode`)."""
    fence: str = "python"
    """Language tag of its code blocks in a prompt."""
    variables: tuple[tuple[str, str], ...] = field(default=())
    """Environment variables the candidate's process needs."""

    def elsewhere(self, device: str) -> str | None:
        """Why nobody is asked for kernels in this language on `device`, in a sentence; None if that is its place."""
        if device not in self.devices:
            return f"backend {self.name} does not run on {device} (only on {', '.join(self.devices)})"
        return None

    def missing(self, device: str) -> str | None:
        """Why its candidates cannot be judged on `device` on this machine, in a sentence; None if they can."""
        return self.elsewhere(device)

    def cannot_build(self) -> str | None:
        """Why this machine cannot even compile for this backend, in a sentence; None if it can."""
        return None

    def environment(self, device: str, scratch: Path) -> dict[str, str]:
        """Variables for build and load processes; every cache a compiler keeps lies inside `scratch`."""
        return dict(self.variables)

    def libraries(self) -> tuple[Path, ...]:
        """Folders of headers that this machine's owner has named for candidates: every process may read them."""
        return ()

    def preload(self, source: str, device: str) -> tuple[str, ...]:
        """Modules worth importing once in the zygote before a process for this source is forked from it."""
        return ()

    def fingerprint(self) -> str:
        """What besides the source decides the result of a build: compilers, versions, flags."""
        return ""

    def builds(self, source: str, device: str) -> bool:
        """Whether a candidate of this text has something to build before it is called on this kind of device."""
        return self.compiles

    def rehearses(self, source: str, device: str) -> bool:
        """Whether the build of such a text is a rehearsal of its first call: of Triton, see `worker.rehearsal`."""
        return False

    def compiled_all(self, source: str, build_dir: Path | None) -> bool:
        """Whether a build has left a first call nothing to compile, and nothing to choose by trying."""
        return self.compiles_ahead

    def routes(self, source: str, builds: BuildCache) -> tuple[Route, ...]:
        """Ways to build this text, the fastest first; each gives way to the next by raising `extension.OtherRoute`.

        Args:
            builds: the cache for what the routes themselves need; called in the trusted parent.
        """
        return (Route("full", 1.6),)

    def build(self, path: Path, build_dir: Path) -> None:
        """Compile everything the candidate at `path` needs into `build_dir`; compiler errors are raised."""

    def load(self, path: Path, build_dir: Path | None) -> ModuleType:
        """Import the candidate, using what `build` left in `build_dir`."""
        return import_file(path, "candidate")

    def guide(self) -> str:
        """How to write a candidate in this language: Markdown for people and models alike."""
        guides = resources.files("kernelgauge.backends").joinpath("guides")

        def shared(comment: re.Match[str]) -> str:
            return guides.joinpath("shared", f"{comment[1]}.md").read_text()

        return _SHARED.sub(shared, guides.joinpath(f"{self.name}.md").read_text())

    def example(self) -> tuple[str, str]:
        """A worked pair: source of a reference problem and of a right candidate for it."""
        folder = resources.files("kernelgauge.backends").joinpath(f"examples/{self.name}")
        return folder.joinpath("reference.py").read_text(), folder.joinpath("candidate.py").read_text()

    def examples(self) -> list[tuple[str, str]]:
        """Several such pairs: of a fusion, a tiled product, an attention those that there are; else the one pair."""
        folder = resources.files("kernelgauge.backends").joinpath("examples/few_shot")
        pairs = [folder.joinpath(name) for name in ("gelu", "matmul", "attention")]
        told = [pair for pair in pairs if pair.joinpath(f"{self.name}.py").is_file()]
        shown = [(p.joinpath("reference.py").read_text(), p.joinpath(f"{self.name}.py").read_text()) for p in told]
        return shown or [self.example()]


def search_path() -> str:
    """PATH for sealed processes: this installation's own tools first, then the system's."""
    own = [str(Path(sys.executable).parent)]
    known = [entry for entry in os.environ.get("PATH", "").split(os.pathsep) if entry]
    return os.pathsep.join(dict.fromkeys([*own, *known, "/usr/local/bin", "/usr/bin", "/bin"]))

"""What a sealed process may read of the machine: installations, system libraries, compilers, its device.

Not home folders, run folders, the cache with what others have built and written, imported suites, other folders for
temporary files: a place is visible because it stands here, never because nobody thought of it. What lies in a home
folder and is needed (an interpreter, a virtual environment, a toolkit) is visible, and nothing beside it.
"""

from __future__ import annotations

import os
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from types import ModuleType

from kernelgauge.backends.base import search_path
from kernelgauge.kernels.toolkit import cuda_home
from kernelgauge.sandbox.landlock import ReadablePaths

_PROGRAMS = ("/usr", "/bin", "/sbin", "/lib", "/lib32", "/lib64", "/libx32", "/opt", "/nix/store", "/gnu/store")
_SETTINGS = (
    *("ld.so.cache", "ld.so.conf", "ld.so.conf.d", "ld.so.preload", "passwd", "group", "nsswitch.conf", "host.conf"),
    *("hosts", "protocols", "services", "gai.conf", "localtime", "timezone", "locale.alias", "locale.conf"),
    *("default/locale", "os-release", "debian_version", "mime.types", "alternatives", "python3", "nvidia", "OpenCL"),
    *("libibverbs.d", "ssl/openssl.cnf", "ssl/certs", "pki/tls/openssl.cnf", "crypto-policies"),
)
_KERNEL = (
    *("/proc", "/sys/devices", "/sys/bus", "/sys/class", "/sys/module", "/sys/dev", "/sys/fs/cgroup"),
    *("/sys/kernel/mm", "/sys/firmware/devicetree", "/sys/hypervisor"),
    *("/dev/null", "/dev/zero", "/dev/full", "/dev/random", "/dev/urandom"),
)
# A driver may lie here in a container.
_DRIVERS = ("/run/opengl-driver", "/run/nvidia/driver", "/run/nvidia-persistenced")
_TOOLS = ("c++", "g++", "gcc", "cc", "clang", "clang++", "ld", "as", "ninja", "nvcc", "ptxas", "ccache")
# Of an installation below a folder that may hold other things as well.
_LIBRARIES = ("lib", "lib32", "lib64", "libexec", "include")
_PARTS = (*_LIBRARIES, "bin", "share", "etc", "nvvm", "targets", "pyvenv.cfg")


def of_machine() -> list[str]:
    """What processes may read whatever they run: called in the trusted parent, whose environment names the places."""
    found = [*_PROGRAMS, *(f"/etc/{name}" for name in _SETTINGS), *_KERNEL, *_DRIVERS]
    found += map(str, Path("/etc").glob("python3.*"))
    home = cuda_home()
    found += [str(home)] if home else []
    for name in (*_TOOLS, os.environ.get("CXX"), os.environ.get("CC")):
        found += _installation(shutil.which(name, path=search_path())) if name else []
    # Not a home, though: whoever names that means the libraries in it, and no key.
    named = [entry for entry in os.environ.get("LD_LIBRARY_PATH", "").split(":") if entry.startswith("/")]
    found += [entry for entry in named if os.path.realpath(entry) not in ("/", os.path.realpath(Path.home()))]
    # How processes share a GPU, where a service for that runs.
    found.append(os.environ.get("CUDA_MPS_PIPE_DIRECTORY", "/tmp/nvidia-mps"))
    return list(dict.fromkeys(found))


def _installation(program: str | None) -> list[str]:
    """A program, and the folders of its installation that are not its neighbours' too."""
    if program is None:
        return []
    real = Path(program).resolve()
    if _beneath(str(real), _PROGRAMS):
        return []
    prefix = real.parent.parent
    libraries = [prefix / part for part in _LIBRARIES] + sorted(prefix.glob("*-linux-*"))
    return [program, str(real), *map(str, libraries if real.parent.name == "bin" else ())]


def of_python() -> ReadablePaths:
    """What Python itself and modules need, those that are imported later too: called where they are imported."""
    whole = [*_parts_of(sys.prefix), *_parts_of(sys.base_prefix), *_parts_of(sys.exec_prefix)]
    listed = []
    for entry in map(Path, filter(None, sys.path)):
        if entry.name in ("site-packages", "dist-packages") or _is_file(entry):
            whole.append(str(entry))
        elif not _beneath(str(entry), whole):  # somebody's project: what can be imported, not what lies beside it
            listed.append(str(entry))
            whole += map(str, _importable(entry))
    # Installed where no path says it: PyTorch and Triton from source, packages under development.
    for folder in (*_loaded_from(sys.modules.values()), *_under_development()):
        if not _beneath(folder, whole):
            whole.append(folder)
    return ReadablePaths(tuple(dict.fromkeys(whole)), tuple(listed))


def _parts_of(prefix: str) -> list[str]:
    # A virtual environment may be the folder of a project, and a system's prefix all there is.
    if prefix == sys.base_prefix != "/":
        return [prefix]
    return [str(Path(prefix, part)) for part in _PARTS]


def _importable(folder: Path) -> Iterator[Path]:
    for child in _children(folder):
        package = _is_file(child / "__init__.py") or child.suffix in (".dist-info", ".egg-info", ".libs")
        if package or child.suffix in (".py", ".pyc", ".so", ".pth"):
            yield child


def _is_file(path: Path) -> bool:
    try:
        return path.is_file()
    except OSError:  # closed to us: nothing can be imported from there
        return False


def _children(folder: Path) -> list[Path]:
    try:
        return sorted(folder.iterdir())
    except OSError:
        return []


def _loaded_from(modules: Iterable[ModuleType]) -> list[str]:
    tops = [module for module in list(modules) if "." not in getattr(module, "__name__", ".")]
    return [
        str(folder) for module in tops for folder in getattr(module, "__path__", ()) if Path(folder).is_absolute()
    ]


def _under_development() -> list[str]:
    """Packages that setuptools finds by a table instead of the path."""
    tables = (getattr(sys.modules.get(getattr(f, "__module__", "")), "MAPPING", {}) for f in sys.meta_path)
    return [str(folder) for table in tables if isinstance(table, dict) for folder in table.values()]


def _beneath(path: str, roots: Iterable[str]) -> bool:
    return any(path == root or path.startswith(root.rstrip("/") + "/") for root in roots)


def apart_from(view: ReadablePaths, private: Sequence[str]) -> ReadablePaths:
    """The same view without what is private: a place with such a thing beneath it is shown child by child.

    A place that is itself private, or beneath something private, stays: it was named because it is needed.
    """
    hidden = [os.path.realpath(place) for place in private]
    whole, split = set[str](), set[str]()
    roots = [os.path.realpath(path) for path in view.whole]
    waiting = list(roots)
    while waiting:
        path = waiting.pop()
        inner = [place for place in hidden if place != path and _beneath(place, [path])]
        if not inner:
            whole.add(path)
        elif path not in split:
            split.add(path)
            for child in map(os.path.realpath, _children(Path(path))):
                inside = _beneath(child, [path])
                # A link may lead anywhere: into what is hidden, or where no place was named.
                if not _beneath(child, inner if inside else hidden) and (inside or _beneath(child, roots)):
                    waiting.append(child)
    return ReadablePaths(_outermost(whole), tuple(sorted({*split, *map(os.path.realpath, view.listed)})))


def _outermost(paths: set[str]) -> tuple[str, ...]:
    """Those that are not beneath another: each costs some microseconds in every process."""
    kept: list[str] = []
    for path in sorted(paths, key=lambda path: path.split("/")):
        if not _beneath(path, kept[-1:]):
            kept.append(path)
    return tuple(kept)

"""Whether sdist and wheel hold what they must: `python .ci/contents.py dist`."""

import email
import sys
import tarfile
import zipfile
from fnmatch import filter
from pathlib import Path

ROOT = Path(__file__).parents[1]
LARGEST_MB = 5
# One of each kind of file that is no Python module: named, so that an empty src/ would not pass either.
NAMED = (
    "py.typed",
    "problems/level1/23_softmax.py",
    "protocols/strict.toml",
    "training/rewards/interval.toml",
    "schema/json/v*/evaluation.json",
)


def sources() -> set[str]:
    """Every file below src/, as it is named in a wheel."""
    src = ROOT / "src"
    files = (path.relative_to(src) for path in src.rglob("*") if path.is_file())
    return {path.as_posix() for path in files if "__pycache__" not in path.parts and ".egg-info" not in str(path)}


def lacking(dist: Path) -> list[str]:
    """What is wrong with the two files of this folder, a sentence each."""
    (wheel,), (sdist,) = dist.glob("*.whl"), dist.glob("*.tar.gz")
    with zipfile.ZipFile(wheel) as archive:
        names = set(archive.namelist())
        (about,) = (name for name in names if name.endswith(".dist-info/METADATA"))
        metadata = email.message_from_bytes(archive.read(about))
    within = {name for name in names if ".dist-info/" not in name}
    with tarfile.open(sdist) as archive:
        unpacked = {name.partition("/")[2] for name in archive.getnames()}
    due = sources()
    said = [f"the wheel lacks {name}" for name in sorted(due - within)]
    said += [f"the wheel holds {name}, which is not in src/" for name in sorted(within - due)]
    said += [f"the sdist lacks src/{name}" for name in sorted(due) if f"src/{name}" not in unpacked]
    said += [f"there is no {name} in src/" for name in NAMED if not filter(due, f"kernelgauge/{name}")]
    said += [f"the sdist lacks {name}" for name in ("pyproject.toml", "README.md", "LICENSE") if name not in unpacked]
    said += [f"the metadata has no {name}" for name in ("Summary", "License-Expression") if not metadata[name]]
    version = wheel.name.split("-")[1]
    if f'__version__ = "{version}"' not in (ROOT / "src" / "kernelgauge" / "__init__.py").read_text():
        said.append(f"the wheel is of version {version}, and the package of another")
    said += [f"{path.name} is larger than {LARGEST_MB} MB" for path in (wheel, sdist) if _mb(path) > LARGEST_MB]
    return said


def _mb(path: Path) -> float:
    return path.stat().st_size / 1e6


if __name__ == "__main__":
    found = lacking(Path(sys.argv[1]))
    print("\n".join(found) or f"sdist and wheel hold all {len(sources())} files of src/")
    sys.exit(bool(found))

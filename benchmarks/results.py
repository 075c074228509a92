"""Results that are committed: run folders become small JSON files, and the files a page.

    python benchmarks/results.py results/h200 aa=runs/aa baselines=runs/baselines inductor_strict=runs/inductor \
        throughput=runs/throughput.json headroom=runs/baselines+runs/inductor
    python benchmarks/results.py results/h200    # only write the page again

Each NAME=SOURCE is a run folder (of `aa.py`, `kernelgauge run`, `kernelgauge baseline`) or the JSON of
`throughput.py` or `gpu_memory.py`; it becomes FOLDER/NAME.json. `headroom` is made of several run folders of one
machine: who holds which problem, and what is left. Where FOLDER has a `peaks.json` (`kernelgauge doctor --measure
--json`), its bounds are by these; where it has a `baselines.jsonl.xz`, all records are compared with those.
`README.md` shows all such files of the folder, and `index.html`, which is not committed, a row for every problem as
well. The mode eager of baselines is the reference against a copy of itself: `aa=BASELINES` takes that. Needs no GPU
and no network, and no machine like the one that measured.
"""

from __future__ import annotations

import argparse
import json
from pathlib import Path
from typing import Any

from headroom_page import headroom
from page_blocks import Block, Heading, Paragraph, markdown, page
from result_files import as_text, shortened, small
from result_pages import blocks

from kernelgauge.errors import KernelgaugeError
from kernelgauge.schema import Baseline
from kernelgauge.store.baselines import read

LARGEST_BYTES = 150_000
"""Of one file: what is committed stays small."""
ORDER = ("aa", "contestant", "baselines", "throughput", "gpu_memory", "headroom")


def written(folder: Path, name: str, source: str) -> Path:
    """Turn one source into `folder/name.json`; for `headroom` several, with + between them.

    Raises SystemExit if that comes out too large to be committed.
    """
    if name == "headroom":
        peaks = folder / "peaks.json"
        sources = [Path(each) for each in source.split("+")]
        made = shortened(headroom(sources, peaks if peaks.exists() else None, _baselines(folder)))
    else:
        made = small(Path(source), name.startswith("aa"), _baselines(folder))
    text = as_text(made)
    if len(text.encode()) > LARGEST_BYTES:
        raise SystemExit(f"{source} becomes {len(text.encode())} bytes, more than {LARGEST_BYTES}: not written")
    path = folder / f"{name}.json"
    path.write_text(text)
    return path


def _baselines(folder: Path) -> list[Baseline]:
    """Those that are committed with the results of this machine."""
    path = folder / "baselines.jsonl.xz"
    return read(path) if path.exists() else []


def ours(folder: Path) -> dict[str, dict[str, Any]]:
    """The files of the folder that this program wrote, by name in the order of the page."""
    found = {path.stem: json.loads(path.read_text()) for path in sorted(folder.glob("*.json"))}
    known = {name: each for name, each in found.items() if isinstance(each, dict) and each.get("kind") in ORDER}
    return dict(sorted(known.items(), key=lambda pair: (ORDER.index(pair[1]["kind"]), pair[0])))


def parts(folder: Path) -> list[Block]:
    """The whole page of a folder."""
    files = ours(folder)
    made: list[Block] = [
        Heading(f"Measured: {folder.resolve().name}", 1),
        Paragraph(
            "Written by `python benchmarks/results.py` from the JSON files beside it, which hold a row for every "
            "problem. It also writes a page `index.html`, which is not committed and shows those too."
        ),
    ]
    for name, content in files.items():
        made += blocks(name, content)
    shown = {f"{name}.json" for name in files} | {"README.md", "index.html"}
    others = [path.name for path in sorted(folder.iterdir()) if path.is_file() and path.name not in shown]
    if others:
        made += [Heading("Other files"), Paragraph(", ".join(f"[{name}]({name})" for name in others) + ".")]
    return made


def main() -> None:
    """Write what is asked for, then the page."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("sources", nargs="*", metavar="NAME=SOURCE")
    options = parser.parse_args()
    options.folder.mkdir(parents=True, exist_ok=True)
    for each in options.sources:
        name, equals, source = each.partition("=")
        if not equals or not name.replace("_", "").replace(".", "").isalnum():
            parser.error(f"{each!r} is not NAME=SOURCE")
        try:
            path = written(options.folder, name, source)
        except KernelgaugeError as error:
            parser.exit(error.exit_code, f"{error}\n")
        print(f"{path}: {path.stat().st_size} bytes")
    made = parts(options.folder)
    (options.folder / "README.md").write_text(markdown(made))
    (options.folder / "index.html").write_text(page(f"kernelgauge: {options.folder.resolve().name}", made))
    print(f"{options.folder / 'README.md'}, {options.folder / 'index.html'}")


if __name__ == "__main__":
    main()

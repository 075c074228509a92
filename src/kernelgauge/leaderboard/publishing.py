"""A static site on the disk: all pages of a leaderboard, and their list, so that the next can take their place."""

from __future__ import annotations

import json
from pathlib import Path

from kernelgauge import __version__
from kernelgauge.errors import StoreError
from kernelgauge.leaderboard.static_site import Site
from kernelgauge.store.disk import guarded, make_folder, read_text, write_whole

LIST = "site.json"
"""The file that says which files of a folder are pages of ours."""


def publish(site: Site, folder: Path) -> int:
    """Write every page below `folder`, remove those of an earlier site that are no more, and return their number.

    Other files in the folder of an earlier site stay as they are.

    Raises:
        StoreError: the folder holds something else than a site, or cannot be written.
    """
    make_folder(folder)
    before = _listed(folder)
    paths = site.paths()
    # First of all, with the old ones: a site that was stopped half-way is still one of ours.
    _write_list(folder, sorted({*before, *paths}))
    for path in paths:
        target = folder / path
        make_folder(target.parent)
        content = site.page(path)
        assert content is not None
        with guarded(target):
            target.write_bytes(content)
    for path in before - set(paths):
        with guarded(folder / path):
            (folder / path).unlink(missing_ok=True)
            if (folder / path).parent != folder and not any((folder / path).parent.iterdir()):
                (folder / path).parent.rmdir()
    _write_list(folder, sorted(paths))
    return len(paths)


def _listed(folder: Path) -> set[str]:
    """The pages of the site that stands there. Raises StoreError if something else does."""
    file = folder / LIST
    with guarded(folder):
        if not file.exists():
            others = sorted(entry.name for entry in folder.iterdir())
            if others:
                raise StoreError(f"{folder} is not a site of ours (it holds {others[0]}); choose another folder")
            return set()
    try:
        pages = json.loads(read_text(file))["pages"]
        listed = {str(page) for page in pages}
    except (ValueError, KeyError, TypeError) as error:
        raise StoreError(f"{file} is not the list of a site's pages; choose another folder") from error
    for page in listed:
        if Path(page).is_absolute() or ".." in Path(page).parts:
            raise StoreError(f"{file} names {page!r}, which is not below {folder}; choose another folder")
    return listed


def _write_list(folder: Path, pages: list[str]) -> None:
    text = json.dumps({"kernelgauge": __version__, "pages": pages}, indent=0)
    write_whole(folder / LIST, text.encode() + b"\n")

"""Profiles beside a run: what `kernelgauge profile --json` printed, kept as files in its folder `profiles`."""

from __future__ import annotations

import json
from pathlib import Path

from pydantic import ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import StoreError
from kernelgauge.schema import Profile
from kernelgauge.store.disk import read_text

FOLDER = "profiles"

_ADDED = ("gaps", "launch_bound")
"""What a printed profile says beside its record."""

Key = tuple[str, str | None]
"""Problem and candidate's digest; None for the reference."""


def profiles(run: Path) -> dict[Key, Profile]:
    """The profiles in a run's folder `profiles`, each file one; the newest of each text. Empty without that folder.

    Raises StoreError naming the file that is none.
    """
    found = [_read(path) for path in sorted((run / FOLDER).glob("*.json"))]
    return {(each.problem, each.candidate_digest): each for each in sorted(found, key=lambda each: each.created)}


def _read(path: Path) -> Profile:
    try:
        said = json.loads(read_text(path))
        return Profile.model_validate({name: value for name, value in said.items() if name not in _ADDED})
    except ValidationError as error:
        raise StoreError(f"{path} is not a profile: {first_complaint(error)}") from None
    except (ValueError, AttributeError) as error:
        raise StoreError(f"{path} is not a profile as `kernelgauge profile --json` prints it: {error}") from None

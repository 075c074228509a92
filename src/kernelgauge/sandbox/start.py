"""`python -m kernelgauge.sandbox.start MODULE ARGUMENT...`: one of our programs, begun without looking for garbage.

What is imported stays, so there is none among it; looking for it takes a fifth of the time that PyTorch needs to be
imported, and a quarter of its compiler's.
"""

from __future__ import annotations

import gc
import os
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from importlib import import_module
from pathlib import Path


@contextmanager
def importing() -> Iterator[None]:
    """No garbage is looked for meanwhile, nor afterwards among what is there by then."""
    gc.disable()
    try:
        yield
    finally:
        gc.freeze()
        gc.enable()


def import_path() -> dict[str, str]:
    """The variable PYTHONPATH, if it is set, for a process that begins in another folder than this one."""
    folders = [folder for folder in os.environ.get("PYTHONPATH", "").split(os.pathsep) if folder]
    return {"PYTHONPATH": os.pathsep.join(str(Path(folder).absolute()) for folder in folders)} if folders else {}


def main() -> None:
    """Import the module named first and run its `main`, for which the arguments begin after that name."""
    with importing():
        module = import_module(sys.argv.pop(1))
    try:
        module.main()
    finally:
        gc.unfreeze()  # at the end extensions complain of what they have made and nobody takes apart


if __name__ == "__main__":
    main()

"""What judges a kernel of Triton without a GPU."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import h100_kernels
import pytest

from kernelgauge.config import Limits
from kernelgauge.session.session import Session


@pytest.fixture(scope="module")
def patient(cache_folder: Path) -> Iterator[Session]:
    """The interpreter takes seconds for what a GPU does in microseconds."""
    with Session(device="cpu", limits=Limits(hang_seconds=60.0)) as made:
        yield made


@pytest.fixture(scope="module")
def two_trials(tmp_path_factory: pytest.TempPathFactory) -> str:
    return h100_kernels.two_trials(tmp_path_factory.mktemp("protocol"))

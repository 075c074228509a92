"""What tests share: one cache folder and one session of the real evaluator, lasting as long as the tests do."""

from __future__ import annotations

import fcntl
import os
import signal
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from factories import REFERENCE, quick_protocol

from kernelgauge.hardware.environment import gpu

if TYPE_CHECKING:
    from kernelgauge.session.session import Session

pytest_plugins = ["rings", "scheduling", "databases", "winners"]

TURN_SECONDS = 3600
"""Of a test in a file that may have to wait for the GPU: waiting counts towards its time."""


def pytest_configure() -> None:
    """A shell has what it starts in the background ignore ctrl-C, and so would every command that tests interrupt."""
    if signal.getsignal(signal.SIGINT) == signal.SIG_IGN:
        signal.signal(signal.SIGINT, signal.default_int_handler)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests marked `gpu` skip by themselves where there is none; where there is one, their files take turns."""
    files = {item.path for item in items if item.get_closest_marker("gpu")}
    for item in items:
        if gpu() is not None and item.path in files:
            item.add_marker(pytest.mark.timeout(TURN_SECONDS))
        elif item.get_closest_marker("gpu"):
            item.add_marker(pytest.mark.skip(reason="no NVIDIA GPU: nvidia-smi lists none"))


@pytest.fixture(scope="module", autouse=True)
def waiting_for_the_gpu(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[None]:
    """Files with tests of the GPU wait for each other: their caches, and so their leases, are their own, and one of
    them holds nearly all of its memory."""
    here = [item for item in request.session.items if item.path == request.path]
    if gpu() is None or not any(item.get_closest_marker("gpu") for item in here):
        yield
        return
    with (tmp_path_factory.getbasetemp().parent / "gpu-turn").open("w") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


@pytest.fixture(scope="session", autouse=True)
def cache_folder(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The cache and the suites of every session and every command in these tests; never the user's own.

    What was built is there for all processes of pytest-xdist: slim headers alone take ten seconds to make.
    """
    own = tmp_path_factory.getbasetemp()
    builds = (own.parent if "PYTEST_XDIST_WORKER" in os.environ else own) / "builds"
    builds.mkdir(exist_ok=True)
    with pytest.MonkeyPatch.context() as patch:
        folder = tmp_path_factory.mktemp("cache")
        (folder / "builds").symlink_to(builds)
        patch.setenv("KERNELGAUGE_CACHE", str(folder))
        patch.setenv("KERNELGAUGE_SUITES", str(folder / "suites"))
        yield folder


@pytest.fixture(scope="session")
def session(cache_folder: Path) -> Iterator[Session]:
    """In that cache, whichever a file has set for itself when its first test asks for this."""
    from kernelgauge.session.session import Session  # here: the process that only hands out tests needs no PyTorch

    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("KERNELGAUGE_CACHE", str(cache_folder))
        made = Session(device="cpu")
    with made:
        yield made


@pytest.fixture(scope="session")
def quick(tmp_path_factory: pytest.TempPathFactory) -> str:
    """The file of a protocol that needs few calls."""
    path = tmp_path_factory.mktemp("protocol") / "quick.toml"
    path.write_text(quick_protocol())
    return str(path)


@pytest.fixture
def problem(tmp_path: Path) -> str:
    """A reference file of one's own."""
    path = tmp_path / "scaled.py"
    path.write_text(REFERENCE)
    return str(path)

"""What adapters are tested against: a real server whose judge is on the CPU."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")

from serving import Server


@pytest.fixture(scope="module")
def server(tmp_path_factory: pytest.TempPathFactory, quick: str) -> Iterator[Server]:
    """Its tests may end it: it is begun again with the next file."""
    made = Server(tmp_path_factory.mktemp("server"), quick)
    try:
        yield made
    finally:
        made.end()
        made.engine.dispose()

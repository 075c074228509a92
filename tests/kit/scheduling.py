"""Which process of pytest-xdist runs which tests, and when: a run is as long as what ends last in it.

Files run side by side, each in one process, so that a fixture of minutes is made once. Where each case takes
seconds and shares no more than a session with the others, it goes by itself.
"""

from __future__ import annotations

from typing import Any

import pytest
from rings import ROOT

APART = ("tests/verification/test_every_problem.py",)
FIRST = ("tests/selftest/test_specimens.py",)
"""Minutes in one fixture where a defence has changed: begun among the last, the others would wait for it alone."""


def scope(name: str) -> str:
    """What runs in one process together with the test of this id: its file, or it alone."""
    path = name.partition("::")[0]
    return name if path in APART else path


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    first = {ROOT / name for name in FIRST}
    items.sort(key=lambda item: item.path not in first)


@pytest.hookimpl(optionalhook=True)
def pytest_xdist_make_scheduler(config: pytest.Config, log: Any) -> Any:
    if config.getoption("dist") != "loadfile":
        return None
    from xdist.scheduler import LoadFileScheduling

    class Scheduling(LoadFileScheduling):
        def _split_scope(self, nodeid: str) -> str:
            return scope(nodeid)

    return Scheduling(config, log)

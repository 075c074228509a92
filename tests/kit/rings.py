"""Which tests run when: the rings `fast`, `test` and `nightly`.

`fast` leaves out every test marked `processes`. `test` leaves out a test marked `proof` whose subject is what it was
when the test last passed, unless it is its turn: of each family a few run every day, so that within two weeks every
proof has run. `nightly` runs everything. A test that is named by its full id runs in every ring.
"""

from __future__ import annotations

import hashlib
import json
import os
import sys
import time
from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import pytest

TESTS = Path(__file__).parents[1]
ROOT = TESTS.parent
PACKAGE = ROOT / "src" / "kernelgauge"
DAYS = 14
"""In so many days every proof has its turn, unless its mark says otherwise."""
ROOMS = "rooms"
"""The family of proofs that name none: were each room one, a room of one unit would have its turn every day."""
RECORD = TESTS / "proven.json"
"""What `make nightly` has proven: by test function and case, the digest of the subject."""
ROTATION = "KERNELGAUGE_TEST_ROTATION"
"""The variable that says whose turn it is: a whole number, by default the day."""
RINGS = ("fast", "test", "nightly")
FAILED = "failed"
"""In place of a digest: it runs until it passes, whatever was proven before."""

_REMEMBERED = "kernelgauge/proven"
_SECONDS_A_DAY = 86400
_STARTS = {"subprocess.Popen", "os.fork", "os.forkpty", "os.posix_spawn", "os.spawn", "os.system"}
_PROPERTY = "proof"

Proven = dict[str, dict[str, str]]


@dataclass(frozen=True)
class Proof:
    """A test marked `proof`: what it is about, and with which others it takes turns."""

    digest: str
    """Of its subject: the files it is about, its own file, its text, and PyTorch's version."""
    family: str
    unit: str
    """What has its turn together: tests that share a fixture of minutes, or else this one alone."""
    days: int
    """In so many days all of its family have their turn."""

    @classmethod
    def of(cls, item: pytest.Item) -> Proof | None:
        """None for a test that is not marked."""
        marks = list(item.iter_markers("proof"))
        if not marks:
            return None
        said: dict[str, Any] = {}
        for mark in reversed(marks):  # the nearest has the last word
            said |= mark.kwargs
        room = item.path.relative_to(TESTS).parts[0]
        named = sorted({path for mark in marks for path in mark.args})
        places = [_place(path) for path in named or ([] if "text" in said else [room])]
        texts = [_digest(place) for place in (*places, item.path)]
        if any(str(folder) in str(said.get("text", "")) for folder in (PACKAGE, TESTS)):
            raise pytest.UsageError(f"{item.nodeid}: its text names a folder in {ROOT}: no other checkout has it")
        pytorch = version("torch").partition("+")[0]  # behind the plus is what the wheel was built for
        whole = json.dumps([texts, said.get("text", ""), pytorch])
        digest = hashlib.sha256(whole.encode()).hexdigest()[:16]
        return cls(digest, said.get("family", ROOMS), said.get("unit", item.nodeid), said.get("days", DAYS))


def _place(path: str) -> Path:
    """A room, file or folder of the package, or else of the repository."""
    for place in (PACKAGE / path, ROOT / path):
        if place.exists():
            return place
    raise pytest.UsageError(f"a test is marked as a proof of {path}, which does not exist")


@cache
def _digest(place: Path) -> str:
    """Of a file, or of all files below a folder, by their names and contents."""
    files = [place] if place.is_file() else sorted(each for each in place.rglob("*") if each.is_file())
    found = hashlib.sha256()
    for each in files:
        if "__pycache__" not in each.parts:
            found.update(f"{each.relative_to(ROOT)}\0".encode() + hashlib.sha256(each.read_bytes()).digest())
    return found.hexdigest()


def in_turn(waiting: Sequence[str], days: int, rotation: int) -> set[str]:
    """Those whose turn it is: in so many days in a row, all of them have theirs."""
    count = len(waiting)
    each = -(-count // days)
    return {waiting[(rotation * each + number) % count] for number in range(each)}


def unchanged(proofs: dict[str, Proof], proven: Sequence[Proven], rotation: int) -> set[str]:
    """The tests, by id, whose subject is as it was when they last passed, and whose turn it is not."""
    waiting: dict[str, dict[str, list[str]]] = defaultdict(lambda: defaultdict(list))
    for name, proof in proofs.items():
        function, case = _split(name)
        known = {each.get(function, {}).get(case) for each in proven}
        if proof.digest in known and FAILED not in known:
            waiting[proof.family][proof.unit].append(name)
    out: set[str] = set()
    for units in waiting.values():
        mixed = sorted(units, key=lambda unit: hashlib.sha256(unit.encode()).digest())
        days = min(proofs[name].days for names in units.values() for name in names)
        turn = in_turn(mixed, days, rotation)
        out.update(name for unit in mixed if unit not in turn for name in units[unit])
    return out


def _split(name: str) -> tuple[str, str]:
    """The id of a test function, and which of its cases."""
    function, _, case = name.partition("[")
    return function, case.removesuffix("]")


def _marked(item: pytest.Item, *names: str) -> bool:
    return any(item.get_closest_marker(name) for name in names)


def _remembered(config: pytest.Config) -> Proven:
    """What has passed in this working tree, by pytest's cache; nothing where that is switched off."""
    cache = getattr(config, "cache", None)
    return cache.get(_REMEMBERED, {}) if cache is not None else {}


def _read(path: Path) -> Proven:
    return json.loads(path.read_text()) if path.is_file() else {}


# ---------------------------------------------------------------- what pytest calls


def pytest_addoption(parser: pytest.Parser) -> None:
    group = parser.getgroup("rings")
    group.addoption("--ring", choices=RINGS, default="test", help="which tests run (docs/contributing.md)")
    group.addoption("--record-proofs", action="store_true", help=f"write what was proven to {RECORD.name}")


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    # Said once, for all processes of pytest-xdist: a run may last beyond midnight.
    os.environ.setdefault(ROTATION, str(int(time.time()) // _SECONDS_A_DAY))
    config.stash[_RECORDER] = recorder = _Recorder(config)
    config.pluginmanager.register(recorder)
    if config.getoption("ring") == "fast":
        config.pluginmanager.register(_NoProcesses())


def pytest_report_header(config: pytest.Config) -> str:
    rotation = os.environ[ROTATION]
    return f"ring {config.getoption('ring')}, rotation {rotation} ({ROTATION}={rotation} repeats it)"


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    ring = config.getoption("ring")
    found = {item.nodeid: proof for item in items if (proof := Proof.of(item))}
    for item in items:
        if item.nodeid in found:
            item.user_properties.append((_PROPERTY, found[item.nodeid].digest))
    named = any("::" in argument for argument in config.args)
    out: set[str] = set()
    if ring == "fast" and not named:
        out = {item.nodeid for item in items if item.nodeid in found or _marked(item, "processes", "nightly")}
    if ring == "test" and not named:
        out = {item.nodeid for item in items if _marked(item, "nightly")}
        out |= unchanged(found, [_read(RECORD), _remembered(config)], int(os.environ[ROTATION]))
    config.stash[_RECORDER].count(ring, len(out), len(found.keys() - out))
    config.hook.pytest_deselected(items=[item for item in items if item.nodeid in out])
    items[:] = [item for item in items if item.nodeid not in out]


class _Recorder:
    """Keeps which proofs passed, in pytest's cache and on request in the record; says how many were left out."""

    def __init__(self, config: pytest.Config):
        self._config = config
        self._passed: Proven = defaultdict(dict)
        self._failed: set[str] = set()
        self._said = ""

    def count(self, ring: str, left: int, proofs: int) -> None:
        if ring == "test":
            self._said = f"{proofs} proofs ran; {left} are left to `make nightly`: unchanged since they last passed"
        elif ring == "fast":
            self._said = f"{left} tests that start processes are left to `make test`"
        if hasattr(self._config, "workeroutput"):
            self._config.workeroutput["rings"] = self._said

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        self._said = getattr(node, "workeroutput", {}).get("rings", self._said)

    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        digest = dict(report.user_properties).get(_PROPERTY)
        if digest is None:
            return
        function, case = _split(report.nodeid)
        if report.failed:
            self._failed.add(report.nodeid)
        elif report.when == "call" and report.passed:
            self._passed[function][case] = str(digest)

    def pytest_sessionfinish(self, session: pytest.Session) -> None:
        if hasattr(self._config, "workerinput"):
            return  # the process that has all reports does it
        places: list[Proven] = [_remembered(self._config)]
        if self._config.getoption("record_proofs"):
            places.append(_read(RECORD))
        for known in places:
            for function, cases in self._passed.items():
                known.setdefault(function, {}).update(cases)
            for name in self._failed:
                function, case = _split(name)
                known.setdefault(function, {})[case] = FAILED
        if getattr(self._config, "cache", None) is not None:
            self._config.cache.set(_REMEMBERED, places[0])
        if len(places) == 2:
            _write(RECORD, places[1])

    def pytest_terminal_summary(self, terminalreporter: Any) -> None:
        if self._said:
            terminalreporter.write_line(f"ring {self._config.getoption('ring')}: {self._said}")


_RECORDER = pytest.StashKey[_Recorder]()


def _write(path: Path, proven: Proven) -> None:
    """One line a test function, so that a difference can be read; a digest once, with the cases that share it."""
    lines = []
    for function in sorted(proven):
        lines.append(f"{json.dumps(function)}: {json.dumps(dict(sorted(proven[function].items())))}")
    path.write_text("{\n" + ",\n".join(lines) + "\n}\n")


class _NoProcesses:
    """In the ring `fast` a test that starts a process fails, and says what to do about it."""

    def __init__(self) -> None:
        self._running = False
        sys.addaudithook(self._seen)

    def _seen(self, event: str, _: object) -> None:
        if self._running and event in _STARTS:
            raise RuntimeError(f"a test of the ring `fast` starts a process ({event}): mark it `processes`")

    @pytest.hookimpl(hookwrapper=True)
    def pytest_runtest_protocol(self) -> Iterator[None]:
        self._running = True
        yield
        self._running = False

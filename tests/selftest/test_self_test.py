"""The verb `selftest`: which specimens, what it says of them, and how it ends."""

from __future__ import annotations

import json
import os
import re
import signal
import subprocess
import sys
import threading
from dataclasses import replace
from importlib import resources
from pathlib import Path
from types import SimpleNamespace
from typing import cast

import pytest
from typer.testing import CliRunner
from waiting import comes_true

import kernelgauge.selftest.self_test
from kernelgauge.cli.main import app
from kernelgauge.errors import UsageError
from kernelgauge.evaluation.measurement.samples import NS_PER_MS, Samples
from kernelgauge.schema import Evaluation, Outcome
from kernelgauge.selftest.self_test import LIMITS, _mistimed, chosen, selftest
from kernelgauge.selftest.specimens import KEYS, specimens
from kernelgauge.session.session import Session

pytestmark = pytest.mark.processes

run = CliRunner().invoke


def test_one_specimen_as_json(cache_folder: Path) -> None:
    done = run(app, ["selftest", "--only", "zeros", "--json"])
    assert done.exit_code == 0, done.output
    told = json.loads(done.stdout)
    (finding,) = told["specimens"]
    assert (finding["name"], finding["verdict"], finding["got"]) == ("zeros", "as due", "wrong_value")
    assert told["left_behind"] == []


@pytest.mark.proof("selftest/self_test.py", "cli")
def test_an_interrupted_one_says_what_it_has_judged(cache_folder: Path) -> None:
    """The real command, on a terminal that shows how far it is."""
    shown, theirs = os.openpty()
    line = [sys.executable, "-m", "kernelgauge", "selftest", "--only", "correctness", "--jobs", "1", "--json"]
    wide = {**os.environ, "COLUMNS": "200"}
    running = subprocess.Popen(line, stdout=subprocess.PIPE, stderr=theirs, text=True, env=wide)
    os.close(theirs)
    anywhere = [f"{each.kind}/{each.name}".encode() for each in chosen("correctness") if "needs" not in each.header]
    told = bytearray()
    reader = threading.Thread(target=read_to_its_end, args=(shown, told))
    reader.start()
    try:
        assert comes_true(lambda: any(name in told for name in anywhere), 100), told.decode()
        running.send_signal(signal.SIGINT)
        said, _ = running.communicate(timeout=60)
    finally:
        running.kill()
        reader.join()
        os.close(shown)
    judged = json.loads(said)["specimens"]
    assert running.returncode == 130
    assert "as due" in {each["verdict"] for each in judged} <= {"as due", "skipped"}, said
    counted = re.search(rb"(\d+) of (\d+) specimens were judged", told)
    assert counted and int(counted[1]) == len(judged) < int(counted[2]) == len(chosen("correctness"))
    assert b"Traceback" not in told


def read_to_its_end(terminal: int, into: bytearray) -> None:
    """A terminal has an error at its end: nobody writes to it any more."""
    try:
        while some := os.read(terminal, 65536):
            into += some
    except OSError:
        return


def test_specimens_of_strict_are_judged_by_the_protocol_that_is_named(cache_folder: Path, tmp_path: Path) -> None:
    """Under a tolerance of one percent half precision passes: that is what the protocol of one's own would accept."""
    text = resources.files("kernelgauge.protocols").joinpath("strict.toml").read_text()
    own = tmp_path / "lax.toml"
    lax = text.replace('"strict"', '"lax"').replace("multiple = 16.0", "multiple = 1e6").replace("= 32.0", "= 1e6")
    own.write_text(lax)
    done = CliRunner().invoke(app, ["selftest", "--only", "half_precision", "--protocol", str(own)])
    assert done.exit_code == 1 and "passed where wrong_precision is due" in " ".join(done.stdout.split())
    done = CliRunner().invoke(app, ["selftest", "--only", "half_precision", "--protocol", "none.toml"])
    assert isinstance(done.exception, UsageError) and "none.toml does not exist" in str(done.exception)


def test_a_verdict_that_is_not_due_is_shown_and_ends_with_one(
    cache_folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (zeros,) = chosen("zeros")
    monkeypatch.setattr(kernelgauge.selftest.self_test, "specimens", lambda: [replace(zeros, outcome=Outcome.PASSED)])
    done = run(app, ["selftest"])
    assert done.exit_code == 1, done.output
    assert "cheats/zeros (correctness/constant): wrong_value where passed is due" in done.stdout
    assert "relative error" in done.stdout


@pytest.mark.proof("selftest/self_test.py", "cli")
def test_a_time_that_was_forged_deviates(cache_folder: Path) -> None:
    """Honest work for which no time below ten seconds is believed."""
    (copy,) = chosen("same_operations")
    slow = replace(copy, header={**copy.header, "time": "10000 ms"})
    with Session(threads=1, limits=LIMITS) as session:
        (finding,) = selftest(session, [slow], "cpu")
    assert finding.verdict == "deviates" and "where no call takes less than 10000 ms" in finding.why


@pytest.mark.parametrize(("name", "speedup"), [("shaved_events", 1.3), ("patched_clock", 2.5)])
def test_a_time_is_forged_from_the_speedup_on_that_its_header_says(name: str, speedup: float) -> None:
    (specimen,) = chosen(name)
    for found, forged in ((speedup, True), (0.9 * specimen.forged_speedup, False)):
        timing = SimpleNamespace(speedup=found, candidate_samples_ms=(1.0,))
        record = cast(Evaluation, SimpleNamespace(timing=timing, standing="faster"))
        assert ("its time was forged" in _mistimed(specimen, record)) is forged


@pytest.mark.proof("selftest/self_test.py", "cli")
def test_a_clock_that_was_believed_would_show(cache_folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The parent's clock is what stops it: by the worker's own word the same specimen deviates."""

    def by_their_word(self: Samples) -> tuple[list[float], list[float]]:
        sides = (self.reference, self.candidate)  # at least a millisecond: from nothing on, no interval is narrow
        ours, theirs = ([max(each.forward_ns / NS_PER_MS, 1.0) for each in side] for side in sides)
        return ours, theirs

    monkeypatch.setattr(Samples, "_bracketed", by_their_word)
    monkeypatch.setattr(Samples, "too_short", lambda self: False)
    # On a busy machine what stagings could hide is more than that millisecond: another defence.
    monkeypatch.setattr(Samples, "_staging_error_ns", lambda self: 0.0)
    with Session(threads=1, limits=LIMITS) as session:
        (finding,) = selftest(session, chosen("patched_clock"), "cpu")
    assert finding.verdict == "deviates" and "its time was forged" in finding.why


def test_only_takes_a_class_an_area_a_kind_or_a_name() -> None:
    everything = specimens()
    assert chosen(None) == everything
    assert {s.area for s in chosen("timing")} == {"timing"}
    assert {s.header["class"] for s in chosen("timing/lazy_tensor")} == {"timing/lazy_tensor"}
    assert {s.kind for s in chosen("honest")} == {"honest"}
    assert [s.name for s in chosen("cheats/zeros")] == ["zeros"]


def test_what_is_not_there_is_refused() -> None:
    done = run(app, ["selftest", "--only", "no_such"])
    assert isinstance(done.exception, UsageError) and "no_such" in str(done.exception)


def test_a_specimen_that_needs_another_machine_is_skipped(cache_folder: Path) -> None:
    (zeros,) = chosen("zeros")
    elsewhere = [replace(zeros, header={**zeros.header, "needs": needs}) for needs in ("cuda", "no_such_module")]
    with Session(threads=1, limits=LIMITS) as session:
        for specimen in elsewhere:
            (finding,) = selftest(session, [specimen], "cpu")
            assert finding.verdict == "skipped" and str(specimen.header["needs"]) in finding.why


def test_headers_say_nothing_but_what_is_known() -> None:
    for specimen in specimens():
        assert set(specimen.header) <= set(KEYS)
        assert opens_with_a_sentence(specimen.source), f"{specimen.name} does not say what it does"


def opens_with_a_sentence(source: str) -> bool:
    """Whether a file opens with a sentence about itself."""
    first = source.splitlines()[0]
    return first.startswith("# ") and first[2].isupper() and len(first.split()) > 1

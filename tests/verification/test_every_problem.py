"""Every problem of the suite through `problems verify`: as published, and as it was when it was recorded.

In a file of its own: its text belongs to what 270 proofs are about.
"""

from __future__ import annotations

import pytest
from import_graph import parts

from kernelgauge.problems import catalogue
from kernelgauge.problems.facts import facts
from kernelgauge.problems.loader import load_problem
from kernelgauge.problems.verified import verified
from kernelgauge.session.session import Session
from kernelgauge.verification.verify import verify

pytestmark = pytest.mark.processes

HEAVY = {
    f"3/{number}"
    for number in (5, 7, 9, 10, 11, 12, 15, 16, 19, 20, 22, 23, 24, 26, 29, 30, 35, 36, 37, 38, 39, 40, 41, 42)
}
"""Whole networks and long recurrences, eight seconds and more each, like level 4."""

VERIFIER = (
    *parts("worker.describer", "worker", "wire"),
    *parts("verification.verify", "verification"),
    "evaluation/resources/description.py",
    "evaluation/sides/problem_process.py",
    "problems/constants.py",
    "problems/facts.py",
    "problems/loader.py",
    "problems/sizes.py",
)
"""What finds a problem sound: it describes it, runs it, and compares both with what is on record."""


def as_a_proof(key: str) -> pytest.ParameterSet:
    """Heavy ones run at once only where their own text has changed: all of them take too long for `make test`."""
    entry = catalogue.entry(key)
    recorded = verified(key)
    found = recorded and recorded.fingerprints  # what it accepts without the work is not looked for here
    text = repr([load_problem(key).digest, entry.model_dump_json(), facts(entry.level, entry.number), found])
    if key in HEAVY or entry.level == 4:
        return pytest.param(key, marks=pytest.mark.proof(text=text, family="heavy problems", days=60))
    return pytest.param(key, marks=pytest.mark.proof(*VERIFIER, text=text, family="problems"))


@pytest.mark.parametrize("key", [as_a_proof(key) for key in catalogue.keys([1, 2, 3, 4])])
def test_problem_is_as_published_and_has_not_changed(key: str, session: Session) -> None:
    if key.startswith("4/"):
        pytest.importorskip("transformers", reason="transformers (the extra level4) is not installed")
    finding = verify(session, key)
    assert finding.broken == ()
    assert set(finding.fingerprints) == {"small", "odd"}
    recorded = verified(key)
    assert recorded is not None, "run `kernelgauge problems verify --record` after adding a problem"
    assert set(recorded.fingerprints) == {"small", "odd"}

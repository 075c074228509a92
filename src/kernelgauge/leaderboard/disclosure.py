"""What of a record anybody may read: its figures and our own words, never what a candidate's process has said.

A worker can read what the user of its judge can read, and whatever it prints or raises ends in the log and in the
reason of its record. Those are for whoever handed the candidate in.
"""

from __future__ import annotations

from kernelgauge.schema import Evaluation, Outcome
from kernelgauge.schema.rules import Finding

_WORDS = {
    Outcome.PASSED: "",
    Outcome.BUILD_FAILED: "It could not be built.",
    Outcome.LOAD_FAILED: "It could not be loaded.",
    Outcome.RUNTIME_ERROR: "It failed while it ran.",
    Outcome.WRONG_SHAPE: "An output has another number, shape or type than the reference's.",
    Outcome.WRONG_VALUE: "An output has wrong values.",
    Outcome.WRONG_PRECISION: "An output is less precise than the protocol allows.",
    Outcome.TIMED_OUT: "It did not answer in time.",
    Outcome.OUT_OF_MEMORY: "It took more memory than there is.",
}
_SEEN = "seen while it ran"


def public(record: Evaluation) -> Evaluation:
    """The record without log, exceptions, names of what ran, and values of outputs."""
    reason = _WORDS.get(record.outcome, f"It was refused by the rule {record.rule}.")
    trials = tuple(trial.model_copy(update={"difference": None}) for trial in record.trials)
    findings = tuple(_in_our_words(finding) for finding in record.findings)
    return record.model_copy(
        update={"reason": reason, "log": "", "trials": trials, "findings": findings, "executed": None, "notes": ()}
    )


def _in_our_words(finding: Finding) -> Finding:
    """What the text shows stays, as texts are public; what a run has shown is the word of its process."""
    if not finding.evidence:
        return finding
    return finding.model_copy(update={"reason": f"the rule {finding.rule}", "evidence": _SEEN})

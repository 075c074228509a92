"""Records and protocols from before their fields were renamed: read, compared and gone on with as before."""

from __future__ import annotations

import json
import tarfile
from pathlib import Path
from typing import Any

import pytest
from factories import make_evaluation, make_header, make_timing

from kernelgauge.config import Protocol, load_protocol
from kernelgauge.errors import StoreError, UsageError
from kernelgauge.models.setting import TaskSetting
from kernelgauge.schema import Attempt, AttemptRecord, Evaluation, NoCandidate, RunHeader, Timing
from kernelgauge.schema.earlier import protocol_as_first_named, protocol_renamed, to_format_2
from kernelgauge.store import Run, codec

H200 = Path(__file__).parents[2] / "results" / "h200" / "runs.tar.xz"

EVALUATION = {
    "kernel_policy": "rules",
    "executed": "ran",
    "weight_sync": "route",
    "trivial_answers": "trivial",
    "scored": "counts",
    "baseline_speedups": "over",
}
TIMING = {
    "post_call_ms": "late_work_ms",
    "unreported_ms": "excess_ms",
    "clock_uncertainty_ms": "unnoticed_ms",
    "batch_calls": "streak",
    "underreported_ms": "withheld_ms",
    "batched_speedup": "streak_speedup",
}


def a_record() -> Evaluation:
    facts = {"batch_calls": 8, "batched_speedup": 1.4, "underreported_ms": 0.1, "post_call_ms": 0.2}
    facts |= {"unreported_ms": 0.3, "clock_uncertainty_ms": 0.4}
    timing = make_timing(1.5).model_copy(update=facts)
    return make_evaluation(
        timing=timing, kernel_policy="default", weight_sync="state_dict", trivial_answers=("zeros",)
    )


def older(record: Evaluation) -> dict[str, Any]:
    """The record as format 1 had it."""
    data = json.loads(codec.encode(record)) | {"format": 1}
    data["timing"] = {TIMING.get(name, name): value for name, value in data["timing"].items()}
    return {EVALUATION.get(name, name): value for name, value in data.items()}


def decoded(data: object, kind: Any) -> Any:
    return codec.decode(json.dumps(data), kind, "here")


def test_an_evaluation_of_format_1_is_the_same_record() -> None:
    record = a_record()
    assert set(EVALUATION.values()) <= set(older(record)) and set(TIMING.values()) <= set(older(record)["timing"])
    assert decoded(older(record), Evaluation) == record
    assert json.loads(codec.encode(decoded(older(record), Evaluation)))["format"] == 2, "written anew, it is format 2"


def test_the_same_names_elsewhere_are_left_alone() -> None:
    record = older(a_record()) | {"seconds": {"counts": 1.0, "over": 2.0, "streak": 3.0}, "notes": ["ran", "rules"]}
    found = decoded(record, Evaluation)
    assert found.seconds == {"counts": 1.0, "over": 2.0, "streak": 3.0} and found.notes == ("ran", "rules")


def test_format_2_takes_no_name_of_format_1() -> None:
    with pytest.raises(StoreError, match="Extra inputs are not permitted"):
        decoded(older(a_record()) | {"format": 2}, Evaluation)


def test_an_evaluation_within_an_attempt_is_migrated_too() -> None:
    record = a_record()
    attempt = {"answer": "no", "evaluation": older(record)}
    row = {"format": 1, "problem": "1/1", "problem_digest": "0" * 16, "sample": 0, "number": 0, "attempt": attempt}
    assert decoded(row, AttemptRecord).attempt.evaluation == record
    assert Attempt.model_validate(to_format_2(attempt, Attempt)).evaluation == record, "as a log of Inspect holds it"
    new = json.loads(Attempt(answer="no", evaluation=record).model_dump_json())
    assert to_format_2(new, Attempt) == new


def test_headers_and_missing_candidates_of_format_1() -> None:
    header = json.loads(make_header(kernel_policy="any").model_dump_json()) | {
        "format": 1,
        "rules": "kernel-required",
    }
    del header["kernel_policy"]
    assert decoded(header, RunHeader).kernel_policy == "kernel-required"
    said = {"format": 1, "problem": "1/1", "contestant": "someone", "reason": "none", "counts": False}
    assert not decoded(said, NoCandidate).scored


def test_a_run_from_before_goes_on(tmp_path: Path) -> None:
    header = make_header(kernel_policy="default")
    Run.create(tmp_path / "run", header).close()
    file = tmp_path / "run" / "run.json"
    data = json.loads(file.read_text()) | {"format": 1, "rules": "default"}
    del data["kernel_policy"]
    file.write_text(json.dumps(data))
    with Run.create_or_resume(tmp_path / "run", header):
        pass
    with pytest.raises(StoreError, match="kernel_policy 'default', not 'any'"):
        Run.create_or_resume(tmp_path / "run", make_header(kernel_policy="any"))


def test_the_committed_runs_of_the_h200_load(tmp_path: Path) -> None:
    """A few of each kind of file; all of them take as long as the rest of these tests together."""
    with tarfile.open(H200) as archive:
        files = [each for each in archive if each.name.endswith((".json", ".jsonl"))]
        wanted = [
            each for each in files if Path(each.name).parent.name in ("rows_8", "inductor_v0.1", "aa_started_3")
        ]
        archive.extractall(tmp_path, wanted, filter="data")
    rows, inductor, aa = (Run.read(tmp_path / "runs" / name) for name in ("rows_8", "inductor_v0.1", "aa_started_3"))
    assert "streak" in (rows.path / "evaluations.jsonl").read_text()
    assert rows.header.kernel_policy == "default" and inductor.header.kernel_policy == "any"
    timings = [record.timing for record in rows.evaluations() if record.timing]
    assert any(timing.batch_calls and timing.batched_speedup for timing in timings)
    assert len(inductor.evaluations()) == 241 and inductor.skips()
    assert not all(record.scored for record in aa.evaluations())


# Protocols


@pytest.mark.parametrize(
    ("name", "digest", "judgement"),
    [("strict", "381dc5e9f6bf43e0", "ac25f0778463899e"), ("v0.1", "b0112b7aa5534f43", "c0a3f28dc0560ff9")],
)
def test_a_rule_has_the_digest_that_it_had_under_its_first_name(name: str, digest: str, judgement: str) -> None:
    """Baselines, runs and `facts/verified.json` go by these. Another rule changes them, and so this test."""
    protocol = load_protocol(name)
    assert (protocol.digest, protocol.judgement_digest) == (digest, judgement)


def test_a_protocol_is_named_back_and_forth() -> None:
    new = load_protocol("strict").model_dump(mode="json")
    old = protocol_as_first_named(new)
    assert {"agreement", "rules"} <= set(old) and {"doubt", "processes_in_doubt"} <= set(old["gpu_timing"])
    assert list(protocol_renamed(old)) == list(new) and protocol_renamed(old) == new == protocol_renamed(new)
    assert Protocol.model_validate(protocol_renamed(old)) == load_protocol("strict")


def test_a_protocol_file_with_earlier_keys_is_told_their_names(tmp_path: Path) -> None:
    file = tmp_path / "mine.toml"
    file.write_text('name = "mine"\nrules = "any"\n[agreement]\nmath = "ieee"\n[gpu_timing]\ndoubt = 0.05\n')
    said = "agreement is tolerance now, rules is kernel_policy now, doubt is recheck_band now"
    with pytest.raises(UsageError, match=said):
        load_protocol(str(file))


def test_a_log_from_before_can_be_scored_again() -> None:
    setting = TaskSetting.model_validate({"device": "cpu", "sizes": "small", "rules": "any"})
    assert setting.chosen_protocol().kernel_policy == "any"


def test_a_timing_says_what_its_batches_say() -> None:
    timing = Timing.model_validate(to_format_2(older(a_record())["timing"], Timing))
    assert timing.facts["batched"].startswith("1.4x over 8 calls")

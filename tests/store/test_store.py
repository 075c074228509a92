"""The store, driven as it is used: real folders, processes killed for real, a disk that is really full."""

from __future__ import annotations

import json
import lzma
import os
import signal
import subprocess
import sys
import textwrap
from collections.abc import Callable
from pathlib import Path

import pytest
from factories import make_answer, make_baseline, make_candidate, make_evaluation, make_header

from kernelgauge.errors import StoreError
from kernelgauge.schema import NoCandidate, Outcome
from kernelgauge.store import Run, latest
from kernelgauge.store.baselines import read, write
from kernelgauge.store.since import since

FAR_FUTURE = 99


def run_python(code: str, *arguments: str, wrap: tuple[str, ...] = ()) -> subprocess.Popen[str]:
    """A process of its own that has the factories and the package on its path."""
    root = Path(__file__).parents[2]
    path = os.pathsep.join([str(root / "tests" / "kit"), str(root / "src")])
    return subprocess.Popen(
        [*wrap, sys.executable, "-c", textwrap.dedent(code), *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        env={**os.environ, "PYTHONPATH": path},
    )


def finished(process: subprocess.Popen[str]) -> str:
    output, _ = process.communicate(timeout=60)
    assert process.returncode == 0, output
    return output


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "run"


# Writing and reading back


def test_a_record_comes_back_equal_with_its_raw_samples_and_source(folder: Path) -> None:
    evaluation, candidate = make_answer(speedup=1.7, source="# größer\r\nclass ModelNew: ...\n")
    with Run.create(folder, make_header()) as run:
        run.append(evaluation, candidate)
    again = Run.read(folder)
    assert again.evaluations() == [evaluation]
    assert again.source(candidate.digest) == candidate.source
    assert again.header == make_header(created=again.header.created)
    assert again.torn is None


def test_an_infinite_error_survives_as_standard_json(folder: Path) -> None:
    evaluation, candidate = make_answer(outcome=Outcome.WRONG_VALUE)
    with Run.create(folder, make_header()) as run:
        run.append(evaluation, candidate)

    def refuse(name: str) -> float:
        raise AssertionError(f"{name} is not standard JSON")

    json.loads((folder / "evaluations.jsonl").read_text(), parse_constant=refuse)
    assert Run.read(folder).evaluations() == [evaluation]


def test_skips_are_kept_and_count_as_done(folder: Path) -> None:
    with Run.create(folder, make_header()) as run:
        run.append(*make_answer("1/1"))
        run.append_skip(NoCandidate(problem="1/2", level=1, contestant="folder:answers", reason="the model refused"))
        assert run.done() == {("1/1", 0), ("1/2", 0)}
    again = Run.read(folder)
    assert again.done() == {("1/1", 0), ("1/2", 0)}
    assert [(s.problem, s.level, s.reason) for s in again.skips()] == [("1/2", 1, "the model refused")]


def test_the_last_record_of_a_problem_and_sample_stands() -> None:
    first, other_sample, second = make_evaluation(), make_evaluation(sample=1), make_evaluation(candidate_digest="aa")
    assert latest([first, other_sample, second]) == [second, other_sample]


def test_a_record_is_about_the_text_that_was_judged(folder: Path) -> None:
    evaluation, candidate = make_answer("1/1")
    changed, other = make_answer("1/1", source="# another")
    answers = [("1/1", 0), ("1/2", 0), ("1/3", 0)]
    texts = {("1/1", 0): candidate.digest}

    def digest(problem: str, sample: int) -> str | None:
        return texts.get((problem, sample))

    with Run.create(folder, make_header()) as run:
        run.append(evaluation, candidate)
        run.append_skip(NoCandidate(problem="1/3", contestant="folder:answers", reason="unreadable"))
        assert since(run, answers, digest, knows=True).left == (("1/2", 0),)
        texts["1/1", 0] = other.digest
        texts["1/3", 0] = "ab"
        found = since(run, answers, digest, knows=True)
        assert (found.left, found.changed, found.known, found.back) == (tuple(answers), 2, 2, ())
        run.append(changed, other)
        assert run.standing() == {("1/1", 0): other.digest, ("1/3", 0): None}
        texts["1/1", 0] = candidate.digest
        assert since(run, answers[:1], digest, knows=True).back == (evaluation,)
        run.restore(evaluation)
        del texts["1/1", 0]
        assert since(run, answers[:1], digest, knows=True).gone == 1
        assert since(run, answers[:1], digest, knows=False).gone == 0
    assert Run.read(folder).standing()["1/1", 0] == candidate.digest
    assert Run.read(folder).latest() == [evaluation]


def test_a_record_cannot_be_stored_with_another_source(folder: Path) -> None:
    with Run.create(folder, make_header()) as run, pytest.raises(StoreError, match="another candidate"):
        run.append(make_evaluation(), make_candidate(source="something else"))


def test_a_digest_cannot_name_a_file_elsewhere(folder: Path) -> None:
    with Run.create(folder, make_header()) as run, pytest.raises(StoreError, match="not the digest"):
        run.source("../run")


def test_a_run_opened_for_reading_refuses_to_append(folder: Path) -> None:
    Run.create(folder, make_header()).close()
    with pytest.raises(StoreError, match="opened for reading"):
        Run.read(folder).append(*make_answer())


# Resuming


def test_resuming_extends_the_problems(folder: Path) -> None:
    with Run.create_or_resume(folder, make_header(problems=("1/1",))) as run:
        run.append(*make_answer("1/1"))
    with Run.create_or_resume(folder, make_header(problems=("1/2",), samples=3)) as run:
        assert run.header.problems == ("1/1", "1/2")
        assert run.header.samples == 3
        assert run.done() == {("1/1", 0)}
    assert Run.read(folder).header.problems == ("1/1", "1/2")


@pytest.mark.parametrize(
    ("field", "value"),
    [
        ("contestant", "openai/gpt"),
        ("sizes", "small"),
        ("device", "cpu"),
        ("protocol", "v0.1"),
        ("protocol_digest", "another"),
    ],
)
def test_another_question_is_refused_by_name_and_leaves_no_lock(folder: Path, field: str, value: str) -> None:
    Run.create(folder, make_header()).close()
    with pytest.raises(StoreError, match=rf"run with {field} .*{value}"):
        Run.create_or_resume(folder, make_header(**{field: value}))
    Run.open(folder).close()


@pytest.mark.parametrize(("field", "value"), [("sizes", "small"), ("protocol_digest", "another")])
def test_a_record_of_another_run_is_refused(folder: Path, field: str, value: str) -> None:
    evaluation, candidate = make_answer(**{field: value})
    with Run.create(folder, make_header()) as run, pytest.raises(StoreError, match=field):
        run.append(evaluation, candidate)


def test_a_folder_of_something_else_is_left_alone(folder: Path) -> None:
    folder.mkdir()
    (folder / "thesis.txt").write_text("years of work")
    for opening in (Run.create, Run.create_or_resume):
        with pytest.raises(StoreError, match=r"not empty and not a run folder \(it holds thesis.txt\)"):
            opening(folder, make_header())
    assert [entry.name for entry in folder.iterdir()] == ["thesis.txt"]


def test_creating_over_a_run_is_refused(folder: Path) -> None:
    Run.create(folder, make_header()).close()
    with pytest.raises(StoreError, match="already holds a run"):
        Run.create(folder, make_header())


# Damage


@pytest.mark.processes
def test_sigkill_while_writing_loses_nothing_that_was_appended(folder: Path) -> None:
    process = run_python(
        """
        import itertools, sys
        from factories import make_answer, make_header
        from kernelgauge.store import Run
        run = Run.create(sys.argv[1], make_header())
        for number in itertools.count():
            run.append(*make_answer(f"1/{number}"))
            print(number, flush=True)
        """,
        str(folder),
    )
    assert process.stdout is not None
    for number in range(20):
        assert process.stdout.readline() == f"{number}\n"
    process.send_signal(signal.SIGKILL)
    said, _ = process.communicate()
    promised = 20 + len(said.split())
    with Run.open(folder) as run:
        kept = [evaluation.problem for evaluation in run.evaluations()]
        assert len(kept) >= promised
        assert kept == [f"1/{number}" for number in range(len(kept))]
        assert all(run.source(evaluation.candidate_digest) for evaluation in run.evaluations())


def test_a_torn_line_is_ignored_when_reading_and_moved_aside_when_appending(folder: Path) -> None:
    with Run.create(folder, make_header()) as run:
        run.append(*make_answer("1/1"))
        run.append(*make_answer("1/2"))
    file = folder / "evaluations.jsonl"
    whole = file.read_bytes()
    file.write_bytes(whole[:-100])

    reading = Run.read(folder)
    assert [e.problem for e in reading.evaluations()] == ["1/1"]
    assert reading.torn is not None and "unfinished" in reading.torn
    assert file.read_bytes() == whole[:-100]

    with Run.open(folder) as run:
        assert run.torn is not None and "evaluations.jsonl.torn-1" in run.torn
        assert run.done() == {("1/1", 0)}
        run.append(*make_answer("1/2"))
    assert [e.problem for e in Run.read(folder).evaluations()] == ["1/1", "1/2"]
    assert (folder / "evaluations.jsonl.torn-1").read_bytes() == whole.splitlines(keepends=True)[1][:-100]

    file.write_bytes(file.read_bytes() + b'{"format"')
    Run.open(folder).close()
    assert (folder / "evaluations.jsonl.torn-2").read_bytes() == b'{"format"'


def test_a_malformed_line_in_the_middle_is_named(folder: Path) -> None:
    with Run.create(folder, make_header()) as run:
        run.append(*make_answer("1/1"))
        run.append(*make_answer("1/2"))
    file = folder / "evaluations.jsonl"
    first, second = file.read_text().splitlines()
    for broken in ("{not json", "[1, 2]", first.replace('"passed"', '"perhaps"'), "\x00\x00"):
        file.write_text(f"{first}\n{broken}\n{second}\n")
        with pytest.raises(StoreError, match=r"evaluations.jsonl, line 2 is not"):
            Run.read(folder).evaluations()


def test_a_record_from_the_future_names_who_wrote_it(folder: Path) -> None:
    with Run.create(folder, make_header()) as run:
        run.append(*make_answer())
    file = folder / "evaluations.jsonl"
    record = {**json.loads(file.read_text()), "format": FAR_FUTURE, "novelty": True}
    record["environment"]["kernelgauge"] = "7.0"
    file.write_text(json.dumps(record) + "\n")
    with pytest.raises(StoreError, match=rf"line 1 was written by kernelgauge 7.0 in format {FAR_FUTURE}"):
        Run.read(folder).evaluations()

    header = {**json.loads((folder / "run.json").read_text()), "format": FAR_FUTURE, "kernelgauge": "7.1"}
    (folder / "run.json").write_text(json.dumps(header))
    with pytest.raises(StoreError, match=r"run.json was written by kernelgauge 7.1"):
        Run.read(folder)


# Two processes, full disks, folders that cannot be written


@pytest.mark.processes
def test_a_second_process_is_told_which_process_holds_the_folder(folder: Path) -> None:
    with Run.create(folder, make_header()):
        process = run_python(
            """
            import sys
            from kernelgauge.errors import StoreError
            from kernelgauge.store import Run
            try:
                Run.open(sys.argv[1])
            except StoreError as error:
                print(error)
            print(len(Run.read(sys.argv[1]).evaluations()), "read meanwhile")
            """,
            str(folder),
        )
        output = finished(process)
    assert f"run folder {folder} is in use by process {os.getpid()} on " in output
    assert "0 read meanwhile" in output
    Run.open(folder).close()


FILL_THE_DISK = """
import sys
from factories import make_answer, make_header
from kernelgauge.errors import StoreError
from kernelgauge.store import Run
{limit}
run = Run.create(sys.argv[1], make_header())
finished = 0
try:
    while finished < 10_000:
        run.append(*make_answer(f"1/{{finished}}"))
        finished += 1
except StoreError as error:
    print(error)
data = (run.path / "evaluations.jsonl").read_bytes()
assert data.endswith(b"\\n") and data.count(b"\\n") == finished, (finished, data[-50:])
{relief}
again = run.done() and len(run.evaluations())
assert again == finished
run.append(*make_answer("2/1"))
assert len(run.evaluations()) == finished + 1
print("kept", finished)
"""


def assert_full_disk_lost_nothing(output: str) -> None:
    assert "disk full while writing" in output
    assert "nothing finished was lost; free space and run the same command to go on" in output
    assert int(output.split()[-1]) >= 1


@pytest.mark.processes
def test_a_file_size_limit_is_a_full_disk_and_loses_nothing(folder: Path) -> None:
    limit = """
    import resource, signal
    signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (10_000, resource.RLIM_INFINITY))
    """
    relief = "resource.setrlimit(resource.RLIMIT_FSIZE, (resource.RLIM_INFINITY, resource.RLIM_INFINITY))"
    code = FILL_THE_DISK.format(limit=textwrap.dedent(limit), relief=relief)
    assert_full_disk_lost_nothing(finished(run_python(code, str(folder))))
    assert Run.read(folder).torn is None


@pytest.mark.processes
def test_a_full_file_system_loses_nothing(tmp_path: Path) -> None:
    sandbox = (
        "unshare",
        "-rm",
        "sh",
        "-c",
        'mount -t tmpfs -o size=64k none "$0" && exec "$@"',
        str(tmp_path),
    )
    try:
        subprocess.run([*sandbox, "true"], check=True, capture_output=True, timeout=30)
    except (OSError, subprocess.SubprocessError) as error:
        pytest.skip(f"a small file system cannot be mounted here: {error}")
    relief = "for source in sorted((run.path / 'candidates').glob('*.py'))[:3]: source.unlink()"
    code = FILL_THE_DISK.format(limit="", relief=relief)
    assert_full_disk_lost_nothing(finished(run_python(code, str(tmp_path / "run"), wrap=sandbox)))


@pytest.mark.parametrize("opening", [Run.create, Run.create_or_resume])
@pytest.mark.parametrize("below", [False, True], ids=["a file", "below a file"])
def test_a_path_that_is_a_file_is_one_clear_sentence(
    tmp_path: Path, opening: Callable[..., Run], below: bool
) -> None:
    (tmp_path / "file").write_text("text")
    path = tmp_path / "file" / "run" if below else tmp_path / "file"
    with pytest.raises(StoreError, match="cannot be made: a part of that path is a file"):
        opening(path, make_header())


def test_a_place_where_nothing_can_be_made_is_one_clear_sentence() -> None:
    with pytest.raises(StoreError, match=r"/proc/kernelgauge-run cannot be"):
        Run.create("/proc/kernelgauge-run", make_header())


def test_what_is_not_a_run_cannot_be_read(tmp_path: Path) -> None:
    with pytest.raises(StoreError, match="there is no run at"):
        Run.read(tmp_path / "missing")
    with pytest.raises(StoreError, match=r"it has no run.json"):
        Run.open(tmp_path)
    assert list(tmp_path.iterdir()) == []
    (tmp_path / "file").write_text("text")
    with pytest.raises(StoreError, match="is a file; a run is a folder"):
        Run.read(tmp_path / "file")


def test_baselines_are_read_from_a_compressed_file(tmp_path: Path) -> None:
    kept, packed = [make_baseline("1/1"), make_baseline("1/2")], tmp_path / "baselines.jsonl.xz"
    write(tmp_path / "baselines.jsonl", kept)
    whole = lzma.compress((tmp_path / "baselines.jsonl").read_bytes())
    packed.write_bytes(whole)
    assert read(packed) == kept
    packed.write_bytes(whole[:-20])
    with pytest.raises(StoreError, match="is no whole xz file"):
        read(packed)


@pytest.mark.processes
def test_the_store_does_not_import_torch() -> None:
    code = "import sys, kernelgauge.store, kernelgauge.report; print('torch' in sys.modules)"
    assert finished(run_python(code)).strip() == "False"

"""Answers that somebody gave before: from a file, a log of Inspect, a run folder, or a folder of candidates.

A file has one JSON object a line: `{"problem": "1/19", "sample": 0, "answer": "..."}`. Several lines for one sample
are its answers in turn: the first, then those given after each refusal.
"""

from __future__ import annotations

import json
from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.problems.catalogue import resolve
from kernelgauge.problems.loader import is_own_file

Answers = dict[tuple[str, int], list[str]]


def recorded(path: Path) -> Answers:
    """The answers by problem and sample, each in the order they were given.

    Raises:
        UsageError: there is nothing at `path`, or it holds no answers.
    """
    if not path.exists():
        raise UsageError(f"there are no answers at {path}")
    if path.is_dir():
        found = _of_run(path) if (path / "run.json").is_file() else _of_folder(path)
    elif path.suffix == ".jsonl":
        found = _of_lines(path)
    else:
        found = _of_log(path)
    if not found:
        raise UsageError(f"{path} holds no answers")
    return found


def _of_lines(path: Path) -> Answers:
    found: Answers = {}
    try:
        lines = path.read_text(encoding="utf-8").splitlines()
    except (OSError, UnicodeDecodeError) as error:
        raise UsageError(f"the answers {path} cannot be read: {error}") from error
    for number, line in enumerate(lines, start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
            name, sample, answer = str(row["problem"]), int(row.get("sample", 0)), str(row["answer"])
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}, line {number}: an object with problem and answer was expected") from error
        key = name if is_own_file(name) else resolve(name)
        found.setdefault((key, sample), []).append(answer)
    return found


def _of_run(path: Path) -> Answers:
    from kernelgauge.store.run import Run

    run = Run.read(path)
    return {(e.problem, e.sample): [_fenced(run.source(e.candidate_digest))] for e in run.latest()}


def _of_folder(path: Path) -> Answers:
    from kernelgauge.generation.folder import Folder, read_source

    folder = Folder(path)
    return {
        (key, n): [_fenced(read_source(folder.file(key, n)))]
        for key in folder.problems()
        for n in folder.samples(key)
    }


def _of_log(path: Path) -> Answers:
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path))
    except Exception as error:  # boundary: what Inspect raises for a file that is no log is not documented
        raise UsageError(f"{path} is no log of Inspect and no .jsonl file: {error}") from error
    found: Answers = {}
    for sample in log.samples or []:
        said = [message.text for message in sample.messages if message.role == "assistant"]
        if said:
            found[str(sample.id), sample.epoch - 1] = said
    return found


def _fenced(source: str) -> str:
    return f"```python\n{source}\n```"

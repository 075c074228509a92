"""Answers that somebody gave before: from a file, a log of Inspect, a run folder, or a folder of candidates.

A file has one JSON object a line: `{"problem": "1/19", "sample": 0, "answer": "..."}`. Several lines for one sample
are its answers in turn, whatever is asked: what came first, what came after a refusal or a verdict; of an agent what
it had evaluated, and what it submitted in the end. A line with
`"asks": "ideas"` is what was said when ideas were asked for.

For people there is a folder of Markdown, a file such as `1_19.md` for each problem, in which `<!-- answer -->` stands
before each answer and `<!-- ideas -->` before ideas. The package has such a folder (`answers/`), written for the
purpose: right, wrong, cheating, broken, slow and fast answers.
"""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, field
from pathlib import Path

from kernelgauge.errors import UsageError
from kernelgauge.problems.catalogue import resolve
from kernelgauge.problems.loader import is_own_file
from kernelgauge.schema import Attempt

SHIPPED = Path(__file__).parent / "answers"
"""Answers to 24 problems of three levels, for the backend `torch` at medium sizes on a CPU."""

_MARK = re.compile(r"^<!-- (answer|ideas) -->$", re.MULTILINE)


@dataclass
class Given:
    """What one sample of a problem was answered with, in turn."""

    answers: list[str] = field(default_factory=list)
    ideas: list[str] = field(default_factory=list)

    def add(self, answer: str, asks: str = "candidate") -> None:
        (self.ideas if asks == "ideas" else self.answers).append(answer)


Answers = dict[tuple[str, int], Given]


def recorded(path: Path) -> Answers:
    """The answers by problem and sample.

    Raises:
        UsageError: there is nothing at `path`, or it holds no answers.
    """
    if not path.exists():
        raise UsageError(f"there are no answers at {path}")
    if path.is_dir():
        markdown = any(path.glob("*.md"))
        found = (
            _of_run(path) if (path / "run.json").is_file() else _of_markdown(path) if markdown else _of_folder(path)
        )
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
            asks = str(row.get("asks", "candidate"))
        except (ValueError, KeyError, TypeError, AttributeError) as error:
            raise UsageError(f"{path}, line {number}: an object with problem and answer was expected") from error
        key = name if is_own_file(name) else resolve(name)
        found.setdefault((key, sample), Given()).add(answer, asks)
    return found


def _of_run(path: Path) -> Answers:
    from kernelgauge.store.run import Run

    run = Run.read(path)
    found = {(e.problem, e.sample): Given([_fenced(run.source(e.candidate_digest))]) for e in run.latest()}
    asked: dict[tuple[str, int], list[Attempt]] = {}
    for record in sorted(run.attempts(), key=lambda record: record.number):
        if not record.attempt.given:
            asked.setdefault((record.problem, record.sample), []).append(record.attempt)
    for sample, attempts in asked.items():
        of_agent = any(attempt.output for attempt in attempts)
        end = found.get(sample, Given()).answers if of_agent else []
        given = Given()
        for attempt in attempts:
            if not of_agent or attempt.evaluation or attempt.refusal:  # neither its calls nor its profiles
                given.add(attempt.answer, attempt.step.asks)
        given.answers += end
        if given.answers or given.ideas:
            found[sample] = given
    return found


def _of_folder(path: Path) -> Answers:
    from kernelgauge.generation.folder import Folder, read_source

    folder = Folder(path)
    return {
        (key, n): Given([_fenced(read_source(folder.file(key, n)))])
        for key in folder.problems()
        for n in folder.samples(key)
    }


def _of_markdown(path: Path) -> Answers:
    found: Answers = {}
    for file in sorted(path.glob("*.md")):
        try:
            parts = _MARK.split(file.read_text(encoding="utf-8"))
        except (OSError, UnicodeDecodeError) as error:
            raise UsageError(f"the answers {file} cannot be read: {error}") from error
        given = found.setdefault((resolve(file.stem.replace("_", "/", 1)), 0), Given())
        for kind, text in zip(parts[1::2], parts[2::2], strict=True):
            given.add(text.strip(), "ideas" if kind == "ideas" else "candidate")
    return found


def _of_log(path: Path) -> Answers:
    from inspect_ai.log import read_eval_log

    try:
        log = read_eval_log(str(path))
    except Exception as error:  # boundary: what Inspect raises for a file that is no log is not documented
        raise UsageError(f"{path} is no log of Inspect and no .jsonl file: {error}") from error
    found: Answers = {}
    for sample in log.samples or []:
        given = Given()
        attempts = [attempt for attempt in sample.store.get("attempts", []) if not attempt.get("given")]
        of_agent = any(attempt.get("output") for attempt in attempts)
        for attempt in attempts:
            if not of_agent or attempt["outcome"] or attempt["refusal"]:
                given.add(attempt["answer"], attempt["step"]["asks"])
        if of_agent and sample.output.choices:
            given.answers.append(sample.output.completion)
        if not given.answers:  # of another solver
            given.answers = [message.text for message in sample.messages if message.role == "assistant"]
        if given.answers:
            found[str(sample.id), sample.epoch - 1] = given
    return found


def _fenced(source: str) -> str:
    return f"```python\n{source}\n```"

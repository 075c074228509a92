"""Whether run folders can stand side by side: none may take the place of another's records."""

from __future__ import annotations

from collections.abc import Iterable

from kernelgauge.errors import StoreError
from kernelgauge.leaderboard.entries import BoardSetting, Contestant, Published
from kernelgauge.schema import digest

_Answer = tuple[BoardSetting, Contestant, str, int]


def check_apart(runs: Iterable[Published]) -> None:
    """Refuse folders of which one would hide records of another.

    Pages of records go by the record's own id, and a contestant has one answer for each problem and sample.

    Raises StoreError: two different records have one id, or two folders hold answers of one contestant to the same
    problem and sample.
    """
    contents: dict[str, tuple[str, str]] = {}
    answers: dict[_Answer, str] = {}
    for number, run in enumerate(runs):
        origin = f"{number}:{run.origin}"  # folders may share a name
        for entry in run.entries:
            record = entry.evaluation
            content = digest(record.model_dump_json())
            known, where = contents.setdefault(record.id, (content, origin))
            if known != content:
                raise StoreError(
                    f"two different records, in {_name(where)} and {_name(origin)}, have the id {record.id[:40]!r}: "
                    "one is not what it says; leave a folder out, or judge the candidates again (--rejudge)"
                )
            if where != origin:
                raise StoreError(
                    f"{_name(where)} and {_name(origin)} hold the same record of {record.problem}: one is a "
                    "copy of the other, or the log that was written beside it; leave one out"
                )
            answer = (entry.setting, entry.contestant, record.problem, record.sample)
            if (where := answers.setdefault(answer, origin)) != origin:
                raise StoreError(
                    f"{_name(where)} and {_name(origin)} both hold an answer of {entry.contestant.name!r} to "
                    f"{record.problem}, sample {record.sample}: one would hide the other; leave a folder out"
                )


def _name(origin: str) -> str:
    return origin.partition(":")[2]

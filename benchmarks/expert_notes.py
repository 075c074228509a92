"""What was tried and failed goes into the notes of the kernels: of every one that a variant's family stands for.

    python -m benchmarks.expert_notes results/h100/variants.json            # says what would be written, and where
    python -m benchmarks.expert_notes results/h100/variants.json --write

An entry of `expert_variants.toml` stands for its own problem, for `members`, and for all whose text imports `part`,
has each of `has` in it and none of `lacks`, and is not named by another entry. The paragraph `Tried on ...` is the
last of a note; what was there by that name is replaced. A variant that is faster is no failure, and is left out, as
is what is unclear.
"""

from __future__ import annotations

import argparse
import ast
import json
import textwrap
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from benchmarks.expert_variants import DATA, sentence
from kernelgauge.errors import KernelgaugeError, UsageError
from kernelgauge.expert.contestant import Expert
from kernelgauge.generation.folder import read_source

BEGIN = "Tried on "
WIDTH = 118


def members(entries: Sequence[dict[str, Any]], texts: dict[str, str]) -> dict[str, list[str]]:
    """Keys of the entries that stand for each of these candidates, in the order of the file."""
    named = {key for entry in entries for key in (entry["key"], *entry.get("members", ()))}
    found: dict[str, list[str]] = {key: [] for key in texts}
    for entry in entries:
        own = {entry["key"], *entry.get("members", ())}
        if unknown := own - texts.keys():
            raise UsageError(f"{DATA.name}: expert has no candidate for {', '.join(sorted(unknown))}")
        for key, text in texts.items():
            if key in own or (key not in named and _meant(entry, text)):
                found[key].append(entry["key"])
    return found


def _meant(entry: dict[str, Any], text: str) -> bool:
    if not (part := entry.get("part")):
        return False
    has, lacks = entry.get("has", ()), entry.get("lacks", ())
    return (
        f"from kernelgauge.expert.parts.{part} import" in text
        and all(each in text for each in has)
        and not any(each in text for each in lacks)
    )


def noted(text: str, paragraph: str) -> str:
    """A candidate whose note ends with this paragraph, in the place of an older one of that name."""
    note = ast.parse(text).body[0]
    lines = text.splitlines(keepends=True)
    head, body = "".join(lines[: note.end_lineno]), "".join(lines[note.end_lineno :])
    said = head.rstrip().removeprefix('"""').removesuffix('"""').rstrip("\n")
    kept = [each for each in said.split("\n\n") if not each.startswith(BEGIN)]
    return '"""' + "\n\n".join([*kept, paragraph]) + '\n"""\n' + body


def paragraphs(results: Path) -> dict[str, str]:
    """Of each candidate that a judged entry stands for: what was tried without gain, and on what."""
    content = json.loads(results.read_text())
    entries = tomllib.loads(DATA.read_text())["problem"]
    expert = Expert()
    texts = {key: read_source(expert.file(key, 0)) for key in expert.problems()}
    card = content["machine"].split(",")[0]
    failed: dict[str, list[str]] = {}
    for row in content["rows"]:
        if row["sample"] and row["verdict"] not in ("faster", "unclear"):
            failed.setdefault(row["problem"], []).append(sentence(row))
    found = {}
    for key, stands in members(entries, texts).items():
        said = [f"{each}: {'; '.join(failed[each])}." for each in stands if each in failed]
        if said:
            found[key] = textwrap.fill(f"{BEGIN}one {card}, without gain, {' '.join(said)}", WIDTH)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("results", type=Path, help="the JSON that `expert_variants show --out` wrote")
    parser.add_argument("--write", action="store_true", help="write the notes instead of only saying them")
    given = parser.parse_args()
    expert = Expert()
    try:
        found = paragraphs(given.results)
    except KernelgaugeError as error:
        parser.exit(error.exit_code, f"{error}\n")
    for key, paragraph in found.items():
        file = expert.file(key, 0)
        if given.write:
            file.write_text(noted(read_source(file), paragraph))
        print(f"{file.name}:\n{paragraph}\n")
    silent = [key for key in expert.problems() if key not in found]
    print(f"{len(found)} notes; no variant stands for {len(silent)}: {', '.join(silent) or 'none'}")


if __name__ == "__main__":
    main()

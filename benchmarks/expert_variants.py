"""What was tried for the kernels of `expert`: each a named change of one of them, judged beside it.

    python -m benchmarks.expert_variants write FOLDER    # sample 0 is what is shipped, the others are changed
    kernelgauge run --contestant folder:FOLDER ...       # as `write` says, on a GPU
    python -m benchmarks.expert_variants show RUN ... --manifest FOLDER/manifest.json --out results/h100/variants

`expert_variants.toml` names a problem for each family of kernels, the most valuable first, and the changes: texts
that occur once in the candidate with its parts, a part exchanged for a file of `expert_parts/`, or another text.
`show` needs no GPU: it writes OUT.json and OUT.md, and prints what belongs into the notes of the kernels.
"""

from __future__ import annotations

import argparse
import json
import re
import tomllib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.page_blocks import Block, Heading, Paragraph, Table, markdown
from kernelgauge.errors import KernelgaugeError, UsageError
from kernelgauge.expert import parts
from kernelgauge.expert.contestant import Expert
from kernelgauge.expert.inlining import whole
from kernelgauge.generation.folder import read_source
from kernelgauge.report.figures.answers import natural
from kernelgauge.schema import Evaluation
from kernelgauge.store.run import Run

DATA = Path(__file__).with_suffix(".toml")
PARTS = Path(__file__).with_name("expert_parts")
SHIPPED = Path(parts.__file__).parent
SAME = 0.02
"""A difference below this is none: two runs of one text differ by up to 1.2 % on an H100 (`results/h100/aa.json`)."""
NEAR = 0.05
"""An interval that is wider than this, and is on neither side, says nothing."""
MANIFEST = "manifest.json"
BATCH = 48
"""Candidates of one run: what is most valuable is in the first, whatever becomes of the others."""
TITLE = "What was tried for the kernels of expert"
_SHIPPED = "as shipped"


@dataclass(frozen=True)
class Variant:
    """One candidate: what is different about it, and its whole text."""

    problem: str
    family: str
    sample: int
    name: str
    text: str


def variants(data: Path = DATA) -> list[Variant]:
    """All of them in the order of the file, each problem's shipped one first.

    Raises:
        UsageError: a change does not fit its candidate, or a problem is there twice; says which.
    """
    expert, found = Expert(), []
    for each in tomllib.loads(data.read_text())["problem"]:
        key, family = each["key"], each["family"]
        if not expert.samples(key):
            raise UsageError(f"{data.name}: expert has no candidate for {key}")
        if any(key == other.problem for other in found):
            raise UsageError(f"{data.name}: {key} is there twice")
        own = read_source(expert.file(key, 0))
        found.append(Variant(key, family, 0, _SHIPPED, whole(own)))
        for sample, change in enumerate(each["variant"], 1):
            where = f"{data.name}: {key}, {change['name']}"
            found.append(Variant(key, family, sample, change["name"], _changed(own, change, where)))
    return found


def _changed(own: str, change: dict[str, Any], where: str) -> str:
    """A candidate's text with its parts, and what a variant changes of it, or the variant's own text."""
    if file := change.get("instead"):
        part = rf"(?m)^from kernelgauge\.expert\.parts\.{change['of']} import .*$"
        own, count = re.subn(part, lambda _: _part(file).read_text(), own)
        if count != 1:
            raise UsageError(f"{where}: {change['of']} is imported {count} times")
    text = whole(read_source(PARTS / change["text"]) if "text" in change else own)
    for old, new in change.get("change", ()):
        if text.count(old) != 1:
            raise UsageError(f"{where}: {old!r} is there {text.count(old)} times")
        text = text.replace(old, new)
    return text


def _part(file: str) -> Path:
    """Of `expert_parts/`, or one of the shipped."""
    return PARTS / file if (PARTS / file).exists() else SHIPPED / file


def write(folder: Path) -> Iterator[str]:
    """Write all candidates and the manifest, and say the commands that judge them.

    Raises UsageError: there is something in the folder already.
    """
    if folder.exists() and any(folder.iterdir()):
        raise UsageError(f"{folder} is not empty: choose a new folder")
    folder.mkdir(parents=True, exist_ok=True)
    all_of_them = variants()
    for each in all_of_them:
        (folder / f"{each.problem.replace('/', '_')}_sample_{each.sample}.py").write_text(each.text)
    told = [{"problem": v.problem, "sample": v.sample, "family": v.family, "name": v.name} for v in all_of_them]
    (folder / MANIFEST).write_text(json.dumps(told, indent=1) + "\n")
    yield f"{len(all_of_them)} candidates for {len({v.problem for v in all_of_them})} problems in {folder}"
    for number, problems in enumerate(_batches(all_of_them), 1):
        named = ",".join(problems)
        yield f"kernelgauge run --contestant folder:{folder} --protocol quick --device cuda --problems {named} \\"
        yield f"    --out runs/variants_{number}"


def _batches(found: Sequence[Variant]) -> list[list[str]]:
    """Problems in runs of about so many candidates: within a run the suite's order holds, not that of the file."""
    batches: list[list[str]] = [[]]
    size = 0
    for problem in dict.fromkeys(each.problem for each in found):
        many = sum(each.problem == problem for each in found)
        if size + many > BATCH and batches[-1]:
            batches.append([])
            size = 0
        batches[-1].append(problem)
        size += many
    return batches


def rows(runs: Sequence[Path], manifest: Path) -> list[dict[str, Any]]:
    """A row for each variant judged: its time as a multiple of the shipped one's.

    Raises:
        StoreError: a folder is no run. UsageError: the runs are of no candidate of the manifest.
    """
    told = {(each["problem"], each["sample"]): each for each in json.loads(manifest.read_text())}
    found: list[dict[str, Any]] = []
    for folder in runs:
        records = {(each.problem, each.sample): each for each in Run.read(folder).latest()}
        for key in sorted(records.keys() & told.keys(), key=lambda key: (natural(key[0]), key[1])):
            shipped = records.get((key[0], 0))
            found.append(_row(told[key], records[key], shipped))
    if not found:
        raise UsageError(f"no candidate of {manifest} is in {', '.join(map(str, runs))}")
    return found


def _row(told: dict[str, Any], record: Evaluation, shipped: Evaluation | None) -> dict[str, Any]:
    row = dict(told) | {"outcome": record.outcome.value}
    if record.timing is None:
        return row | {"reason": record.reason[:200], "verdict": record.outcome.value.replace("_", " ")}
    row |= {"ms": record.timing.candidate_ms, "speedup": record.speedup, "interval": list(record.timing.interval)}
    row |= {"bound_share": record.bound.share} if record.bound else {}
    if record.sample == 0 or shipped is None or shipped.timing is None:
        return row | {"verdict": _SHIPPED if record.sample == 0 else "right, and the shipped one has no time"}
    ratio, low, high = _times(record.timing.candidate_samples_ms, shipped.timing.candidate_samples_ms)
    near = low > 1 - NEAR and high < 1 + NEAR
    verdict = "faster" if high < 1 - SAME else "slower" if low > 1 + SAME else "no difference" if near else "unclear"
    return row | {"times_shipped": ratio, "low": low, "high": high, "verdict": verdict}


def _times(one: Sequence[float], other: Sequence[float]) -> tuple[float, float, float]:
    """Ratio of two medians with its 95 % interval, from 2,000 resamples."""
    draw = np.random.default_rng(0)
    a, b = (np.median(draw.choice(np.asarray(each), (2000, len(each))), axis=1) for each in (one, other))
    low, high = np.quantile(a / b, (0.025, 0.975))
    return float(np.median(one) / np.median(other)), float(low), float(high)


def sentence(row: dict[str, Any]) -> str:
    """A variant in the words of a note."""
    if row["verdict"] not in ("faster", "slower"):
        return f"{row['name']}: {row['verdict']}"
    percent = 100 * abs(row["times_shipped"] - 1)
    return f"{row['name']}: {percent:.0f} % {'less' if row['verdict'] == 'faster' else 'more'} time"


def table(found: Sequence[dict[str, Any]], machine: str) -> list[Block]:
    """All variants, and what a difference is."""
    lines = []
    for row in found:
        times = f"{row['times_shipped']:.3f} ({row['low']:.3f}–{row['high']:.3f})" if "times_shipped" in row else "–"
        ms = f"{row['ms']:.4g}" if "ms" in row else "–"
        lines.append([row["problem"], row["family"], row["name"], ms, times, row["verdict"]])
    columns = ("problem", "family", "variant", "ms", "times the shipped one's", "verdict")
    said = Paragraph(
        f"At published sizes under `quick` on one {machine}. A variant is faster or slower where the whole 95 % "
        f"interval of the ratio of medians is more than {100 * SAME:.0f} % away from the shipped kernel's time, no "
        f"different where it is within {100 * NEAR:.0f} % of it, and else unclear."
    )
    return [said, Table(columns, lines, frozenset({"family", "variant", "verdict"}))]


def show(runs: Sequence[Path], manifest: Path, out: Path | None) -> Iterator[str]:
    """Write JSON and table of these runs if `out` is given, and say each family's lines."""
    found = rows(runs, manifest)
    newest = max((each for run in runs for each in Run.read(run).latest()), key=lambda each: each.created)
    place = newest.environment
    machine = f"{place.gpu or place.cpu}, torch {place.torch}, triton {place.triton}, {newest.created:%Y-%m-%d}"
    if out:
        lines = ",\n".join(json.dumps(row) for row in found)
        head = json.dumps({"machine": machine, "protocol": newest.protocol, "kernelgauge": place.kernelgauge})
        out.parent.mkdir(parents=True, exist_ok=True)
        out.with_suffix(".json").write_text(f'{head[:-1]},\n "rows": [\n{lines}\n]}}\n')
        out.with_suffix(".md").write_text(markdown([Heading(TITLE, 1), *table(found, machine)]))
        yield f"{out.with_suffix('.json')}, {out.with_suffix('.md')}"
    for problem in dict.fromkeys(row["problem"] for row in found):
        of = [row for row in found if row["problem"] == problem]
        tried = "; ".join(sentence(row) for row in of if row["sample"])
        yield f"{of[0]['family']} ({problem}): tried: {tried or 'nothing judged'}"
        yield from (f"    ! {row['name']} is faster: ship it" for row in of if row["verdict"] == "faster")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    verbs = parser.add_subparsers(dest="verb", required=True)
    making = verbs.add_parser("write", help="write the candidates into a new folder")
    making.add_argument("folder", type=Path)
    showing = verbs.add_parser("show", help="what runs of that folder say")
    showing.add_argument("runs", type=Path, nargs="+")
    showing.add_argument("--manifest", type=Path, required=True, help=f"{MANIFEST} of the folder that was judged")
    showing.add_argument("--out", type=Path, help="write OUT.json and OUT.md as well")
    given = parser.parse_args()
    try:
        said = write(given.folder) if given.verb == "write" else show(given.runs, given.manifest, given.out)
        for line in said:
            print(line)
    except KernelgaugeError as error:
        parser.exit(error.exit_code, f"{error}\n")


if __name__ == "__main__":
    main()

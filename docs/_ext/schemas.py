"""JSON Schemas of everything that is written to files or printed with `--json`, from the records themselves.

`make schemas` writes them to `src/kernelgauge/schema/json/vN`, where N is the version of the format. A folder of an
older version stays as it is: its records can still be read. `tests/schema/test_json_schemas.py` holds that these
files are what this module makes.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any, NamedTuple

from generated import ROOT, meaning
from pydantic import BaseModel, TypeAdapter, create_model
from pydantic.json_schema import GenerateJsonSchema

from kernelgauge.forecast.replay import Saved
from kernelgauge.forecast.score import Score
from kernelgauge.generation.foreign import Unusable
from kernelgauge.packaging.contents import Contents
from kernelgauge.packaging.optimize import Optimized
from kernelgauge.pairs import check as pair_check
from kernelgauge.pairs import row as pair_row
from kernelgauge.pairs import turns as pair_turns
from kernelgauge.problems import catalogue, suites
from kernelgauge.problems.importing.importer import Imported
from kernelgauge.report.figures.baselines import Board
from kernelgauge.report.figures.compare import Comparison
from kernelgauge.report.figures.elsewhere import Replayed
from kernelgauge.report.figures.scores import Scores
from kernelgauge.report.figures.study.study import Study
from kernelgauge.schema import (
    FORMAT,
    AttemptRecord,
    Baseline,
    Environment,
    Evaluation,
    NoCandidate,
    Peaks,
    Problem,
    Profile,
    Record,
    RunHeader,
    TooLarge,
)
from kernelgauge.schema import forecast as forecasts
from kernelgauge.schema.summary import Summary
from kernelgauge.selftest import certify, self_test
from kernelgauge.training import dataset, examples
from kernelgauge.verification import verify

FOLDER = ROOT / "src" / "kernelgauge" / "schema" / "json" / f"v{FORMAT}"
DIALECT = "https://json-schema.org/draft/2020-12/schema"
NOT_FINITE = {"enum": ["Infinity", "-Infinity", "NaN"]}


class Described(NamedTuple):
    """One file of schemas: what it describes, and where such JSON is found."""

    kind: Any
    where: str
    infinite: dict[str, Any] = NOT_FINITE
    """What stands for a number that is not finite."""


_ENLARGED: dict[type, type[Record]] = {}
"""What `_with` made -> the record that it was made from."""


def _with(base: type[Record], **more: Any) -> type[BaseModel]:
    """A record with the fields that a verb adds to it."""
    fields = {name: (info.annotation, info) for name, info in base.model_fields.items() if not info.exclude}
    made = create_model(base.__name__, __config__=base.model_config, __doc__=base.__doc__, **fields, **more)
    _ENLARGED[made] = base
    return made


def _printed(name: str, about: str, **fields: Any) -> type[BaseModel]:
    given = {"format": int, **fields}
    return create_model(
        name, __config__=Record.model_config, __doc__=about, **{n: (k, ...) for n, k in given.items()}
    )


_BOUNDS = {f"bound_ms_{math}": (float | None, None) for math in ("torch", "ieee", "tf32", "fp16", "bf16")}
NULL = {"type": "null"}
STORED = {
    "run": Described(RunHeader, "`run.json` of a run folder"),
    "evaluation": Described(Evaluation, "a line of `evaluations.jsonl`"),
    "no_candidate": Described(NoCandidate, "a line of `no_candidates.jsonl`"),
    "too_large": Described(TooLarge, "a line of `too_large.jsonl`"),
    "attempt": Described(AttemptRecord, "a line of `attempts.jsonl`"),
    "baseline": Described(Baseline, "a line of `baselines.jsonl`"),
    "peaks": Described(Peaks, "a file of `peaks/` in the cache; `doctor --measure --json`"),
    "pair": Described(pair_row.Row, "a row of the Parquet file of `pairs make`, which counts its format by itself"),
    "sft": Described(examples.Supervised, "a line of `export --format sft`"),
    "dpo": Described(examples.Preference, "a line of `export --format dpo`"),
    "trajectory": Described(examples.Trajectory, "a line of `export --format trajectories`"),
    "rl": Described(pair_turns.Task, "a line of `export --format rl`"),
    "row": Described(dataset.Row, "a line of what `problems dataset` writes"),
    "comparison": Described(forecasts.Comparison, "a line of what `forecast build` writes"),
    "forecast_header": Described(forecasts.ForecastHeader, "the first line of what `forecast predict` writes"),
    "forecast": Described(forecasts.Forecast, "every other line of it"),
    "package": Described(Contents, "`package.json` of a written package, which counts its format by itself"),
    "suite": Described(suites.About, "`suite.json` of an imported suite, which counts its format by itself"),
}
PRINTED = {
    "eval": Described(Summary, "`eval --json`", NULL),
    "profile": Described(
        _with(Profile, gaps=(float | None, ...), launch_bound=(bool, ...)), "`profile --json`", NULL
    ),
    "report": Described(_with(Scores, format=(int, ...)), "`report --json`"),
    "study": Described(Study, "`report --study --json`"),
    "compare": Described(_with(Comparison, format=(int, ...)), "`compare --json`"),
    "replay_check": Described(
        _printed(
            "ReplayCheck",
            "Verdicts here beside those held elsewhere, by protocol.",
            protocols=dict[str, Replayed],
            left_out=tuple[Unusable, ...],
        ),
        "`replay-check --json`",
    ),
    "baselines": Described(
        _printed("Baselines", "Baselines as tables.", boards=tuple[Board, ...]), "`baseline show --json`"
    ),
    "forecast_score": Described(
        _printed("ForecastScores", "Predictors on splits.", scores=tuple[Score, ...]), "`forecast score --json`"
    ),
    "forecast_replay": Described(
        _printed("ForecastReplay", "Evaluations that forecasts save.", saved=tuple[Saved, ...]),
        "`forecast replay --json`",
    ),
    "forecast_order": Described(
        _printed(
            "ForecastOrder",
            "Candidates that nobody has judged, the most promising first.",
            order=tuple[_with(forecasts.Forecast, file=(str, ...)), ...],  # type: ignore[misc]
        ),
        "`forecast order --json`",
    ),
    "packaged": Described(
        _printed("Packaged", "A package that was written.", folder=str, package=Contents), "`package --json`"
    ),
    "optimized": Described(
        _with(Optimized, format=(int, ...)), "`optimize --json`; `optimized.json`, without the format", NULL
    ),
    "doctor": Described(
        _printed(
            "Doctor", "What works on a machine.", environment=Environment, backends=tuple[certify.BackendResult, ...]
        ),
        "`doctor --json`",
    ),
    "selftest": Described(
        _printed(
            "SelfTest",
            "Every specimen with its verdict, and files that were left behind.",
            specimens=tuple[self_test.SpecimenResult, ...],
            left_behind=tuple[str, ...],
        ),
        "`selftest --json`",
    ),
    "problem": Described(_with(Problem, format=(int, ...)), "`problems show --json`"),
    "problems": Described(
        list[
            _with(  # type: ignore[misc]
                catalogue.Entry,
                key=(str, ...),
                flops=(int | None, ...),
                min_bytes=(int | None, ...),
                intensity=(float | None, ...),
                peaks=(str | None, ...),
                **_BOUNDS,
            )
        ],
        "`problems list --json`",
    ),
    "findings": Described(list[verify.ProblemResult], "`problems verify --json`"),
    "pairs_check": Described(_with(pair_check.Checked, format=(int, ...)), "`pairs check --json`"),
    "imported": Described(_with(Imported, format=(int, ...)), "`problems import --json`"),
    "generated": Described(
        _printed(
            "Generated",
            "Fresh problems as a suite: which were kept, what for, and which were too near the built-in suite.",
            suite=str,
            folder=str,
            problems=tuple[str, ...],
            purpose=suites.Purpose,
            too_near=tuple[str, ...],
        ),
        "`problems generate --json`",
    ),
}


def schema(described: Described) -> dict[str, Any]:
    """The JSON Schema of what is written: every field that is written is described, and no other is there."""

    class Generator(GenerateJsonSchema):
        def float_schema(self, schema: Any) -> dict[str, Any]:
            plain = super().float_schema(schema)
            if schema.get("allow_inf_nan") is False:
                return plain
            return {"anyOf": [plain, described.infinite]}

    made = TypeAdapter(described.kind).json_schema(mode="serialization", schema_generator=Generator)
    _describe(made, described.kind)
    return {"$schema": DIALECT, **made}


def _describe(made: dict[str, Any], kind: Any) -> None:
    """Put in what the records' texts say of their fields; pydantic has only those of the classes."""
    classes = _models(kind)
    for name, part in {**made.get("$defs", {}), made.get("title", ""): made}.items():
        for field, described in part.get("properties", {}).items():
            described.pop("title", None)
            owner = classes.get(name)
            if owner and "description" not in described and (text := meaning(owner, field)):
                described["description"] = " ".join(text.split())


def _models(kind: Any) -> dict[str, type]:
    """Every record that is in one, by name: two of a name would be taken for one another."""
    found: dict[str, type] = {}
    waiting = [kind]
    while waiting:
        each = waiting.pop()
        waiting.extend(getattr(each, "__args__", ()))
        if isinstance(each, type) and issubclass(each, BaseModel):
            owner = _ENLARGED.get(each, each)
            if found.setdefault(each.__name__, owner) is not owner:
                raise ValueError(f"{kind} holds two records called {each.__name__}")
            waiting.extend(info.annotation for info in each.model_fields.values())
    return found


def texts() -> dict[str, str]:
    """Name of a file -> its text, for this version of the format."""
    return {
        f"{name}.json": json.dumps(schema(each), indent=1, sort_keys=True, ensure_ascii=False) + "\n"
        for name, each in {**STORED, **PRINTED}.items()
    }


def page() -> str:
    """The tables of `docs/reference/schemas.md`."""
    lines = []
    for title, group in (("Files", STORED), ("Printed", PRINTED)):
        lines += [f"## {title}\n", "| schema | describes |", "|---|---|"]
        for name, each in group.items():
            path = Path("../..") / FOLDER.relative_to(ROOT) / f"{name}.json"
            lines.append(f"| {{download}}`{name}.json <{path}>` | {each.where} |")
        lines.append("")
    return "\n".join(lines)


def write(folder: Path = FOLDER) -> None:
    """Write all files of this version, and delete what this version has not."""
    folder.mkdir(parents=True, exist_ok=True)
    made = texts()
    for old in folder.glob("*.json"):
        if old.name not in made:
            old.unlink()
    for name, text in made.items():
        (folder / name).write_text(text)


if __name__ == "__main__":
    write()
    print(f"wrote {len(texts())} schemas to {FOLDER.relative_to(ROOT)}")

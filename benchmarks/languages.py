"""The same dozen problems in several kernel languages: the folder to be judged, and language against language.

    python benchmarks/languages.py folder OUT [--only triton cuda ...]
    kernelgauge run --contestant folder:OUT --protocol quick --device cuda --sizes full --out RUN
    python benchmarks/languages.py table RUN... [--json languages.json] [--page languages.md]

`benchmarks/languages` holds what was written for this comparison. Triton's candidates are those of the contestant
`expert`, with their parts in the text; some are taken from `cuda_candidates` and `honest_kernels`, by path
(`REUSED`). A language is a sample number, its place in `LANGUAGES`.

Lines are those that hold code, counted by one rule for all: no blank lines, no comments, no docstrings; of a C++ text
inside a file likewise. Lines of Triton's candidates include the parts that they share with others. `build s` is the
build, `first call s` the longest first call in a fresh process, which compiles what the build has not; `of the bound`
is the least time that the hardware allows, divided by the time measured.
"""

from __future__ import annotations

import argparse
import ast
import io
import json
import re
import tokenize
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from page_blocks import Block, Paragraph, Table, markdown
from result_files import shortened
from result_text import number, words

from kernelgauge.backends.registry import detect
from kernelgauge.errors import CandidateError, StoreError, UsageError
from kernelgauge.expert.contestant import Expert
from kernelgauge.generation.folder import Folder, read_source
from kernelgauge.schema import Evaluation
from kernelgauge.store.run import Run
from kernelgauge.syntax import parse

LANGUAGES = ("triton", "cuda", "gluon", "helion", "numba", "tilelang", "warp", "cutile", "pallas")
"""Names of backends; the place of one is the sample number of its candidates."""

PROBLEMS = {
    "1/23": "softmax",
    "1/40": "layer norm",
    "1/36": "RMS norm",
    "1/88": "GELU",
    "1/44": "average pooling",
    "1/47": "sum over a dimension",
    "1/89": "cumulative sum",
    "1/95": "cross-entropy",
    "1/82": "depthwise convolution",
    "1/3": "batched product",
    "2/76": "product, bias, ReLU",
    "1/97": "attention",
}

BENCHMARKS = Path(__file__).parent
REUSED = {
    ("1/36", "triton"): "honest_kernels/level1/36_rms_norm_triton_channel_tile_sample_2.py",
    ("1/40", "cuda"): "honest_kernels/level1/40_layer_norm_one_pass_atomics_sample_1.py",
    ("1/47", "cuda"): "cuda_candidates/level1/47_sum_reduction.py",
    ("1/88", "cuda"): "cuda_candidates/level1/88_new_gelu.py",
    ("1/97", "cuda"): "honest_kernels/level1/97_attention_library_products_sample_0.py",
    ("2/76", "cuda"): "cuda_candidates/level2/76_gemm_add_relu.py",
}
"""Candidates that were there already, below `benchmarks`; those of `expert` are found by themselves."""

_NO_CODE = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT, tokenize.ENDMARKER}
_COMMENT_OF_C = re.compile(r"/\*.*?\*/|//[^\n]*", re.DOTALL)


def texts() -> dict[tuple[str, str], str]:
    """The candidate of each problem and language that there is one for.

    Raises:
        UsageError: two files answer one problem in one language, or a file's sample number is not its language's.
        CandidateError: a file cannot be read.
    """
    found = dict(_written())
    for (problem, language), path in REUSED.items():
        _add(found, problem, language, read_source(BENCHMARKS / path))
    expert = Expert()
    for problem in PROBLEMS:
        for sample in expert.samples(problem):
            if (problem, "triton") not in found:
                _add(found, problem, "triton", expert.text(expert.file(problem, sample)))
    return found


def _written() -> Iterator[tuple[tuple[str, str], str]]:
    folder = Folder(BENCHMARKS / "languages")
    for problem in folder.problems():
        for sample in folder.samples(problem):
            file = folder.file(problem, sample)
            source = read_source(file)
            language = detect(source)
            named = LANGUAGES[sample] if sample < len(LANGUAGES) else "no language"
            if language != named:
                raise UsageError(f"{file} is written in {language}, and sample {sample} is {named}")
            yield (problem, language), source


def _add(found: dict[tuple[str, str], str], problem: str, language: str, source: str) -> None:
    if (problem, language) in found:
        raise UsageError(
            f"problem {problem} has two candidates in {language}: drop one from REUSED or from languages/"
        )
    found[problem, language] = source


def assemble(out: Path, languages: Sequence[str] = LANGUAGES) -> int:
    """Write the folder to be judged: one file a problem and language. Returns how many.

    Raises:
        UsageError: the folder is there and not empty, or the candidates do not fit together (`texts`).
    """
    if out.exists() and any(out.iterdir()):
        raise UsageError(f"{out} is not empty: name a new folder")
    chosen = {key: source for key, source in texts().items() if key[1] in languages}
    for (problem, language), source in chosen.items():
        level, _, number_ = problem.partition("/")
        file = out / f"level{level}" / f"{number_}_{language}_sample_{LANGUAGES.index(language)}.py"
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(source, encoding="utf-8")
    return len(chosen)


def lines_of_code(source: str) -> int:
    """Lines that hold code: neither blank nor comments nor docstrings, in C++ inside a text neither.

    Raises SyntaxError: the text is not Python.
    """
    documented = {line for node in ast.walk(parse(source)) for line in _docstring(node)}
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(source).readline):
        first, last = token.start[0], token.end[0]
        if token.type in _NO_CODE or first in documented:
            continue
        # A text over several lines is C++, or another language whose comments look like it.
        text = _COMMENT_OF_C.sub(_blank, token.string) if last > first else token.string
        lines |= {first + index for index, line in enumerate(text.split("\n")) if line.strip()}
    return len(lines)


def _blank(comment: re.Match[str]) -> str:
    return "\n" * comment[0].count("\n")


def _docstring(node: ast.AST) -> range:
    """The lines of a node's docstring; none where it has none."""
    if isinstance(node, ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef) and ast.get_docstring(
        node
    ):
        return range(node.body[0].lineno, (node.body[0].end_lineno or 0) + 1)
    return range(0)


def figures(runs: Sequence[Run]) -> dict[str, Any]:
    """What runs of the folder say: where they were made, and a row for each candidate, by problem.

    Raises:
        StoreError: nothing has been judged yet.
        UsageError: runs under two protocols, at two sizes or on two kinds of card, whose times cannot be compared.
    """
    rows = [(record, run.source(record.candidate_digest)) for run in runs for record in run.latest()]
    if not rows:
        raise StoreError(f"{', '.join(str(run.path) for run in runs)} holds no evaluation yet")
    made = {(each.protocol, each.sizes, each.environment.gpu) for each, _ in rows}
    if len(made) > 1:
        raise UsageError(f"these runs cannot stand in one table: {'; '.join(sorted(map(str, made)))}")
    rows.sort(key=lambda row: (_place(row[0].problem), row[0].sample))
    newest = max((record for record, _ in rows), key=lambda each: each.created)
    return shortened(
        {
            "date": newest.created.date().isoformat(),
            "protocol": newest.protocol,
            "sizes": newest.sizes,
            "environment": newest.environment.model_dump(mode="json"),
            "rows": [_row(record, source) for record, source in rows],
        }
    )


def _place(problem: str) -> tuple[int, str]:
    known = list(PROBLEMS)
    return known.index(problem) if problem in known else len(known), problem


def _row(record: Evaluation, source: str) -> dict[str, Any]:
    timing, bound = record.timing, record.bound
    return {
        "problem": record.problem,
        "name": PROBLEMS.get(record.problem, words(record.problem_name)),
        "language": record.backend,
        "verdict": record.outcome.value,
        "reason": record.reason,
        "lines": lines_of_code(source),
        "build_s": record.seconds.get("build"),
        "first_call_s": record.first_call_s,
        "ms": timing.candidate_ms if timing else None,
        "standing": record.standing,
        "speedup": timing.speedup if timing else None,
        "low": timing.interval[0] if timing else None,
        "high": timing.interval[1] if timing else None,
        "of_the_bound": bound.share if bound else None,
    }


def page(content: dict[str, Any]) -> Iterator[Block]:
    """The table, a row for each candidate, and then each problem's speedup in every language."""
    where = content["environment"]
    yield Paragraph(
        f"{where['gpu'] or where['cpu']}, Python {where['python']}, PyTorch {where['torch']}, "
        f"Triton {where['triton']}, {content['date']}, protocol `{content['protocol']}`, sizes `{content['sizes']}`."
    )
    rows = content["rows"]
    yield Paragraph(
        "How many times as fast as eager PyTorch; a dash where there is no candidate or it has not passed, `unclear` "
        "where the interval is too wide to tell."
    )
    yield _side_by_side(rows)
    yield Paragraph("Every candidate:")
    columns = ("problem", "language", "verdict", "lines", "build s", "first call s", "ms", "× eager", "of the bound")
    yield Table(columns, [_cells(row) for row in rows], frozenset({"language", "verdict"}))
    for row in rows:
        if row["verdict"] != "passed":
            yield Paragraph(f"{row['problem']} in {row['language']}, {words(row['verdict'])}: {row['reason']}")


def _side_by_side(rows: list[dict[str, Any]]) -> Table:
    spoken = [name for name in LANGUAGES if any(row["language"] == name for row in rows)]
    names = {row["problem"]: row["name"] for row in rows}
    speed = {(row["problem"], row["language"]): _speed(row) for row in rows}
    body = [
        [f"{problem} {name}", *(speed.get((problem, each), "–") for each in spoken)]
        for problem, name in names.items()
    ]
    return Table(("problem", *spoken), body)


def _speed(row: dict[str, Any]) -> str:
    """How many times as fast, unless its interval is too wide to tell."""
    return "unclear" if row["standing"] == "unclear" else number(row["speedup"], 3)


def _cells(row: dict[str, Any]) -> list[str]:
    share = row["of_the_bound"]
    return [
        f"{row['problem']} {row['name']}",
        row["language"],
        words(row["verdict"]),
        str(row["lines"]),
        *(number(row[name], 2) for name in ("build_s", "first_call_s")),
        number(row["ms"], 3),
        _speed(row),
        "–" if share is None else f"{100 * share:.0f} %",
    ]


def main(arguments: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    commands = parser.add_subparsers(dest="command", required=True)
    folder = commands.add_parser("folder", help="write the folder to be judged")
    folder.add_argument("out", type=Path)
    folder.add_argument("--only", nargs="+", choices=LANGUAGES, default=LANGUAGES, metavar="LANGUAGE")
    table = commands.add_parser("table", help="the table of one run of that folder, or of several")
    table.add_argument("runs", nargs="+", type=Path, metavar="RUN")
    table.add_argument("--json", type=Path, help="write the figures there")
    table.add_argument("--page", type=Path, help="write the Markdown there instead of printing it")
    asked = parser.parse_args(arguments)
    try:
        if asked.command == "folder":
            print(f"{assemble(asked.out, asked.only)} candidates in {asked.out}")
            return
        content = figures([Run.read(each) for each in asked.runs])
    except (CandidateError, UsageError, StoreError) as error:
        raise SystemExit(str(error)) from error
    if asked.json:
        asked.json.write_text(json.dumps(content, indent=1) + "\n", encoding="utf-8")
    if asked.page:
        asked.page.write_text(markdown(page(content)), encoding="utf-8")
    else:
        print(markdown(page(content)))


if __name__ == "__main__":
    main()

"""The front door: examples answer the problems that they name, and the commands that the README shows exist."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from kernelgauge.backends.registry import detect
from kernelgauge.cli.main import app
from kernelgauge.problems.loader import load_problem
from kernelgauge.session.session import Session

ROOT = Path(__file__).parents[2]
EXAMPLES = sorted((ROOT / "examples").glob("*.py"))
PAGES = [
    ROOT / name for name in ("README.md", "examples/README.md", "docker/README.md", "STABILITY.md", "CHANGELOG.md")
]
COMMANDS = typer.main.get_command(app).commands  # type: ignore[attr-defined]


def command_lines(page: Path) -> list[list[str]]:
    """The words after `kernelgauge` in code on a page: in blocks at the beginning of a line, and in spans."""
    text = page.read_text()
    blocks = "\n".join(re.findall(r"```console\n(.*?)```", text, flags=re.DOTALL))
    shown = re.findall(r"^(?:\$ )?kernelgauge ([^#\n]*)", blocks, flags=re.MULTILINE)
    shown += re.findall(r"`kernelgauge ([^`\n]+)`", text)
    return [line.split() for line in shown if not line.startswith("VERB")]


@pytest.mark.parametrize("path", EXAMPLES, ids=lambda path: path.stem)
def test_an_example_is_of_the_language_in_its_name_and_answers_the_problem_in_its_docstring(path: Path) -> None:
    source = path.read_text()
    tree = ast.parse(source)
    assert detect(source) == path.stem.rpartition("_")[2]
    assert "ModelNew" in {node.name for node in tree.body if isinstance(node, ast.ClassDef)}
    text = ast.get_docstring(tree) or ""
    named = re.search(r"an answer to problem (\S+) of the suite", text)
    assert named and load_problem(named[1], sizes="small").key == named[1]
    assert f"kernelgauge eval {named[1]} examples/{path.name}" in text


def test_both_pages_name_every_example() -> None:
    names = {path.name for path in EXAMPLES}
    assert {name.rpartition("_")[2] for name in (path.stem for path in EXAMPLES)} >= {
        "cpp",
        "cuda",
        "triton",
        "torch",
    }
    for page in ("README.md", "examples/README.md"):
        assert set(re.findall(r"\w+_\w+\.py(?=\])", (ROOT / page).read_text())) == names, page


@pytest.mark.processes
def test_the_table_of_verbs_names_all_and_no_other() -> None:
    table = (ROOT / "README.md").read_text().partition("## What you can do")[2].partition("\n## ")[0]
    assert sorted(re.findall(r"^\| [^|]*\| `([a-z-]+)` \|", table, flags=re.MULTILINE)) == sorted(COMMANDS)
    for verb in COMMANDS:
        assert CliRunner().invoke(app, [verb, "--help"]).exit_code == 0, verb


@pytest.mark.parametrize("page", PAGES[:3], ids=lambda page: str(page.relative_to(ROOT)))
def test_commands_on_a_page_exist_with_their_options_and_files(page: Path) -> None:
    lines = command_lines(page)
    assert lines
    for verb, *words in lines:
        assert verb in COMMANDS, verb
        known = {name for option in COMMANDS[verb].params for name in option.opts}
        assert {word for word in words if word.startswith("--")} <= known, [verb, *words]
        assert all((ROOT / word).is_file() for word in words if word.startswith("examples/")), [verb, *words]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_lead_to_files(page: Path) -> None:
    for link in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / link).exists(), link


def test_the_makefile_has_the_commands_of_the_readme() -> None:
    targets = set(re.findall(r"^(\w[\w-]*):", (ROOT / "Makefile").read_text(), flags=re.MULTILINE))
    assert set(re.findall(r"^make ([\w-]+)", (ROOT / "README.md").read_text(), flags=re.MULTILINE)) <= targets


@pytest.mark.proof("examples", "backends")
def test_the_example_in_cpp_passes(session: Session) -> None:
    source = (ROOT / "examples" / "mse_cpp.py").read_text()
    record = session.evaluate("1/94", source, sizes="small", timed=False)
    assert record.passed, record.reason
    assert record.backend == "cpp" and len(record.trials) == 8

"""What the reference says about the program is read from the program, when the site is built.

A page asks for it by a comment on a line of its own. `<!-- generated: NAME -->` is replaced by what `PARTS` writes;
`<!-- included: PATH -->` makes the page another file of the repository, and links to that file lead to the page.
"""

from __future__ import annotations

import ast
import inspect
import json
import os
import re
import sys
import tomllib
import types
import typing
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from enum import Enum
from importlib import import_module, resources
from pathlib import Path
from typing import Any

DOCS = Path(__file__).parents[1].resolve()
ROOT = DOCS.parent
GENERATED = re.compile(r"^<!-- generated: ([\w-]+) -->$", re.MULTILINE)
INCLUDED = re.compile(r"^<!-- included: (\S+) -->$", re.MULTILINE)
LINK = re.compile(r"(\]\()([^)#\s:]+)((?:#[^)\s]*)?\))")
VARIABLE = re.compile(r"KERNELGAUGE_[A-Z]+(?:_[A-Z]+)*")
RECORDS = {
    "Evaluation": "evaluation timing bound memory rules difference comparison elsewhere",
    "Run": "run attempt",
    "Problem and candidate": "problem",
    "Baselines": "baseline",
    "Profile": "profile_record",
}


def variables(source: Path) -> set[str]:
    """Every `KERNELGAUGE_...` that a file below `source` names."""
    files = [path for path in source.rglob("*") if path.suffix in (".py", ".j2", ".toml", ".md")]
    return {name for path in files for name in VARIABLE.findall(path.read_text(errors="replace"))}


def shown() -> dict[Path, Path]:
    """Files of the repository that a page shows -> that page."""
    pages = {page: INCLUDED.search(page.read_text()) for page in DOCS.rglob("*.md")}
    return {(page.parent / found[1]).resolve(): page for page, found in pages.items() if found}


# The command line


def command_line() -> str:
    import typer

    from kernelgauge.cli.main import app

    root = typer.main.get_command(app)
    return "\n".join(line for name, command in _verbs(root, "") for line in _verb(name, command))


def _verbs(group: Any, prefix: str) -> Iterator[tuple[str, Any]]:
    for name, command in group.commands.items():
        if hasattr(command, "commands"):
            yield f"{prefix}{name}", command
            yield from _verbs(command, f"{prefix}{name} ")
        else:
            yield f"{prefix}{name}", command


def _verb(name: str, command: Any) -> Iterator[str]:
    arguments = [p for p in command.params if "Argument" in type(p).__name__]
    options = [p for p in command.params if p not in arguments and not getattr(p, "hidden", False)]
    options = [p for p in options if p.opts != ["--help"]]
    usage = ["kernelgauge", name, *(_argument(p) for p in arguments)]
    if hasattr(command, "commands"):
        usage += ["VERB"]
    if options:
        usage += ["[OPTIONS]"]
    yield f"## `{name}`\n"
    yield f"{inspect.cleandoc(command.help or '')}\n"
    yield f"```text\n{' '.join(usage)}\n```\n"
    if hasattr(command, "commands"):
        yield f"Verbs: {', '.join(f'`{verb}`' for verb in command.commands)}.\n"
    if arguments:
        yield "| argument | meaning |\n|---|---|"
        for parameter in arguments:
            yield f"| `{parameter.name.upper()}` | {_cell(parameter.help)} |"
        yield ""
    if options:
        yield "| option | meaning |\n|---|---|"
        for parameter in options:
            names = " ".join(f"`{flag}`" for flag in (*parameter.opts, *parameter.secondary_opts))
            said = [_cell(parameter.help), *_value(parameter), *_default(parameter), *_variable(parameter)]
            yield f"| {names} | {' '.join(_sentence(part) for part in said if part)} |"
        yield ""


def _argument(parameter: Any) -> str:
    name = parameter.name.upper() + ("..." if parameter.nargs == -1 else "")
    return name if parameter.required else f"[{name}]"


def _value(parameter: Any) -> Iterator[str]:
    kind = getattr(getattr(parameter, "type_descriptor", None), "annotation", None)
    if getattr(parameter, "is_flag", False):
        return
    if isinstance(kind, type) and issubclass(kind, Enum):
        yield f"Values: {', '.join(f'`{member.value}`' for member in kind)}"
    elif getattr(parameter, "metavar", None):
        yield f"Value: `{_cell(parameter.metavar)}`"
    elif words := {"int": "an integer", "float": "a number", "Path": "a path"}.get(getattr(kind, "__name__", "")):
        yield f"Value: {words}"


def _default(parameter: Any) -> Iterator[str]:
    default = parameter.default
    if getattr(parameter, "required", False):
        yield "**Required**"
    elif default is True:
        yield f"Default: `{parameter.opts[0]}`"
    elif default not in (None, False, "") and not callable(default):
        yield f"Default: `{default.value if isinstance(default, Enum) else default}`"


def _variable(parameter: Any) -> Iterator[str]:
    if names := getattr(parameter, "envvar", None):
        yield f"Environment: `{names}`"


def _sentence(text: str) -> str:
    return text if text.endswith((".", "!", "?")) else f"{text}."


def _cell(text: str | None) -> str:
    return " ".join((text or "").split()).replace("|", r"\|").replace("<", "&lt;")


# Records


def records() -> str:
    parts = []
    for title, modules in RECORDS.items():
        parts.append(f"## {title}\n")
        for name in modules.split():
            parts += _records(f"kernelgauge.schema.{name}")
    return "\n".join(parts)


def _records(name: str) -> Iterator[str]:
    module = import_module(name)
    for class_name, _, said in _classes(module):
        kind = getattr(module, class_name)
        if class_name.startswith("_") or not hasattr(kind, "model_fields"):
            continue
        yield f"### {class_name}\n"
        yield f"{said}\n"
        yield "| field | meaning |\n|---|---|"
        for field, info in kind.model_fields.items():
            text = _cell(meaning(kind, field))
            said = [text and _sentence(text), f"Type: {_type(info.annotation)}.", _literal(info)]
            yield f"| `{field}` | {' '.join(part for part in said if part)} |"
        yield ""


def _classes(module: types.ModuleType) -> Iterator[tuple[str, dict[str, str], str]]:
    """Name, texts below the fields, and docstring of every class of a module, in order."""
    for node in ast.parse(inspect.getsource(module)).body:
        if isinstance(node, ast.ClassDef):
            yield node.name, _below(node), inspect.cleandoc(ast.get_docstring(node) or "")


def _below(node: ast.ClassDef) -> dict[str, str]:
    found = {}
    for field, text in zip(node.body, node.body[1:], strict=False):
        if (
            isinstance(field, ast.AnnAssign)
            and isinstance(field.target, ast.Name)
            and isinstance(text, ast.Expr)
            and isinstance(text.value, ast.Constant)
            and isinstance(text.value.value, str)
        ):
            found[field.target.id] = text.value.value
    return found


def meaning(kind: type, field: str) -> str:
    """What the text below a field says of it, in its class or in the one that it comes from; empty without one."""
    for base in kind.__mro__:
        if base.__module__.startswith("kernelgauge."):
            inherited = {name: texts for name, texts, _ in _classes(import_module(base.__module__))}
            if field in inherited.get(base.__name__, {}):
                return inherited[base.__name__][field]
    return ""


def _type(annotation: Any) -> str:
    return f"`{_spelled(annotation)}`".replace("|", r"\|")


def _spelled(annotation: Any) -> str:
    origin, arguments = typing.get_origin(annotation), typing.get_args(annotation)
    if annotation is type(None):
        return "null"
    if annotation is Ellipsis:
        return "..."
    if origin is typing.Literal:
        return " | ".join(f'"{value}"' for value in arguments)
    if origin in (typing.Union, types.UnionType):
        return " | ".join(_spelled(part) for part in arguments)
    if origin is typing.Annotated:
        return _spelled(arguments[0])
    if origin is not None:
        return f"{getattr(origin, '__name__', origin)}[{', '.join(_spelled(part) for part in arguments)}]"
    return getattr(annotation, "__name__", str(annotation))


def _literal(info: Any) -> str:
    if info.is_required():
        return "Required."
    if info.default_factory not in (None, dict, list, tuple):
        return "Default: made anew."
    if info.default_factory is not None or info.default in ((), "", {}):
        return "Default: empty."
    value = info.default.value if isinstance(info.default, Enum) else info.default
    return f"Default: `{'null' if value is None else value}`."


# Protocols


def protocols() -> str:
    from kernelgauge import config

    folder = resources.files("kernelgauge.protocols")
    parts = []
    for name in config.protocols():
        text = (folder / f"{name}.toml").read_text()
        summary = tomllib.loads(text)["summary"]
        parts.append(f"## `{name}`\n\n{summary[:1].upper()}{summary[1:]}.\n\n```toml\n{text.strip()}\n```\n")
    return "\n".join(parts)


# Rewards


def shipped_rewards() -> str:
    from kernelgauge.training.reward import load_reward, rewards

    folder = resources.files("kernelgauge.training") / "rewards"
    parts = []
    for name in rewards():
        text, reward = (folder / f"{name}.toml").read_text(), load_reward(name)
        said = f"{_sentence(reward.summary[:1].upper() + reward.summary[1:])} Source: {_sentence(reward.source)}"
        parts.append(f"### `{name}`\n\n{said}\n\n```toml\n{text.strip()}\n```\n")
    return "\n".join(parts)


def reward_parts() -> str:
    return "\n".join(_fields("kernelgauge.training.parts", ("Parts",)))


def reward_fields() -> str:
    names = ("Reward", "Speed", "Step", "CoverageTerm", "Failures", "Turns")
    return "\n".join(_fields("kernelgauge.training.reward", names))


def pairs() -> str:
    return "\n".join(_fields("kernelgauge.pairs.row", ("Row",)))


def metrics() -> str:
    return "\n".join(_fields("kernelgauge.serve.metrics", ("Metrics",)))


def _fields(module: str, names: tuple[str, ...]) -> Iterator[str]:
    """One table for each record, without its defaults."""
    for name in names:
        kind = getattr(import_module(module), name)
        yield f"### {name}\n\n{inspect.cleandoc(kind.__doc__)}\n\n| field | meaning |\n|---|---|"
        for field, info in kind.model_fields.items():
            text = _cell(meaning(kind, field))
            said = [text and _sentence(text), "" if info.annotation is float else f"Type: {_type(info.annotation)}."]
            yield f"| `{field}` | {' '.join(part for part in said if part)} |"
        yield ""


# Tables for other tools


def tables() -> str:
    from kernelgauge.report.tables.columns import TABLES

    return "\n".join(line for table in TABLES.values() for line in _table(table))


def _table(table: Any) -> Iterator[str]:
    yield f"## `{table.name}`\n"
    yield f"{_sentence(table.about[:1].upper() + table.about[1:])}\n"
    yield "| column | kind | meaning |\n|---|---|---|"
    for column in table.columns:
        yield f"| `{column.name}` | {column.kind} | {_cell(column.about)} |"
    yield ""


# Measured


def expert() -> str:
    with _importing_from(ROOT / "benchmarks"):
        from expert_page import expert as blocks
        from page_blocks import markdown
    return markdown(blocks(ROOT / "results" / "h100"))


def expert_wins() -> str:
    with _importing_from(ROOT / "benchmarks"):
        from expert_page import wins as blocks
        from page_blocks import markdown
    return markdown(blocks([ROOT / "results" / "h100", ROOT / "results" / "h200"]))


def expert_variants() -> str:
    with _importing_from(ROOT):
        from benchmarks.expert_variants import table
        from benchmarks.page_blocks import markdown
    contents = [json.loads(path.read_text()) for path in sorted(ROOT.glob("results/*/variants.json"))]
    return "\n".join(markdown(table(each["rows"], each["machine"])) for each in contents)


def headroom() -> str:
    with _importing_from(ROOT / "benchmarks"):
        from headroom_page import blocks
        from page_blocks import Heading, Paragraph, markdown
        from result_pages import origin
    parts = []
    for path in sorted(ROOT.glob("results/*/headroom.json")):
        content = json.loads(path.read_text())
        told = f"{origin(content)} `{path.relative_to(ROOT)}`."
        parts += [Heading(content["environment"]["gpu"] or path.parent.name), Paragraph(told), *blocks(content)]
    return markdown(parts)


def cards() -> str:
    with _importing_from(ROOT / "benchmarks"):
        from cards import blocks
        from page_blocks import markdown
    return markdown(blocks(json.loads((ROOT / "results" / "cards.json").read_text())))


@contextmanager
def _importing_from(folder: Path) -> Iterator[None]:
    """Programs of benchmarks/ find their neighbours in their own folder, or are modules of the repository."""
    sys.path.insert(0, str(folder))
    try:
        yield
    finally:
        sys.path.remove(str(folder))


# JSON Schemas


def schemas() -> str:
    from schemas import page

    return page()


PARTS: dict[str, Callable[[], str]] = {
    "command-line": command_line,
    "records": records,
    "schemas": schemas,
    "protocols": protocols,
    "tables": tables,
    "parts": reward_parts,
    "rewards": shipped_rewards,
    "reward-fields": reward_fields,
    "metrics": metrics,
    "pairs": pairs,
    "expert": expert,
    "expert-wins": expert_wins,
    "expert-variants": expert_variants,
    "headroom": headroom,
    "cards": cards,
}


# The pages


def read(app: Any, document: str, content: list[str]) -> None:
    """Put generated and included text in place, and lead links to pages where there are any."""
    from sphinx.util import logging

    page = Path(app.env.doc2path(document)).resolve()
    text, home = content[0], page.parent
    if found := INCLUDED.search(text):
        file = (page.parent / found[1]).resolve()
        app.env.note_dependency(str(file))
        text, home = _titled(file.read_text(), text), file.parent
    text = GENERATED.sub(lambda found: PARTS[found[1]](), text)
    content[0] = LINK.sub(lambda found: found[1] + _led(found[2], home, page) + found[3], text)
    if page == DOCS / "reference" / "environment.md":
        for name in sorted(variables(ROOT / "src") - set(VARIABLE.findall(text))):
            logging.getLogger(__name__).warning(
                "%s is read by the program and not on this page", name, location=document
            )


def _titled(text: str, page: str) -> str:
    """The text of a file under the title of its page, where that has one."""
    if not page.startswith("# "):
        return text
    return page.splitlines()[0] + "\n\n" + re.sub(r"\A# .*\n+", "", text)


def _led(link: str, home: Path, page: Path) -> str:
    target = (home / link).resolve()
    if not target.exists():
        return link
    target = shown().get(target, target)
    if target.is_dir() and (target / "index.md").exists():
        target = target / "index.md"
    return os.path.relpath(target, page.parent)


def setup(app: Any) -> dict[str, Any]:
    app.connect("source-read", read)
    return {"version": "1", "parallel_read_safe": True}

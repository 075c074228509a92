"""Headings, paragraphs and tables, written as Markdown or as HTML that opens offline.

Text may hold `code` and [links](target); everything else in it is text, whatever characters it has.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from importlib import resources

_CODE = re.compile(r"`([^`]+)`")
_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")


@dataclass(frozen=True)
class Heading:
    """A heading; depth 1 is the page's own."""

    text: str
    depth: int = 2


@dataclass(frozen=True)
class Paragraph:
    """Running text."""

    text: str


@dataclass(frozen=True)
class Table:
    """Rows below column names; the first column is text, the others are numbers unless they are named as text."""

    columns: Sequence[str]
    rows: Sequence[Sequence[str]]
    text: frozenset[str] = frozenset()
    """Columns beside the first that are no numbers."""
    folded: str = ""
    """What stands on the fold of a long table; it is in HTML only."""


Block = Heading | Paragraph | Table


def markdown(blocks: Iterable[Block]) -> str:
    """The page as Markdown, without what is folded."""
    return "\n\n".join(_markdown(each) for each in blocks if not (isinstance(each, Table) and each.folded)) + "\n"


def _markdown(block: Block) -> str:
    match block:
        case Heading(text, depth):
            return f"{'#' * depth} {text}"
        case Paragraph(text):
            return text
        case Table(columns, rows, text):
            rule = ["---" if index == 0 or name in text or not name else "---:" for index, name in enumerate(columns)]
            lines = [columns, rule, *([cell.replace("|", "\\|") for cell in row] for row in rows)]
            return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def page(title: str, blocks: Iterable[Block]) -> str:
    """The page as one HTML file: the style of the report is inside, and no script."""
    style = resources.files("kernelgauge.report.page").joinpath("templates/report.css").read_text(encoding="utf-8")
    body = "\n".join(map(_html, blocks))
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src 'unsafe-inline'\">\n"
        f"<title>{html.escape(title)}</title>\n<style>\n{style}\n"
        "p { max-width: 90ch; } .figures { width: auto; margin: 8px 0 20px; } .figures td.text { text-align: left }\n"
        f"</style>\n</head>\n<body>\n<main>\n{body}\n</main>\n</body>\n</html>\n"
    )


def _html(block: Block) -> str:
    match block:
        case Heading(text, depth):
            return f"<h{depth}>{_inline(text)}</h{depth}>"
        case Paragraph(text):
            return f"<p>{_inline(text)}</p>"
        case Table():
            table = _html_table(block)
            if not block.folded:
                return table
            return f"<details><summary>{_inline(block.folded)}</summary>\n{table}\n</details>"


def _html_table(table: Table) -> str:
    head = "".join(f'<th scope="col">{_inline(name)}</th>' for name in table.columns)
    kinds = {True: ' class="text"', False: ""}
    lines = []
    for row in table.rows:
        cells = zip(table.columns[1:], row[1:], strict=True)
        rest = "".join(f"<td{kinds[name in table.text]}>{_inline(cell)}</td>" for name, cell in cells)
        lines.append(f'<tr><th scope="row">{_inline(row[0])}</th>{rest}</tr>')
    body = "\n".join(lines)
    inside = f"<thead><tr>{head}</tr></thead>\n<tbody>\n{body}\n</tbody>"
    return f'<div class="scroll"><table class="figures">{inside}</table></div>'


def _inline(text: str) -> str:
    escaped = html.escape(text, quote=True)
    return _LINK.sub(r'<a href="\2">\1</a>', _CODE.sub(r"<code>\1</code>", escaped))

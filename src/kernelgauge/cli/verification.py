"""How `kernelgauge problems verify` shows what it found."""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from rich.console import Console
from rich.markup import escape
from rich.table import Table

from kernelgauge.cli.tables import console
from kernelgauge.verification.verify import ProblemResult


def complain(finding: ProblemResult) -> None:
    """A line on standard error for each way in which a problem is broken."""
    for complaint in finding.broken:
        line = f"{finding.problem:>6}  {finding.name}: {complaint}"
        Console(stderr=True).print(line, markup=False, highlight=False, soft_wrap=True)


def show_findings(findings: Sequence[ProblemResult], protocols: Sequence[str]) -> None:
    """A row per problem, then what they come to."""
    out = console()
    table = Table(box=None, header_style="bold")
    for column in ("problem", "name", "is as published", "GFLOP", "MB", "FLOP/B", *_headings(protocols)):
        table.add_column(column, justify="right" if column in ("GFLOP", "MB", "FLOP/B") else "left")
    for found in findings:
        table.add_row(
            found.problem,
            escape(found.name),
            "[red]no[/]" if found.broken else "yes",
            f"{found.flops / 1e9:.3g}" if found.flops else "",
            f"{found.bytes / 1e6:.3g}" if found.bytes else "",
            f"{found.intensity:.3g}" if found.intensity else "",
            *(escape(_accepted(found, protocol)) for protocol in protocols),
        )
    out.print(table)
    for line in _summary(findings, protocols):
        out.print(line, markup=False, highlight=False, soft_wrap=True)


def _headings(protocols: Sequence[str]) -> list[str]:
    return [f"{protocol} would accept" for protocol in protocols]


def _accepted(found: ProblemResult, protocol: str) -> str:
    shortcuts = found.shortcuts.get(protocol, ())
    ignored = sum(each.startswith("without ") for each in shortcuts)
    words = [
        *found.trivial_answers.get(protocol, ()),
        *(each for each in shortcuts if not each.startswith("without ")),
    ]
    return ", ".join([*words, f"{ignored} ignored parameter{'s' * (ignored > 1)}"] if ignored else words)


def _summary(findings: Sequence[ProblemResult], protocols: Sequence[str]) -> list[str]:
    levels = Counter("own" if found.level is None else str(found.level) for found in findings)
    by_level = ", ".join(f"{count} of level {level}" for level, count in sorted(levels.items()))
    broken = sum(bool(found.broken) for found in findings)
    lines = [f"{len(findings)} problems ({by_level}), {broken} broken, {sum(f.seconds for f in findings):.0f} s"]
    for protocol in protocols:
        weak = [found.problem for found in findings if found.trivial_answers.get(protocol)]
        cut = [found.problem for found in findings if found.shortcuts.get(protocol)]
        lines.append(
            f"{protocol}: an answer without the work passes on {len(weak)}{_named(weak)}; "
            f"low precision or an ignored parameter passes on {len(cut)}{_named(cut)}"
        )
    return lines


def _named(problems: Sequence[str]) -> str:
    return f" ({', '.join(problems[:12])}{', ...' * (len(problems) > 12)})" if problems else ""

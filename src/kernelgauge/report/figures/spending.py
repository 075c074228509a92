"""What a run paid its contestant, and what that is for each problem solved."""

from __future__ import annotations

from collections.abc import Sequence

from kernelgauge.report.figures.answers import Answers, by_interval
from kernelgauge.schema import Record, Spent


class Share(Record):
    """Cost for each problem of a kind. None where there is no such problem, or no price."""

    problems: int
    tokens: float | None
    usd: float | None


class Spending(Record):
    """The cost of all attempts of a run, those at problems that do not count included."""

    spent: Spent
    tokens: int
    """Read and written together."""
    solved: Share
    """For each problem with a correct candidate."""
    faster: Share
    """For each problem with a candidate faster than the reference, by the whole interval."""


def spending(spent: Spent, problems: Sequence[Answers]) -> Spending | None:
    """What the attempts cost, for each of these problems that was solved; None without attempts."""
    if spent.calls == 0:
        return None
    solved, faster = (sum(answers.successes(p, by_interval) > 0 for answers in problems) for p in (0.0, 1.0))
    return Spending(spent=spent, tokens=spent.tokens, solved=_share(spent, solved), faster=_share(spent, faster))


def in_words(found: Spending) -> str:
    """One line for a reader."""
    spent = found.spent
    parts = [f"{spent.calls:,} call{'s' * (spent.calls != 1)}, {spent.tokens_read:,} tokens read, "]
    parts[0] += f"{spent.tokens_written:,} written"
    if spent.usd is not None:
        parts[0] += f", ${spent.usd:,.2f}"
    for name, share in (("solved", found.solved), ("faster", found.faster)):
        if share.tokens is not None:
            price = f", ${share.usd:,.4g}" if share.usd is not None else ""
            parts.append(f"for each problem {name} ({share.problems}): {share.tokens:,.0f} tokens{price}")
    return "; ".join(parts)


def _share(spent: Spent, problems: int) -> Share:
    return Share(
        problems=problems,
        tokens=spent.tokens / problems if problems else None,
        usd=spent.usd / problems if problems and spent.usd is not None else None,
    )

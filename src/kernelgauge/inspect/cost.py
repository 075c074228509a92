"""What a call cost: tokens and dollars as Inspect counts them, seconds of the model; and when that is enough."""

from __future__ import annotations

from inspect_ai.model import ModelOutput

from kernelgauge.errors import UsageError
from kernelgauge.inspect.ledger import UNPRICED
from kernelgauge.schema import Budget, Spent


def limit_reached(budget: Budget, spent: Spent, aside: str | None = None) -> str | None:
    """Which limit of a sample's budget is reached, as `Budget.ended_by` says.

    Raises:
        UsageError: it is in dollars, and what was asked for has no known price: it would never be reached.
    """
    if budget.usd is not None and spent.calls and spent.usd is None:
        raise UsageError(UNPRICED)
    return budget.ended_by(spent, aside)


def spent_on(output: ModelOutput, seconds: float) -> Spent:
    """The cost of one answer.

    Args:
        seconds: what the call took by our clock, for providers that do not say.
    """
    usage = output.usage
    taken = output.time if output.time is not None else seconds
    if usage is None:
        return Spent(calls=1, seconds=taken)
    cached = (usage.input_tokens_cache_read or 0) + (usage.input_tokens_cache_write or 0)
    return Spent(
        calls=1,
        tokens_read=usage.input_tokens + cached,
        tokens_written=usage.output_tokens,
        seconds=taken,
        usd=usage.total_cost,
    )

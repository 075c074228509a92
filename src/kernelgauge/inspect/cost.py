"""What a call cost: tokens and dollars as Inspect counts them, seconds of the model; and when that is enough."""

from __future__ import annotations

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
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
    """The cost of one answer; nothing but a call where Inspect had it in its own cache.

    Args:
        seconds: what the call took by our clock, for providers that do not say.
    """
    if _from_cache(output):
        return Spent(calls=1, usd=0.0)
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


def _from_cache(output: ModelOutput) -> bool:
    """Whether nobody was asked: the output is as it was then, usage and cost included, and only its event tells."""
    said = output.message.id if output.choices else None
    calls = (event for event in reversed(transcript().events) if isinstance(event, ModelEvent))
    event = next((each for each in calls if each.output.choices and each.output.message.id == said), None)
    return event is not None and event.cache == "read"

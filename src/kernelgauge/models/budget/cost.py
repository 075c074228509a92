"""A call and its cost: tokens and dollars as Inspect counts them, seconds of the model; and when that is enough."""

from __future__ import annotations

from inspect_ai.event import ModelEvent
from inspect_ai.log import transcript
from inspect_ai.model import ChatMessage, ModelOutput, get_model
from inspect_ai.tool import Tool
from inspect_ai.util import LimitExceededError

from kernelgauge.errors import UsageError
from kernelgauge.models.budget.ledger import UNPRICED
from kernelgauge.schema import Budget, Spent


def limit_reached(budget: Budget, spent: Spent, aside: str | None = None) -> str | None:
    """Which limit of a sample's budget is reached, as `Budget.ended_by` says.

    Raises:
        UsageError: it is in dollars, and what was asked for has no known price: it would never be reached.
    """
    if budget.usd is not None and spent.calls and spent.usd is None:
        raise UsageError(UNPRICED)
    return budget.ended_by(spent, aside)


async def paid_answer(
    messages: list[ChatMessage], tools: list[Tool] | None = None
) -> tuple[ModelOutput, LimitExceededError | None]:
    """What the model says, and the limit of Inspect's that its cost exceeded: the caller raises it once all is kept.

    Inspect counts what an answer cost before it hands it over, and hands over none that is beyond a limit.

    Raises:
        LimitExceededError: nobody was asked, for a limit was reached before.
    """
    try:
        return await get_model().generate(messages, tools or []), None
    except LimitExceededError as limit:
        if (output := _came(messages)) is None:
            raise
        return output, limit


def _came(messages: list[ChatMessage]) -> ModelOutput | None:
    """The answer to these messages, none of which was asked before with the same last one, as its event has it."""
    asked = messages[-1].id
    calls = (event for event in reversed(transcript().events) if isinstance(event, ModelEvent))
    event = next((each for each in calls if any(told.id == asked for told in each.input)), None)
    return event.output if event is not None and not event.pending and not event.error else None


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

"""What a call cost: tokens and dollars as Inspect counts them, seconds of the model."""

from __future__ import annotations

from inspect_ai.model import ModelOutput

from kernelgauge.schema import Spent


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

"""Strategies by name, with their parameters: `refine,turns=5,feedback=G+E+P`."""

from __future__ import annotations

from typing import Any

from pydantic import ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import UsageError
from kernelgauge.registry import resolve
from kernelgauge.search.strategy import Strategy

_BUILT_IN = {
    "sample": "kernelgauge.search.sample:Sample",
    "refine": "kernelgauge.search.refine:Refine",
    "evolve": "kernelgauge.search.evolve:Evolve",
    "tree": "kernelgauge.search.tree:Tree",
}


def strategy_names() -> list[str]:
    """Short names of the built-in strategies."""
    return list(_BUILT_IN)


def strategy_named(given: str, **defaults: Any) -> Strategy:
    """The strategy that a text names: a short name, an entry point of `kernelgauge.strategies`, or `module:Class`.

    Args:
        given: the name, followed by `,parameter=value` for each that is to be other than usual.
        defaults: parameters that hold unless `given` has them, for strategies that have such.

    Raises:
        UsageError: there is no such strategy, or it does not take these parameters.
    """
    name, *parts = (part.strip() for part in given.split(","))
    made_of = resolve(name, _BUILT_IN, "kernelgauge.strategies", "strategy")
    known = getattr(made_of, "model_fields", {})
    chosen: dict[str, Any] = {key: value for key, value in defaults.items() if key in known}
    for part in parts:
        key, equals, value = part.partition("=")
        if not equals:
            raise UsageError(f"strategy {name} wants PARAMETER=VALUE, not {part!r}")
        chosen[key.strip()] = value.strip()
    try:
        strategy: Strategy = made_of(**chosen)
    except ValidationError as error:
        taken = f" (it takes {', '.join(known)})" if known else ""
        raise UsageError(f"strategy {name}: {first_complaint(error)}{taken}") from error
    except TypeError as error:
        raise UsageError(f"strategy {name} does not take these parameters: {error}") from error
    return strategy


def described(strategy: Strategy) -> str:
    """A strategy with all of its parameters in one line: equal lines mean equal strategies."""
    said = f"{type(strategy).__module__}:{type(strategy).__qualname__}"
    said = next((short for short, where in _BUILT_IN.items() if where == said), said)
    fields = strategy.model_dump() if hasattr(strategy, "model_dump") else vars(strategy)
    return ",".join([said, *(f"{key}={value}" for key, value in fields.items())])

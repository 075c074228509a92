"""What a model's tokens cost, where Inspect does not know: its list knows few models, and prices change."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

from inspect_ai.model import ModelCost, ModelInfo, get_model_info, set_model_info
from pydantic import ValidationError

from kernelgauge.config import first_complaint
from kernelgauge.errors import UsageError
from kernelgauge.schema import Spent

_PAIR = re.compile(r"\s*(?P<input>\d+(?:\.\d+)?)\s*,\s*(?P<output>\d+(?:\.\d+)?)\s*")


def price_known(model: str) -> bool:
    """Whether what a model's answers cost will be known."""
    info = get_model_info(model)
    return info is not None and info.cost is not None


def priced(spent: Spent, model: str) -> Spent:
    """With its dollars, where the price is known by now: as if no token had come from a provider's cache."""
    info = get_model_info(model)
    if spent.usd is not None or not spent.tokens or info is None or info.cost is None:
        return spent
    usd = (spent.tokens_read * info.cost.input + spent.tokens_written * info.cost.output) / 1e6
    return spent.model_copy(update={"usd": usd})


def use_prices(given: str, model: str) -> None:
    """Reckon with these prices in this process.

    Args:
        given: dollars for a million tokens read and written, such as `1.25,10`; or a JSON file that has for
            each model `input`, `output`, and if they differ from `input` the prices of cached tokens.
        model: which one a pair is about.

    Raises:
        UsageError: it is neither.
    """
    if pair := _PAIR.fullmatch(given):
        prices: Any = {model: {name: float(price) for name, price in pair.groupdict().items()}}
    else:
        prices = _read(Path(given))
    if not isinstance(prices, dict):
        raise UsageError(f"{given} holds no prices: for each model, input and output were expected")
    for name, price in prices.items():
        try:
            read = price["input"]
            cost = ModelCost.model_validate({"input_cache_write": read, "input_cache_read": read, **price})
        except ValidationError as error:
            raise UsageError(f"{given}: the prices of {name}: {first_complaint(error)}") from error
        except (KeyError, TypeError):
            raise UsageError(f"{given}: the prices of {name} need input and output") from None
        known = get_model_info(name) or ModelInfo()
        set_model_info(name, known.model_copy(update={"cost": cost}))


def _read(path: Path) -> Any:
    try:
        return json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        raise UsageError(f"{path} holds no prices: {error}") from error

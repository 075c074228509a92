"""How large a number of a reward may be: sums and products of some thousands of these are finite."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

MOST = 1e6
Amount = Annotated[float, Field(ge=-MOST, le=MOST, allow_inf_nan=False)]

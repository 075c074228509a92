"""What float32 loses in adding up many terms, in the worst order that honest kernels use. Measured, in
`tests/evaluation/test_honest_float32.py` against real sums; the argument is in decision 26.

A chain of additions rounds every partial sum. With unit roundoff u the squared error is about u_r^2 times the sum of
the squared partial sums, which for c additions of terms with sum S and sum of squares Q in random order is
c (S^2 / 3 + Q / 2). Rounding is no longer random in long chains: what a term has below the last place of the sum is
lost, and of many small terms (squares, products) more is rounded away than up.
"""

from __future__ import annotations

import math
from typing import Literal

Variances = Literal["usual", "one_pass", "two_pass"]
"""How a variance is taken: as honest kernels do, from sums and sums of squares, or from differences to the mean."""
UNIT = 2.0**-24
# Rounding a number once leaves u/sqrt(3) right above a power of two and half that below the next: this much was
# found of sums, and `_WHERE` covers where in its binade a sum spends its time.
_WHERE = 0.5
ROUNDING = _WHERE * UNIT
"""Of one rounding, relative to what is rounded."""
_LONGEST = 2**20
"""Terms that one thread adds up by itself; a chain beyond it is of sums of blocks."""
_BLOCK = 256
_SHORTEST_OF_MORE = 2**16
# Of a chain's sum, at 2^20 additions, and the power of their number with which it grows.
_LOST_SQUARES = 5e-4, 1.5
_LOST_PRODUCTS = 1.6e-4, 1.9
# Of a sum of values that lie just above a coarser type's: an accumulator with as few places left rounds them alike.
_LOST_OFF_THE_GRID = 5e-5
_COARSE_FROM = 1024


def chain(terms: int) -> int:
    """Additions one after the other in the longest honest sum of so many terms.

    Up to a million by one thread or by an atomic addition of each; of more, one for each block of 256.
    """
    if terms <= _LONGEST:
        return max(terms, 1)
    return min(max(terms // _BLOCK, _SHORTEST_OF_MORE), _LONGEST)


def of_sum(terms: int) -> float:
    """Relative to the sum: root mean square of the error."""
    return ROUNDING * math.sqrt(chain(terms) / 3 + 1)


def of_terms(terms: int) -> float:
    """Relative to the root of the sum of the squared terms: what is added to `of_sum`, as its square."""
    return ROUNDING * math.sqrt(chain(terms) / 2)


def of_merged_means(terms: int) -> float:
    """Of a variance that is merged from those of pieces (Welford, Chan), each of 256 terms: what it errs by where the
    means are large, relative to |mean| * deviation / sqrt(terms). Means are rounded, more so the more are merged: a
    piece's own differs from the running one by about the deviation over the root of its terms.
    """
    return UNIT * math.sqrt(3 + terms / _BLOCK / 4)


def lost(terms: int, squares: bool = False) -> float:
    """Relative to a sum of products, or of `squares`: what rounding takes away, always on the same side."""
    most, power = _LOST_SQUARES if squares else _LOST_PRODUCTS
    return float(most * (chain(terms) / _LONGEST) ** power)


def lost_off_the_grid(terms: int) -> float:
    """The same for a plain sum of `offgrid` inputs."""
    return _LOST_OFF_THE_GRID if chain(terms) >= _COARSE_FROM else 0.0

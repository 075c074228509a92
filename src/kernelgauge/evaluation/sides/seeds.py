"""Seeds that an evaluation draws by."""

from __future__ import annotations

import secrets

from kernelgauge.config import PUBLIC_SEED


class Seeds:
    """Seeds for one evaluation: each drawn from the system's entropy, so that none says anything of another; or the
    published ones, counted up from 42."""

    def __init__(self, secret: bool):
        self._secret = secret
        self._count = 0

    def next(self) -> int:
        """The next seed."""
        if self._secret:
            return secrets.randbits(62)
        self._count += 1
        return PUBLIC_SEED + self._count - 1

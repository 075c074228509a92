"""How a server judges: one setting for all that is handed in, so that all of it stands on one board."""

from __future__ import annotations

from kernelgauge.config import Protocol
from kernelgauge.errors import UsageError
from kernelgauge.schema import Record, Sizes


class Setting(Record):
    """How all submissions of a server are judged."""

    device: str
    sizes: Sizes
    protocol: Protocol
    jobs: int

    @property
    def title(self) -> str:
        """In a few words."""
        rules = self.protocol
        return (
            f"protocol {rules.name}, {self.sizes} sizes, {rules.agreement.math}, rules {rules.rules}, {self.device}"
        )


def check_secret(protocol: Protocol) -> None:
    """Raises UsageError if whoever writes a candidate can know the inputs it is judged on."""
    if protocol.inputs.seeds != "secret" or protocol.parameters.seed != "secret":
        raise UsageError(
            f"protocol {protocol.name} draws from public seeds: strangers' candidates are judged under secret ones"
        )

"""How a server judges: one setting for all that is handed in, so that all of it stands on one board."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Engine, delete, insert, select

from kernelgauge.config import Protocol
from kernelgauge.errors import UsageError
from kernelgauge.schema import Record, Sizes
from kernelgauge.schema.earlier import protocol_as_first_named, protocol_renamed
from kernelgauge.serve.database import served, writing
from kernelgauge.serve.submissions import judged_from_now_on


class ServerSetting(Record):
    """How all submissions of a server are judged."""

    device: str
    sizes: Sizes
    protocol: Protocol
    jobs: int

    @property
    def title(self) -> str:
        """In a few words."""
        protocol = self.protocol
        return (
            f"protocol {protocol.name}, {self.sizes} sizes, {protocol.tolerance.math}, "
            f"kernel policy {protocol.kernel_policy}, {self.device}"
        )

    @property
    def shared(self) -> dict[str, Any]:
        """What two judges must share, so that their verdicts stand on one board: not how many jobs, nor where.

        It is kept in databases, and enters digests there: under the names that it had first.
        """
        return {"sizes": self.sizes, **protocol_as_first_named(self.protocol.model_dump(mode="json"))}


def announce(engine: Engine, setting: ServerSetting) -> None:
    """Say in the database how all is judged from now on. Judges of another setting end when they see it."""
    shared = json.dumps(setting.shared)
    with writing(engine) as connection:
        if connection.execute(select(served.c.setting)).scalar() != shared:
            connection.execute(delete(served))
            connection.execute(insert(served).values(number=1, setting=shared))
            judged_from_now_on(connection, shared)


def check_same(connection: Connection, setting: ServerSetting) -> None:
    """Raises UsageError if the server says that all is judged otherwise; one that never began says nothing."""
    said = connection.execute(select(served.c.setting)).scalar()
    ours, theirs = setting.shared, json.loads(said) if said else setting.shared
    if ours != theirs:
        differing = ", ".join(_differing(protocol_renamed(ours), protocol_renamed(theirs)))
        raise UsageError(
            f"the server judges with other rules than this judge: {differing} differ. Begin it with the server's "
            "--protocol, --sizes, --math and --kernel-policy; what the server's device decides must be said here"
        )


def _differing(ours: Mapping[str, Any], theirs: Mapping[str, Any], within: str = "") -> list[str]:
    found: list[str] = []
    for name in sorted(ours.keys() | theirs.keys()):
        mine, other = ours.get(name), theirs.get(name)
        if isinstance(mine, dict) and isinstance(other, dict):
            found += _differing(mine, other, f"{within}{name}.")
        elif mine != other:
            found.append(f"{within}{name} ({mine}, there {other})")
    return found

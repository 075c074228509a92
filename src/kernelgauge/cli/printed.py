"""What `--json` prints: one object with the version of the records' format, whatever the verb."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

import typer

from kernelgauge.schema import FORMAT, Record


def print_object(said: Record | Mapping[str, Any]) -> None:
    """One line of JSON on standard output. `format` comes first, a record's own where it has one."""
    fields = json.loads(said.model_dump_json()) if isinstance(said, Record) else said
    typer.echo(json.dumps({"format": FORMAT, **fields}))

"""Where tables go."""

from __future__ import annotations

import os

from rich.console import Console


def console() -> Console:
    """Standard output; into a file or a pipe wide enough that no column is cut short, unless COLUMNS is set."""
    found = Console()
    return found if found.is_terminal or "COLUMNS" in os.environ else Console(width=200)

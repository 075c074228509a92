"""A wrong use of the task, said in one sentence instead of a traceback."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from kernelgauge.errors import UsageError

try:  # Inspect prints this one without a traceback, and has no public name for it
    from inspect_ai._util.error import PrerequisiteError
except ImportError:
    PrerequisiteError = UsageError  # type: ignore[assignment,misc]


@contextmanager
def one_sentence() -> Iterator[None]:
    """While open, a `UsageError` leaves as the error that Inspect prints by its text alone."""
    try:
        yield
    except UsageError as error:
        raise PrerequisiteError(str(error)) from error

"""Builds beside somebody else's timing: no GPU is there, and a candidate that asks for one is built when it is.

To answer "there is none" would be wrong: the candidate's workers have one, and what it builds may depend on that.
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from typing import Any, NoReturn
from unittest.mock import patch


class DeviceAsked(BaseException):
    """What a candidate wanted to know of a GPU. No `Exception`, lest it take this for the answer."""


@contextmanager
def hidden_device() -> Iterator[None]:
    """While open, the questions that PyTorch answers with a GPU raise DeviceAsked instead.

    Raises:
        DeviceAsked: also where the candidate caught that and went on.
    """
    import torch
    import torch.utils.cpp_extension  # which asks itself when it is imported

    asked: list[DeviceAsked] = []

    def refuse(name: str) -> Any:
        def question(*_: Any, **__: Any) -> NoReturn:
            asked.append(DeviceAsked(f"{name} during a build beside others' timing"))
            raise asked[-1]

        return question

    with ExitStack() as stack:
        for module, names in (
            (torch.cuda, ("is_available", "device_count", "_lazy_init")),
            (torch.accelerator, ("is_available", "device_count", "current_accelerator")),
        ):
            for name in names:
                stack.enter_context(patch.object(module, name, refuse(f"{module.__name__}.{name}")))
        try:
            yield
        finally:
            if asked:
                raise asked[0]

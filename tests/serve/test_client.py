"""The client beside a server that is not real: what it sends, and what it says where nobody answers."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

pytest.importorskip("sqlalchemy", reason="the extra serve is not installed")
pytest.importorskip("httpx", reason="the client is not installed")

from kernelgauge_client import Judge
from kernelgauge_client.transport import Away, Transport
from pydantic import ValidationError

from kernelgauge.serve.judge_api import _body


def a_batch(*texts: str, **more: Any) -> dict[str, Any]:
    return {"candidates": [{"problem": "1/19", "text": text} for text in texts], **more}


def test_a_batch_with_half_of_a_surrogate_pair_can_be_read() -> None:
    texts = [each.text for each in _body(json.dumps(a_batch("x = 1", "\ud800")).encode()).candidates]
    assert texts == ["x = 1", "\0"]
    for wrong in (b"{", b'{"candidates": []}', json.dumps(a_batch("\ud800", priority=1000)).encode(), b"[" * 100_000):
        with pytest.raises(ValidationError):
            _body(wrong)
    sent: list[Any] = []

    async def post(self: Transport, path: str, body: Any, *_: Any) -> Any:
        sent.extend(json.loads(json.dumps(body))["candidates"])
        raise Away("it stays away")

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Transport, "post", post)
        (answer,) = asyncio.run(Judge("http://127.0.0.1:1", "kg_x").batch([{"problem": "1/19", "text": "\ud800"}]))
    assert sent[0]["text"] == "\0" and answer["status"] == "no_verdict"

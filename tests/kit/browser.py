"""A headless Chromium that tests use as a reader does: widths, colours, keys, clicks, paper."""

from __future__ import annotations

import base64
import json
import os
import re
import shutil
import subprocess
import tempfile
import time
import zlib
from pathlib import Path
from types import TracebackType
from typing import Any, Self

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
_FLAGS = (
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *(
        "--disable-background-networking",
        "--disable-component-update",
        "--hide-scrollbars",
        "--remote-debugging-pipe",
    ),
)
_KEYS = {"Enter": 13, "Escape": 27, "ArrowDown": 40, "ArrowUp": 38, "Tab": 9, "/": 191}


class Navigated(Exception):
    """The page that was asked is not there any more: another one is on its way."""


class Browser:
    """One page at a time; `said` is all that the page wrote to the console, errors included."""

    def __init__(self) -> None:
        assert BROWSER is not None
        self.said: list[str] = []
        self._number = 0
        self._rest = b""
        self._profile = tempfile.mkdtemp()
        orders, self._orders = os.pipe()
        self._answers, answers = os.pipe()
        # Chromium reads orders from descriptor 3 and answers on 4.
        shell = f'exec "$@" 3<&{orders} 4>&{answers}'
        command = ["bash", "-c", shell, "bash", BROWSER, *_FLAGS, f"--user-data-dir={self._profile}", "about:blank"]
        self._process = subprocess.Popen(command, pass_fds=(orders, answers), stderr=subprocess.DEVNULL)
        os.close(orders)
        os.close(answers)
        target = self._call("Target.createTarget", url="about:blank")["targetId"]
        self._session = self._call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self.call(f"{domain}.enable")

    def open(
        self, page: Path | str, anchor: str = "", width: int = 1400, dark: bool = False, height: int = 900
    ) -> None:
        """Load a file, or what stands at an address, and wait until its script has run."""
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self.call("Emulation.setEmulatedMedia", features=[scheme])
        phone = width < 600
        self.call("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=phone)
        self.call("Page.navigate", url="about:blank")
        self.call("Page.navigate", url=(page.as_uri() if isinstance(page, Path) else page) + anchor)
        self.wait("document.documentElement?.dataset.ready && document.readyState === 'complete'")
        self.wait("!document.querySelector('[aria-busy]')")
        self.wait("![...document.querySelectorAll('.chart')].some((chart) => chart.clientWidth && !chart.firstChild)")

    def js(self, expression: str) -> Any:
        """The value of an expression in the page; promises are waited for. Raises RuntimeError if it throws."""
        found = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        if "exceptionDetails" in found:
            raise RuntimeError(found["exceptionDetails"].get("exception", found["exceptionDetails"]))
        return found["result"].get("value")

    def wait(self, condition: str, seconds: float = 30) -> None:
        """Until a condition holds in the page, or in the one that a click leads to. Raises TimeoutError."""
        end = time.monotonic() + seconds
        while not self._holds(condition):
            if time.monotonic() > end:
                raise TimeoutError(f"{condition} does not come true; the page said {self.said}")
            time.sleep(0.02)

    def click(self, selector: str) -> None:
        """Press the left button in the middle of the first element that matches."""
        x, y = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            self.call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, selector: str, text: str) -> None:
        """Type into a field, in place of what it holds."""
        self.js(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.select(); }})()")
        self.call("Input.insertText", text=text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an entry of a select."""
        self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            " e.dispatchEvent(new Event('input')); })()"
        )

    def press(self, *keys: str) -> None:
        """Press and release keys, one after the other."""
        for key in keys:
            text = "\r" if key == "Enter" else key if len(key) == 1 else ""
            event = {"key": key, "code": key, "windowsVirtualKeyCode": _KEYS.get(key, ord(key[0].upper()))}
            self.call("Input.dispatchKeyEvent", type="keyDown", **event, **({"text": text} if text else {}))
            self.call("Input.dispatchKeyEvent", type="keyUp", **event)

    def picture(self, target: Path, whole: bool = True) -> None:
        """A screenshot, of the whole page or of what a reader sees first."""
        found = self.call("Page.captureScreenshot", captureBeyondViewport=whole)
        target.write_bytes(base64.b64decode(found["data"]))

    def paper(self) -> bytes:
        """The page as PDF."""
        return base64.b64decode(self.call("Page.printToPDF", printBackground=True)["data"])

    def call(self, method: str, **values: Any) -> dict[str, Any]:
        """An order to the page, and its answer."""
        return self._call(method, self._session, **values)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.js(f"Boolean({condition})"))
        except Navigated:
            return False

    def _call(self, method: str, session: str | None = None, **values: Any) -> dict[str, Any]:
        self._number += 1
        order = {"id": self._number, "method": method, "params": values} | ({"sessionId": session} if session else {})
        os.write(self._orders, json.dumps(order).encode() + b"\0")
        while True:
            message = self._next()
            if message.get("id") == self._number:
                if any(word in str(message.get("error")) for word in ("navigated", "context")):
                    raise Navigated(method)
                if "error" in message:
                    raise RuntimeError(f"{method}: {message['error']}")
                result: dict[str, Any] = message["result"]
                return result
            self._note(message)

    def _note(self, message: dict[str, Any]) -> None:
        said = message.get("params", {})
        if message.get("method") == "Runtime.consoleAPICalled":
            self.said.append(str([each.get("value") for each in said["args"]]))
        elif message.get("method") == "Runtime.exceptionThrown":
            self.said.append(str(said["exceptionDetails"].get("exception", {}).get("description", said)))
        elif message.get("method") == "Log.entryAdded":
            self.said.append(said["entry"]["text"])

    def _next(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            piece = os.read(self._answers, 1 << 20)
            if not piece:
                raise RuntimeError("the browser has gone")
            self._rest += piece
        line, self._rest = self._rest.split(b"\0", 1)
        message: dict[str, Any] = json.loads(line)
        return message

    def close(self) -> None:
        os.close(self._orders)
        os.close(self._answers)
        self._process.terminate()
        self._process.wait(20)
        shutil.rmtree(self._profile, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()


def texts_in(page: Path, block: str = "texts") -> list[Any]:
    """What a packed block of a page holds."""
    found = re.search(rf'<script type="application/json" id="{block}">(.*?)</script>', page.read_text(), re.DOTALL)
    assert found
    head, *chunks = found[1].split("\n")
    assert len(json.loads(head)["packed"]) == len(chunks)
    lines = [line for chunk in chunks for line in zlib.decompress(base64.b64decode(chunk)).decode().split("\n")]
    return [json.loads(line) for line in lines]

"""A real headless Chromium, driven over its debugging pipe: what a reader does with a page, and what they see."""

from __future__ import annotations

import base64
import fcntl
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any, Self

import pytest

BROWSER = shutil.which("chromium") or shutil.which("google-chrome")
needs_browser = pytest.mark.skipif(BROWSER is None, reason="neither chromium nor google-chrome is on PATH")

# The browser listens on descriptor 3 and answers on 4.
_BEGIN = (
    "import os, sys; os.dup2(int(sys.argv[1]), 3); os.dup2(int(sys.argv[2]), 4); os.execv(sys.argv[3], sys.argv[3:])"
)
_FLAGS = [
    *("--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--disable-sync"),
    *("--disable-background-networking", "--disable-component-update", "--disable-dev-shm-usage"),
    *("--hide-scrollbars", "--remote-debugging-pipe"),
]


class Navigated(Exception):
    """The page that was asked is not there any more: another one is on its way."""


class Browser:
    """One page of one browser. Everything that the page complains about is kept in `complaints`."""

    def __init__(self) -> None:
        assert BROWSER is not None
        self.complaints: list[str] = []
        self._profile = tempfile.mkdtemp(prefix="kernelgauge-browser-")
        ours_read, theirs_write = os.pipe()
        theirs_read, ours_write = os.pipe()
        far = [fcntl.fcntl(end, fcntl.F_DUPFD, 10) for end in (theirs_read, theirs_write)]
        self._process = subprocess.Popen(
            [sys.executable, "-c", _BEGIN, *map(str, far), BROWSER, *_FLAGS, f"--user-data-dir={self._profile}"],
            pass_fds=far,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        for end in far:
            os.close(end)
        os.close(theirs_read)
        os.close(theirs_write)
        self._in, self._out = os.fdopen(ours_read, "rb"), os.fdopen(ours_write, "wb")
        self._count = 0
        self._rest = b""
        self._session: str | None = None
        target = next(t for t in self._call("Target.getTargets")["targetInfos"] if t["type"] == "page")
        found = self._call("Target.attachToTarget", targetId=target["targetId"], flatten=True)
        self._session = found["sessionId"]
        for domain in ("Page", "Runtime", "Log"):
            self._call(f"{domain}.enable")

    def look(self, width: int = 1400, height: int = 1000, dark: bool = False) -> None:
        """From now on a screen of this size, in CSS pixels, and of this colour scheme."""
        self._call(
            "Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=width < 600
        )
        scheme = {"name": "prefers-color-scheme", "value": "dark" if dark else "light"}
        self._call("Emulation.setEmulatedMedia", features=[scheme])

    def open(self, address: str) -> None:
        """Go there, and wait until the page and its script are done."""
        self._call("Page.navigate", url=address)
        self.until("document.readyState === 'complete' && location.href !== 'about:blank'")

    def until(self, condition: str, seconds: float = 60) -> None:
        """Wait for a condition in the page's own words, on whichever page comes meanwhile."""
        end = time.monotonic() + seconds
        while not self._holds(condition):
            assert time.monotonic() < end, f"not within {seconds} s: {condition}"
            time.sleep(0.05)

    def _holds(self, condition: str) -> bool:
        try:
            return bool(self.run(condition))
        except Navigated:
            return False

    def run(self, expression: str) -> Any:
        """The value of an expression in the page, as JSON would carry it."""
        found = self._call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def click(self, selector: str) -> None:
        """Press the left button in the middle of the first element that matches."""
        place = self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'});"
            " const r = e.getBoundingClientRect(); return [r.x + r.width / 2, r.y + r.height / 2]; })()"
        )
        for kind in ("mousePressed", "mouseReleased"):
            x, y = place
            self._call("Input.dispatchMouseEvent", type=kind, x=x, y=y, button="left", clickCount=1)

    def write(self, selector: str, text: str) -> None:
        """Type into a field, in place of what it holds."""
        self.run(f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.focus(); e.select(); }})()")
        self._call("Input.insertText", text=text)

    def choose(self, selector: str, value: str) -> None:
        """Choose an entry of a select."""
        self.run(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)}); e.value = {json.dumps(value)};"
            " e.dispatchEvent(new Event('input')); })()"
        )

    def screenshot(self, path: Path, whole: bool = True) -> None:
        """Keep what is seen as a PNG, the whole length of the page by default."""
        image = self._call("Page.captureScreenshot", format="png", captureBeyondViewport=whole)
        path.write_bytes(base64.b64decode(image["data"]))

    def close(self) -> None:
        self._process.terminate()
        self._process.wait(60)
        self._in.close()
        self._out.close()
        shutil.rmtree(self._profile, ignore_errors=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def _call(self, method: str, **parameters: Any) -> dict[str, Any]:
        self._count += 1
        message: dict[str, Any] = {"id": self._count, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        self._out.write(json.dumps(message).encode() + b"\0")
        self._out.flush()
        while True:
            answer = self._receive()
            if answer.get("id") == self._count:
                if any(word in str(answer.get("error")) for word in ("navigated", "context")):
                    raise Navigated(method)
                assert "error" not in answer, f"{method}: {answer['error']}"
                return dict(answer["result"])
            self._note(answer)

    def _receive(self) -> dict[str, Any]:
        while b"\0" not in self._rest:
            part = os.read(self._in.fileno(), 1 << 16)
            assert part, "the browser has gone"
            self._rest += part
        text, self._rest = self._rest.split(b"\0", 1)
        return dict(json.loads(text))

    def _note(self, event: dict[str, Any]) -> None:
        if event.get("method") == "Runtime.exceptionThrown":
            self.complaints.append(json.dumps(event["params"]["exceptionDetails"])[:500])
        elif event.get("method") == "Runtime.consoleAPICalled":
            self.complaints.append(json.dumps(event["params"]["args"])[:500])
        elif event.get("method") == "Log.entryAdded":
            entry = event["params"]["entry"]
            if entry["level"] in ("error", "warning"):
                self.complaints.append(f"{entry['text']} {entry.get('url', '')}")

"""A real browser for tests: Debian's chromium, driven through its chromedriver over WebDriver, the
W3C's protocol of JSON over HTTP, for which the standard library suffices."""

from __future__ import annotations

import base64
import json
import re
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import monotonic, sleep
from typing import Any
from urllib.request import ProxyHandler, Request, build_opener

# The sandbox cannot start as root, and a test needs no network.
FLAGS = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--disable-dev-shm-usage",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
# Ends a test that would wait for ever, no test that is slow.
TIMEOUT_SECONDS = 1800
ELEMENT_KEY = "element-6066-11e4-a52e-4f735466cecf"
OPENER = build_opener(ProxyHandler({}))


@contextmanager
def start_browser() -> Iterator[Browser]:
    """Start a headless Chromium, and end it after the block."""
    command = ["chromedriver", "--port=0"]
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.DEVNULL, "text": True}
    with (
        tempfile.TemporaryDirectory(ignore_cleanup_errors=True) as profile,
        subprocess.Popen(command, **pipes) as driver,
    ):
        try:
            browser = Browser(f"http://127.0.0.1:{_announced_port(driver)}", profile)
            try:
                yield browser
            finally:
                browser.close()
        finally:
            driver.terminate()


class Browser:
    """A headless Chromium in a session of a driver at an address."""

    def __init__(self, address: str, profile: str) -> None:
        self.address = address
        capabilities = {
            "goog:chromeOptions": {"args": [*FLAGS, f"--user-data-dir={profile}"]},
            "goog:loggingPrefs": {"browser": "ALL"},
        }
        session = self._post("/session", capabilities={"alwaysMatch": capabilities})
        self.session = f"/session/{session['sessionId']}"

    def close(self) -> None:
        """End the session, and with it Chromium."""
        self._request("DELETE", self.session)

    def _request(self, method: str, path: str, body: dict[str, Any] | None = None) -> Any:
        data = None if body is None else json.dumps(body).encode("utf8")
        headers = {"Content-Type": "application/json"}
        request = Request(self.address + path, data, headers, method=method)
        with OPENER.open(request, timeout=TIMEOUT_SECONDS) as response:
            return json.load(response)["value"]

    def _post(self, path: str, **body: Any) -> Any:
        return self._request("POST", path, body)

    def open(self, address: str) -> None:
        """Load a page and wait until it is ready."""
        self._post(f"{self.session}/url", url=address)

    def run(self, script: str, *arguments: Any) -> Any:
        """Run the body of a JavaScript function in the page and give what it returns."""
        return self._post(f"{self.session}/execute/sync", script=script, args=list(arguments))

    def element(self, selector: str) -> str:
        """Find the first element that fits a CSS selector."""
        found = self._post(f"{self.session}/element", using="css selector", value=selector)
        return f"{self.session}/element/{found[ELEMENT_KEY]}"

    def click(self, selector: str) -> None:
        """Click in the middle of an element, with a real mouse event."""
        self._post(f"{self.element(selector)}/click")

    def type(self, selector: str, text: str) -> None:
        """Type into an element, key by key."""
        self._post(f"{self.element(selector)}/value", text=text)

    def hover(self, selector: str) -> None:
        """Move the mouse over an element."""
        element = {ELEMENT_KEY: self.element(selector).rsplit("/", 1)[1]}
        move = {"type": "pointerMove", "duration": 0, "origin": element, "x": 0, "y": 0}
        mouse = {"type": "pointer", "id": "mouse", "actions": [move]}
        self._post(f"{self.session}/actions", actions=[mouse])

    def wait_for(self, script: str) -> None:
        """Wait until a JavaScript expression is true."""
        end = monotonic() + TIMEOUT_SECONDS
        while not self.run(f"return Boolean({script})"):
            assert monotonic() < end, f"{script} never came true"
            sleep(0.05)

    def console(self) -> list[str]:
        """Take what the page wrote to the console, its errors and refused loads included."""
        entries = self._post(f"{self.session}/se/log", type="browser")
        return [f"{entry['level']}: {entry['message']}" for entry in entries]

    def prefer_scheme(self, scheme: str) -> None:
        """Make the browser prefer "light" or "dark" pages."""
        parameters = {"features": [{"name": "prefers-color-scheme", "value": scheme}]}
        path = f"{self.session}/goog/cdp/execute"
        self._post(path, cmd="Emulation.setEmulatedMedia", params=parameters)

    def enter_frame(self, number: int) -> None:
        """Go on inside a frame of the page."""
        self._post(f"{self.session}/frame", id=number)

    def resize(self, width: int, height: int) -> None:
        """Set the size of the window."""
        self._post(f"{self.session}/window/rect", width=width, height=height)

    def screenshot(self, path: Path) -> None:
        """Save what the window shows as PNG."""
        path.write_bytes(base64.b64decode(self._request("GET", f"{self.session}/screenshot")))


def _announced_port(driver: subprocess.Popen[str]) -> int:
    assert driver.stdout is not None
    for line in driver.stdout:
        found = re.search(r"started successfully on port (\d+)", line)
        if found:
            return int(found[1])
    raise AssertionError("chromedriver did not start")

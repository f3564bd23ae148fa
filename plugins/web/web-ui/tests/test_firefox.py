"""The page in Firefox, driven through WebDriver BiDi over a WebSocket, without a driver program."""

from __future__ import annotations

import asyncio
import json
import os
import re
import shutil
import subprocess
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from websockets.sync.client import connect

from .browser import PATIENCE, Gateway

FIREFOX = shutil.which("firefox-esr") or shutil.which("firefox")
ENTER, CONTROL = "\ue007", "\ue009"
BOX = "form.composer:has([type=submit]) textarea"
"""The message box of a chat that is ready."""


class Firefox:
    """A Firefox without a window."""

    def __init__(self, program: str, profile: Path) -> None:
        flags = ("--headless", "--no-remote", "--profile", str(profile))
        said = profile / "stderr"
        with said.open("wb") as file:
            self._process = subprocess.Popen(
                [program, *flags, "--remote-debugging-port", "0"],
                env={**os.environ, "HOME": str(profile)},
                stderr=file,
                stdout=subprocess.DEVNULL,
            )
        ends = time.monotonic() + PATIENCE
        while not (found := re.search(r"BiDi listening on (ws://\S+)", said.read_text("utf-8"))):
            if self._process.poll() is not None or time.monotonic() > ends:
                self._process.kill()
                raise AssertionError(said.read_text("utf-8"))
            time.sleep(0.05)
        self._socket = connect(f"{found[1]}/session", max_size=None, proxy=None)
        self._number, self.faults = 0, list[str]()
        self.send("session.new", capabilities={})
        self.send("session.subscribe", events=["log.entryAdded"])
        self._tab = self.send("browsingContext.getTree")["contexts"][0]["context"]
        size = {"width": 1280, "height": 800}
        self.send("browsingContext.setViewport", context=self._tab, viewport=size)

    def send(self, method: str, **params: Any) -> Any:
        """Send a command and return its result."""
        self._number += 1
        command = {"id": self._number, "method": method, "params": params}
        self._socket.send(json.dumps(command))
        while True:
            got = json.loads(self._socket.recv(timeout=PATIENCE))
            if got.get("method") == "log.entryAdded" and got["params"]["level"] == "error":
                self.faults.append(got["params"]["text"])
            if got.get("id") == self._number:
                assert got["type"] == "success", got
                return got["result"]

    def open(self, url: str) -> None:
        self.send("browsingContext.navigate", context=self._tab, url=url, wait="complete")

    def value(self, expression: str) -> Any:
        """The value of JavaScript in the page; None while another page is loading."""
        got = self.send(
            "script.evaluate",
            expression=f"JSON.stringify({expression})",
            target={"context": self._tab},
            awaitPromise=False,
        )
        text = got["result"].get("value") if got["type"] == "success" else None
        return text and json.loads(text)

    def until(self, expression: str) -> Any:
        """Wait until JavaScript has a true value in the page, and return that."""
        ends = time.monotonic() + PATIENCE
        while time.monotonic() < ends:
            if found := self.value(expression):
                return found
            time.sleep(0.05)
        raise AssertionError((expression, self.value("document.body.innerText")))

    def press(self, *keys: str) -> None:
        """Press keys one after the other; several characters are keys pressed at once."""
        actions: list[dict[str, str]] = []
        for held in keys:
            actions += [{"type": "keyDown", "value": one} for one in held]
            actions += [{"type": "keyUp", "value": one} for one in reversed(held)]
        typed = {"type": "key", "id": "keyboard", "actions": actions}
        self.send("input.performActions", context=self._tab, actions=[typed])

    def click(self, css: str, name: str = "") -> None:
        """Press the pointer's button on the element, of those with this text."""
        wanted = f"one.checkVisibility() && one.textContent.trim().startsWith({json.dumps(name)})"
        found = f"[...document.querySelectorAll({json.dumps(css)})].find(one => {wanted})"
        self.until(f"{found} && ({found}.scrollIntoView({{block: 'center'}}), true)")
        got = self.send(
            "script.evaluate", expression=found, target={"context": self._tab}, awaitPromise=False
        )
        origin = {"type": "element", "element": {"sharedId": got["result"]["sharedId"]}}
        actions = [
            {"type": "pointerMove", "x": 0, "y": 0, "origin": origin},
            {"type": "pointerDown", "button": 0},
            {"type": "pointerUp", "button": 0},
        ]
        mouse = {"type": "pointer", "id": "mouse", "actions": actions}
        self.send("input.performActions", context=self._tab, actions=[mouse])

    def close(self) -> None:
        self._socket.close()
        self._process.kill()
        self._process.wait()


@pytest.fixture
def firefox(gateway: Gateway, tmp_path: Path) -> Iterator[Firefox]:
    """A Firefox in which the owner is logged in."""
    if not FIREFOX:
        pytest.skip("needs Firefox")

    async def log_in() -> None:
        await (await gateway.person()).close()

    asyncio.run(log_in())
    name, _, value = gateway.cookies["owner"].partition("=")
    made = Firefox(FIREFOX, tmp_path)
    cookie = {"name": name, "value": {"type": "string", "value": value}, "domain": "127.0.0.1"}
    made.send("storage.setCookie", cookie=cookie)
    yield made
    made.close()


def send(firefox: Firefox, text: str) -> None:
    """Type a message and send it."""
    firefox.click(BOX)
    firefox.press(*text, ENTER)


@pytest.mark.slow
def test_firefox_has_chat_approval_files_palette_and_settings(
    gateway: Gateway, firefox: Firefox
) -> None:
    firefox.open(gateway.url)
    send(firefox, "hello")
    firefox.until("document.querySelector('[data-details]') && location.pathname")
    send(firefox, "remove it")
    firefox.until("document.querySelector('.dock')?.innerText.includes('rm -rf nothing-there')")
    firefox.click(".dock button", "Deny")
    firefox.until("document.querySelectorAll('[data-details]').length == 2")
    assert firefox.value("document.querySelector('.dock')") is None
    firefox.click("[data-files]")
    firefox.until("document.querySelector('.files-panel h2')?.innerText.startsWith('Files')")
    firefox.press(f"{CONTROL}k")
    firefox.until("!!document.querySelector('dialog[open] input')")
    firefox.press(*"your settings")
    firefox.until("document.querySelector('dialog[open] [role=option]')?.innerText")
    firefox.press(ENTER)
    firefox.until("location.pathname == '/settings' && document.readyState == 'complete'")
    firefox.click("main button[data-notifications]")
    firefox.until("document.querySelector('dialog[open] button')?.textContent")
    firefox.until("!document.querySelector('dialog[open]').innerText.includes('…')")
    assert not firefox.faults

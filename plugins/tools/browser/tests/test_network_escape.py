"""Pages cannot reach a server that the guard refuses; without the guard they can."""

from __future__ import annotations

import asyncio
import shutil
import socket
import time
from collections.abc import Callable
from contextlib import suppress
from typing import Any

import pytest

from .conftest import BrowserChat, Private, Site, page
from .escape_pages import ACTIVE, PASSIVE, written

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="Debian's Chromium is needed"),
]
PATIENCE = 60
QUIET = 1.0
"""Seconds in which what was started would have connected; too few would hide nothing but a miss,
and the last look comes long after the first."""
UNCERTAIN = {"webtransport", "speculation", "preconnect"}
"""Ways that not every version of a bare Chromium goes, or not to an address without TLS."""


def serve(site: Site, private: Private) -> None:
    """Put every way's page on the site."""
    for way in (*PASSIVE, *ACTIVE):
        site.answers["/" + way.replace(" ", "-")] = page(written(way, private.port))

    def redirect(handler: Any) -> Any:
        name = handler.path.partition("?")[2]
        return 302, {"Location": f"http://127.0.0.1:{private.port}/{name}"}, b""

    def worker(handler: Any) -> Any:
        target = handler.path.partition("?")[2]
        code = f"self.oninstall = () => fetch('http://{target}', {{mode: 'no-cors'}})"
        return page(code, "text/javascript")

    site.answers["/redirect"] = redirect
    site.answers["/worker.js"] = worker
    everything = "".join(written(way, private.port) for way in PASSIVE)
    site.answers["/everything"] = page(everything)


def test_page_cannot_reach_a_private_server(
    make_chat: Callable[..., BrowserChat], site: Site, private: Private
) -> None:
    serve(site, private)
    browser_chat = make_chat(site)
    told = browser_chat.open(f"{site.url}/everything")
    assert "requests of the page were refused: " in told
    time.sleep(QUIET)
    assert private.reached == []
    for way in ACTIVE:
        browser_chat.open(f"{site.url}/{way.replace(' ', '-')}")
        browser_chat.do("close")
        assert private.reached == [], way
    time.sleep(QUIET)
    assert private.reached == []


def test_private_address_is_not_opened(
    make_chat: Callable[..., BrowserChat],
    site: Site,
    private: Private,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    site.answers["/redirect"] = (302, {"Location": f"http://127.0.0.1:{private.port}/"}, b"")
    site.answers["/"] = page("<h1>here")
    real = socket.getaddrinfo
    turn = iter(range(1_000))

    def rebinding(host: Any, port: Any, *rest: Any, **more: Any) -> Any:
        """A name that leads outside at every other look-up, and here in between."""
        if host == "rebind.example":
            address = "192.0.2.1" if next(turn) % 2 else "127.0.0.1"
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (address, port))]
        if host == "both.example":
            found = ("93.184.215.14", "127.0.0.1")
            return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in found]
        return real(host, port, *rest, **more)

    monkeypatch.setattr(socket, "getaddrinfo", rebinding)
    browser_chat = make_chat(site)
    at = private.port
    for url in (
        f"http://127.0.0.1:{at}/",
        f"http://2130706433:{at}/",
        f"http://0x7f000001:{at}/",
        f"http://017700000001:{at}/",
        f"http://127.1:{at}/",
        f"http://[::1]:{at}/",
        f"http://[::ffff:7f00:1]:{at}/",
        f"http://localhost:{at}/",
        f"http://a.localhost:{at}/",
        f"http://0:{at}/",
        f"http://127.0.0.1:{site.port}@127.0.0.1:{at}/",
        f"http://127。0。0。1:{at}/",
        f"{site.url}/redirect",
        f"http://rebind.example:{at}/",
        f"http://rebind.example:{at}/",
        f"http://both.example:{at}/",
        "http://169.254.169.254/latest/meta-data/",
        "http://metadata.google.internal/",
        "file:///etc/passwd",
        "chrome://version",
        f"view-source:{site.url}/",
        "data:text/html,<h1>x",
        "javascript:alert(1)",
        "about:blank",
        "ftp://127.0.0.1/",
        f"blob:{site.url}/x",
    ):
        told = browser_chat.open(url)
        assert told.startswith(("Denied: ", "Error: ")), (url, told)
        assert "root:" not in told
    assert private.reached == []
    assert "here" in browser_chat.open(f"{site.url}/")  # the browser itself is well


def test_browser_without_proxy_reaches_the_private_server(site: Site, private: Private) -> None:
    """Checks that the test before would notice a missing proxy."""
    serve(site, private)
    missed = asyncio.run(_bare(site, private))
    assert missed <= UNCERTAIN, missed


async def _bare(site: Site, private: Private) -> set[str]:
    from playwright.async_api import async_playwright

    missed = set()
    async with async_playwright() as driver:
        browser = await driver.chromium.launch(
            executable_path=shutil.which("chromium"),
            args=[
                "--disable-features=LocalNetworkAccessChecks,BlockInsecurePrivateNetworkRequests"
            ],
        )
        context = await browser.new_context()
        for way in (*PASSIVE, *ACTIVE):
            private.reached.clear()
            async with asyncio.timeout(PATIENCE):
                opened = await context.new_page()
            with suppress(Exception):
                await opened.goto(f"{site.url}/{way.replace(' ', '-')}", wait_until="commit")
            until = time.monotonic() + (3 if way in UNCERTAIN else PATIENCE / 4)
            while not private.reached and time.monotonic() < until:
                await asyncio.sleep(0.05)
            if not private.reached:
                missed.add(way)
            # Now and then this version of the browser never says that a page is closed.
            with suppress(TimeoutError):
                async with asyncio.timeout(5):
                    await opened.close()
        with suppress(TimeoutError):
            async with asyncio.timeout(5):
                await browser.close()
    return missed

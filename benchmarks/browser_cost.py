"""What a page costs in the plugin ``browser``: tokens of its snapshot before and after, memory.

``python benchmarks/browser_cost.py``: a made-up shop of 200 articles, served on loopback and opened
in Chromium. Tokens are characters / 4. Memory is the sum of the proportional set sizes (PSS) of
Chromium and Playwright's driver.
"""

from __future__ import annotations

import asyncio
import json
import shutil
import tempfile
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

from hookline.testing import Harness, calls
from hookline_browser import Browser

ARTICLES = "".join(
    f"<article><h3><a href=/a/{n}>Article number {n}</a></h3><p>It has {n} good sides, which are "
    f"told here at some length, as shops do. <img alt='picture of {n}'><span>{n}.99</span></p>"
    f"<label>How many <input type=number value=1></label><button>Add {n}</button></article>"
    for n in range(200)
)
PAGE = f"<title>Shop</title><h1>Shop</h1><input aria-label=Search><main>{ARTICLES}</main>"


class Shop(BaseHTTPRequestHandler):
    """Serves the page, whatever is asked for."""

    def do_GET(self) -> None:
        """Answer."""
        body = PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: Any) -> None:
        """Log nothing."""


async def whole(url: str) -> str:
    """The snapshot as Playwright gives it."""
    from playwright.async_api import async_playwright

    async with async_playwright() as driver:
        browser = await driver.chromium.launch(executable_path=shutil.which("chromium"))
        page = await browser.new_page()
        await page.goto(url)
        text = await page.aria_snapshot(mode="ai")
        await browser.close()
        return str(text)


def memory(folder: str) -> float:
    """MB of the processes that name the folder in their command line or variables."""
    total = 0
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            said = (entry / "cmdline").read_bytes() + (entry / "environ").read_bytes()
            if folder.encode() in said:
                lines = (entry / "smaps_rollup").read_text().splitlines()
                total += sum(int(line.split()[1]) for line in lines if line.startswith("Pss:"))
        except OSError:
            continue
    return total / 1_000


def main() -> None:
    """Print the figures."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), Shop)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    port = server.server_address[1]
    url = f"http://127.0.0.1:{port}/"
    before = len(asyncio.run(whole(url))) / 4
    with tempfile.TemporaryDirectory() as home:
        steps = [[calls("browser", action="open", url=url)], "done"]
        steps += [[calls("browser", action="click", ref="e3")], "done"]
        allowed = {"network.allow_hosts": [f"127.0.0.1:{port}"]}
        h = Harness(Browser, home=Path(home), model=steps, core=allowed, config={})
        first = len(h.send("open").tool_calls[0].text) / 4
        (note,) = Path(home).rglob("*.run")
        used = memory(json.loads(note.read_text()))
        later = len(h.send("click").tool_calls[0].text) / 4
        schemas = [one for one in h.model.requests[0].tools if one.name.startswith("browser")]
        sent = [
            {"name": one.name, "description": one.description, "input_schema": dict(one.parameters)}
            for one in schemas
        ]
        offered = sum(len(json.dumps(one, separators=(",", ":"))) for one in sent) / 4
        h.close()
    server.shutdown()
    print(f"snapshot {before:,.0f} tokens; first report {first:,.0f}; a later one {later:,.0f}")  # noqa: T201
    print(f"both schemas {offered:,.0f} tokens; Chromium and its driver {used:,.0f} MB (PSS)")  # noqa: T201


if __name__ == "__main__":
    main()

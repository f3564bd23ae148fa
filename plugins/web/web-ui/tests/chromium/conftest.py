"""A real browser before a real gateway, whose model plays a script."""

from __future__ import annotations

import json
import os
import shutil
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import pytest

from ..browser import PATIENCE, Gateway

CHROMIUM = os.environ.get("HOOKLINE_CHROMIUM") or shutil.which("chromium") or ""
ARGUMENTS = (
    "--no-sandbox",
    "--use-fake-device-for-media-stream",  # a beep each second
    "--use-fake-ui-for-media-stream",
)
HOSTILE = r"""
<script>document.title = "owned"</script><img src="https://evil.example/a.png" onerror="alert(1)">

![cat](https://evil.example/b.png) [x](javascript:alert(1)) [y](data:text/html,x)
<https://fine.example> [z](vbscript:x) [k](/login) <b onclick=alert(1)>raw</b>

<style>body{display:none}</style> <iframe src="https://evil.example"></iframe>

| <svg onload=alert(1)> | b |
|---|---|
| ![c](//evil.example/c.png) | `</code><script>` |

```html"><script>alert(1)</script>
</code></pre><script>alert(1)</script>
```

&lt;b&gt; &amp; &#x202e; [r]

[r]: javascript:alert(1)
"""
COMMAND = "rm -rf /tmp/never-there # \u202e evil\n" + "echo 0123456789\n" * 620 + "# the last Z"
TABLE = (
    "Here is **what** I found:\n\n| file | lines |\n|---|---:|\n| `a.py` | 310 |\n\n"
    "```python\nprint('hi')\n```\n\n1. one\n2. two with [a link](https://example.com)\n\nDone."
)
LONG = "\n\n".join(
    f"Paragraph {n} with **bold** and `code`: " + " ".join(f"slow{n}x{k}" for k in range(20))
    for n in range(12)
)
HUGE = "\n\n".join(f"Paragraph {n} is **bold**, `code` and {n * n}" for n in range(2000))
"""More than is drawn in one frame; it comes at once."""
PARAGRAPH = " ".join(
    f"word{n} is **bold{n}**, `code{n}`, [link{n}](https://a.example/)" for n in range(1500)
)
"""One paragraph, far longer than people write."""
SCRIPT = [
    {"when": "paragraph please", "text": PARAGRAPH, "repeat": True},
    {"when": "hostile please", "text": HOSTILE, "repeat": True},
    {"when": "long please", "text": LONG, "repeat": True},
    {"when": "held please", "text": LONG.replace("slow11x19", "HOLDS slow11x19"), "repeat": True},
    {"when": "huge please", "text": HUGE, "repeat": True},
    {
        "when": "remove it",
        "text": "I remove it.",
        "tools": [{"name": "bash", "arguments": {"command": COMMAND}}],
        "repeat": True,
    },
    {
        "when": "look twice",
        "text": "First this.",
        "tools": [{"name": "bash", "arguments": {"command": "echo seen"}}],
        "repeat": True,
    },
    {
        "when": "ask me",
        "tools": [{"name": "clarify", "arguments": {"question": "Tea?", "choices": ["Yes", "No"]}}],
        "repeat": True,
    },
    {"when": ".", "text": TABLE, "repeat": True},
]


@dataclass
class Window:
    """A page of a browser that is logged in, and all that went wrong in it."""

    page: Any
    url: str
    faults: list[str] = field(default_factory=list)
    streams: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self.page.set_default_timeout(PATIENCE * 1000)
        self.page.on("console", lambda message: self._said(message.type, message.text))
        self.page.on("pageerror", lambda error: self.faults.append(f"error: {error}"))
        self.page.on("request", lambda request: self._asked(request.url))

    def _said(self, kind: str, text: str) -> None:
        if kind == "error" and "Failed to load resource" not in text:
            self.faults.append(f"console: {text}")

    def _asked(self, url: str) -> None:
        if urlsplit(url).netloc != urlsplit(self.url).netloc and not url.startswith("blob:"):
            self.faults.append(f"foreign: {url}")
        if "/api/events" in url:
            self.streams.append(url)

    def open(self, path: str = "/") -> Window:
        """Go to a page; a chat is ready when one can write."""
        self.page.goto(self.url + path)
        if path == "/" or path.startswith("/chat/"):
            self.box.wait_for()
        return self

    @property
    def box(self) -> Any:
        return self.page.get_by_role("textbox", name="Message")

    @property
    def log(self) -> Any:
        return self.page.get_by_role("log", name="Conversation")

    def button(self, name: str) -> Any:
        return self.page.get_by_role("button", name=name, exact=True)

    def say(self, text: str) -> None:
        """Write a message and send it."""
        self.box.fill(text)
        self.button("Send").click()

    def settled(self, answers: int = 1) -> None:
        """Wait until so many turns are over."""
        self.page.wait_for_function(
            "n => document.querySelectorAll('[data-details]').length >= n"
            " && !document.querySelector('.state[data-busy=true]')",
            arg=answers,
        )

    def said(self) -> list[str]:
        """The text of every message of the assistant."""
        found = self.log.locator('article[data-role="assistant"]').all()
        return [
            one.locator(".md").all_inner_texts()[0] for one in found if one.locator(".md").count()
        ]

    def until(self, script: str, arg: Any = None) -> None:
        """Wait until an expression is true in the page."""
        self.page.wait_for_function(script, arg=arg)


@pytest.fixture(scope="module")
def chromium() -> Iterator[Any]:
    """The browser; without one its tests are skipped, but never where ``CI`` is set.

    For one module alone: while its driver runs, nothing else in the process may run a loop.
    """
    if not CHROMIUM:
        problem = "no Chromium: install the package chromium, or set HOOKLINE_CHROMIUM to its path"
        if os.environ.get("CI"):
            pytest.fail(problem)
        pytest.skip(problem)
    sync_api = pytest.importorskip("playwright.sync_api")
    with sync_api.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=ARGUMENTS)
        yield browser
        browser.close()


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway that is up, for every test of a module."""
    made = Gateway(tmp_path_factory.mktemp("chromium"))
    made.configure(SCRIPT, inspect=True)
    made.start()
    yield made
    made.close()


@pytest.fixture(scope="module")
def logins() -> dict[str, Any]:
    """The cookies of who has logged in at the module's gateway, by name."""
    return {}


@pytest.fixture
def window(
    chromium: Any, gateway: Gateway, logins: dict[str, Any]
) -> Iterator[Callable[..., Window]]:
    """Open windows; at the end nothing must have gone wrong in them."""
    made: list[Window] = []
    contexts: list[Any] = []

    def new(width: int = 1280, height: int = 800, name: str = "owner", **options: Any) -> Window:
        like = options.pop("like", None)
        if like is not None:
            context = like.page.context
        else:
            size = {"width": width, "height": height}
            state = logins.get(name)
            context = chromium.new_context(viewport=size, storage_state=state, **options)
            contexts.append(context)
            if state is None:
                _log_in(context, gateway, name)
                logins[name] = context.storage_state()
        made.append(Window(context.new_page(), gateway.url))
        return made[-1]

    yield new
    for context in contexts:
        context.close()
    assert [fault for one in made for fault in one.faults] == []


def _log_in(context: Any, gateway: Gateway, name: str) -> None:
    code = json.loads(Path(gateway.home / "codes.json").read_text())[name]
    page = context.new_page()
    page.goto(f"{gateway.url}/login#{code}")
    page.get_by_role("textbox", name="Message").wait_for()
    page.close()

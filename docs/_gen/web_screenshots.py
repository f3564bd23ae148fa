"""Takes the screenshots of the web page for the documentation.

``uv run python docs/_gen/web_screenshots.py [FOLDER]`` starts a gateway in a fresh home, has a
conversation with a scripted model in Debian's Chromium, and writes ``docs/assets/web/*.png``. The
model's answers are scripted; the program, its tools, questions and pages are real.
"""

from __future__ import annotations

import json
import os
import shutil
import sys
import tempfile
from pathlib import Path
from typing import Any

DOCS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(DOCS.parent / "tests"))

from playwright.sync_api import sync_playwright  # noqa: E402
from support.web import gateway  # noqa: E402

WHOLE = {"width": 1280, "height": 800}
SHORT = {"width": 1280, "height": 720}
PHONE = {"width": 360, "height": 640}
SLOPPY = "def mean(numbers):\n    return sum(numbers) / len(numbers) - 1\n"
FIX = {
    "path": "stats.py",
    "old_string": "    return sum(numbers) / len(numbers) - 1",
    "new_string": "    if not numbers:\n        return 0.0\n    return sum(numbers) / len(numbers)",
}
FOUND = """`mean` subtracted 1 from every result and failed for an empty list. Both are fixed:

| call | before | now |
|---|---:|---:|
| `mean([1, 2, 3])` | 1.0 | 2.0 |
| `mean([])` | *error* | 0.0 |

```python
def mean(numbers):
    if not numbers:
        return 0.0
    return sum(numbers) / len(numbers)
```

Two things that I left alone:

1. `median` sorts the **caller's** list in place.
2. The tests never try negative numbers.
"""
CLEAN = 'find . -name "*.pyc" -delete && rm -rf build dist && git push --force origin main'
PLAN = """Here is a plan for the week:

- **Monday**: read the three open reports and answer them.
- **Tuesday**: release 1.4; the change log is ready.
- **Thursday**: the review with Mia at 14:00.

> The release waits for the translation, which is due on Monday evening.
"""
STEPS = [
    {
        "when": "wrong averages",
        "text": "I read the function first.",
        "tools": [{"name": "write_file", "arguments": {"path": "stats.py", "content": SLOPPY}}],
    },
    {
        "when": "stats\\.py",
        "text": "The `- 1` is wrong, and an empty list is not handled.",
        "tools": [{"name": "edit_file", "arguments": FIX}],
    },
    {
        "when": "Edited",
        "tools": [{"name": "bash", "arguments": {"command": 'python3 -c "print(2.0)"'}}],
    },
    {"when": "exit code", "text": FOUND},
    {"when": "clean up", "tools": [{"name": "bash", "arguments": {"command": CLEAN}}]},
    {"when": "week", "text": PLAN},
    {"when": ".", "text": "Done.", "repeat": True},
]


def say(page: Any, text: str) -> None:
    """Send a message and wait for a question or the end of the turn."""
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()
    page.wait_for_timeout(300)
    page.wait_for_function(
        "() => document.querySelector('.dock') || (document.querySelector('[data-details]')"
        " && !document.querySelector('.state[data-busy=true]'))"
    )
    page.wait_for_timeout(300)


def main(target: Path) -> None:
    """Write all screenshots to ``target``."""
    target.mkdir(parents=True, exist_ok=True)
    chromium = os.environ.get("HOOKLINE_CHROMIUM") or shutil.which("chromium")
    script = json.dumps({"steps": STEPS})
    with (
        tempfile.TemporaryDirectory() as folder,
        gateway(Path(folder), script, permissions={"mode": "auto"}) as running,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        first = browser.new_context(viewport=WHOLE, color_scheme="light")
        page = first.new_page()
        url = running.link()["url"]
        root = url.partition("/login")[0]
        page.goto(url)
        page.get_by_role("textbox", name="Message").wait_for()

        def shoot(page: Any, name: str) -> None:
            page.evaluate("document.fonts.ready")
            page.screenshot(path=target / f"{name}.png", animations="disabled", caret="hide")

        say(page, "Plan my week, please")
        page.goto(f"{root}/")
        say(page, "The report shows wrong averages: can you find out why?")
        chat = page.url
        shoot(page, "chat")
        page.locator("details.tool").nth(1).locator("summary").click()
        page.get_by_role("log").evaluate("log => { log.scrollTop = 0 }")
        shoot(page, "diff")
        page.get_by_role("button", name="Files", exact=True).click()
        page.get_by_role("heading", name="Changed in this chat").wait_for()
        page.locator(".files-panel .tree").first.get_by_text("stats.py").click()
        page.get_by_role("button", name="Changes", exact=True).click()
        page.locator(".preview .diff").wait_for()
        shoot(page, "files")
        page.get_by_role("button", name="Details", exact=True).last.click()
        page.get_by_role("region", name="Turn").locator(".part, .stats").first.wait_for()
        page.set_viewport_size(SHORT)  # keeps the file of this detailed picture below 150 kB
        shoot(page, "details")
        page.set_viewport_size(WHOLE)
        page.goto(f"{root}/insights")
        page.wait_for_timeout(200)
        shoot(page, "insights")
        state = first.storage_state()
        night = browser.new_context(viewport=WHOLE, color_scheme="dark", storage_state=state)
        dark = night.new_page()
        dark.goto(chat)
        dark.get_by_role("button", name="Details", exact=True).last.wait_for()
        shoot(dark, "chat-dark")
        dark.goto(f"{root}/plugins")
        dark.wait_for_timeout(200)
        shoot(dark, "plugins-dark")
        pocket = browser.new_context(
            viewport=PHONE,
            color_scheme="light",
            storage_state=state,
            has_touch=True,
            is_mobile=True,
            device_scale_factor=2,
        )
        small = pocket.new_page()
        small.goto(chat)
        small.get_by_role("button", name="Details", exact=True).last.wait_for()
        small.wait_for_timeout(300)
        shoot(small, "phone")
        small.goto(f"{root}/")
        say(small, "Please clean up and publish")
        shoot(small, "phone-approval")
        small.get_by_role("button", name="Deny", exact=True).click()
        browser.close()


if __name__ == "__main__":
    main(Path(sys.argv[1]) if len(sys.argv) > 1 else DOCS / "assets" / "web")

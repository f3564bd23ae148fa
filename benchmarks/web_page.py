"""Measures the chat page in Debian's Chromium against a real gateway with a scripted model.

``uv run python benchmarks/web_page.py`` prints a table: what a first visit loads, when it is first
seen, how long a piece of an answer takes to the screen, and the longest task of the page, in time
of its CPU, while an answer of 50,000 tokens is written.
"""

from __future__ import annotations

import json
import os
import shutil
import sqlite3
import sys
import tempfile
from contextlib import closing
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parent.parent / "tests"))

from playwright.sync_api import sync_playwright
from support.web import gateway

LONG = "\n\n".join(
    f"Paragraph {n}: " + " ".join(f"**w{n}** `c` and more" for _ in range(20)) for n in range(500)
)
CODE = "\n".join(f"    total_{n} = add({n}, 'text')  # a note" for n in range(1500))
STEPS = [
    {"when": "long please", "text": LONG, "repeat": True},
    {"when": "one paragraph", "text": "A **word** and `code`, ".ljust(25) * 10_000, "repeat": True},
    {"when": "one list", "text": "- A **word** and `code`\n" * 8_000, "repeat": True},
    {"when": "one program", "text": f"```python\n{CODE}\n```", "repeat": True},
    {"when": ".", "text": "A short answer with **bold** words.", "repeat": True},
]
FILL = """
WITH RECURSIVE n (n) AS (SELECT 1 UNION ALL SELECT n + 1 FROM n WHERE n < :turns)
INSERT INTO messages (session_id, seq, turn_id, role, body, text, created)
SELECT session_id, seq + 2 * n, turn_id || '-' || n, role, body, text, created
FROM n, messages m WHERE m.session_id = :id AND m.seq <= 2
"""
SLOW = {"latency": 150, "downloadThroughput": 200_000, "uploadThroughput": 96_000, "offline": False}
WATCH = """
window.lags = [];
addEventListener("DOMContentLoaded", () => {
  new MutationObserver(() => {
    if (window.came) { lags.push(performance.now() - came); window.came = 0; }
  }).observe(document.body, { subtree: true, childList: true, characterData: true });
});
const parse = JSON.parse;
JSON.parse = (text, ...more) => {
  const value = parse(text, ...more);
  if (value?.type === "delta" && !window.came) window.came = performance.now();
  return value;
};
"""


def ready(page: Any) -> None:
    """Wait until the composer accepts text."""
    page.get_by_role("textbox", name="Message").wait_for()


def over(page: Any, answers: int = 1) -> None:
    """Wait until this many turns are over."""
    page.wait_for_function(
        "n => document.querySelectorAll('[data-details]').length >= n"
        " && !document.querySelector('.state[data-busy=true]')",
        arg=answers,
        timeout=300_000,
    )


def say(page: Any, text: str) -> None:
    """Send a message."""
    page.get_by_role("textbox", name="Message").fill(text)
    page.get_by_role("button", name="Send", exact=True).click()


def first_load(browser: Any, state: Any, url: str, slow: bool) -> tuple[int, float]:
    """Return what a first visit loads in bytes, and when it is first seen in milliseconds."""
    context = browser.new_context(storage_state=state)
    page = context.new_page()
    wire = context.new_cdp_session(page)
    wire.send("Network.enable")
    if slow:
        wire.send("Network.emulateNetworkConditions", SLOW)
    page.goto(url)
    ready(page)
    page.wait_for_timeout(300)
    paint = page.evaluate("performance.getEntriesByName('first-contentful-paint')[0].startTime")
    loaded = page.evaluate(
        "performance.getEntriesByType('resource').concat(performance.getEntriesByType('navigation'))"
        ".reduce((sum, one) => sum + one.encodedBodySize, 0)"
    )
    context.close()
    return int(loaded), float(paint)


def longest_task(browser: Any, page: Any, root: str, text: str) -> float:
    """Return the CPU milliseconds of the page's longest task while this message is answered."""
    page.goto(root)
    ready(page)
    browser.start_tracing(page=page, categories=["toplevel", "__metadata"])
    say(page, text)
    over(page)
    events = json.loads(browser.stop_tracing())["traceEvents"]
    threads = {
        (one["pid"], one["tid"])
        for one in events
        if one["name"] == "thread_name" and one["args"]["name"] == "CrRendererMain"
    }
    tasks = (one for one in events if (one["pid"], one["tid"]) in threads)
    return max(one.get("tdur", 0) for one in tasks if one["name"].endswith("RunTask")) / 1000


def fill(home: Path, session: str, messages: int) -> None:
    """Repeat the first turn of a session until it has this many messages."""
    with closing(sqlite3.connect(home / "hookline.db")) as db:
        db.execute(FILL, {"turns": messages // 2 - 1, "id": session})
        db.commit()


def opening(browser: Any, state: Any, url: str) -> float:
    """Return the milliseconds from the click until the end of a chat is on the screen."""
    context = browser.new_context(storage_state=state)
    page = context.new_page()
    page.goto(url)
    page.wait_for_function("() => document.querySelectorAll('article').length >= 50")
    taken = page.evaluate(
        "new Promise(done => requestAnimationFrame(() => done(performance.now())))"
    )
    context.close()
    return float(taken)


def main() -> None:
    """Print the table."""
    chromium = os.environ.get("HOOKLINE_CHROMIUM") or shutil.which("chromium")
    rows: list[tuple[str, str, str]] = []
    with (
        tempfile.TemporaryDirectory() as folder,
        gateway(Path(folder), json.dumps({"steps": STEPS}), review=False, titles=False) as running,
        sync_playwright() as driver,
    ):
        browser = driver.chromium.launch(executable_path=chromium, args=["--no-sandbox"])
        context = browser.new_context()
        page = context.new_page()
        page.goto(running.link()["url"])
        ready(page)
        state = context.storage_state()
        root = f"{running.url}/"
        sizes, paints = zip(
            *(first_load(browser, state, root, slow=False) for _ in range(5)), strict=True
        )
        rows.append(("first load, everything, gzipped", f"{sizes[0] / 1000:.1f} kB", "90 kB"))
        rows.append(("first paint on loopback", f"{sorted(paints)[2]:.0f} ms", "150 ms"))
        slow = sorted(first_load(browser, state, root, slow=True)[1] for _ in range(3))[1]
        rows.append(("first paint at 150 ms and 1.6 Mbit/s", f"{slow:.0f} ms", "1,000 ms"))

        page.add_init_script(WATCH)
        page.goto(root)
        ready(page)
        say(page, "long please")
        over(page)
        lags = sorted(page.evaluate("lags"))
        p99 = lags[int(len(lags) * 0.99)]
        rows.append(("piece of an answer to the screen, p99", f"{p99:.0f} ms", "50 ms"))
        for text in ("long please", "one paragraph", "one list", "one program"):
            longest = longest_task(browser, page, root, text)
            rows.append((f"longest task: {text}", f"{longest:.0f} ms", "50 ms"))

        page.goto(root)
        ready(page)
        say(page, "hello")
        over(page)
        chat = page.url
        fill(Path(folder) / "home", chat.rpartition("/")[2], 2000)
        opened = sorted(opening(browser, state, chat) for _ in range(5))[2]
        rows.append(("opening 2,000 messages", f"{opened:.0f} ms", "500 ms"))

        browser.close()
    sys.stdout.write("| what | measured | goal |\n|---|---|---|\n")
    for row in rows:
        sys.stdout.write(f"| {' | '.join(row)} |\n")


if __name__ == "__main__":
    main()

"""Cleanup after a crash of a page, the browser, the driver or the whole process."""

from __future__ import annotations

import gc
import json
import os
import shutil
import signal
import subprocess
import sys
import time
from asyncio.base_subprocess import BaseSubprocessTransport
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest

from .conftest import BrowserChat, Site, page

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(shutil.which("chromium") is None, reason="Debian's Chromium is needed"),
    pytest.mark.skipif(not Path("/proc/self/cmdline").exists(), reason="processes are in /proc"),
]
PATIENCE = 60
PROGRAM = """
import sys, time
from contextlib import suppress
from pathlib import Path
from hookline.testing import Harness, calls
from hookline_browser import Browser

home, url, port = sys.argv[1:]
steps = [[calls("browser", action="open", url=url)], "done"]
h = Harness(Browser, home=Path(home), config={}, model=steps,
            core={"network.allow_hosts": [f"127.0.0.1:{port}"]})
print(h.send("go").tool_calls[0].text, flush=True)
print("ready", flush=True)
h.run(__import__("asyncio").sleep(600))
"""


def folder_of(home: Path) -> str:
    """The browser's folder, as the home notes it."""
    (note,) = home.rglob("*.run")
    return str(json.loads(note.read_text()))


def users(folder: str, part: str = "") -> Iterator[int]:
    """The living processes whose command line or variables name the folder, the line ``part``."""
    for entry in Path("/proc").glob("[0-9]*"):
        try:
            state = (entry / "stat").read_text().rpartition(")")[2].split()[0]
            line = (entry / "cmdline").read_bytes()
            said = line + (entry / "environ").read_bytes()
        except OSError:
            continue
        if state != "Z" and folder.encode() in said and part.encode() in line:
            yield int(entry.name)


def until(ready: Callable[[], bool]) -> None:
    """Wait for a condition."""
    end = time.monotonic() + PATIENCE
    while not ready():
        assert time.monotonic() < end, "it did not come to pass"
        time.sleep(0.05)


def kill(pids: Iterator[int]) -> None:
    """Kill processes, of which there must be some."""
    found = list(pids)
    assert found
    for pid in found:
        with suppress(ProcessLookupError):
            os.kill(pid, signal.SIGKILL)


def test_crash_is_an_error_and_the_next_page_opens(
    make_chat: Callable[..., BrowserChat], site: Site
) -> None:
    site.answers["/"] = page("<h1>well")
    browser_chat = make_chat(site)
    assert "well" in browser_chat.open(f"{site.url}/")
    folder = folder_of(browser_chat.harness.home)
    kill(users(folder, "--type=renderer"))
    until(lambda: browser_chat.read().startswith("Error: "))
    assert "well" in browser_chat.open(f"{site.url}/")
    kill(users(folder, "--remote-debugging-pipe"))  # the browser itself
    until(lambda: browser_chat.read().startswith("Error: "))
    assert "well" in browser_chat.open(f"{site.url}/")
    kill(users(folder_of(browser_chat.harness.home), "run-driver"))
    until(lambda: browser_chat.read().startswith("Error: "))
    assert "well" in browser_chat.open(f"{site.url}/")
    last = folder_of(browser_chat.harness.home)
    browser_chat.harness.close()
    for one in (folder, last):
        until(lambda one=one: not list(users(one)))  # type: ignore[misc]
        assert not Path(one).exists()


@pytest.mark.parametrize("part", ["the process", "the process and the driver"])
def test_browser_processes_end_when_hookline_is_killed(
    make_chat: Callable[..., BrowserChat], site: Site, tmp_path: Path, part: str
) -> None:
    site.answers["/"] = page("<h1>well")
    home = tmp_path / "home"
    running = subprocess.Popen(
        [sys.executable, "-c", PROGRAM, str(home), f"{site.url}/", str(site.port)],
        stdout=subprocess.PIPE,
        text=True,
    )
    assert running.stdout is not None
    told = [line.strip() for line in iter(running.stdout.readline, "ready\n") if line]
    assert any("well" in line for line in told)
    folder = folder_of(home)
    assert list(users(folder))
    running.kill()
    if part != "the process":
        kill(users(folder, "run-driver"))
    running.wait()
    running.stdout.close()
    until(lambda: not list(users(folder)))
    # The next process takes away what the killed one left.
    browser_chat = make_chat(site, home=home)
    assert "well" in browser_chat.open(f"{site.url}/")
    assert not Path(folder).exists()
    assert folder_of(home) != folder


def test_unresponsive_browser_is_killed_and_its_folder_deleted(
    make_chat: Callable[..., BrowserChat], site: Site
) -> None:
    site.answers["/"] = page("<h1>well")
    browser_chat = make_chat(site)
    browser_chat.open(f"{site.url}/")
    folder = folder_of(browser_chat.harness.home)
    for pid in users(folder):
        os.kill(pid, signal.SIGSTOP)
    browser_chat.harness.close()
    until(lambda: not list(users(folder)))
    assert not Path(folder).exists()
    left = [one for one in gc.get_objects() if isinstance(one, BaseSubprocessTransport)]
    assert [one for one in left if one.get_returncode() is None] == []

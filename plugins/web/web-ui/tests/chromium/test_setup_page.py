"""The first run in a browser: provider, key, model and test, without a terminal after the start."""

from __future__ import annotations

import json
import stat
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from support.openai_server import OpenAIServer, Reply

from ..browser import Gateway

pytestmark = pytest.mark.slow
KEY = "sk-something+/=%:long-1234"
REFUSED = Reply(status=401, body={"error": {"message": "No such key", "type": "auth"}})


@dataclass
class FirstRun:
    """``hookline web`` on a home without a model, and the page of its link."""

    gateway: Gateway
    page: Any
    server: OpenAIServer
    faults: list[str]

    @property
    def env(self) -> str:
        return (self.gateway.home / ".env").read_text()

    def press(self, name: str) -> None:
        self.page.get_by_role("button", name=name, exact=True).click()

    def choose(self, provider: str) -> None:
        row = self.page.get_by_role("row").filter(has_text=provider)
        row.get_by_role("link", name="Choose").click()


def replies(body: Any) -> Reply | str:
    return "hello from the fake" if "hi there" in json.dumps(body) else "ready"


@pytest.fixture
def server() -> Iterator[OpenAIServer]:
    with OpenAIServer(replies, models=["large", "small"]) as running:
        yield running


@contextmanager
def first_run(chromium: Any, folder: Path, server: OpenAIServer, **env: str) -> Iterator[FirstRun]:
    """Run ``hookline web``, and open its link."""
    gateway = Gateway(folder)
    gateway.configure()
    config = json.loads((gateway.home / "config.yaml").read_text())
    del config["model"], config["plugins"]["door"]
    (gateway.home / "config.yaml").write_text(json.dumps(config))
    process = gateway.spawn("web", "--json", **env)
    context = chromium.new_context(viewport={"width": 1280, "height": 800})
    try:
        made = FirstRun(gateway, context.new_page(), server, [])
        made.page.on("pageerror", lambda error: made.faults.append(str(error)))
        made.page.set_default_timeout(60_000)
        made.page.goto(json.loads(_line(process))["url"])
        yield made
    finally:
        context.close()
        gateway.close()
    assert made.faults == []


@pytest.fixture
def first(chromium: Any, tmp_path: Path, server: OpenAIServer) -> Iterator[FirstRun]:
    """A home without a model, where the page begins with the set-up."""
    with first_run(chromium, tmp_path, server) as made:
        made.page.get_by_role("heading", name="Set up a model").wait_for()
        yield made


def _line(process: subprocess.Popen[str]) -> str:
    assert process.stdout is not None
    return process.stdout.readline()


def chat(first: FirstRun) -> None:
    """Start a chat, and wait for the answer of the fake server."""
    first.page.get_by_role("link", name="Start a chat").click()
    box = first.page.get_by_role("textbox", name="Message")
    box.fill("hi there")
    first.press("Send")
    first.page.get_by_text("hello from the fake").wait_for()


def test_local_server_is_found_tested_and_answers_in_the_chat(
    chromium: Any, tmp_path: Path, server: OpenAIServer
) -> None:
    with first_run(chromium, tmp_path, server, VLLM_BASE_URL=server.base_url) as first:
        first.page.get_by_role("textbox", name="Message").wait_for()
        first.page.goto(f"{first.gateway.url}/setup")
        first.choose("vLLM at")
        first.press("Continue")
        first.page.get_by_label("Model", exact=True).select_option("large")
        first.press("Test and save")
        first.page.get_by_text("Hookline uses vllm/large now. It answered: ready").wait_for()
        tried = [one.json for one in server.requests if one.path.endswith("/completions")]
        assert tried[-1]["model"] == "large"
        chat(first)
        assert "restart to apply" not in first.page.content()


def test_key_is_checked_stored_and_never_shown(first: FirstRun) -> None:
    page, home = first.page, first.gateway.home
    first.choose("Another OpenAI-compatible server")
    page.get_by_label("Address").fill(first.server.base_url)
    page.get_by_label("Key", exact=True).fill("two words")
    first.press("Continue")
    page.get_by_text("A key contains no blanks. Paste only the key.").wait_for()
    assert "two words" not in page.content()
    page.get_by_label("Key", exact=True).fill(KEY)
    first.press("Continue")
    page.get_by_label("Model", exact=True).select_option("small")
    assert not (home / ".env").exists() or KEY not in first.env, "nothing is stored before the test"
    assert KEY not in page.content()
    first.press("Test and save")
    page.get_by_text("Hookline uses my-server/small now.").wait_for()
    assert KEY in first.env
    assert stat.S_IMODE((home / ".env").stat().st_mode) == 0o600
    assert KEY not in (home / "config.yaml").read_text()
    tried = [one for one in first.server.requests if one.path.endswith("/completions")]
    assert {one.headers["authorization"] for one in tried} == {f"Bearer {KEY}"}
    chat(first)
    page.goto(f"{first.gateway.url}/setup?provider=my-server")
    assert page.get_by_label("Key", exact=True).input_value() == ""
    assert (
        page.get_by_label("Key", exact=True).get_attribute("placeholder")
        == "Set. Leave empty to keep it"
    )
    assert KEY not in page.content()


def test_failed_test_is_a_sentence_and_stores_nothing(first: FirstRun) -> None:
    page = first.page
    before = (first.gateway.home / "config.yaml").read_text()
    refusing = OpenAIServer(lambda _body: REFUSED, models=["large"])
    with refusing:
        first.choose("Another OpenAI-compatible server")
        page.get_by_label("Address").fill(refusing.base_url)
        page.get_by_label("Key", exact=True).fill(KEY)
        first.press("Continue")
        first.press("Test and save")
        page.get_by_text("No such key").wait_for()
        assert (first.gateway.home / "config.yaml").read_text() == before
        page.goto(first.gateway.url)
        page.get_by_role("heading", name="Set up a model").wait_for()
    page.goto(f"{first.gateway.url}/setup/model")
    page.get_by_label("Model").fill("large")
    first.press("Test and save")  # of a server that has ended
    page.locator(".notice").get_by_text("Is the server running?").wait_for()
    page.goto(f"{first.gateway.url}/setup?provider=openai")
    first.press("Continue")
    page.get_by_text("Enter a key.").wait_for()


def test_another_address_does_not_get_the_stored_key(first: FirstRun) -> None:
    page = first.page
    first.choose("Another OpenAI-compatible server")
    page.get_by_label("Address").fill(first.server.base_url)
    page.get_by_label("Key", exact=True).fill(KEY)
    first.press("Continue")
    first.press("Test and save")
    page.get_by_text("It answered: ready").wait_for()
    with OpenAIServer(replies, models=["large"]) as other:
        page.goto(f"{first.gateway.url}/setup?provider=my-server")
        page.get_by_label("Address").fill(other.base_url)
        first.press("Continue")
        page.get_by_text("Enter the key of this server.").wait_for()
        page.get_by_label("Key", exact=True).fill("-")
        first.press("Continue")
        first.press("Test and save")
        page.get_by_text("It answered: ready").wait_for()
        assert other.requests
        assert KEY not in str([one.headers for one in other.requests])

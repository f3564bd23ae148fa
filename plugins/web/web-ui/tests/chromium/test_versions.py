"""Versions of messages and answers, in one chat."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import Window

New = Callable[..., Window]
MODEL = [
    *({"when": "colour", "text": text} for text in ("red", "green", "blue")),
    {"when": ".", "text": "answered", "repeat": True},
]


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("versions"))
    made.configure(MODEL, review=False)
    made.start()
    yield made
    made.close()


@pytest.fixture
def logins() -> dict[str, Any]:
    return {}


def shows(one: Window, *texts: str) -> None:
    """Wait until the chat has exactly these messages of the assistant."""
    one.until(
        "texts => JSON.stringify([...document.querySelectorAll('article[data-role=assistant] .md')]"
        ".map(node => node.innerText.trim())) === texts",
        arg=json.dumps(texts, separators=(",", ":")),
    )


@pytest.mark.slow
def test_regenerated_answer_is_a_version_of_the_same_chat(window: New) -> None:
    one = window().open()
    one.say("which colour?")
    shows(one, "red")
    one.say("thanks")
    shows(one, "red", "answered")
    one.settled(2)
    one.button("Regenerate").first.dblclick()
    shows(one, "green")
    one.settled()
    one.button("Regenerate").evaluate("b => { b.click(); b.click(); }")  # as Enter held down does
    shows(one, "blue")
    group = one.page.get_by_role("group", name="Versions")
    group.get_by_text("3 / 3").wait_for()
    assert one.button("Next version").is_disabled()
    for answers, number in ((["green"], "2 / 3"), (["red", "answered"], "1 / 3")):
        one.button("Previous version").click()
        shows(one, *answers)
        group.get_by_text(number).wait_for()
    one.page.reload()
    shows(one, "red", "answered")
    group.get_by_text("1 / 3").wait_for()
    assert one.page.locator("[data-recent] li").count() == 1
    one.open("/")
    assert one.page.locator("[data-recent] li").count() == 1


@pytest.mark.slow
def test_edited_message_is_a_version_and_deleting_deletes_all(window: New) -> None:
    one = window().open()
    one.say("hello")
    shows(one, "answered")
    one.say("which colour?")
    shows(one, "answered", "red")
    one.settled(2)
    one.button("Edit").last.click()
    editor = one.page.get_by_role("textbox", name="Edit message")
    editor.fill("which colour then?")
    editor.press("Enter")
    shows(one, "answered", "green")
    own = one.log.locator("article[data-role=user]").last
    own.get_by_text("2 / 2").wait_for()
    own.get_by_role("button", name="Previous version").press("Enter")
    shows(one, "answered", "red")
    assert own.inner_text().startswith("which colour?")
    rows = one.page.request.get(f"{one.url}/api/sessions?kind=all&limit=200").json()["sessions"]
    assert len(rows) == 1
    one.button("Chat menu").click()
    one.button("Delete").click()
    one.page.get_by_role("dialog").get_by_role("button", name="Delete").click()
    one.page.wait_for_url(f"{one.url}/")
    rows = one.page.request.get(f"{one.url}/api/sessions?kind=all&limit=200").json()["sessions"]
    assert rows == []


@pytest.mark.slow
def test_version_starts_with_the_same_prompt(window: New, gateway: Gateway) -> None:
    one = window().open()
    one.say("which colour?")
    shows(one, "red")
    first = one.page.url.rpartition("/")[2]
    one.settled()
    one.button("Regenerate").click()
    shows(one, "green")
    second = one.page.url.rpartition("/")[2]
    assert first != second
    prompts = [
        gateway.spawn("prompt", "--session", id_, "--json").communicate()[0]
        for id_ in (first, second)
    ]
    stable = [json.loads(text) for text in prompts]
    assert stable[0]["system"] == stable[1]["system"]
    assert stable[0]["tools"] == stable[1]["tools"]

"""The page *Your settings*: choices hold in all browsers of a person, for them alone."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import SCRIPT, Window

pytestmark = pytest.mark.slow
New = Callable[..., Window]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    """A gateway whose people can choose between two models."""
    made = Gateway(tmp_path_factory.mktemp("your-settings"))
    made.configure(SCRIPT)
    second = made.folder / "second.yaml"
    second.write_text('{"steps": [{"when": ".", "text": "the other model", "repeat": true}]}')
    config = json.loads((made.home / "config.yaml").read_text())
    config["auxiliary_model"] = f"scripted/{second}"
    (made.home / "config.yaml").write_text(json.dumps(config))
    made.start()
    yield made
    made.close()


def theme(one: Window) -> Any:
    return one.page.evaluate("document.documentElement.dataset.theme ?? ''")


def save(one: Window) -> None:
    one.button("Save").click()
    one.page.get_by_text("Saved.").wait_for()


def sign_in(one: Window, gateway: Gateway, name: str) -> Any:
    """Open another browser of a person, with nothing of the first but the login."""
    fresh = one.page.context.browser.new_context(storage_state=None)
    cookies = one.page.context.cookies()
    fresh.add_cookies([each for each in cookies if each["name"] != "hookline-theme"])
    return fresh


def test_settings_hold_in_every_browser_of_a_person(window: New, gateway: Gateway) -> None:
    one = window(name="ben").open("/settings")
    assert one.page.get_by_text("Your role is Member.").count() == 1
    one.page.get_by_text("What you may do").click()
    one.page.get_by_text("Talk to the agent; see, rename and delete one's own chats").wait_for()
    assert one.page.get_by_text("Approve calls, admit people").count() == 0
    one.page.get_by_label("Colours").select_option("dark")
    one.page.get_by_label("Enter in the message box").select_option("newline")
    save(one)
    fresh = sign_in(one, gateway, "ben")
    other = Window(fresh.new_page(), gateway.url).open()
    assert theme(other) == "dark"
    other.box.fill("first")
    other.box.press("End")
    other.box.press("Enter")
    other.box.press_sequentially("second")
    assert other.box.input_value() == "first\nsecond"
    other.box.press("Control+Enter")
    other.settled()
    assert other.faults == []
    fresh.close()
    assert theme(window(name="eve").open()) == ""


def test_theme_button_changes_the_stored_theme(window: New, gateway: Gateway) -> None:
    one = window(name="mia", color_scheme="light").open()
    with one.page.expect_response("**/api/me"):
        one.button("Theme: system").click()
    assert theme(one) == "dark"
    fresh = sign_in(one, gateway, "mia")
    other = Window(fresh.new_page(), gateway.url).open("/settings")
    assert theme(other) == "dark"
    assert other.page.get_by_label("Colours").input_value() == "dark"
    fresh.close()
    cookie = "hookline-theme=dark"
    assert cookie in one.page.evaluate("document.cookie"), "for the page that signs in"


def test_default_model_is_that_of_new_chats(window: New, gateway: Gateway) -> None:
    second = f"scripted/{gateway.folder / 'second.yaml'}"
    one = window(name="eve").open("/settings")
    model = one.page.get_by_label("Model of new chats")
    assert model.input_value() == ""
    model.select_option(second)
    save(one)
    one.open()
    one.say("hello")
    one.settled()
    assert one.said() == ["the other model"]
    chosen = one.page.get_by_role("combobox", name="Model", exact=True)
    assert chosen.input_value() == second
    one.open("/settings")
    model.evaluate(
        "(select) => (select.add(new Option('not/there')), (select.value = 'not/there'))"
    )
    one.button("Save").click()
    one.page.get_by_text("not/there is not one of the models that you can choose.").wait_for()


def test_new_chat_shows_the_default_model(window: New, gateway: Gateway) -> None:
    second = f"scripted/{gateway.folder / 'second.yaml'}"
    one = window(name="mia").open("/settings")
    one.page.get_by_label("Model of new chats").select_option(second)
    save(one)
    one.open()
    one.until(
        "value => document.querySelector('select[aria-label=Model]')?.value === value", second
    )


def test_control_enter_adds_to_a_running_turn_whatever_enter_does(window: New) -> None:
    one = window(name="ben").open()
    for enter in ("newline", "send"):
        body = json.dumps({"enter": enter})
        one.page.evaluate(
            "body => fetch('/api/me', { method: 'PATCH', body,"
            " headers: { 'Content-Type': 'application/json' } })",
            body,
        )
        one.open().say("long please")
        one.button("Stop").wait_for()
        one.box.fill("also this")
        one.box.press("Control+Enter")
        added = one.page.get_by_role("article", name="You, added to the running turn")
        added.wait_for()
        one.page.reload()
        added.wait_for()
        one.settled()
        for _ in range(2):
            assert [one.log.inner_text().count(words) for words in ("also this", "/steer")] == [
                1,
                0,
            ]
            one.page.reload()
            one.settled()

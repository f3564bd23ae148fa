"""Sharing a chat by a link, in a browser."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import Window

pytestmark = pytest.mark.slow
New = Callable[..., Window]


def test_chat_is_shared_and_link_revoked(window: New, chromium: Any, gateway: Gateway) -> None:
    one = window().open()
    one.say("look twice")
    one.settled()
    one.button("Chat menu").click()
    one.button("Share").click()
    dialog = one.page.get_by_role("dialog", name="Share this chat")
    dialog.get_by_text("Whoever has the link can read this chat without signing in").wait_for()
    assert dialog.get_by_text("Links to this chat").is_hidden()
    dialog.get_by_label("The link works for").select_option("1 day")
    dialog.get_by_role("button", name="Create link").click()
    link = dialog.get_by_label("The link; it is shown only now")
    link.wait_for()
    url = link.input_value()
    assert url.startswith(f"{gateway.url}/shared/")

    context = chromium.new_context(java_script_enabled=False)
    reader = Window(context.new_page(), gateway.url)
    reader.page.goto(url)
    assert reader.page.get_by_role("article", name="Person").inner_text() == "look twice"
    reader.page.get_by_text("Used the tool bash").wait_for()
    assert "First this." in reader.page.locator("main").inner_text()
    assert "echo seen" not in reader.page.content()
    assert reader.page.evaluate("document.documentElement.scrollWidth <= innerWidth")

    dialog.get_by_text("Links to this chat").wait_for()
    dialog.get_by_role("button", name="Revoke the link").click()
    dialog.get_by_text("The link does not work any more.").wait_for()
    link.wait_for(state="hidden")
    reader.page.goto(url)
    reader.page.get_by_text("This link does not work.").wait_for()
    assert reader.faults == []
    context.close()
    dialog.get_by_role("button", name="Close").click()

    member = window(name="mia").open()
    member.say("hello")
    member.settled()
    member.button("Chat menu").click()
    member.button("Rename").wait_for()
    assert member.button("Share").count() == 0

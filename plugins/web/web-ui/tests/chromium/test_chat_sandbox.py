"""The sandbox of one chat is made stricter at the message box, at once and for good."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest

from ..browser import Gateway
from .conftest import Window

pytestmark = pytest.mark.slow
New = Callable[..., Window]
LOOK = {"command": "echo way out: ${HTTPS_PROXY:-none}."}
SCRIPT = [
    {"when": "look", "tools": [{"name": "bash", "arguments": LOOK}], "repeat": True},
    {"when": "way out: none", "text": "cut off", "repeat": True},
    {"when": "way out: http", "text": "connected", "repeat": True},
    {"when": ".", "text": "answered", "repeat": True},
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("sandboxed"))
    made.configure(SCRIPT, inspect=True)
    made.start()
    yield made
    made.close()


def test_chat_is_cut_off_from_the_network_by_a_click(window: New) -> None:
    one = window().open()
    state = one.page.evaluate("fetch('/api/settings').then((one) => one.json())")
    if state["sandbox"] == "off":
        pytest.skip("no sandbox works on this machine")
    sandbox = one.page.get_by_role("combobox", name="Sandbox")
    one.say("look")
    one.settled()
    assert one.said()[-1] == "connected"
    with one.page.expect_response("**/settings"):
        sandbox.select_option("no-network")
    one.say("look again")
    one.settled(2)
    assert one.said()[-1] == "cut off"
    one.page.reload()
    one.settled(2)
    one.until("() => document.querySelector('select[aria-label=Sandbox]')?.value === 'no-network'")

    other = window(like=one).open()  # a new chat begins as configured, and can begin stricter
    sandbox = other.page.get_by_role("combobox", name="Sandbox")
    assert sandbox.input_value() == "default"
    sandbox.select_option("no-network")
    other.say("look")
    other.settled()
    assert other.said()[-1] == "cut off"
    with other.page.expect_response("**/settings"):
        sandbox.select_option("default")
    other.say("look again")
    other.settled(2)
    assert other.said()[-1] == "connected"


def test_only_the_two_choices_are_taken(window: New) -> None:
    one = window(name="mia").open()
    one.say("hello")
    one.settled()
    send = """([path, value]) => fetch(path, { method: "POST", body: JSON.stringify(value),
      headers: { "Content-Type": "application/json" } }).then((one) => one.status)"""
    path = f"/api/sessions/{one.page.url.rpartition('/')[2]}/settings"
    for value in ("off", "yes", "", None, True, ["default"]):
        assert one.page.evaluate(send, [path, {"sandbox": value}]) == 400, value
    stranger = window(name="ben").open()
    assert stranger.page.evaluate(send, [path, {"sandbox": "no-network"}]) == 404

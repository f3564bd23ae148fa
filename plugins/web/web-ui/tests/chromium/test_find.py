"""Finding and organising chats: the palette, the search of messages, pins, folders, the archive."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator
from contextlib import closing
from typing import Any

import pytest

from ..browser import Gateway
from ..test_large_session import FILL
from .conftest import Window

New = Callable[..., Window]
WHALE = """The blue whale is the largest animal.

<details>
<summary>Food</summary>

Krill
</details>"""
MODEL = [
    {"when": "whale", "text": WHALE, "repeat": True},
    {"when": ".", "text": "answered", "repeat": True},
]


@pytest.fixture
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("find"))
    made.configure(MODEL, review=False, inspect=True)
    made.start()
    yield made
    made.close()


@pytest.fixture
def logins() -> dict[str, Any]:
    return {}


def chats(one: Window, *texts: str) -> None:
    """Start a chat with each of these messages."""
    for text in texts:
        one.open("/").say(text)
        one.settled()


def read_long_chat(one: Window, gateway: Gateway, session: str) -> None:
    """Read a chat of 600 messages from its start to its end and back: only a part is drawn."""
    with closing(sqlite3.connect(gateway.home / "hookline.db", timeout=30)) as db, db:
        db.execute(FILL, {"turns": 299, "id": session})
    one.open("/").open(f"/chat/{session}#m3")
    one.page.locator(".found").wait_for()
    drawn = (
        "[...document.querySelectorAll('[data-message]')].map(one => Number(one.dataset.message))"
    )
    for to, last in ((1e9, 600), (0, 1)):
        one.until(
            f"([to, last]) => {{ document.querySelector('.log').scrollTop = to;"
            f" return ({drawn}).includes(last); }}",
            [to, last],
        )
        shown = one.page.evaluate(drawn)
        assert shown == list(range(shown[0], shown[0] + 150))
    one.button("Edit").first.click()
    editor = one.page.get_by_role("textbox", name="Edit message")
    editor.fill("tell me more")
    one.page.evaluate("document.querySelector('.log').scrollTop = 1e9")
    one.log.locator('[data-message="150"] footer').wait_for()
    assert editor.input_value() == "tell me more"
    one.button("Cancel").click()
    editor.wait_for(state="detached")
    one.say("hello")
    one.log.locator('[data-message="602"]').get_by_text("answered").wait_for()
    assert len(one.page.evaluate(drawn)) == 150
    one.page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert one.page.evaluate(drawn) == list(range(1, 603))
    assert one.log.locator("details[open]").count() == 300


@pytest.mark.slow
def test_palette_finds_chats_messages_pages_and_commands(window: New, gateway: Gateway) -> None:
    one = window().open()
    chats(one, "tell me about the whale")
    whale = one.page.url.rpartition("/")[2]
    chats(one, "a second chat")
    for change in ({"title": "Ocean giants"}, {"archived": True}):  # which takes it off the list
        one.page.evaluate(
            "([id, change]) => fetch(`/api/sessions/${id}`, {method: 'PATCH',"
            " body: JSON.stringify(change), headers: {'Content-Type': 'application/json'}})",
            [whale, change],
        )
    for k in range(12):
        one.say(f"filler {k}")
        one.settled(k + 2)
    one.open("/")
    box = one.page.get_by_role("combobox", name="Search")

    def find(text: str, option: str) -> None:
        one.page.keyboard.press("Control+k")
        box.wait_for()
        box.fill(text)
        one.page.get_by_role("option", name=option).first.wait_for()
        one.page.keyboard.press("Enter")
        box.wait_for(state="detached")

    find("second", "a second chat")  # the palette is loaded for its first use
    one.page.keyboard.press("Control+k")
    one.page.keyboard.type("second")
    assert box.input_value() == "second"
    one.page.keyboard.press("Escape")
    find("second", "a second chat")
    one.page.wait_for_url("**/chat/*")
    one.settled(13)
    find("ocean", "Ocean giants")
    one.page.wait_for_url(f"**/chat/{whale}")
    find("largest animal", "largest animal")
    one.page.wait_for_url("**/chat/*#m*")
    one.page.locator(".message.found").get_by_text("The blue whale").wait_for()
    read_long_chat(one, gateway, whale)
    find("/undo", "/undo")
    one.until("() => document.querySelector('.composer textarea').value === '/undo '")
    find("doctor", "Doctor")
    one.page.wait_for_url("**/doctor")
    one.button("Search").click()  # without a keyboard
    box.wait_for()
    one.page.keyboard.press("Escape")
    box.wait_for(state="detached")


@pytest.mark.slow
def test_pinned_chats_folders_and_archive_survive_reload(window: New) -> None:
    one = window().open()
    chats(one, "first chat", "second chat", "third chat", "fourth chat")
    recent = one.page.get_by_role("region", name="Recent")

    def menu(chat: str, choice: str) -> None:
        recent.get_by_role("button", name=f"Options of {chat}").focus()
        one.page.keyboard.press("Enter")
        one.page.locator("#row-menu").get_by_role("button", name=choice, exact=True).click()

    menu("first chat", "Pin")
    recent.get_by_role("heading", name="Pinned").wait_for()
    menu("second chat", "Move to folder")
    one.page.get_by_role("dialog").get_by_label("Folder").fill("Office")
    one.page.keyboard.press("Enter")
    recent.get_by_text("Office", exact=True).wait_for()
    menu("third chat", "Archive")
    recent.get_by_role("link", name="third chat").wait_for(state="detached")
    for _ in range(2):
        text = recent.inner_text()
        places = ["Pinned", "first chat", "Office", "second chat", "Today", "fourth chat"]
        found = [text.index(place) for place in places]
        assert found == sorted(found)
        assert "third chat" not in text
        one.page.reload()
        recent.get_by_role("heading", name="Pinned").wait_for()


@pytest.mark.slow
def test_several_chats_are_deleted_at_once(window: New) -> None:
    one = window().open()
    chats(one, "keep this", "drop one", "drop two")
    one.button("Organise").click()
    dialog = one.page.get_by_role("dialog", name="Organise chats")
    for name in ("drop two", "drop one"):  # the open chat first
        dialog.get_by_role("checkbox", name=name).check()
    dialog.get_by_text("2 selected").wait_for()
    dialog.get_by_role("button", name="Delete").click()
    sure = one.page.get_by_role("dialog", name="Delete")
    sure.get_by_role("button", name="Delete").click()
    one.page.wait_for_url(f"{one.url}/")
    recent = one.page.get_by_role("region", name="Recent")
    recent.get_by_role("link", name="keep this").wait_for()
    assert recent.get_by_role("link").count() == 1


@pytest.mark.slow
def test_pages_are_in_groups_of_one_navigation(window: New) -> None:
    one = window().open()
    nav = one.page.get_by_role("navigation", name="Main")
    for name in ("Chat", "Inbox"):
        assert nav.get_by_role("link", name=name).is_visible()
    assert not nav.get_by_role("link", name="Doctor").is_visible()
    nav.get_by_text("Settings", exact=True).click()
    nav.get_by_role("link", name="Doctor").wait_for()
    one.page.reload()
    one.box.wait_for()
    nav.get_by_role("link", name="Doctor").wait_for()
    nav.get_by_text("Settings", exact=True).click()
    nav.get_by_role("link", name="Doctor").wait_for(state="hidden")
    one.open("/doctor")
    nav.get_by_role("link", name="Doctor").wait_for()  # the section of the current page is open
    assert not nav.get_by_role("link", name="Sessions").is_visible()


@pytest.mark.slow
def test_chat_without_a_title_shows_its_first_words_everywhere(window: New) -> None:
    one = window().open()
    chats(one, "measure the garden fence")
    chat = one.page.url.removeprefix(one.url)
    names = "measure the garden fence"
    assert one.page.title().startswith(names)
    answer = one.page.request.get(one.page.url)
    assert f"<title>{names}" in answer.text()  # before any script runs
    one.open("/sessions?q=garden")
    one.page.get_by_role("heading", name="Matching messages").wait_for()
    text = one.page.locator("main").inner_text()
    assert chat.removeprefix("/chat/") not in text


@pytest.mark.slow
def test_palette_shows_no_results_of_an_earlier_search(window: New) -> None:
    one = window().open()
    chats(one, "tell me about the whale")
    one.page.keyboard.press("Control+k")
    box = one.page.get_by_role("combobox", name="Search")
    box.fill("largest")
    one.page.get_by_role("option", name="largest animal").wait_for()
    # While the next search is held back, what was found before must not be shown.
    one.page.route("**/api/sessions?*q=*", lambda route: None)
    box.fill("largesse")
    one.page.get_by_text("Nothing found.").wait_for()

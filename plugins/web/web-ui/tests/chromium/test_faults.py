"""What people ran into: queued messages, stops, failed answers, limits, and clocks."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from ..browser import Gateway
from .conftest import Window

New = Callable[..., Window]
LONG = " ".join(f"slow{number}" for number in range(600))
BROKEN = "These words are good. BREAKS and never said"
MODEL = [
    {"when": "long please", "text": LONG, "repeat": True},
    {"when": "break off", "text": BROKEN},
    {"when": "fail at once", "fault": "context", "repeat": True},
    {
        "when": "remove it",
        "tools": [{"name": "bash", "arguments": {"command": "rm -rf a"}}],
        "repeat": True,
    },
    {
        "when": "remove both",
        "tools": [{"name": "bash", "arguments": {"command": f"rm -rf {name}"}} for name in "bc"],
    },
    {"when": "first question", "text": "first answer", "repeat": True},
    {"when": "second question", "text": "second answer", "repeat": True},
    {"when": ".", "text": "answered", "repeat": True},
]


@pytest.fixture(scope="module")
def gateway(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateway]:
    made = Gateway(tmp_path_factory.mktemp("faults"))
    made.configure(MODEL, review=False)
    made.start()
    yield made
    made.close()


def queue_two(one: Window) -> Any:
    """Start a long turn and queue two messages; return the list of them."""
    one.say("long please")
    one.until("() => document.querySelector('.live .md p')")
    for text in ("queued first", "queued second"):
        one.say(text)
        one.page.get_by_label("Queued messages").get_by_text(text).wait_for()
    return one.page.get_by_label("Queued messages")


@pytest.mark.slow
def test_queued_message_can_be_removed_and_edited(window: New) -> None:
    one = window().open()
    queue = queue_two(one)
    queue.get_by_role("button", name="Remove “queued first”").dblclick()
    queue.get_by_text("queued first").wait_for(state="detached")
    assert one.log.locator(".note").count() == 0
    queue.get_by_role("button", name="Edit “queued second”").click()
    queue.wait_for(state="detached")
    one.until("() => document.querySelector('.composer textarea').value === 'queued second'")
    one.button("Stop").click()
    one.settled()
    assert one.log.locator("article[data-role=user]").count() == 1


@pytest.mark.slow
def test_stop_puts_queued_messages_back_into_the_composer(window: New) -> None:
    one = window().open()
    queue = queue_two(one)
    one.box.fill("a draft")
    one.button("Stop").click()
    queue.wait_for(state="detached")
    one.settled()
    assert one.box.input_value() == "queued first\n\nqueued second\n\na draft"
    one.page.wait_for_timeout(500)
    assert one.log.locator("article[data-role=user]").count() == 1


@pytest.mark.slow
def test_approval_of_stopped_turn_is_closed(window: New) -> None:
    one = window().open()
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    one.button("Stop").click()
    group.wait_for(state="detached")
    one.page.reload()
    one.settled()
    assert group.count() == 0
    link = one.page.get_by_role("navigation", name="Main").get_by_role("link", name="Inbox")
    assert "open question" not in link.inner_text()


@pytest.mark.slow
def test_double_click_answers_one_question(window: New) -> None:
    one = window().open()
    one.say("remove both")
    one.page.locator(".dock").get_by_text("rm -rf b").wait_for()
    allow = one.button("Allow once")
    allow.click()
    one.page.locator(".dock").get_by_text("rm -rf c").wait_for()
    at = allow.bounding_box()
    one.page.mouse.move(at["x"] + 9, at["y"] + 9)
    one.page.mouse.down(click_count=2)
    one.page.mouse.up(click_count=2)
    one.button("Deny").press("Enter")  # a key or a click of its own does
    one.settled()
    assert one.log.get_by_text("You answered: Allow once").count() == 1
    assert one.log.get_by_text("You denied this.").count() == 1
    assert one.button("Regenerate").count() == 1  # despite the notices between its parts


@pytest.mark.slow
def test_broken_off_answer_keeps_its_words_and_shows_the_error_once(window: New) -> None:
    one = window().open()
    one.say("break off")
    again = one.button("Try again")
    for _ in range(2):
        again.wait_for()
        shown = one.log.inner_text()
        assert shown.count("These words are good.") == 1
        assert shown.count("The line went dead.") == 1
        assert "The line" not in one.log.locator(".md").first.inner_text()
        one.page.reload()
    again.click()
    one.log.get_by_text("answered", exact=True).wait_for()
    assert again.count() == 0
    one.button("Previous version").click()
    again.wait_for()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("command", "left"),
    [("/undo", ["first answer"]), ("/retry", ["first answer", "second answer"])],
)
def test_undone_turn_disappears_at_once(window: New, command: str, left: list[str]) -> None:
    one, other = window().open(), None
    one.say("first question")
    one.settled()
    one.say("second question")
    one.settled(2)
    other = window(like=one).open(one.page.url.removeprefix(one.url))
    other.settled(2)
    one.say(command)
    for each in (one, other):
        each.until(
            "n => document.querySelectorAll('article[data-role=user]').length === n"
            " && document.querySelectorAll('[data-details]').length === n",
            arg=len(left),
        )
        assert each.said() == left


@pytest.mark.slow
def test_terminal_commands_are_not_offered(window: New) -> None:
    one, other = window().open(), window(name="mia").open()
    names = [
        {c["name"] for c in each.page.request.get(f"{each.url}/api/commands").json()["commands"]}
        for each in (one, other)
    ]
    assert {"/help", "/init", "/model"} <= names[0]
    assert not {"/copy", "/expand"} & names[0]
    assert "/init" not in names[1]


@pytest.mark.slow
def test_approval_is_open_although_the_clock_is_fast(window: New) -> None:
    one = window()
    one.page.clock.install()
    one.open()
    one.page.clock.set_fixed_time(one.page.evaluate("Date.now() + 2 * 86400 * 1000"))
    one.open()
    one.say("remove it")
    group = one.page.get_by_role("group", name="Approval")
    group.wait_for()
    assert "expired" not in group.inner_text()
    assert "left" in group.get_by_role("timer").inner_text()
    group.get_by_role("button", name="Deny", exact=True).click()


@pytest.mark.slow
def test_message_over_the_limit_says_when_it_is_sent_again(window: New) -> None:
    one = window().open()
    answers = iter([429])

    def limited(route: Any) -> None:
        if next(answers, 0):
            problem = {"code": "rate", "message": "Too many messages.", "fix": ""}
            headers = {"Retry-After": "3", "Content-Type": "application/json"}
            route.fulfill(status=429, headers=headers, body=json.dumps({"error": problem}))
        else:
            route.continue_()

    one.page.route("**/messages", limited)
    one.say("hello")
    one.log.get_by_text("Too many messages. Sending again in").wait_for()
    one.button("Discard").wait_for()
    one.settled()
    assert one.said() == ["answered"]


@pytest.mark.slow
def test_text_that_changes_direction_is_spelled_out_everywhere(window: New) -> None:
    hostile = "abc\u202edcba"
    one = window().open()
    one.say("long please")
    one.until("() => document.querySelector('.live .md p')")
    one.say(hostile)
    queue = one.page.get_by_label("Queued messages")
    queue.get_by_text("U+202E").wait_for()
    queue.get_by_role("button", name="Remove").click()
    one.button("Stop").click()
    one.settled()
    one.open("/")
    one.say(hostile)
    one.settled()
    assert "\u202e" not in one.page.locator("body").inner_text()
    assert "\u202e" not in one.page.title()
    one.page.reload()
    one.settled()
    assert "\u202e" not in one.page.locator("body").inner_text()


@pytest.mark.slow
def test_edit_makes_no_chat_until_it_is_sent(window: New) -> None:
    one = window().open()
    one.say("hello")
    one.settled()
    chats = one.page.locator("[data-recent] li")
    before = chats.count()
    one.button("Edit").click()
    editor = one.page.get_by_role("textbox", name="Edit message")
    assert editor.input_value() == "hello"
    editor.press("Escape")
    editor.wait_for(state="detached")
    one.page.reload()
    one.settled()
    assert chats.count() == before

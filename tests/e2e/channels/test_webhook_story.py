"""The same story over the webhook: every body signed, answers typed instead of pressed."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from support.channels.model_script import COUNTED, HELLO, remove
from support.channels.plugin_fakes import multimedia, telegram, webhook

from .conftest import BOSS, House

ADMIN = str(BOSS)


@pytest.fixture(scope="module")
def claimed(built: House) -> House:
    """A gateway with its secret in ``.env``, and its first admin."""
    built.install("webhook")
    built.start()
    built.post("claim", built.claim_code(), ADMIN)
    assert built.replies.answer_to("claim").startswith("You are the first admin now.")
    return built


@pytest.fixture
def house(claimed: House) -> House:
    """The gateway runs."""
    if claimed.gateway.poll() is not None:
        claimed.start()
    return claimed


def said(house: House, part: str, chat: str) -> str:
    """The first reply in a chat that holds a text, as soon as it is there."""

    def found() -> list[str]:
        texts = [(body["chat"], str(body["text"])) for body in house.replies.taken]
        return [text for where, text in texts if where == chat and part in text]

    house.replies.wait(lambda: bool(found()))
    return found()[0]


def test_the_admin_is_answered_and_the_claim_code_works_once(house: House) -> None:
    house.post("h1", "hello", ADMIN)
    assert house.replies.answer_to("h1") == HELLO
    house.post("h2", house.claim_code(), "eve")
    assert house.replies.answer_to("h2").startswith("I do not know you yet.")
    house.post("h1", "hello", ADMIN)  # the platform delivers it again
    house.post("h3", "/whoami", ADMIN)
    assert f"webhook:{ADMIN}" in house.replies.answer_to("h3")
    assert Counter(post.body["in_reply_to"] for post in house.replies.posts)["h1"] == 1


@pytest.mark.slow
def test_a_picture_comes_with_the_answer(house: House) -> None:
    house.post("drawn", "draw a bicycle", ADMIN)
    assert house.replies.answer_to("drawn") == "Here it **is**."
    (body,) = (one for one in house.replies.taken if one["in_reply_to"] == "drawn")
    (picture,) = body["attachments"]
    assert picture["mime"] == "image/png"
    assert Path(picture["path"]).read_bytes() == multimedia.make_png()


@pytest.mark.slow
def test_webhook_ignores_unsigned_messages(house: House) -> None:
    body = webhook.message("u1", "hello", chat=ADMIN, user=ADMIN)
    url = f"http://127.0.0.1:{house.port}/webhook"
    for headers in ({}, webhook.signed(body, "another secret of a good length")):
        answer = httpx2.post(url, content=body, headers=headers, trust_env=False, timeout=60)
        assert answer.status_code == 401
    house.post("u2", "hello", ADMIN)
    house.replies.answer_to("u2")
    assert "u1" not in {body["in_reply_to"] for body in house.replies.taken}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "typed", "told", "answer"),
    [
        ("denied", "4", "Denied.", "Then I leave it."),
        ("allowed", "Once", "Allowed: once.", "It is removed."),
    ],
)
def test_a_dangerous_command_waits_for_an_answer(
    house: House, name: str, typed: str, told: str, answer: str
) -> None:
    folder = house.folder_to_remove(name)
    house.post(f"{name}1", f"remove {name}", ADMIN)
    question = said(house, remove(name), ADMIN)
    assert all(choice in question for choice in ("Once", "This session", "Always", "Deny"))
    assert folder.exists()
    house.post(f"{name}2", typed, ADMIN)
    assert house.replies.answer_to(f"{name}2") == told
    assert house.replies.answer_to(f"{name}1") == answer
    assert folder.exists() == (name == "denied")


@pytest.mark.slow
def test_question_is_not_answered_by_other_group_members(house: House) -> None:
    folder = house.folder_to_remove("grouped")
    house.post("g1", "hello", "guest")
    house.post("g2", f"/pair {code_in(house.replies.answer_to('g1'))}", ADMIN)
    house.replies.answer_to("g2")
    house.post("g3", "remove grouped", "group", ADMIN)
    said(house, remove("grouped"), "group")
    house.post("g4", "1", "group", "stranger")
    code_in(house.replies.answer_to("g4"))
    house.post("g5", "/approve once", "group", "guest")
    assert "Only the person whose request this is" in house.replies.answer_to("g5")
    assert folder.exists()
    house.post("g6", "deny", "group", ADMIN)
    assert house.replies.answer_to("g6") == "Denied."
    assert house.replies.answer_to("g3") == "Then I leave it."
    assert folder.exists()


def code_in(text: str) -> str:
    """The pairing code that somebody unknown was given."""
    assert text.startswith("I do not know you yet.")
    return text.splitlines()[0].split()[-1]


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admin(house: House) -> None:
    house.post("p1", "hello", "ann")
    code = code_in(house.replies.answer_to("p1"))
    request = said(house, "webhook:ann wrote", ADMIN)
    assert code in request
    house.post("p2", f"/pair {code}", ADMIN)
    said(house, "You have been let in.", "ann")
    house.post("p3", "hello", "ann")
    assert house.replies.answer_to("p3") == HELLO


@pytest.mark.slow
def test_a_signal_ends_what_runs_and_a_planned_job_is_delivered(house: House) -> None:
    house.post("s1", "/schedule add in 1 minute | Write the letter.", ADMIN)
    assert house.replies.answer_to("s1").startswith("Job ")
    house.post("s2", "think", ADMIN)
    assert telegram.end(house.gateway) == 0
    assert house.replies.answer_to("s2") == "I have thought."
    house.start(HOOKLINE_CLOCK_OFFSET="600")
    said(house, "The letter is written.", ADMIN)
    assert telegram.end(house.gateway) == 0
    assert times(house, "The letter is written.") == 1


def times(house: House, part: str) -> int:
    """In how many replies a text stands."""
    return sum(part in str(body["text"]) for body in house.replies.taken)


@pytest.mark.slow
def test_a_death_in_the_middle_of_an_answer_leaves_one_answer(house: House) -> None:
    assert telegram.end(house.gateway) == 0
    house.start(HOOKLINE_CRASH_AT="mid-stream:40")
    house.post("c1", "count", ADMIN)
    assert house.gateway.wait(webhook.PATIENCE) == -signal.SIGKILL
    house.start()
    house.post("c1", "count", ADMIN)  # the platform does not know that it was taken
    assert house.replies.answer_to("c1") == COUNTED
    assert telegram.end(house.gateway) == 0
    assert times(house, COUNTED) == 1


@pytest.mark.slow
def test_a_death_in_a_tool_leaves_one_answer_and_one_run(house: House) -> None:
    house.post("w1", "work", ADMIN)
    house.wait_until(lambda: house.works == 1)
    assert telegram.end(house.gateway, signal.SIGKILL) == -signal.SIGKILL
    house.start()
    assert house.replies.answer_to("w1") == "The work was cut short."
    assert telegram.end(house.gateway) == 0
    assert times(house, "The work was cut short.") == 1
    assert house.works == 1

"""The webhook from claim to kill: every body is signed, answers are typed."""

from __future__ import annotations

import signal
from collections import Counter
from pathlib import Path

import httpx2
import pytest
from support.channels.model_script import COUNTED, HELLO, remove
from support.channels.plugin_fakes import multimedia, telegram, webhook

from .conftest import BOSS, ChannelHome

ADMIN = str(BOSS)


@pytest.fixture(scope="module")
def claimed_home(new_home: ChannelHome) -> ChannelHome:
    """A gateway with its secret in ``.env``, and its first admin."""
    new_home.install("webhook")
    new_home.start()
    new_home.post("claim", new_home.claim_code(), ADMIN)
    assert new_home.replies.answer_to("claim").startswith("You are the first admin now.")
    return new_home


@pytest.fixture
def channel_home(claimed_home: ChannelHome) -> ChannelHome:
    """The gateway runs."""
    if claimed_home.gateway.poll() is not None:
        claimed_home.start()
    return claimed_home


def find_reply(channel_home: ChannelHome, part: str, chat: str) -> str:
    """The first reply in a chat that holds a text, as soon as it is there."""

    def found() -> list[str]:
        texts = [(body["chat"], str(body["text"])) for body in channel_home.replies.taken]
        return [text for where, text in texts if where == chat and part in text]

    channel_home.replies.wait(lambda: bool(found()))
    return found()[0]


@pytest.mark.long
def test_admin_gets_reply_and_claim_code_works_once(channel_home: ChannelHome) -> None:
    channel_home.post("h1", "hello", ADMIN)
    assert channel_home.replies.answer_to("h1") == HELLO
    channel_home.post("h2", channel_home.claim_code(), "eve")
    assert channel_home.replies.answer_to("h2").startswith("I do not know you yet.")
    channel_home.post("h1", "hello", ADMIN)  # the platform delivers it again
    channel_home.post("h3", "/whoami", ADMIN)
    assert f"webhook:{ADMIN}" in channel_home.replies.answer_to("h3")
    assert Counter(post.body["in_reply_to"] for post in channel_home.replies.posts)["h1"] == 1


@pytest.mark.slow
def test_reply_includes_the_generated_picture(channel_home: ChannelHome) -> None:
    channel_home.post("drawn", "draw a bicycle", ADMIN)
    assert channel_home.replies.answer_to("drawn") == "Here it **is**."
    (body,) = (one for one in channel_home.replies.taken if one["in_reply_to"] == "drawn")
    (picture,) = body["attachments"]
    assert picture["mime"] == "image/png"
    assert Path(picture["path"]).read_bytes() == multimedia.make_png()


@pytest.mark.slow
def test_webhook_ignores_unsigned_messages(channel_home: ChannelHome) -> None:
    body = webhook.message("u1", "hello", chat=ADMIN, user=ADMIN)
    url = f"http://127.0.0.1:{channel_home.port}/webhook"
    for headers in ({}, webhook.signed(body, "another secret of a good length")):
        answer = httpx2.post(url, content=body, headers=headers, trust_env=False, timeout=60)
        assert answer.status_code == 401
    channel_home.post("u2", "hello", ADMIN)
    channel_home.replies.answer_to("u2")
    assert "u1" not in {body["in_reply_to"] for body in channel_home.replies.taken}


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "typed", "told", "answer"),
    [
        ("denied", "deny", "Answered: Deny.", "Then I leave it."),
        ("allowed", "1", "Answered: Allow once.", "It is removed."),
    ],
)
def test_dangerous_command_waits_for_an_answer(
    channel_home: ChannelHome, name: str, typed: str, told: str, answer: str
) -> None:
    folder = channel_home.folder_to_remove(name)
    channel_home.post(f"{name}1", f"remove {name}", ADMIN)
    question = find_reply(channel_home, remove(name), ADMIN)
    assert "1. Allow once" in question
    assert ". Deny" in question
    assert folder.exists()
    channel_home.post(f"{name}2", typed, ADMIN)
    assert channel_home.replies.answer_to(f"{name}2") == told
    assert channel_home.replies.answer_to(f"{name}1") == answer
    assert folder.exists() == (name == "denied")


@pytest.mark.slow
def test_question_is_not_answered_by_other_group_members(channel_home: ChannelHome) -> None:
    folder = channel_home.folder_to_remove("grouped")
    channel_home.post("g1", "hello", "guest")
    channel_home.post("g2", f"/pair {pairing_code(channel_home.replies.answer_to('g1'))}", ADMIN)
    channel_home.replies.answer_to("g2")
    channel_home.post("g3", "remove grouped", "group", ADMIN)
    find_reply(channel_home, remove("grouped"), "group")
    channel_home.post("g4", "1", "group", "stranger")
    assert "private chat" in channel_home.replies.answer_to("g4")  # and no code
    channel_home.post("g5", "/approve once", "group", "guest")
    assert "You may not answer this question." in channel_home.replies.answer_to("g5")
    assert folder.exists()
    channel_home.post("g6", "deny", "group", ADMIN)
    assert channel_home.replies.answer_to("g6") == "Answered: Deny."
    assert channel_home.replies.answer_to("g3") == "Then I leave it."
    assert folder.exists()


def pairing_code(text: str) -> str:
    """The pairing code that an unknown person got."""
    assert text.startswith("I do not know you yet.")
    return text.splitlines()[0].split()[-1]


@pytest.mark.slow
def test_pairing_request_is_accepted_by_the_admin(channel_home: ChannelHome) -> None:
    channel_home.post("p1", "hello", "ann")
    code = pairing_code(channel_home.replies.answer_to("p1"))
    request = find_reply(channel_home, "webhook:ann wrote", ADMIN)
    assert code in request
    channel_home.post("p2", f"/pair {code}", ADMIN)
    find_reply(channel_home, "You have been let in.", "ann")
    channel_home.post("p3", "hello", "ann")
    assert channel_home.replies.answer_to("p3") == HELLO


@pytest.mark.slow
def test_sigterm_finishes_the_turn_and_scheduled_job_is_delivered(
    channel_home: ChannelHome,
) -> None:
    channel_home.post("s1", "/schedule add in 1 minute | Write the letter.", ADMIN)
    assert channel_home.replies.answer_to("s1").startswith("Job ")
    channel_home.post("s2", "think", ADMIN)
    assert telegram.end(channel_home.gateway) == 0
    assert channel_home.replies.answer_to("s2") == "I have thought."
    channel_home.start(HOOKLINE_CLOCK_OFFSET="600")
    find_reply(channel_home, "The letter is written.", ADMIN)
    assert telegram.end(channel_home.gateway) == 0
    assert count_replies(channel_home, "The letter is written.") == 1


def count_replies(channel_home: ChannelHome, part: str) -> int:
    """How many replies contain a text."""
    return sum(part in str(body["text"]) for body in channel_home.replies.taken)


@pytest.mark.slow
def test_kill_during_streaming_leaves_one_reply(channel_home: ChannelHome) -> None:
    assert telegram.end(channel_home.gateway) == 0
    channel_home.start(HOOKLINE_CRASH_AT="mid-stream:40")
    channel_home.post("c1", "count", ADMIN)
    assert channel_home.gateway.wait(webhook.PATIENCE) == -signal.SIGKILL
    channel_home.start()
    channel_home.post("c1", "count", ADMIN)  # the platform does not know that it was taken
    assert channel_home.replies.answer_to("c1") == COUNTED
    assert telegram.end(channel_home.gateway) == 0
    assert count_replies(channel_home, COUNTED) == 1


@pytest.mark.slow
def test_kill_in_a_tool_leaves_one_reply_and_one_run(channel_home: ChannelHome) -> None:
    channel_home.post("w1", "work", ADMIN)
    channel_home.wait_until(lambda: channel_home.works == 1)
    assert telegram.end(channel_home.gateway, signal.SIGKILL) == -signal.SIGKILL
    channel_home.start()
    assert channel_home.replies.answer_to("w1") == "The work was cut short."
    assert telegram.end(channel_home.gateway) == 0
    assert count_replies(channel_home, "The work was cut short.") == 1
    assert channel_home.works == 1

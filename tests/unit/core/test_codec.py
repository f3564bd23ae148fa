"""Stored messages and replies keep every field after a restart.

Messages lie in the inbox while their turn waits, replies in the outbox while their channel is away.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hookline.store.codec import inbound_from_json, reply_from_json, to_json
from hookline_hookspecs import (
    Attachment,
    Audio,
    Choice,
    Inbound,
    Origin,
    Plugin,
    Question,
    Reply,
    Session,
    command,
    hookimpl,
)
from hypothesis import given
from hypothesis import strategies as st

Make = Callable[..., Any]
SESSION = Session("s", "fake", "chat", None, 0.0)
TEXT = st.text(max_size=20)
MAYBE = st.none() | TEXT
TIME = st.floats(0, 4e9)
FILES = st.lists(
    st.builds(Attachment, st.just(Path("/m/a.png")), TEXT, TEXT, st.integers(0, 10**12), TEXT)
    | st.builds(Audio, st.just(Path("/m/a.ogg")), TEXT, TIME, st.binary(max_size=256)),
    max_size=3,
).map(tuple)
CHOICES = st.lists(
    TEXT | st.builds(Choice, TEXT, TEXT, st.sampled_from(["", "primary", "danger"])), max_size=4
).map(tuple)
INBOUND = {
    "channel": TEXT,
    "chat_id": TEXT,
    "user_id": TEXT,
    "message_id": TEXT,
    "text": TEXT,
    "attachments": FILES,
    "reply_to": MAYBE,
    "received": TIME,
    "session_id": MAYBE,
    "model": MAYBE,
    "private": st.none() | st.booleans(),
    "addressed": st.booleans(),
    "thread": MAYBE,
    "parent": MAYBE,
    "sender": TEXT,
    "sent": TIME,
    "quoted": TEXT,
    "quoted_by": st.sampled_from(["", "agent", "sender"]),
    "earlier": st.lists(st.tuples(TEXT, TEXT), max_size=2).map(tuple),
    "kind": st.sampled_from(["message", "press", "reaction", "edit", "delete", "command"]),
    "target": MAYBE,
    "forwarded": TEXT,
    "origins": st.lists(
        st.builds(
            Origin, st.sampled_from(["operator", "admin", "person", "workspace", "outside"]), TEXT
        ),
        max_size=3,
    ).map(tuple),
    "workspace": st.none() | TEXT.map(Path),
    "question": TEXT,
}
REPLY = {
    "session": st.just(SESSION),
    "id": st.just("r"),
    "text": TEXT,
    "attachments": FILES,
    "in_reply_to": MAYBE,
    "choices": CHOICES,
    "thread": MAYBE,
    "audience": MAYBE,
    "kind": st.sampled_from(["answer", "notice", "question"]),
    "person": TEXT,
    "question": TEXT,
}


@pytest.mark.slow
@given(st.builds(Inbound, **INBOUND))
def test_inbound_round_trips_through_storage(inbound: Inbound) -> None:
    assert inbound_from_json(to_json(inbound)) == inbound


@given(st.builds(Reply, **REPLY))
def test_reply_round_trips_through_storage(reply: Reply) -> None:
    again = reply_from_json(to_json(reply), SESSION, "r")
    assert again == reply
    assert again.buttons == reply.buttons


def test_round_trip_strategies_cover_every_stored_field() -> None:
    assert {f.name for f in fields(Inbound)} == {*INBOUND, "system"}
    assert {f.name for f in fields(Reply)} == {*REPLY, "repeated", "delivered"}


def test_codec_does_not_store_ephemeral_system_text() -> None:
    inbound = Inbound("fake", "c", "u", "m", "hello", system="be brief")
    assert "be brief" not in to_json(inbound)


def test_codec_ignores_unknown_fields_of_a_newer_version() -> None:
    inbound = Inbound("fake", "c", "u", "m", "hello")
    newer = to_json(inbound)[:-1] + ',"mood":"good"}'
    assert inbound_from_json(newer) == inbound


def test_codec_reads_rows_of_an_older_version() -> None:
    audio = '{"kind":"audio","path":"/a","mime":"audio/ogg","duration":1.5}'
    stored = f'{{"text":"Well?","attachments":[{audio}],"choices":["Yes","No"]}}'
    reply = reply_from_json(stored, SESSION, "r")
    assert reply.choices == ("Yes", "No")
    lost = (Origin("outside", "unreadable stored data"),)
    assert reply.attachments == (Audio(Path("/a"), "audio/ogg", 1.5, origins=lost),)


def test_choice_without_a_label_shows_its_value() -> None:
    assert Choice("Deny").label == "Deny"
    assert Choice("once", "Allow once").label == "Allow once"


class Threaded(Plugin):
    """Answers in a thread, to one person, with buttons."""

    @hookimpl
    def pre_reply(self, ctx: Any, reply: Reply) -> Reply:
        choices = (Choice("y", "Yes", "primary"), "No")
        return replace(
            reply, thread="t1", audience=ctx.turn.inbound.sender, kind="notice", choices=choices
        )


def test_message_fields_reach_the_turn_and_reply_fields_the_channel(
    harness: Make, tmp_path: Path
) -> None:
    h = harness(Threaded, model=["hello"], home=tmp_path / "home")
    inbound = Inbound(
        "fake", "c", "u", "m", "hi", sender="Ana", private=True, thread="t", kind="edit", target="1"
    )

    async def go() -> Reply:
        runtime = await h.aopen()
        await runtime.dispatcher.receive(inbound)
        return (await h.channel.replies(1))[0]

    reply = h.run(go())
    assert (reply.thread, reply.audience, reply.kind) == ("t1", "Ana", "notice")
    assert [(b.value, b.label, b.style) for b in reply.buttons] == [
        ("y", "Yes", "primary"),
        ("No", "No", ""),
    ]


class Chooser(Plugin):
    """A command that asks."""

    @command("/which")
    def which(self, ctx: Any, args: str) -> Question:
        """Ask which one."""
        return Question("Which one?", ("Red", "Blue"))


def test_reply_has_thread_of_its_message_and_kind_question_or_answer(harness: Make) -> None:
    h = harness(Chooser, model=["hello"])

    async def go() -> list[Reply]:
        await h.aopen()
        await h.channel.say("hi", thread="t1")
        await h.channel.replies(1)
        await h.channel.say("/which", thread="t2")
        return list(await h.channel.replies(2))

    answer, question = h.run(go())
    assert (answer.thread, answer.kind) == ("t1", "answer")
    assert (question.thread, question.kind) == ("t2", "question")
    assert question.labels == ("Red", "Blue")

"""What people send besides plain text: quotes, split texts, polls and the like."""

from __future__ import annotations

import asyncio
from typing import Any

import pytest
from support.installed import installed_plugin

from .conftest import ANN, Talk
from .discord_api import DiscordApi
from .discord_world import BOT_ID


@pytest.fixture
def one(talk: Any) -> Talk:
    """The channel, whose model answers a few times."""
    made: Talk = talk(installed_plugin("gateway"))
    made.ask("one", "two", "three", "four", "five")
    return made


def _read(one: Talk) -> str:
    """What the model has read last."""
    text: str = one.harness.model.last.messages[-1].text
    return text


@pytest.mark.long
def test_reply_to_agents_or_own_message_is_quoted(one: Talk, api: DiscordApi) -> None:
    own = api.say(ANN, "my `plan`")
    shown = one.do(api.find, "one", ANN)
    api.say(ANN, "are you sure?", reply_to=shown.id)
    one.do(api.find, "two", ANN)
    assert _read(one).endswith(', quoting your message: "one"⟧\nare you sure?')
    api.say(ANN, "do it", reply_to=own.id)
    one.do(api.find, "three", ANN)
    assert _read(one).endswith(', quoting their own message: "my `plan`"⟧\ndo it')


def test_mention_alone_and_quoted_embed_reach_the_model(one: Talk, api: DiscordApi) -> None:
    room = api.channel(api.guild())
    api.world.bots.add(9)
    fields = [{"name": "host", "value": "db1"}]
    embed = {"title": "Disk full", "url": "https://a.org/1", "fields": fields}
    alert = api.say(room, "", 9, more={"embeds": [embed]})
    api.say(room, f"<@{BOT_ID}>", ANN, reply_to=alert.id)
    one.do(api.find, "one", room)
    line, _, text = _read(one).partition("\n")
    assert text == "(you were mentioned)"
    assert line.endswith('(discord:9): "[Disk full](https://a.org/1) ⏎ host: db1"⟧')


def test_forwarded_message_has_its_embeds_and_files(one: Talk, api: DiscordApi) -> None:
    snapshot = {"embeds": [{"description": "from a bot"}], "sticker_items": [{"name": "Wave"}]}
    api.say(ANN, "", forwarded="do this", more={"snapshot": snapshot})
    one.do(api.find, "one", ANN)
    line, _, text = _read(one).partition("\n")
    assert "forwarded from" in line
    assert text == "do this\n(sticker: Wave)\n\nfrom a bot"


@pytest.mark.parametrize(
    ("more", "words"),
    [
        (
            {"poll": {
                "question": {"text": "Tea?"},
                "answers": [
                    {"poll_media": {"text": "yes"}}, {"poll_media": {"emoji": {"name": "x"}}}],
            }},
            "(poll: Tea?)\n- yes\n- x",
        ),
        ({"sticker_items": [{"id": "1", "name": "Wave"}]}, "(sticker: Wave)"),
        ({"activity": {"type": 1}, "application": {"name": "Chess"}}, "(invitation: Chess)"),
        ({"poll": {}, "sticker_items": [{}]}, "(sticker)"),
    ],
)  # fmt: skip
def test_kinds_without_text_are_told_in_words(
    one: Talk, api: DiscordApi, more: dict[str, Any], words: str
) -> None:
    api.say(ANN, "", more=more)
    one.do(api.find, "one", ANN)
    assert _read(one) == words


def test_unreadable_message_is_answered_without_a_turn(one: Talk, api: DiscordApi) -> None:
    api.say(ANN, "")
    one.do(api.find, "I can't read this kind of message", ANN)
    assert one.harness.model.requests == []


def test_text_sent_in_parts_is_one_turn(one: Talk, api: DiscordApi) -> None:
    first = "\n".join(f"line {n} of a long text" for n in range(80))
    assert 1500 < len(first) <= 2000
    api.say(ANN, first)
    one.harness.run(asyncio.sleep(0.3))
    api.say(ANN, "and its end")
    one.do(api.find, "one", ANN)
    assert _read(one) == f"{first}\nand its end"


@pytest.mark.long
def test_command_and_other_person_are_not_swallowed(one: Talk, api: DiscordApi) -> None:
    room = api.channel(api.guild())
    long = f"<@{BOT_ID}> {'long words ' * 170}"
    api.say(room, long, ANN)
    api.say(room, f"<@{BOT_ID}> me too", 7)
    one.do(api.find, "two", room)
    asked = [request.messages[-1].text for request in one.harness.model.requests]
    assert [text.endswith("me too") for text in asked] == [False, True]
    api.say(ANN, "x" * 1900)
    api.say(ANN, "/status")
    one.do(api.find, "three", ANN)
    assert _read(one) == "x" * 1900

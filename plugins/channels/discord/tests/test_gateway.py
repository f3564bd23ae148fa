"""One gateway in a real process: what people write on Discord, and what they get."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from .conftest import BOSS, Gateways, end
from .discord_api import DiscordApi
from .discord_world import BOT_ID

LIST = "# Head\n\n- *one*\n- [two](https://a.org/?x=1&y=2)\n\n> said\n\n|a|b|\n|-|-|\n|1|2|"
STORY = "\n\n".join(
    f"## Part {n}\n\n" + f"**bold {n}** <tag> & `code <{n}>` *_* 🙂 " * 30 for n in range(12)
)
CODE = "```python\n" + "\n".join(f"print('{n} <&> ' * 3)" for n in range(300)) + "\n```"
SCRIPT = {
    "steps": [
        {"when": "^story", "text": STORY, "repeat": True},
        {"when": "^code", "text": CODE, "repeat": True},
        {"when": "^slow", "text": "slowly done", "delay": 1.5, "repeat": True},
        {"when": "^list", "text": LIST, "repeat": True},
        {"when": "^ask", "tools": [{"name": "clarify", "arguments": {
            "question": "Which one?", "choices": ["Red & blue", "G" * 80]}}], "repeat": True},
        {"when": "^Red & blue", "text": "red it is", "repeat": True},
        {"when": "^launch", "tools": [{"name": "bash", "arguments": {"command": "sudo true"}}],
         "repeat": True},
        {"when": "exit code|Denied|Error", "text": "finished", "repeat": True},
        {"when": "^hello there$", "text": "hello back", "repeat": True},
        {"when": "corrected$", "text": "so it is", "repeat": True},
        {"when": ".", "text": "answered", "repeat": True},
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def api() -> Iterator[DiscordApi]:
    made = DiscordApi()
    yield made
    made.close()


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory, api: DiscordApi) -> Iterator[Gateways]:
    made = Gateways(tmp_path_factory.mktemp("discord"), api)
    access = {"admins": [f"discord:{BOSS}"], "allow": ["discord:*"]}
    made.configure(SCRIPT, access=access, shell={}, clarify={}, discord={"edit_every": 0.5})
    gateway = made.start()
    yield made
    assert end(gateway) == 0
    assert api.world.pings == []
    assert api.world.fetched == []
    assert api.token.rpartition(".")[2] not in made.said
    made.close()


@pytest.fixture
def chat(api: DiscordApi, gateways: Gateways, request: pytest.FixtureRequest) -> int:
    """A person who never wrote before."""
    return 500_000_000_000_000_000 + abs(hash(request.node.name)) % 10**6


@pytest.mark.slow
def test_message_gets_reply(api: DiscordApi, chat: int) -> None:
    api.say(chat, "hello there")
    shown = api.find("hello back", chat)
    assert shown.reply_to is None
    assert api.texts(chat) == ["hello back"]
    assert api.rest.typed


@pytest.mark.slow
def test_command_menu_is_registered_and_works(api: DiscordApi, chat: int) -> None:
    api.wait(lambda: api.rest.commands)
    names = {one["name"] for one in api.rest.commands}
    assert {"new", "stop", "help", "whoami"} <= names
    assert "skills" not in names  # the plugin is off
    press = api.command(chat, "whoami", chat)
    api.find(f"discord:{chat} in chat {chat}", chat)
    api.wait(lambda: press in api.rest.answered)


@pytest.mark.slow
def test_markdown_is_sent_as_discord_markdown(api: DiscordApi, chat: int) -> None:
    api.say(chat, "list")
    shown = api.find("Head", chat)
    assert shown.text == (
        "# Head\n\n- *one*\n- [two](<https://a.org/?x=1&y=2>)\n\n> said\n\n"
        "```\na | b\n--+--\n1 | 2\n```"
    )


@pytest.mark.slow
def test_button_press_answers_once_and_removes_buttons(api: DiscordApi, chat: int) -> None:
    api.say(chat, "ask")
    question = api.find("Which one?", chat)
    assert question.buttons == ["Red & blue", "G" * 80]
    first = api.press(question, "Red & blue", chat)
    api.wait(lambda: first in api.rest.answered)
    second = api.press(question, "Red & blue", chat) if question.buttons else None
    api.find("red it is", chat)
    api.wait(lambda: not question.buttons)
    assert api.rest.answered[first]["type"] == 6
    if second is not None:
        api.wait(lambda: second in api.rest.answered)
        assert "already pressed a button here" in api.rest.answered[second]["data"]["content"]
    assert api.texts(chat).count("red it is") == 1


@pytest.mark.slow
def test_admin_approves_with_button(api: DiscordApi, chat: int) -> None:
    api.say(BOSS, "hello there")
    api.find("hello back", BOSS)
    api.say(chat, "launch")
    question = api.find("sudo true", BOSS)
    assert (question.buttons[0], question.buttons[-1]) == ("Allow once", "Deny")
    api.press(question, "Deny", BOSS)
    api.find("Answered: Deny.", BOSS)
    api.find("finished", chat)
    api.wait(lambda: not question.buttons)


@pytest.mark.slow
def test_command_in_foreign_dm_does_not_move_approvals(api: DiscordApi, chat: int) -> None:
    api.say(BOSS, "hello there")
    api.find("hello back", BOSS)
    place = api.command_elsewhere("whoami", BOSS)
    api.command(chat, "whoami", chat)
    api.find(f"discord:{chat}", chat)
    before = len(api.texts(BOSS))
    api.say(chat, "launch")
    asked = api.wait(lambda: [one for one in api.messages(BOSS)[before:] if one.buttons])
    api.press(asked[0], "Deny", BOSS)
    api.find("finished", chat)
    assert place.messages == {}
    assert {tuple(one["contexts"]) for one in api.rest.commands} == {(0, 1)}


@pytest.mark.slow
def test_button_press_of_another_member_is_ignored(api: DiscordApi, chat: int) -> None:
    room = api.channel(api.guild())
    api.say(room, f"<@{BOT_ID}> ask", 7)
    question = api.find("Which one?", room)
    press = api.press(question, "Red & blue", 8)
    api.find("You may not answer this question.", room)
    api.wait(lambda: press in api.rest.answered)
    assert question.buttons
    api.press(question, "Red & blue", 7)
    api.find("red it is", room)
    api.wait(lambda: not question.buttons)


@pytest.mark.slow
def test_server_message_gets_reply_only_when_addressed_to_bot(api: DiscordApi, chat: int) -> None:
    guild = api.guild()
    room = api.channel(guild)
    api.say(room, "just talking", 7)
    api.say(room, "<@99> hello there", 7)
    asked = api.say(room, f"<@{BOT_ID}> what now", 7)
    first = api.find("answered", room)
    assert first.reply_to == asked.id
    api.say(room, f"<@&{guild.role}>, hello there", 7)
    api.find("hello back", room)
    api.say(room, f"<@!{BOT_ID}> /whoami", 7)
    reply = api.find(f"discord:7 in chat {room}", room)
    api.say(room, "more of it", 7, reply_to=reply.id)
    api.wait(lambda: len(api.texts(room)) >= 4)
    assert api.texts(room)[3:] == ["answered"]


@pytest.mark.long
def test_thread_is_its_own_chat(api: DiscordApi, chat: int) -> None:
    guild = api.guild()
    room = api.channel(guild)
    threads = [api.channel(guild, f"t{n}", parent=room) for n in range(2)]
    for thread in threads:
        api.say(thread, f"<@{BOT_ID}> /whoami", 7)
        api.find(f"in chat {thread}", thread)


def test_bots_and_webhooks_are_ignored(api: DiscordApi, chat: int) -> None:
    guild = api.guild()
    room = api.channel(guild)
    api.world.bots.add(9)
    api.say(room, f"<@{BOT_ID}> hello there", 9)
    api.say(room, f"<@{BOT_ID}> hello there", 7, webhook=True)
    api.say(room, f"<@{BOT_ID}> hello there", 7, type=7)
    api.gateway.tell("MESSAGE_CREATE", {"id": "1", "nothing": "as expected"})
    api.gateway.tell("MESSAGE_CREATE", {"id": "1", "channel_id": "2", "author": None})
    api.gateway.tell("AN_EVENT_OF_TOMORROW", {"id": 1})
    api.say(room, f"<@{BOT_ID}> /whoami", 7)
    api.find("discord:7", room)
    assert len(api.texts(room)) == 1


@pytest.mark.slow
def test_edited_message_gets_reply_and_repeated_event_does_not(api: DiscordApi, chat: int) -> None:
    first = api.say(chat, "hello there", times=2)
    api.find("hello back", chat)
    api.tell(first)
    api.edit(first, "hello there")  # something else has changed: a link's preview, say
    api.edit(first, "corrected")
    api.find("so it is", chat)
    api.say(chat, "/whoami")
    api.find(f"discord:{chat}", chat)
    assert len(api.texts(chat)) == 3


@pytest.mark.slow
def test_reaction_is_received_and_deleted_message_gets_no_reply(
    api: DiscordApi, gateways: Gateways, chat: int
) -> None:
    said = api.say(chat, "hello there")
    shown = api.find("hello back", chat)
    api.react(said, "🤔", chat)
    api.react(shown, "👍", chat)
    api.react(shown, "👍", chat, away=True)
    api.say(chat, "slow")
    gone = api.say(chat, "list")
    api.delete(gone)
    api.find("slowly done", chat)
    api.say(chat, "/whoami")
    api.find(f"discord:{chat}", chat)
    assert len(api.texts(chat)) == 3
    with closing(sqlite3.connect(gateways.home / "hookline.db")) as db, db:
        rows = db.execute("SELECT body FROM inbox WHERE chat_id = ?", (str(chat),)).fetchall()
    heard = [json.loads(row[0]) for row in rows]
    (reaction,) = (one for one in heard if one.get("kind") == "reaction")
    assert (reaction["text"], reaction["target"]) == ("👍", str(shown.id))
    assert [one["target"] for one in heard if one.get("kind") == "delete"] == [str(gone.id)]


@pytest.mark.long
def test_archived_thread_is_reopened_unless_locked(api: DiscordApi, chat: int) -> None:
    guild = api.guild()
    room = api.channel(guild)
    for state, expected in (("archived", ["answered"]), ("locked", [])):
        thread = api.channel(guild, state, parent=room)
        setattr(api.place(thread), state, True)
        api.say(thread, f"<@{BOT_ID}> hi", 7)
        api.wait(lambda thread=thread: [c for c in api.calls if str(thread) in c.path])
        api.say(chat, f"/whoami {state}")
        api.wait(lambda: f"discord:{chat}" in " ".join(api.texts(chat)))
        if expected:
            api.find("answered", thread)
        assert api.texts(thread) == expected


@pytest.mark.slow
def test_user_who_refuses_messages_does_not_block_outbox(api: DiscordApi, chat: int) -> None:
    api.place(chat).is_closed = True
    api.say(chat, "hello there")
    api.wait(lambda: api.count("POST messages", 403))
    api.place(chat).is_closed = False
    api.say(chat, "/whoami")
    api.find(f"discord:{chat}", chat)
    assert len(api.texts(chat)) == 1


@pytest.mark.slow
def test_doctor_checks_the_bot_token(api: DiscordApi, gateways: Gateways) -> None:
    _, output = gateways.run("doctor")
    assert "the bot is hook" in output
    assert "client_id=" in output
    stranger = "MTIzNDU2Nzg5MDEyMzQ1Njc4.GhTest.another-secret-that-nobody-knows"
    _, output = gateways.run("doctor", DISCORD_BOT_TOKEN=stranger)
    assert "Discord rejected discord.token" in output
    _, output = gateways.run("doctor", "--offline", DISCORD_BOT_TOKEN=stranger)
    assert "the token looks valid; not tested offline" in output
    assert stranger not in gateways.said


@pytest.mark.parametrize("what", ["story", "code"])
@pytest.mark.slow
def test_long_reply_is_split_without_losing_text(api: DiscordApi, chat: int, what: str) -> None:
    before = len(api.calls)
    api.say(chat, what)
    last = "**bold 11**" if what == "story" else "'299 <&>"
    api.wait(lambda: any(last in text for text in api.texts(chat)))
    pieces = api.texts(chat)
    whole = "\n".join(pieces)
    assert len(pieces) > 1
    assert not [call for call in api.calls[before:] if call.status == 400]
    if what == "code":
        assert [f"print('{n} <&> ' * 3)" in whole for n in range(300)] == [True] * 300
        assert all(text.startswith("```python\n") and text.endswith("```") for text in pieces)
    else:
        parts = [whole.count(rf"**bold {n}** \<tag> & `code <{n}>` *\_* 🙂") for n in range(12)]
        assert parts == [30] * 12

"""One gateway in a real process: what people write on Telegram, and what they get."""

from __future__ import annotations

import json
import sqlite3
import subprocess
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from .bot_api import BOT, BotApi, person
from .conftest import ANN, BOSS, Gateways, end
from .telegram_text import units

STORY = "\n\n".join(
    f"## Part {n}\n\n" + f"**bold {n}** <tag> & `code <{n}>` 🙂 " * 30 for n in range(12)
)
CODE = "```python\n" + "\n".join(f"print('{n} <&> ' * 3)" for n in range(400)) + "\n```"
LIST = "# Head\n\n- *one*\n- [two](https://a.org/?x=1&y=2)\n\n> said"
URL = "https://evil.example/?d=SECRET"
LEAK = f"See {URL} and [this]({URL}) ![pixel]({URL})\n\n" + "more words " * 700
SCRIPT = {
    "steps": [
        {"when": "^story", "text": STORY, "repeat": True},
        {"when": "^code", "text": CODE, "repeat": True},
        {"when": "^leak", "text": LEAK, "repeat": True},
        {"when": "^list", "text": LIST, "repeat": True},
        {"when": "^ask", "tools": [{"name": "clarify", "arguments": {
            "question": "Which one?", "choices": ["Red & blue", "G" * 80]}}], "repeat": True},
        {"when": "^Red & blue", "text": "red it is", "repeat": True},
        {"when": "^launch", "tools": [{"name": "bash", "arguments": {"command": "sudo true"}}],
         "repeat": True},
        {"when": "exit code|Denied|Error", "text": "finished", "repeat": True},
        {"when": "^hello there$", "text": "hello back", "repeat": True},
        {"when": "^corrected$", "text": "so it is", "repeat": True},
        {"when": ".", "text": "answered", "repeat": True},
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def api() -> Iterator[BotApi]:
    made = BotApi()
    made.room(BOSS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory, api: BotApi) -> Iterator[Gateways]:
    made = Gateways(tmp_path_factory.mktemp("telegram"), api)
    access = {"admins": [f"telegram:{BOSS}"], "allow": ["telegram:*"]}
    made.configure(SCRIPT, access=access, shell={}, clarify={}, telegram={"edit_every": 0.5})
    gateway = made.start()
    yield made
    assert end(gateway) == 0
    assert api.fetched == []  # in no edit of a running answer either
    assert api.token.partition(":")[2] not in made.said
    made.close()


@pytest.fixture
def chat(api: BotApi, gateways: Gateways, request: pytest.FixtureRequest) -> int:
    """An unused private chat."""
    made = 5000 + abs(hash(request.node.name)) % 10**6
    api.room(made)
    return made


@pytest.mark.slow
def test_message_gets_reply_and_is_confirmed(api: BotApi, chat: int) -> None:
    api.say(chat, "hello there")
    shown = api.find("hello back", chat)
    assert (shown.kind, shown.reply_to, shown.thread) == ("text", None, None)
    api.wait(lambda: not api.unconfirmed)
    assert api.texts(chat) == ["hello back"]
    assert any(c.method == "sendChatAction" and c.params["chat_id"] == str(chat) for c in api.calls)


@pytest.mark.slow
def test_message_fields_reach_the_turn(api: BotApi, gateways: Gateways, chat: int) -> None:
    said = api.say(chat, "ask")
    question = api.find("Which one?", chat)
    api.press(question, "Red & blue", chat)
    api.find("red it is", chat)
    last = api.say(chat, "hello there")
    api.find("hello back", chat)
    api.edit(last, "corrected")
    api.find("so it is", chat)
    with closing(sqlite3.connect(gateways.home / "hookline.db")) as db, db:
        rows = db.execute(
            "SELECT body FROM inbox WHERE chat_id = ? ORDER BY received", (str(chat),)
        ).fetchall()
    message, press, edit = [json.loads(row[0]) for row in rows if '"text":"hello' not in row[0]]
    assert [kept["private"] for kept in (message, press, edit)] == [True] * 3
    assert (press["kind"], press["target"]) == ("press", str(question.id))
    assert (edit["kind"], edit["target"]) == ("edit", f"{chat}:{last['message_id']}")
    assert (message["sender"], message["sent"]) == ("Ann", said["date"])


@pytest.mark.slow
def test_command_menu_lists_enabled_commands(api: BotApi, chat: int) -> None:
    api.wait(lambda: api.commands)
    names = [one["command"] for one in api.commands]
    assert {"new", "stop", "help", "whoami"} <= set(names)
    assert "skills" not in names  # the plugin is off


@pytest.mark.long
def test_markdown_is_sent_as_telegram_html(api: BotApi, chat: int) -> None:
    api.say(chat, "list")
    shown = api.find("Head", chat)
    assert {kind for kind, _, _ in shown.entities} == {"bold", "italic", "text_link", "blockquote"}
    assert "two" in shown.text
    assert "[two]" not in shown.text


@pytest.mark.parametrize("is_refused", [False, True])
@pytest.mark.slow
def test_link_in_reply_loads_no_preview(api: BotApi, chat: int, is_refused: bool) -> None:
    refuse: Any = api.refuse_markup
    if is_refused:  # then it goes as plain text
        refuse.add(chat)
    api.say(chat, "leak")
    shown = api.find(URL, chat)
    api.wait(lambda: len(api.texts(chat)) > 1)
    assert api.fetched == []
    assert {one.kind for one in api.messages(chat)} == {"text"}
    assert is_refused or [one[0] for one in shown.entities].count("text_link") == 2


@pytest.mark.parametrize("what", ["story", "code"])
@pytest.mark.slow
def test_long_reply_is_split_without_losing_text(api: BotApi, chat: int, what: str) -> None:
    api.say(chat, what)
    last = "bold 11" if what == "story" else "'399 <&>"
    api.wait(lambda: any(last in text.casefold() for text in api.texts(chat)))
    pieces = api.messages(chat)
    assert len(pieces) > 1
    assert all(units(one.text) <= 4096 for one in pieces)
    assert all(one.entities for one in pieces)  # none was sent plain
    whole = "\n".join(one.text for one in pieces)
    if what == "code":
        assert [f"print('{n} <&> ' * 3)" in whole for n in range(400)] == [True] * 400
        assert all(one.entities[0][0] in ("pre", "code") for one in pieces)
    else:
        assert [whole.count(f"bold {n} <tag> & code <{n}> 🙂") for n in range(12)] == [30] * 12


@pytest.mark.slow
def test_button_press_answers_once_and_removes_buttons(api: BotApi, chat: int) -> None:
    api.say(chat, "ask")
    question = api.find("Which one?", chat)
    assert question.buttons == ["Red & blue", "G" * 80]
    presses = [api.press(question, "Red & blue", chat) for _ in range(2)]
    api.find("red it is", chat)
    api.wait(lambda: not question.buttons and set(presses) <= set(api.answered))
    first, second = (api.answered[press] for press in presses)
    assert not first
    assert second == "You already pressed a button here. Nothing was changed."
    api.say(chat, "hello there")
    api.find("hello back", chat)
    assert api.texts(chat).count("red it is") == 1
    assert len(api.texts(chat)) == 3


@pytest.mark.slow
def test_number_sent_before_question_does_not_answer_it(api: BotApi, chat: int) -> None:
    api.say(chat, "ask")
    early = api.message(chat, text="1")
    question = api.find("Which one?", chat)
    assert question.id > early["message_id"]
    api.deliver("message", early)
    api.find("answered", chat)
    assert "red it is" not in api.texts(chat)


@pytest.mark.slow
def test_only_admin_approves_with_button(api: BotApi, chat: int) -> None:
    api.say(BOSS, "hello there")
    api.find("hello back", BOSS)
    api.say(chat, "launch")
    question = api.find("sudo true", BOSS)
    assert (question.buttons[0], question.buttons[-1]) == ("Allow once", "Deny")
    api.press(question, "Allow once", chat)
    api.find("You may not answer this question.", BOSS)
    assert question.buttons
    api.press(question, "Deny", BOSS)
    api.find("Answered: Deny.", BOSS)
    api.find("finished", chat)
    api.wait(lambda: not question.buttons)


@pytest.mark.slow
def test_group_message_gets_reply_only_when_addressed_to_bot(api: BotApi, chat: int) -> None:
    group = -chat
    api.room(group)
    api.say(group, "just talking", 7)
    api.say(group, "/whoami@another_bot", 7)
    api.say(group, "what about @hookline_bots and user@hookline_bot.org", 7)
    asked = api.say(group, "🙂 @hookline_bot hello", 7)
    first = api.find("answered", group)
    assert first.reply_to == asked["message_id"]
    api.say(group, "@Hookline_bot, hello there", 7)
    api.find("hello back", group)
    api.say(group, "/whoami@hookline_bot", 7)
    reply = api.find("telegram:7 in chat", group)
    api.say(group, "more of it", 7, reply_to=reply.id)
    api.wait(lambda: len(api.texts(group)) >= 4)
    assert api.texts(group)[3:] == ["answered"]


def test_forum_topic_is_its_own_chat(api: BotApi, chat: int) -> None:
    group = -(10**12) - chat
    api.room(group, is_forum=True)
    for thread in (11, 22):
        api.say(group, f"/whoami@hookline_bot {thread}", 7, thread=thread)
    for thread in (11, 22):
        assert api.find(f"in chat {group}:{thread}", group).thread == thread
    api.say(group, "/whoami@hookline_bot", 7)
    api.wait(lambda: any(one.thread is None for one in api.messages(group)))


@pytest.mark.slow
def test_migrated_group_keeps_its_chat_id(api: BotApi, chat: int) -> None:
    old, new = -chat - 10**7, -(10**12) - chat - 10**7
    for one in (old, new):
        api.room(one)
    api.say(old, "/whoami@hookline_bot", 7)
    api.find(f"in chat {old}", old)
    api.migrate(old, new)
    api.say(new, "/whoami@hookline_bot again", 7)
    api.find(f"in chat {old}", new)


@pytest.mark.slow
def test_only_edit_of_last_message_gets_reply(api: BotApi, chat: int) -> None:
    first = api.say(chat, "hello there")
    api.find("hello back", chat)
    api.edit(first, "hello there")  # something else has changed: a link's preview, say
    api.edit(first, "corrected")
    api.find("so it is", chat)
    api.say(chat, "next")
    api.find("answered", chat)
    api.edit(first, "hello there")
    api.say(chat, "/whoami")
    api.find(f"telegram:{chat}", chat)
    assert len(api.texts(chat)) == 4


def test_bots_and_channel_posts_are_ignored(api: BotApi, chat: int) -> None:
    for sender in (BOT, person(9, is_bot=True)):
        api.say(chat, "hello there", sender=sender)
    api.deliver("message", {"message_id": 1, "date": 1, "chat": {"id": chat, "type": "channel"}})
    api.deliver("message", {"nothing": "as expected"})
    api.deliver("poll_of_tomorrow", {"id": 1})
    api.say(chat, "/whoami")
    api.find("telegram:", chat)
    assert len(api.texts(chat)) == 1


@pytest.mark.parametrize(
    ("said", "heard"), [("/start", "/new"), ("/start hello there", "hello back")]
)
def test_start_command_shows_help_or_runs_its_argument(
    api: BotApi, chat: int, said: str, heard: str
) -> None:
    api.say(chat, said)
    api.find(heard, chat)


@pytest.mark.slow
def test_refused_markup_is_sent_as_plain_text(api: BotApi, chat: int) -> None:
    refuse: Any = api.refuse_markup
    refuse.add(chat)
    api.say(chat, "list")
    shown = api.find("Head", chat)
    assert shown.entities == ()
    assert len(api.texts(chat)) == 1


@pytest.mark.slow
def test_user_who_blocked_bot_does_not_block_outbox(api: BotApi, chat: int) -> None:
    api.room(chat, is_blocked=True)
    api.say(chat, "hello there")
    api.wait(lambda: [c for c in api.calls if c.method == "sendMessage" and c.status == 403])
    api.room(chat, is_blocked=False)
    api.say(chat, "/whoami")
    api.find(f"telegram:{chat}", chat)
    assert len(api.texts(chat)) == 1


@pytest.mark.slow
def test_doctor_checks_the_bot_token(gateways: Gateways) -> None:
    _, output = gateways.run("doctor")
    assert "the bot is @hookline_bot" in output
    stranger = "4242:AAAAAAAAAAAAAAAAAAAAAAAAA"
    _, output = gateways.run("doctor", TELEGRAM_BOT_TOKEN=stranger)
    assert "Telegram rejected telegram.token" in output
    _, output = gateways.run("doctor", "--offline", TELEGRAM_BOT_TOKEN=stranger)
    assert "the token looks valid; not tested offline" in output


@pytest.mark.slow
def test_second_gateway_on_one_home_exits_1(gateways: Gateways) -> None:
    process: subprocess.Popen[bytes] = gateways.spawn("gateway")
    assert process.wait(timeout=120) == 1


@pytest.mark.slow
def test_file_of_unknown_person_is_not_downloaded(tmp_path: Path) -> None:
    api = BotApi()
    api.room(ANN)
    api.room(BOSS)
    one = Gateways(tmp_path, api)
    try:
        one.configure(access={"admins": [f"telegram:{BOSS}"]})
        gateway = one.start()
        api.send(ANN, "document", b"x" * 1000, name="virus.exe")
        api.wait(lambda: any("I do not know you yet" in text for text in api.texts(ANN)))
        api.send(BOSS, "document", b"hello", name="mine.txt")
        api.wait(lambda: "answered" in api.texts(BOSS))
        assert end(gateway) == 0
        saved = [path for path in (one.home / "media").rglob("*") if path.is_file()]
        assert [path.read_bytes() for path in saved] == [b"hello"]
    finally:
        one.close()
        api.close()

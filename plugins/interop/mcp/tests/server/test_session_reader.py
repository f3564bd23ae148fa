"""What MCP clients read: sessions, messages, events, and tools of other plugins."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable
from typing import Any

import pytest

from .conftest import Served, called

Memory = pytest.importorskip("hookline_memory").Memory
SessionSearch = pytest.importorskip("hookline_session_search").SessionSearch
Skills = pytest.importorskip("hookline_skills").Skills
Serve = Callable[..., Served]
READING = {
    *("sessions_list", "messages_read", "session_search", "memory_recall"),
    *("skills_list", "skill_view", "events_wait"),
}


def test_tool_list_has_only_read_only_tools_and_ask_agent(serve: Serve) -> None:
    tools = serve().talk(lambda client: client.list_tools()).tools
    reads = {
        tool.name: bool(tool.annotations and tool.annotations.read_only_hint) for tool in tools
    }
    assert reads == {**dict.fromkeys(READING, True), "ask_agent": False}


def test_sessions_and_messages_are_paged(serve: Serve) -> None:
    served = serve(model=["one", "two", "three", "four"])
    for name in ("a", "b", "c"):
        served.harness.send(f"hello {name}", session=name)
    served.harness.send("again", session="c")
    first = served.call("sessions_list", limit=2)
    rest = served.call("sessions_list", limit=2, cursor=first["next_cursor"])
    assert [one["id"] for one in first["sessions"]] == ["c", "b"]
    assert [one["id"] for one in rest["sessions"]] == ["a"]
    assert rest["next_cursor"] is None
    said, cursor = [], None
    while True:
        page = served.call("messages_read", session="c", limit=3, cursor=cursor)
        said += [(one["role"], one["text"]) for one in page["messages"]]
        if (cursor := page["next_cursor"]) is None:
            break
    assert said == [
        *(("user", "hello c"), ("assistant", "three"), ("user", "again"), ("assistant", "four"))
    ]


@pytest.mark.parametrize("piece", ["word ", '"\n\\', "\x01é漢"])
def test_long_message_is_read_in_bounded_parts(serve: Serve, piece: str) -> None:
    text = piece * 30_000
    served = serve(model=["read"])
    served.harness.send(text, session="long")
    got, cursor, pages = "", None, 0
    while True:
        asked = {"session": "long", "limit": 10**9} | ({"cursor": cursor} if cursor else {})
        result = served.talk(lambda client, asked=asked: client.call_tool("messages_read", asked))
        answer = result.content[0].text
        assert len(answer) <= 50_000
        page = json.loads(answer)
        got += "".join(one["text"] for one in page["messages"] if one["role"] == "user")
        pages += 1
        if (cursor := page["next_cursor"]) is None:
            break
    assert got == text
    assert pages > 2


@pytest.mark.parametrize(
    ("tool", "arguments", "word"),
    [
        ("messages_read", {"session": "x' OR '1'='1"}, "unknown session"),
        ("messages_read", {"session": "a", "cursor": "1 OR 1=1"}, "invalid cursor"),
        ("messages_read", {"session": "a", "cursor": "9" * 400}, "invalid cursor"),
        ("messages_read", {"session": "a", "cursor": "²." + "1"}, "invalid cursor"),
        ("messages_read", {"session": "a", "limit": 0}, "limit"),
        ("messages_read", {"session": ["a"]}, "session"),
        ("messages_read", {}, "needs the argument"),
        ("messages_read", {"session": "a", "path": "/etc/passwd"}, "no argument"),
        ("sessions_list", {"cursor": "nan~x"}, "invalid cursor"),
        ("sessions_list", {"cursor": "x; DROP TABLE sessions"}, "invalid cursor"),
        ("sessions_list", {"limit": "many"}, "limit"),
        ("events_wait", {"cursor": "1~-1~x"}, "invalid cursor"),
        ("events_wait", {"cursor": "1e999~1~x"}, "invalid cursor"),
        ("events_wait", {"seconds": -1}, "seconds"),
        ("ask_agent", {"prompt": " "}, "prompt"),
        ("ask_agent", {"prompt": "/plugins"}, "slash"),
        ("ask_agent", {"prompt": "x" * 100_001}, "prompt"),
        ("session_search", {"query": "x"}, "session-search"),
        ("memory_recall", {"query": "x"}, "memory"),
        ("messages_send", {"session": "a", "text": "hi"}, "unknown tool"),
        ("permissions_respond", {"question": "a", "choice": "Allow once"}, "unknown tool"),
    ],
)
def test_invalid_arguments_are_refused_with_an_error_sentence(
    shared: Served, tool: str, arguments: dict[str, Any], word: str
) -> None:
    answer = shared.talk(lambda client: called(client, tool, **arguments))
    assert answer.startswith("Error: ")
    assert word in answer
    assert len(answer) < 400


@pytest.fixture(scope="module")
def shared(tmp_path_factory: pytest.TempPathFactory) -> Any:
    """A server with one session, which nothing of these changes."""
    served = Served(home=tmp_path_factory.mktemp("x") / "home", model=["hello"])
    served.harness.send("hi", session="a")
    yield served
    served.harness.close()


def test_sessions_of_unlisted_chats_are_hidden(serve: Serve) -> None:
    served = serve(model=["hello", "yes"], chats=["mcp:*"])
    served.harness.send("secret plans", session="own")
    assert served.call("sessions_list")["sessions"] == []
    assert "unknown session" in served.call("messages_read", session="own")
    assert "unknown session" in served.call("ask_agent", prompt="go on", session="own")
    assert "limits" in served.call("session_search", query="secret")
    asked = served.call("ask_agent", prompt="mine")
    assert served.call("messages_read", session=asked["session"])["messages"]


def test_tools_of_other_plugins_are_callable(serve: Serve) -> None:
    served = serve(Memory, SessionSearch, Skills, model=["noted"])
    folder = served.harness.home / "skills" / "brew-tea"
    folder.mkdir(parents=True)
    front = "---\nname: brew-tea\ndescription: How tea is brewed.\n---\nBoil water.\n"
    (folder / "SKILL.md").write_text(front, "utf-8")
    served.harness.send("the harbour is closed", session="port")
    assert "`brew-tea` · How tea is brewed." in served.call("skills_list")
    assert "Boil water." in served.call("skill_view", name="brew-tea")
    assert served.call("skill_view", name="../../config").startswith("Error: ")
    assert "session port" in served.call("session_search", query="harbour")
    odd = served.call("session_search", query='harbour" OR 1=1; DROP TABLE messages --*')
    assert "No message" in odd or "port" in odd
    assert "session port" in served.call("session_search", query="harbour", limit=10**9)
    assert "No facts about" in served.call("memory_recall", query="tea")


@pytest.mark.slow
def test_new_message_is_one_event(serve: Serve) -> None:
    served = serve(model=["one", "two"])
    served.harness.send("before", session="a")
    start = served.call("events_wait")
    assert start["events"] == []

    async def follow(client: Any) -> tuple[Any, Any]:
        waiting = asyncio.ensure_future(called(client, "events_wait", cursor=start["cursor"]))
        await served.harness.asend("during", session="b")
        first = await waiting
        return first, await called(client, "events_wait", cursor=first["cursor"], seconds=0)

    first, second = served.talk(follow)
    output = [(one["session"], one["text"]) for one in first["events"] + second["events"]]
    assert output == [("b", "during"), ("b", "two")]

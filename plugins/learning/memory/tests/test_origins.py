"""A fact learnt from a page keeps that origin when it is recalled in another session."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline.testing.pages import PageClient
from hookline_hookspecs import (
    Context,
    Inbound,
    Origin,
    Plugin,
    ToolCall,
    ToolOutput,
    hookimpl,
    tool,
)
from hookline_memory import Memory

ME = Origin("operator", "terminal:tester")
PAGE = Origin("outside", "https://page.example/")
OLD = "the invoice goes to account 4711"


class Web(Plugin):
    """One page, and a note of what was known of origins at each call."""

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self.seen: dict[str, tuple[Origin, ...]] = {}

    @tool(read_only=True, origin="outside")
    def fetch(self) -> ToolOutput:
        """Fetch the page."""
        return ToolOutput("the page", origins=(PAGE,))

    @tool(read_only=True, origin="workspace")
    def look(self) -> str:
        """Look around."""
        return "nothing"

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> None:
        self.seen[ctx.session.id] = ctx.origins


@pytest.fixture
def h(harness: Callable[..., Harness], tmp_path: Path) -> Harness:
    """A session in which a fact was learnt after the page was read."""
    made = harness(Web, Memory, home=tmp_path / "home", model=[])
    learn(made, OLD, calls("fetch"))
    return made


def learn(h: Harness, content: str, *before: ToolCall, session: str = "test") -> None:
    """Have the model remember a fact, after other calls."""
    remember = calls("memory", action="remember", content=content)
    h.model.steps += [*([one] for one in before), [remember], "done"]
    assert h.send("go", session=session).tool_calls[-1].ok


def test_recalled_fact_gives_its_origins_to_the_turn(h: Harness) -> None:
    h.model.steps += [[calls("look")], "ok"]
    h.send("where does the invoice go?", session="tomorrow")
    assert OLD in h.model.last.messages[-3].context
    assert PAGE in h.plugin(Web).seen["tomorrow"]
    assert b"page.example" not in b"".join(h.model.wires[-1].fragments)


def test_recall_result_has_the_origins_of_its_facts(h: Harness) -> None:
    h.model.steps += [[calls("memory", action="recall", query="invoice account")], "ok"]
    (result,) = h.send("hm", session="tomorrow").tool_calls
    assert OLD in result.text
    assert PAGE in result.origins
    assert "page.example" not in result.text


def test_page_names_the_source_of_a_fact_as_it_is(h: Harness) -> None:
    site = PageClient(h)
    assert f"from {PAGE.source}" in site.text(site.get("/memory"))


@pytest.mark.parametrize("action", ["forget", "remove"])
def test_error_that_lists_entries_has_their_origins(h: Harness, action: str) -> None:
    note = calls("memory", action="add", content=OLD)
    missing = calls("memory", action=action, old_text="unicorns")
    h.model.steps += [[note], "ok", [missing], "ok"]
    h.send("a note")  # in the session that has read the page
    (result,) = h.send("hm", session="tomorrow").tool_calls
    assert OLD in result.text
    assert PAGE in result.origins


def test_fact_from_the_persons_own_words_adds_no_origin(h: Harness) -> None:
    learn(h, "tea is served at five", session="clean")
    h.model.steps += [[calls("memory", action="recall", query="tea served")], "ok"]
    (result,) = h.send("hm", session="tomorrow").tool_calls
    assert result.origins == (ME,)


def test_fact_of_a_person_ranks_above_fact_of_a_page(h: Harness) -> None:
    learn(h, "the invoice goes to account 1234", session="clean")
    learn(h, "the invoice goes to account 5678", calls("fetch"), session="late")
    h.model.steps += [[calls("memory", action="recall", query="the invoice goes to account")], "ok"]
    (result,) = h.send("hm", session="tomorrow").tool_calls
    assert result.data[0]["content"].endswith("1234")


def test_fact_repeated_by_a_page_keeps_the_persons_origin(h: Harness) -> None:
    learn(h, OLD, session="clean")
    learn(h, OLD, calls("fetch"), session="late")
    (fact,) = json.loads(h.cli("memory list --json").stdout)
    assert fact["origins"] == [["operator", "terminal:tester"]]


def test_log_and_list_show_origins_and_undo_restores_them(h: Harness) -> None:
    pairs = [["operator", "terminal:tester"], ["outside", PAGE.source]]
    assert json.loads(h.cli("memory log --json").stdout)[0]["origins"] == pairs
    assert f"from {PAGE.source}, terminal:tester" in h.cli("memory list").stdout
    assert f"from {PAGE.source}" in h.send("/memory").text
    h.send("/memory forget invoice")
    h.cli("memory undo 2")
    assert json.loads(h.cli("memory list --json").stdout)[0]["origins"] == pairs


def test_note_names_its_author_unless_the_operator(h: Harness) -> None:
    note = calls("memory", action="add", content="Pay promptly.")
    own = calls("memory", action="add", content="Be brief.")
    h.model.steps += [[own], "ok", [calls("fetch")], [note], "ok", "hello"]
    h.send("own", session="clean")
    h.send("page", session="late")
    h.send("hi", session="tomorrow")
    assert f"Pay promptly. [from {PAGE.source}]" in h.model.last.system
    assert "Be brief.\n" in h.model.last.system
    assert f"- Pay promptly. [from {PAGE.source}]" in h.send("/memory").text


def test_note_of_a_group_member_is_shown_in_that_group_with_their_name(h: Harness) -> None:
    async def say(chat: str, text: str) -> None:
        runtime = await h.aopen()
        inbound = Inbound("chat", chat, "222", f"{chat}{text}", text)
        await (await runtime.dispatcher.submit(inbound, "no")).mark_delivered()

    note = calls("memory", action="add", content="Call me Bob.")
    h.model.steps += [[note], "ok", "new", "hello", "hello", "hello"]
    h.run(say("group", "remember"))
    h.run(say("group", "/new"))
    h.run(say("group", "hi"))
    assert "Call me Bob. [from chat:222]" in h.model.last.system
    h.run(say("other", "hi"))
    assert "Bob" not in h.model.last.system
    h.send("hi", session="tomorrow")
    assert "Bob" not in h.model.last.system

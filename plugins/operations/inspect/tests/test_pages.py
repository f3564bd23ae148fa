"""The pages of sessions, prompt, traces, hooks and the doctor."""

from __future__ import annotations

import asyncio
import itertools
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest
from hookline.testing import Harness, calls
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs import (
    Check,
    CheckResult,
    ContextBlock,
    Plugin,
    ToolOutput,
    Turn,
    hookimpl,
    tool,
)
from hookline_hookspecs.web import Download, Problem, Redirect, Table, Timeline, View
from hookline_inspect import Inspect
from hookline_inspect.pages import doctor

MakeHarness = Callable[..., Harness]


class Notes(Plugin):
    """A tool, and a check that never answers."""

    @tool(read_only=True)
    async def look(self, name: str) -> ToolOutput:
        """Look something up."""
        return ToolOutput(f"nothing about ```{name}```")

    @hookimpl
    def register_checks(self, register: Callable[[Check], None]) -> None:
        register(Check("notes", lambda: CheckResult(False, "no notes", "write some")))


@pytest.fixture
def h(harness: MakeHarness) -> Harness:
    """A session `test` of the operator in which a tool ran, and one of Mia's in the web."""
    h = harness(
        Inspect,
        Notes,
        model=[calls("look", name="cats"), "There are **cats**.", "Hello Mia."],
        core={"trace": True},
    )
    h.send("What do you know about cats & dogs?")
    PageClient(h).say("Mia's secret plan", session="mias")
    return h


class Recalls(Plugin):
    """Knows something."""

    @hookimpl
    def pre_prompt(self, ctx: Any, turn: Turn) -> ContextBlock:
        """Give it to the model."""
        return ContextBlock("recalled-context", "Mia drinks tea.")


@pytest.fixture
def site(h: Harness) -> PageClient:
    return PageClient(h)


def tables(view: View) -> Iterator[Table]:
    for part in view.parts:
        if isinstance(part, Table):
            yield part


def test_operator_sees_every_session_and_person_only_own(site: PageClient) -> None:
    every = site.text(site.get("/sessions"))
    assert "What do you know about cats" in every
    assert "Mia's secret plan" in every
    own = site.text(site.get("/sessions", PERSON))
    assert "Mia's secret plan" in own
    assert "cats" not in own


def test_search_finds_words_in_titles_and_messages(site: PageClient) -> None:
    found = site.text(site.get("/sessions?q=DOGS+cats"))
    assert "know about cats & dogs?" in found
    assert "Mia" not in found
    assert "cats & dogs" not in site.text(site.get("/sessions?q=dogs", PERSON)).replace(
        "“dogs”", ""
    )
    for odd in ("%25", "_", "%5C", "%27%22", "C%2B%2B", "zzz"):
        empty = next(tables(site.get(f"/sessions?q={odd}")))
        assert not empty.rows
        assert empty.empty.startswith("No messages match")


def test_session_page_shows_messages_and_cost(site: PageClient) -> None:
    view = site.get("/sessions/test")
    text = site.text(view)
    assert '"type": "markdown", "text": "There are **cats**."' in text
    assert "Call: look" in text
    assert "nothing about ```cats```" in text
    assert "Tokens in" in text
    assert "/chat/test" in text


@pytest.mark.parametrize("address", ["/sessions/test", "/inspect/export?id=test&as=md"])
def test_session_of_another_person_returns_404(site: PageClient, address: str) -> None:
    for who, path in ((PERSON, address), (None, address.replace("test", "gone"))):
        with pytest.raises(Problem) as refused:
            site.get(path, who) if who else site.get(path)
        assert refused.value.status == 404


def test_session_is_exported_as_jsonl_and_markdown(site: PageClient) -> None:
    lines = site.get("/inspect/export?id=test&as=jsonl")
    assert isinstance(lines, Download)
    rows = [json.loads(line) for line in lines.body.decode().splitlines()]
    assert [row["role"] for row in rows] == ["user", "assistant", "user", "assistant"]
    page = site.get("/inspect/export?id=test&as=md").body.decode()
    assert "## You\n\nWhat do you know about cats & dogs?" in page
    assert "````\n← nothing about ```cats```\n````" in page
    with pytest.raises(Problem):
        site.get("/inspect/export?id=test&as=pdf")


def test_session_is_renamed_and_deleted(h: Harness, site: PageClient) -> None:
    done = site.post("/inspect/rename", {"id": "mias", "title": "  A   plan "}, PERSON)
    assert done == Redirect("/sessions/mias", "Renamed to “A plan”.")
    assert "A plan" in site.text(site.get("/sessions"))
    for path in ("/inspect/delete", "/inspect/rename"):
        with pytest.raises(Problem):
            site.post(path, {"id": "test"}, PERSON)
    assert site.post("/inspect/delete", {"id": "mias"}, PERSON).path == "/sessions"
    assert [one.id for one in h.run(h.plugin(Inspect).host.sessions())] == ["test"]


def test_ten_thousand_sessions_are_paged(h: Harness, site: PageClient) -> None:
    columns = "id, channel, chat_id, model, system, tools, workspace, parts, created, updated"
    many = (
        f"INSERT INTO sessions ({columns}) "
        "WITH RECURSIVE n(i) AS (SELECT 1 UNION ALL SELECT i + 1 FROM n WHERE i < 10000) "
        "SELECT 'many-' || i, 'web', 'mia', 'm', '', '[]', '', '[]', i, i FROM n"
    )

    async def write() -> None:
        await h.runtime.engine.store.write(lambda db: db.execute(many, {}))

    h.run(write())
    (first,) = tables(site.get("/sessions"))
    assert len(first.rows) == 50
    assert first.more is not None
    (last,) = tables(site.get("/sessions?from=10000"))
    assert len(last.rows) == 2
    assert last.more is None


def test_prompt_page_shows_cost_by_plugin(site: PageClient) -> None:
    new, stored = site.text(site.get("/prompt")), site.text(site.get("/prompt?session=test"))
    assert "tool look" in new
    assert "notes" in new
    assert "Cache read" in stored
    with pytest.raises(Problem):
        site.get("/prompt?session=gone")


def test_breadcrumb_names_the_session(site: PageClient, h: Harness) -> None:
    said = "What do you know about cats & dogs?"
    for path in ("/trace?session=test", "/prompt?session=test"):
        assert [link.text for link in site.get(path).crumbs] == ["Sessions", said]
    assert site.get("/prompt?session=test").subtitle == f"What the session “{said}” sends."
    site.post("/inspect/rename", {"id": "test", "title": "long " * 30})
    [_, back] = site.get("/trace?session=test").crumbs
    assert back.text == ("long " * 30)[:47] + "…"
    assert back.href == "/sessions/test"


def test_trace_page_shows_turn_as_timeline(site: PageClient) -> None:
    view = site.text(site.get("/trace?session=test"))
    assert "call look" in view
    assert "Look something up" not in view
    assert "Turn 1" in view
    assert "trace: true" in site.text(site.get("/trace?session=gone"))


def test_hooks_page_lists_plugins_in_order(site: PageClient) -> None:
    (table,) = tables(site.get("/hooks"))
    found: dict[Any, Any] = {getattr(row.cells[0], "text", ""): row.cells[3] for row in table.rows}
    assert "inspect" in found["end_of_turn"]
    assert found["on_voice"] == "none"


def test_doctor_page_shows_fixes(site: PageClient) -> None:
    checks = next(tables(site.get("/doctor")))
    assert "write some" in {row.cells[3] for row in checks.rows}
    badges = [getattr(row.cells[1], "text", "") for row in checks.rows]
    assert badges == sorted(badges)
    assert {"config", "disk"} <= {row.cells[0] for row in checks.rows}


def test_check_that_never_ends_has_failed(
    site: PageClient, monkeypatch: pytest.MonkeyPatch
) -> None:
    async def never(*_given: object, **_named: object) -> None:
        await asyncio.sleep(60)

    monkeypatch.setattr(doctor, "CHECK_TIMEOUT", 0.01)
    monkeypatch.setattr(doctor, "run_check", never)
    assert "no answer within" in site.text(site.get("/doctor"))


@pytest.mark.parametrize("path", ["/prompt", "/hooks", "/trace", "/doctor"])
def test_internal_pages_are_only_for_operator(site: PageClient, path: str) -> None:
    with pytest.raises(Problem) as refused:
        site.get(path, PERSON)
    assert refused.value.status == 403


def test_viewing_pages_changes_nothing_stored(site: PageClient) -> None:
    paths = ["/sessions", "/sessions?q=cats&kind=all", "/sessions/test", "/prompt", "/doctor"]
    paths += ["/prompt?session=test", "/hooks", "/trace", "/inspect/export?id=test&as=md"]
    before = site.stored()
    for path in paths:
        site.get(path)
    assert site.stored() == before


def turn_of(h: Harness, session: str, text: str) -> Any:
    """The view of the turn that a message began."""

    async def find() -> Any:
        plugin = h.plugin(Inspect)
        rows = await plugin.host.storage.fetch("messages", id=session)
        turn = next(row["turn"] for row in rows if text in row["body"])
        assert await plugin.turn_view(session, "nothing") is None
        assert await plugin.turn_view("nothing", turn) is None
        return await plugin.turn_view(session, turn)

    return h.run(find())


def test_turn_view_shows_hooks_tools_prompt_and_cost(h: Harness, site: PageClient) -> None:
    view = turn_of(h, "test", "cats & dogs")
    shown = {part.title: part for part in view.parts if hasattr(part, "title")}
    moments = shown["Timeline"].steps
    starts = [one.start for one in moments]
    assert starts == sorted(starts)
    assert any(one.children for one in moments)
    text = site.text(view)
    for part in ("Duration", "Cost", "Tokens by tier", "Tokens by plugin", "look: done", "cats"):
        assert part in text
    calls = next(part for part in shown["Prompt"].parts if isinstance(part, Table))
    assert len(calls.rows) == 2
    assert "in 2 model calls" in text


def test_turn_view_shows_recalled_memory_before_the_timeline(harness: MakeHarness) -> None:
    h = harness(Inspect, Recalls, model=["one"], core={"trace": True})
    h.send("hello")
    view = turn_of(h, "test", "hello")
    stats, recalled, timeline = view.parts[:3]
    assert stats.items[0].value.endswith(" ms")
    assert stats.items[4].detail == "in 1 model call"
    assert recalled.title == "Recalled memory"
    assert "tea" in PageClient(h).text(View("", [recalled]))
    assert "recalls" in {one.who for one in timeline.steps}


def test_untraced_turn_view_shows_stored_steps(
    harness: MakeHarness, monkeypatch: pytest.MonkeyPatch
) -> None:
    """However long a machine takes between one reading of the clock and the next."""
    readings = itertools.count(time.time())
    monkeypatch.setattr("hookline.clock.now", lambda: next(readings))
    h = harness(Inspect, Notes, model=[calls("look", name="cats"), "Done."])
    h.send("Look at the cats.")
    view = turn_of(h, "test", "at the cats")
    timeline = next(part for part in view.parts if isinstance(part, Timeline))
    said = [one.title for one in timeline.steps]
    assert said == ["model response", "call look", "model response"]


def test_gateway_with_page_traces_only_turns_of_the_page(harness: MakeHarness) -> None:
    h = harness(Inspect, model=["one", "two"])
    h.run(h.plugin(Inspect).gateway_up(["web", "telegram"]))
    site = PageClient(h)
    site.say("on the page", session="paged")
    h.send("elsewhere")
    seen = json.loads(json.dumps(site.text(turn_of(h, "paged", "on the page"))))
    other = site.text(turn_of(h, "test", "elsewhere"))
    assert "pre_model" in seen or "start_of_turn" in seen or "on_message" in seen
    assert "model response" in other

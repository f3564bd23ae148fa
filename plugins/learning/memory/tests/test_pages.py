"""The memory page: what it shows to whom, and its forms."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs.web import Problem, Redirect, Table, TurnViews, View
from hookline_memory import Memory


@pytest.fixture
def site(memory: Any) -> PageClient:
    """Notes and a fact of the operator's, and a fact of Mia's chat."""
    memory.text("add", content="The office is in Bern")
    memory.text("remember", content="The cat is old", category="profile")
    from hookline.testing import calls

    memory.harness.model.steps += [
        [calls("memory", action="remember", content="Mia likes jazz")],
        "Noted.",
    ]
    site = PageClient(memory.harness)
    site.say("I like jazz", session="mias")
    return site


def table(view: View, title: str) -> Table:
    return next(one for one in view.parts if isinstance(one, Table) and one.title == title)


def _is_loss(what: str) -> bool:
    return "forgotten" in what or "removed" in what


def first(view: View, title: str) -> list[Any]:
    return [row.cells[0] for row in table(view, title).rows]


def test_operator_sees_all_and_a_person_their_own(site: PageClient) -> None:
    view = site.get("/memory")
    assert first(view, "Notes") == ["The office is in Bern"]
    assert first(view, "Facts") == ["Mia likes jazz", "The cat is old"]
    own = site.get("/memory", PERSON)
    assert (first(own, "Notes"), first(own, "Facts")) == ([], ["Mia likes jazz"])
    assert "Add a note or fact" not in site.text(own)
    assert "jazz" in site.text(site.get("/memory/log", PERSON))
    assert "Bern" not in site.text(site.get("/memory/log", PERSON))


def test_log_says_in_words_what_changed_and_where(site: PageClient) -> None:
    rows = site.get("/memory/log").parts[0].rows
    assert [(row.cells[1], getattr(row.cells[2], "text", row.cells[2])) for row in rows] == [
        ("Fact learned: Mia likes jazz", "mia (web page)"),
        ("Fact learned: The cat is old", "Terminal"),
        ("Note added: The office is in Bern", "Terminal"),
    ]


def test_search_filters_facts_and_notes(site: PageClient) -> None:
    view = site.get("/memory?q=CAT+old")
    assert first(view, "Facts") == ["The cat is old"]
    assert table(view, "Notes").empty == "No notes match “CAT old”."


def test_note_and_fact_can_be_deleted_and_restored(site: PageClient, memory: Any) -> None:
    for title in ("Notes", "Facts"):
        action = table(site.get("/memory"), title).rows[-1].actions[0]
        done = site.post(action.path, dict(action.fields))
        assert done.tone == "good", done
    assert not memory.entries()
    assert first(site.get("/memory"), "Facts") == ["Mia likes jazz"]
    for _ in range(2):
        rows = site.get("/memory/log").parts[0].rows
        undo = next(row.actions[0] for row in rows if row.actions and _is_loss(row.cells[1]))
        assert site.post(undo.path, dict(undo.fields)).tone == "good"
    assert memory.entries() == ["The office is in Bern"]
    assert first(site.get("/memory"), "Facts") == ["Mia likes jazz", "The cat is old"]


def test_undo_is_refused_after_a_later_change(site: PageClient, memory: Any) -> None:
    rows = site.get("/memory/log").parts[0].rows
    undo = next(row.actions[0] for row in rows if "Bern" in row.cells[1])
    memory.text("replace", old_text="Bern", content="The office is in Basel")
    done = site.post(undo.path, dict(undo.fields))
    assert done.tone == "bad"
    assert memory.entries() == ["The office is in Basel"]
    assert site.post("/memory/undo", {"number": "x"}).tone == "bad"


def test_added_text_passes_pre_learn(site: PageClient, memory: Any) -> None:
    done = site.post("/memory/add", {"kind": "note", "text": "The key is SECRETabc", "chat": ""})
    assert isinstance(done, Redirect)
    assert memory.entries()[-1] == "The key is [REDACTED:token]"
    fact = {"kind": "fact", "text": "Tea at five", "chat": "terminal:default", "days": "2"}
    assert isinstance(site.post("/memory/add", fact), Redirect)
    assert "Tea at five" in first(site.get("/memory"), "Facts")


@pytest.mark.parametrize(
    ("wrong", "field"),
    [
        ({"text": "EVIL words", "kind": "note"}, "text"),
        ({"text": "  ", "kind": "note"}, "text"),
        ({"text": "x" * 3000, "kind": "note"}, "text"),
        ({"text": "a", "kind": "fact", "chat": "every chat"}, "chat"),
        ({"text": "a", "kind": "fact", "chat": "terminal:default", "days": "-1"}, "days"),
        ({"text": "a", "kind": "wish"}, "kind"),
    ],
)
def test_invalid_form_is_returned_with_an_error_sentence(
    site: PageClient, memory: Any, wrong: dict[str, str], field: str
) -> None:
    view = site.post("/memory/add", wrong)
    assert isinstance(view, View)
    assert view.status == 422
    (form,) = view.parts[-1].parts
    said = {one.name: one for one in form.fields}
    assert said[field].error
    assert said["text"].value == wrong["text"]
    assert memory.entries() == ["The office is in Bern"]


def test_person_cannot_change_entries_of_others(site: PageClient, memory: Any) -> None:
    for path, fields in (
        ("/memory/forget", {"kind": "note", "chat": "", "what": "The office is in Bern"}),
        ("/memory/forget", {"kind": "fact", "chat": "terminal:default", "what": "#1"}),
        ("/memory/undo", {"number": "1"}),
        ("/memory/add", {"kind": "note", "text": "mine"}),
    ):
        with pytest.raises(Problem):
            site.post(path, fields, PERSON)
    own = table(site.get("/memory", PERSON), "Facts").rows[0].actions[0]
    assert site.post(own.path, dict(own.fields), PERSON).tone == "good"
    assert first(site.get("/memory"), "Facts") == ["The cat is old"]


def test_facts_are_paginated_and_viewing_changes_nothing(site: PageClient, memory: Any) -> None:
    memory.harness.plugin(Memory)
    many = [{"action": "remember", "content": f"Number {n} is {n * n}"} for n in range(50)]
    memory.text("batch", operations=many)
    before = site.stored()
    page = table(site.get("/memory"), "Facts")
    assert len(page.rows) == 50
    assert page.more is not None
    assert len(table(site.get(page.more.href), "Facts").rows) == 2
    for path in ("/memory/log", "/memory?q=x"):
        site.get(path)
    assert site.stored() == before


def test_unreadable_file_is_reported(site: PageClient, memory: Any) -> None:
    path: Path = memory.notes
    path.write_bytes(b"\xff\xfe\xff")
    assert "is not UTF-8" in site.text(site.get("/memory"))


def test_turn_page_shows_what_was_learnt(site: PageClient, memory: Any) -> None:
    async def views() -> list[Any]:
        host = memory.harness.plugin(Memory).host
        rows = await host.storage.fetch("newest_entries", limit=1)
        (service,) = host.services.all(TurnViews)
        entry = rows[0]
        learnt = await service.turn_view(entry["session_id"], entry["turn_id"])
        return [learnt, await service.turn_view(entry["session_id"], "another")]

    site.get("/memory")
    site.get("/memory")
    learnt, other = memory.harness.run(views())
    assert "Mia likes jazz" in site.text(learnt)
    assert other is None

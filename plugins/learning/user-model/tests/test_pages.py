"""The page of the profiles: versions, pins, and access."""

from __future__ import annotations

from typing import Any

import pytest
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs.web import Problem, Redirect, Table, View

MINE = {"chat": "terminal:default"}


@pytest.fixture
def site(person: Any) -> PageClient:
    person.learn("Ana is a nurse.")
    person.learn("Ana is a surgeon.")
    return PageClient(person.harness)


def page(site: PageClient) -> View:
    view: View = site.get("/user-model?chat=terminal:default")
    return view


def test_profiles_are_listed_and_shown_with_versions(site: PageClient) -> None:
    assert "Ana is a surgeon." in site.text(site.get("/user-model"))
    view = page(site)
    versions = next(one for one in view.parts if isinstance(one, Table) and one.title)
    assert [row.cells[0] for row in versions.rows] == [2, 1]
    assert "written from the conversation" in site.text(view)
    assert '"before": "Ana is a nurse.", "after": "Ana is a surgeon."' in site.text(view)


def test_version_can_be_restored_and_profile_cleared(site: PageClient, person: Any) -> None:
    done = site.post("/user-model/restore", {**MINE, "version": "1"})
    assert done == Redirect("/user-model?chat=terminal%3Adefault", "Version 1 was restored.")
    assert person.text == "Ana is a nurse."
    assert site.post("/user-model/clear", MINE).message == "Cleared."
    assert person.text == ""
    assert "This profile is empty" in site.text(page(site))
    assert site.post("/user-model/restore", {**MINE, "version": "99"}).tone == "bad"
    with pytest.raises(Problem):
        site.post("/user-model/restore", {**MINE, "version": "x"})


def test_pinned_line_passes_pre_learn_and_can_be_unpinned(site: PageClient, person: Any) -> None:
    done = site.post("/user-model/pin", {**MINE, "text": "call me  SECRETive"})
    assert isinstance(done, Redirect)
    assert person.text.startswith("- (pinned) call me [REDACTED:token]")
    lines = next(one for one in page(site).parts if isinstance(one, Table))
    action = lines.rows[0].actions[0]
    assert site.post(action.path, dict(action.fields)).tone == "good"
    assert person.text == "Ana is a surgeon."
    assert site.post(action.path, dict(action.fields)).tone == "bad"


@pytest.mark.parametrize("text", ["EVIL", "", "x" * 2000])
def test_refused_pin_is_returned_with_an_error_sentence(
    site: PageClient, person: Any, text: str
) -> None:
    view = site.post("/user-model/pin", {**MINE, "text": text})
    assert isinstance(view, View)
    assert view.status == 422
    assert f'"value": "{text}"' in site.text(view)
    assert person.text == "Ana is a surgeon."


def test_person_sees_only_their_own_profile(site: PageClient, person: Any) -> None:
    person.harness.model.steps.append("Hello.")
    site.say("hello", session="mias")
    chat = f"web:{person.harness.run(_web_chat(person))}"
    assert site.post("/user-model/pin", {"chat": chat, "text": "I am Mia"}, PERSON)
    own = site.text(site.get("/user-model", PERSON))
    assert "I am Mia" in own
    assert "Ana" not in own
    for label in ("terminal:default", "web:x", "", "terminal:"):
        with pytest.raises(Problem) as refused:
            site.post("/user-model/clear", {"chat": label}, PERSON)
        assert refused.value.status == 404
    with pytest.raises(Problem):
        site.get("/user-model?chat=terminal:default", PERSON)


async def _web_chat(person: Any) -> str:
    from hookline_user_model import UserModel

    (found,) = await person.harness.plugin(UserModel).host.sessions(channel="web")
    return str(found.chat_id)


def test_viewing_changes_nothing_and_a_broken_file_is_reported(
    site: PageClient, person: Any
) -> None:
    before = site.stored()
    page(site)
    site.get("/user-model")
    assert site.stored() == before
    person.write(b"\xff")
    assert "is not UTF-8" in site.text(page(site))
    assert "is not UTF-8" in site.text(site.get("/user-model"))

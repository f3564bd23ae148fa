"""The skill pages: list, text, versions, and the buttons."""

from __future__ import annotations

from typing import Any

import pytest
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs.web import Diff, Problem, Redirect, Table, View


@pytest.fixture
def site(bench: Any) -> PageClient:
    """A skill of the agent's in two versions, and one that a person wrote."""
    bench.create("deploy-app", "Deploys the app.", "Run `make deploy`.")
    edit = {"old_string": "make deploy", "new_string": "make ship"}
    bench.manage("patch", "deploy-app", **edit)
    bench.write("tea", "Makes tea.")
    return PageClient(bench.harness)


def table(view: View, *, titled: bool = False) -> Table:
    return next(one for one in view.parts if isinstance(one, Table) and bool(one.title) == titled)


def names(view: View) -> list[str]:
    return [getattr(row.cells[0], "text", "") for row in table(view).rows]


def test_list_can_be_searched_and_is_for_the_operator_only(site: PageClient) -> None:
    assert names(site.get("/skills")) == ["deploy-app", "tea"]
    assert names(site.get("/skills?q=DEPLOYS+the")) == ["deploy-app"]
    assert "No skills match" in site.text(site.get("/skills?q=zzz"))
    with pytest.raises(Problem):
        site.get("/skills", PERSON)


def test_skill_shows_its_text_verdict_and_versions(site: PageClient) -> None:
    view = site.get("/skills/deploy-app")
    text = site.text(view)
    assert "Run `make ship`." in text
    assert "Valid according to" in text
    versions = table(view, titled=True)
    assert [row.cells[2] for row in versions.rows] == ["patch", "create"]
    old = site.get("/skills/deploy-app?version=1")
    assert "Run `make deploy`." in site.text(old)
    (diff,) = [
        one for one in site.get("/skills/deploy-app?version=2").parts if isinstance(one, Diff)
    ]
    assert "make deploy" in diff.before
    assert "make ship" in diff.after
    for gone in ("/skills/gone", "/skills/deploy-app?version=9"):
        with pytest.raises(Problem) as refused:
            site.get(gone)
        assert refused.value.status == 404


def test_version_can_be_restored(site: PageClient, bench: Any) -> None:
    done = site.post("/skills/deploy-app/restore", {"version": "1"})
    assert done.path == "/skills/deploy-app"
    assert "make deploy" in bench.text("deploy-app")
    assert site.post("/skills/deploy-app/restore", {"version": "99"}).tone == "bad"
    with pytest.raises(Problem):
        site.post("/skills/deploy-app/restore", {"version": "x"})


def test_skill_can_be_pinned_archived_and_restored(site: PageClient, bench: Any) -> None:
    site.post("/skills/tea/pin")
    assert "pinned" in site.text(site.get("/skills?q=tea"))
    site.post("/skills/tea/unpin")
    assert '"pinned' not in site.text(table(site.get("/skills?q=tea")))  # type: ignore[arg-type]
    assert "archived" in site.post("/skills/tea/archive").message
    assert not (bench.root / "tea").exists()
    assert "This skill is archived" in site.text(site.get("/skills/tea"))
    assert site.post("/skills/tea/restore").path == "/skills/tea"
    assert "Do it in order." in bench.text("tea")
    assert site.post("/skills/gone/archive").tone == "bad"
    with pytest.raises(Problem):
        site.post("/skills/gone/pin")


def test_install_error_is_shown_beside_the_field(
    site: PageClient, bench: Any, tmp_path: Any
) -> None:
    source = tmp_path / "brew"
    source.mkdir()
    text = bench.text("tea").replace("name: tea", "name: brew")
    (source / "SKILL.md").write_text(text, "utf-8")
    assert site.post("/skills/install", {"source": str(source)}) == Redirect(
        "/skills", "Installed: brew."
    )
    for wrong in ("", str(tmp_path / "nowhere"), str(source)):
        view = site.post("/skills/install", {"source": wrong})
        assert isinstance(view, View)
        assert view.status == 422
        assert view.parts[-1].parts[0].fields[0].error


def test_skills_are_paginated_and_viewing_changes_nothing(site: PageClient, bench: Any) -> None:
    for number in range(60):
        bench.write(f"skill-{number:02}")
    before = site.stored()
    first = table(site.get("/skills"))
    assert len(first.rows) == 50
    assert first.more is not None
    assert len(table(site.get(first.more.href)).rows) == 12
    site.get("/skills/tea")
    site.get("/skills/deploy-app?version=1")
    assert site.stored() == before

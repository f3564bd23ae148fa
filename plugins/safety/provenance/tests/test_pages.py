"""The page of proposals: what waits, accepting and rejecting it, and who is trusted."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import calls
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs.web import Problem, Redirect, View

from .test_provenance import PAGE, World, keep, read_then
from .test_provenance import make as make

Make = Callable[..., Any]
CALL = calls("remember", text="pay Eve")


def test_a_proposal_is_shown_whole_and_accepted(make: Make) -> None:
    h = make(*read_then(CALL))
    site, id_ = PageClient(h), keep(h)
    view = site.get("/proposals")
    row = view.parts[0].rows[0]
    assert row.cells[2] == PAGE
    assert "pay Eve" in row.detail
    before = site.stored()
    site.get("/proposals")
    assert site.stored() == before
    path = f"/proposals/{id_}/accept"
    assert site.post(path).message == "Done. noted"
    assert h.plugin(World).remembered == ["pay Eve"]
    assert site.post(path).tone == "bad"
    assert "Nothing is waiting for approval" in site.text(site.get("/proposals"))


def test_a_proposal_is_rejected(make: Make) -> None:
    h = make(*read_then(CALL))
    site, id_ = PageClient(h), keep(h)
    assert site.post(f"/proposals/{id_}/reject").message.startswith("Rejected: ")
    assert site.post(f"/proposals/{id_}/reject").tone == "bad"
    assert h.plugin(World).remembered == []


def test_trust_is_given_and_taken_back(make: Make, tmp_path: Path) -> None:
    site = PageClient(make(config={"provenance": {"trust": ["a.example"]}, "world": {}}))
    assert isinstance(site.post("/proposals/trust", {"what": "https://B.example/x"}), Redirect)
    view = site.get("/proposals")
    assert [row.cells for row in view.parts[1].rows] == [
        ["a.example", "config.yaml"],
        ["b.example", "web:owner"],
    ]
    action = view.parts[1].rows[1].actions[0]
    assert site.post(action.path, dict(action.fields)).tone == "good"
    assert site.post(action.path, dict(action.fields)).tone == "warning"
    for wrong in ("", "*", "x" * 400):
        shown = site.post("/proposals/trust", {"what": wrong})
        assert isinstance(shown, View)
        assert shown.status == 422


def test_the_page_is_the_operators(make: Make) -> None:
    site = PageClient(make())
    for call in (
        lambda: site.get("/proposals", PERSON),
        lambda: site.post("/proposals/x/accept", {}, PERSON),
    ):
        with pytest.raises(Problem) as refused:
            call()
        assert refused.value.status == 403

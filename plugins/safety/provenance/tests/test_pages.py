"""The page of trusted sources."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing.pages import PERSON, PageClient
from hookline_hookspecs.web import Problem, Redirect, View, named

from .test_provenance import make as make

Make = Callable[..., Any]


def test_trust_is_given_and_taken_back(make: Make, tmp_path: Path) -> None:
    site = PageClient(
        make(config={"provenance": {"trust": {"sources": ["a.example"]}}, "world": {}})
    )
    assert isinstance(site.post("/trust/add", {"what": "https://B.example/x"}), Redirect)
    view = site.get("/trust")
    assert [row.cells for row in view.parts[0].rows] == [
        ["a.example", named("config.yaml")],
        ["b.example", named("web:owner")],
    ]
    action = view.parts[0].rows[1].actions[0]
    assert site.post(action.path, dict(action.fields)).tone == "good"
    assert site.post(action.path, dict(action.fields)).tone == "warning"
    for wrong in ("", "*", "x" * 400, "not a host"):
        shown = site.post("/trust/add", {"what": wrong})
        assert isinstance(shown, View)
        assert shown.status == 422


def test_the_page_is_the_operators(make: Make) -> None:
    site = PageClient(make())
    for call in (lambda: site.get("/trust", PERSON), lambda: site.post("/trust/add", {}, PERSON)):
        with pytest.raises(Problem) as refused:
            call()
        assert refused.value.status == 403

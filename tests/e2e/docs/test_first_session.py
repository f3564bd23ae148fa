"""The recorded first session still plays, and its page shows it."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest

DOCS = Path(__file__).parents[3] / "docs"


@pytest.mark.slow
def test_first_session_recording_plays_as_its_page_shows(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.syspath_prepend(str(DOCS / "_gen"))
    sys.modules.pop("first_session", None)
    import first_session

    screens = dict(first_session.record())
    assert list(screens) == list(first_session.CHAPTERS)
    assert "It answered: ready" in screens["init"]
    assert "│ -    return sum(numbers) / len(numbers) - 1" in screens["ask"]
    assert "exit code 0" in screens["done"]
    assert "1 file restored" in screens["rewind"]
    assert "The mean is wrong." in screens["resume"]
    page = (DOCS / "first-session.md").read_text("utf-8")
    for name in ("ask", "resume"):
        assert first_session.steady(screens[name]).splitlines()[1] in page
    assert first_session.svg(screens).count("<text") > 60

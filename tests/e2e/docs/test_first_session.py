"""The recorded first session still plays, and its page and picture show it."""

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
    assert "✓ list_dir" in screens["run"]
    if "sandboxed" not in screens["done"]:
        pytest.skip("the recording was made with a sandbox, which this machine has not")
    stale = "run `uv run python docs/_gen/first_session.py`"
    assert (DOCS / "first-session.md").read_text("utf-8") == first_session.page(screens), stale
    picture = (DOCS / "assets" / "first-session.svg").read_text("utf-8")
    assert picture == first_session.svg(screens), stale

"""``hookline insights --by skill``: tokens of turns that used a skill."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from hookline.testing import Harness
from hookline_hookspecs import ModelResponse, TextBlock, ToolCall, Usage
from hookline_insights import Insights
from hookline_skills import Skills

SKILL = "---\nname: {0}\ndescription: Do {0}.\n---\n\nDo it.\n"


def response_with_tokens(number: int, *said: Any) -> ModelResponse:
    """A response that used this many tokens."""
    blocks = said or (TextBlock("ok"),)
    return ModelResponse(blocks, "tools" if said else "end", Usage(input=number, output=1))


def skill_view_response(number: int, *names: str) -> ModelResponse:
    """A response that calls ``skill_view``."""
    calls = (ToolCall(f"{number}-{one}", "skill_view", {"name": one}) for one in names)
    return response_with_tokens(number, *calls)


@pytest.mark.long
def test_insights_by_skill_counts_tokens_per_skill(
    harness: Callable[..., Harness], tmp_path: Path
) -> None:
    """A turn counts once for each skill that it used."""
    for name in ("make-tea", "bake-bread", "mow-lawn"):
        folder = tmp_path / "home" / "skills" / name
        folder.mkdir(parents=True)
        (folder / "SKILL.md").write_text(SKILL.format(name), "utf-8")
    steps = [
        *(
            skill_view_response(1000, "make-tea"),
            skill_view_response(200, "make-tea"),
            response_with_tokens(30),
        ),
        *(skill_view_response(4000, "make-tea", "bake-bread"), response_with_tokens(4)),
        response_with_tokens(50000),
    ]
    h = harness(Insights, Skills, home=tmp_path / "home", model=steps)
    for session in ("first", "second", "third"):
        h.send("Please go on.", session=session)
    rows = json.loads(h.cli("insights --by skill --json").stdout)
    assert {row["name"]: (row["input"], row["turns"]) for row in rows} == {
        "make-tea": (5234, 2),
        "bake-bread": (4004, 1),
    }
    told = h.cli("insights --by skill").stdout
    assert "make-tea" in told
    assert "mow-lawn" not in told

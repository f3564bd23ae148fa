"""A question selects the right database skill among the 53 labelled ones of ``skills``."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import yaml
from hookline.testing import Harness
from hookline_databases import Databases
from hookline_skills import Skills
from hookline_skills.validation import validate
from support.databases.skill_model import ENGINES, FOLDER, NAMES

HERE = Path(__file__).parent
OTHERS = HERE.parents[2] / "plugins" / "learning" / "skills" / "tests" / "data" / "skills.yaml"
QUESTIONS: dict[str, list[str]] = yaml.safe_load((HERE / "questions.yaml").read_text("utf-8"))
FRESH: dict[str, dict[str, list[str]]] = yaml.safe_load((HERE / "fresh.yaml").read_text("utf-8"))
RIGHT = 0.95
FLOOR = {"first": 28, "later": 18}
"""How many of the fresh wordings bring the right skill at least."""


@pytest.fixture
def home(harness: Callable[..., Harness], tmp_path: Path) -> Harness:
    """A home with 53 other skills."""
    folder = tmp_path / "home" / "skills"
    for skill in yaml.safe_load(OTHERS.read_text("utf-8")):
        front: dict[str, Any] = {"name": skill["name"], "description": skill["description"]}
        if skill.get("keywords"):
            front["metadata"] = {"keywords": skill["keywords"]}
        file = folder / skill["name"] / "SKILL.md"
        file.parent.mkdir(parents=True)
        head = yaml.safe_dump(front, allow_unicode=True)
        file.write_text(f"---\n{head}---\n\n{skill['body']}\n", "utf-8")
    return harness(
        Skills, Databases, home=tmp_path / "home", config={"databases": {}, "skills": {}}
    )


def test_database_skills_are_valid_and_cover_each_engine() -> None:
    assert sorted(set(QUESTIONS) - {"none"}) == NAMES
    for name in NAMES:
        assert validate(FOLDER / name).errors == ()
        assert validate(FOLDER / name).warnings == ()
        text = (FOLDER / name / "SKILL.md").read_text("utf-8")
        assert len(text) < 3_500
        there = {file.stem for file in (FOLDER / name / "references").iterdir()}
        assert there == set(ENGINES)


@pytest.mark.slow
def test_question_selects_the_right_database_skill(home: Harness) -> None:
    asked = [(name, text) for name in NAMES for text in QUESTIONS[name]]
    assert len(asked) >= 24
    missed = [(name, text, matched_skills(home, text)) for name, text in asked]
    missed = [one for one in missed if one[0] not in one[2]]
    assert 1 - len(missed) / len(asked) >= RIGHT, "\n".join(map(str, missed))
    for text in QUESTIONS["none"]:
        assert not set(matched_skills(home, text)) & set(NAMES), text


@pytest.mark.slow
@pytest.mark.parametrize("part", FLOOR)
def test_unseen_questions_select_the_right_skill_often_enough(home: Harness, part: str) -> None:
    asked = [(name, text) for name in NAMES for text in FRESH[part][name]]
    missed = [(name, text) for name, text in asked if name not in matched_skills(home, text)]
    assert len(asked) - len(missed) >= FLOOR[part], "\n".join(map(str, missed))


def matched_skills(home: Harness, text: str) -> list[str]:
    """The skills added to a message, three at most."""
    home.model.steps.append("Well.")
    home.send(text, session=text)
    context = home.model.last.messages[-1].context
    return re.findall('<skill name="(.*?)">', context)

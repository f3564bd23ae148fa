"""Skill matching on the labelled set: 53 skills, 218 requests in eight languages, 40 for none."""

from __future__ import annotations

import re
from typing import Any

import pytest
from hookline_skills.bm25 import TermIndex
from hookline_skills.config import SkillsConfig
from hookline_skills.matcher import match_threshold
from hookline_skills.tokenizer import tokenize
from hypothesis import given
from hypothesis import strategies as st

from .conftest import Bench, labelled


@pytest.fixture(scope="module")
def matcher() -> TermIndex:
    """The labelled skills."""
    found = TermIndex()
    for skill in labelled("skills"):
        found.add(skill["name"], fields(skill))
    return found


def fields(skill: dict[str, str]) -> dict[str, str]:
    """As :class:`Skill` gives them."""
    headings = " ".join(line for line in skill["body"].splitlines() if line.startswith("#"))
    return {**skill, "headings": headings}


def requests() -> list[tuple[str, str]]:
    """Wanted skill and request."""
    data = labelled("queries")
    groups: list[dict[str, Any]] = [
        {name: texts for name, texts in data.items() if name not in ("none", "mixed words")},
        data["mixed words"],
    ]
    return [(name, text) for group in groups for name, texts in group.items() for text in texts]


def shown(matcher: TermIndex, text: str) -> list[str]:
    """The skills that would be added."""
    found = matcher.search(text, SkillsConfig().matches)
    enough = match_threshold([match.score for match in found], SkillsConfig().threshold)
    return [match.name for match in found if match.score >= enough]


@pytest.mark.parametrize(
    ("scores", "fit"),
    [([], 0), ([0.3, 0.2, 0.1], 2), ([0.12, 0.05], 1), ([0.12, 0.1], 0), ([0.1], 0), ([0.12], 1)],
)
def test_outstanding_score_matches_below_the_threshold(scores: list[float], fit: int) -> None:
    assert sum(score >= match_threshold(scores, 0.18) for score in scores) == fit


def test_labelled_set_is_large_enough() -> None:
    assert len(labelled("skills")) >= 40
    assert len(requests()) >= 200


def test_recall_at_three_on_the_labelled_set(matcher: TermIndex) -> None:
    found = [name in shown(matcher, text) for name, text in requests()]
    assert sum(found) / len(found) >= 0.9


def test_precision_on_the_labelled_set(matcher: TermIndex) -> None:
    pairs = [(name, one) for name, text in requests() for one in shown(matcher, text)]
    assert sum(name == one for name, one in pairs) / len(pairs) >= 0.9
    none = labelled("queries")["none"]
    assert sum(bool(shown(matcher, text)) for text in none) / len(none) <= 0.1


def test_skills_are_found_in_each_language(matcher: TermIndex) -> None:
    scripts = {"CJK": "一", "HIRAGANA": "ぁ", "HANGUL": "가", "CYRILLIC": "а"}
    for first in scripts.values():
        near = range(ord(first), ord(first) + 0x5000 if first == "一" else ord(first) + 0x60)
        asked = [(n, t) for n, t in requests() if sum(ord(c) in near for c in t) > len(t) / 4]
        found = [name in shown(matcher, text) for name, text in asked]
        assert asked or first == "가"
        assert sum(found) >= 0.85 * len(found)


@pytest.mark.slow
def test_turns_get_the_skills_that_the_matcher_finds(bench: Bench, matcher: TermIndex) -> None:
    for skill in labelled("skills"):
        bench.write(skill["name"], skill["description"], skill["body"])
    for number, (_, text) in enumerate(requests()[::20]):
        context = bench.say(text, session=f"s{number}")
        assert re.findall('<skill name="(.*?)">', context) == shown(matcher, text)


def test_removed_skill_is_not_matched() -> None:
    matcher = TermIndex()
    matcher.add("a", {"name": "deploy shop", "description": "Deploys."})
    matcher.add("b", {"name": "water plants", "description": "Waters."})
    matcher.add("a", {"name": "bake bread", "description": "Bakes."})
    assert [match.name for match in matcher.search("bake")] == ["a"]
    assert matcher.search("deploy") == []
    matcher.remove("a")
    assert matcher.search("bake") == []
    assert len(matcher) == 1


@given(st.text(max_size=300), st.text(max_size=300))
def test_matcher_accepts_any_text(description: str, text: str) -> None:
    matcher = TermIndex()
    matcher.add("a", {"name": "a", "description": description})
    assert all(0 < match.score <= 1 for match in matcher.search(text))
    if tokenize(description):
        assert [match.name for match in matcher.search(description)] == ["a"]


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Deploying the Café's apps", ["deploying", "cafe", "apps"]),
        ("getHTTPResponse in C++ and c#", ["http", "response", "c++", "c#"]),
        ("数据库迁移", ["数据", "据库", "库迁", "迁移"]),
        ("ｄｏｃｋｅｒ コンテナ", ["docker", "コン", "ンテ", "テナ"]),
        ("и для чего нам деплой", ["деплой"]),
        ("a the of to", []),
        ("f3b0c44298fc1c149afbf4c8996fb92427ae41e4649b934ca495991b7852b855", []),
    ],
)
def test_tokenize_splits_and_folds_words(text: str, expected: list[str]) -> None:
    assert tokenize(text) == expected

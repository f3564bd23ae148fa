"""Recall over a labelled set: many languages, all facts in one chat."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

DATA = tomllib.loads((Path(__file__).parent / "data" / "recall.toml").read_text("utf-8"))
FACTS = [(language, one) for language, facts in DATA["facts"].items() for one in facts]
QUERIES = [(language, one["fact"], q) for language, one in FACTS for q in one["asked"]]


@pytest.fixture
def filled(make_memory: Callable[..., Any]) -> Any:
    """A chat with all facts of the set; each session gets one question."""
    memory = make_memory(recall_limit=5)
    facts = [{"action": "remember", "content": one["fact"]} for _, one in FACTS]
    for start in range(0, len(facts), 50):
        memory.text("batch", operations=facts[start : start + 50])
    return memory


def test_labelled_set_is_large_enough() -> None:
    assert len(QUERIES) >= 100
    assert len(DATA["facts"]) >= 10
    assert len({query for _, _, query in QUERIES}) == len(QUERIES)


@pytest.mark.slow
def test_wanted_fact_is_among_the_first_five(filled: Any) -> None:
    missed = [
        (language, query)
        for language, fact, query in QUERIES
        if fact not in _recalled(filled, query)[:5]
    ]
    recall = 1 - len(missed) / len(QUERIES)
    assert recall >= 0.9, f"recall@5 is {recall:.3f} of {len(QUERIES)}; missed: {missed}"


@pytest.mark.slow
def test_wanted_fact_is_recalled_for_a_message_with_few_others(filled: Any) -> None:
    wanted = given = 0
    for _, fact, query in QUERIES:
        told = filled.told(query)
        wanted += fact in told
        given += len(told)
    assert wanted / len(QUERIES) >= 0.9
    assert wanted / given >= 0.5


def test_irrelevant_message_recalls_nothing(filled: Any) -> None:
    told = {message: filled.told(message) for message in DATA["silent"]}
    assert sum(1 for facts in told.values() if facts) <= len(told) // 10, told


def _recalled(memory: Any, query: str) -> list[str]:
    text = memory.text("recall", query=query)
    return [line[2:].rpartition(" [")[0] for line in text.split("\n") if line.startswith("- ")]

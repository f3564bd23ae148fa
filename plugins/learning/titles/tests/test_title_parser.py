"""Parsing a model's answer into a title."""

from __future__ import annotations

import unicodedata

import pytest
from hookline_titles.title_parser import MAX_CHARS, MAX_WORDS, parse_title
from hypothesis import given
from hypothesis import strategies as st


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Moving the wiki to Postgres", "Moving the wiki to Postgres"),
        ('"Moving the wiki to Postgres."', "Moving the wiki to Postgres"),
        ("“Umzug des Wikis nach Postgres”", "Umzug des Wikis nach Postgres"),
        ("**Title: Moving the wiki**", "Moving the wiki"),
        ("# Moving the wiki\n", "Moving the wiki"),
        ("Titel: Umzug des Wikis", "Umzug des Wikis"),
        ("\n\n  Moving   the\twiki \n", "Moving the wiki"),
        ("Here is a title:\n\nMoving the wiki", "Moving the wiki"),
        ("<think>hm, what about it\nyes</think>\nMoving the wiki", "Moving the wiki"),
        ("Fixing C++ and A/B tests", "Fixing C++ and A/B tests"),
        ("Who's on call?", "Who's on call?"),
        ("Wiki\u202e\x1b[31m moved", "Wiki [31m moved"),
        ("维基迁移到Postgres", "维基迁移到Postgres"),
        ("ウィキの移行手順", "ウィキの移行手順"),
        ("Перенос вики на Postgres", "Перенос вики на Postgres"),
    ],
)
def test_title_is_cleaned(answer: str, title: str) -> None:
    assert parse_title(answer) == title


@pytest.mark.parametrize(
    "answer",
    [
        "",
        " \n\t ",
        '""',
        "...",
        "***",
        "Conversation",
        "I'm sorry, I can't help with that.",
        "I’m unable to do that",
        "Sorry, no title for this",
        "As an AI I have no title",
        "Es tut mir leid, das geht nicht",
        "抱歉,我无法完成",
        "申し訳ありません",
        "Moving the wiki\nThe wiki's move\nA new wiki",
        "This conversation is about how the team moves its wiki to another database",
        "a" * 200,
        "word " * 200,
        "东" * 60,
        "x " + "y" * 100,
        "Here is a title:",
        "\ud800 \udfff",
    ],
)
def test_answer_that_is_no_title_is_dropped(answer: str) -> None:
    assert parse_title(answer) is None


@given(st.text(max_size=200))
def test_any_answer_gives_one_short_line(answer: str) -> None:
    title = parse_title(answer)
    if title is not None:
        assert 0 < len(title) <= MAX_CHARS
        assert len(title.split()) <= MAX_WORDS
        assert title == " ".join(title.split())
        assert not any(unicodedata.category(sign)[0] == "C" for sign in title)


@given(st.text(max_size=200))
def test_cleaning_twice_changes_nothing(answer: str) -> None:
    title = parse_title(answer)
    if title is not None:
        assert parse_title(title) == title

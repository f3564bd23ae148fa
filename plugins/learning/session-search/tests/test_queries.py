"""Any text is a query and is taken literally."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from typing import Any

import pytest
from hookline_session_search.expressions import all_words
from hookline_session_search.snippet import SNIPPET_CHARS, snippet
from hookline_session_search.tokens import MAX_WORDS, fold, index_text, parse_query
from hypothesis import example, given
from hypothesis import strategies as st
from support.matrices import sampled

TEXTS = [
    "We write it in C++ and C# on .NET, not in C",
    "mail ada@example.org or ada.lovelace@example.org",
    "the file is /etc/nginx/nginx.conf, see docs/setup.md",
    'she said "never again" and don\'t ask AND OR NOT NEAR(x, 2)',
    "run `git push --force-with-lease` -> it works, 100% sure, $5 a*b text:foo ^top",
    "東京タワーへ行きました。とても高い",
    "数据库迁移已经完成",
    "서울에서 만나요",
    "ไปตลาดเช้าวันเสาร์",
    "Das Café in der Straße ist GROSS",
    "देवनागरी में हिन्दी लिखी है",
    "party 🎉🎉 and 👩‍💻 at 8",
    "Wir treffen uns — wie immer — am „alten“ Markt",
    "ＦＵＬＬ width and ﬁ ligature",
]


@sampled(
    ("typed", "at"),
    [
        ("C++", 0), ("c#", 0), (".NET", 0), ("C++ .net c#", 0),
        ("ada@example.org", 1), ("ADA.LOVELACE@EXAMPLE.ORG", 1),
        ("/etc/nginx/nginx.conf", 2), ("docs/setup.md", 2), ("nginx", 2),
        ('"never again"', 3), ("don't", 3), ("don’t", 3), ("AND OR NOT", 3), ("NEAR(x, 2)", 3),
        ("--force-with-lease", 4), ("->", 4), ("100%", 4), ("$5", 4), ("a*b", 4),
        ("text:foo", 4), ("^top", 4), ("`git", 4),
        ("東京", 5), ("タ", 5), ("京タ", 5), ("高い", 5), ("行きました。", 5),
        ("迁移", 6), ("库", 6), ("서울", 7), ("울에", 7), ("ตลาด", 8), ("วันเสาร์", 8),
        ("cafe", 9), ("STRASSE", 9), ("Café", 9), ("groß", 9),
        ("हिन्दी", 10), ("🎉", 11), ("👩‍💻", 11), ("💻", 11),
        ("wie immer", 12), ("“alten”", 12), ("full", 13), ("fi", 13), ("ＬＩＧＡＴＵＲＥ", 13),
    ],
)  # fmt: skip
def test_query_finds_the_text_literally(talk_of_texts: Any, typed: str, at: int) -> None:
    assert talk_of_texts.found(typed)[:1] == [" ".join(TEXTS[at].split())]


@sampled(
    "typed",
    [
        "C+++", "c--", "ada@example.com", "example@ada", "/etc/nginx.conf",
        "ne*", "京東", "东京", "移迁", "울서", "😀", "NEAR/3", "🎉🎉🎉",
    ],
)  # fmt: skip
def test_query_has_no_operators(talk_of_texts: Any, typed: str) -> None:
    assert talk_of_texts.found(typed) == []


@sampled(
    ("typed", "missing"),
    [
        ("text : foo : bar", "bar"), ("nginx -setup", "-setup"), ("{unicorn} : C", "unicorn"),
        ("never NOT maybe", "maybe"), ("NEAR(x 3)", "3"),
    ],
)  # fmt: skip
def test_signs_and_other_words_are_searched_and_not_operators(
    talk_of_texts: Any, typed: str, missing: str
) -> None:
    found = talk_of_texts.search(typed).data
    assert found
    assert all(missing in one["missing"] for one in found)


@pytest.fixture
def talk_of_texts(talk: Any) -> Any:
    """Everything was said."""
    for text in TEXTS:
        talk.say(text)
    return talk


@pytest.mark.long
@sampled(
    "typed",
    [
        '"', "'", "\"\"\"", "(((", "*", "AND", "NOT", "NEAR(", "a OR", "col:", "-", "^", "{}", "\\",
        "%", "_", ";--", "' OR 1=1 --", "\0", "a\0b", "\ud800", "\udfff x", "\ufffe", "\U0010ffff",
        "x" * 100_000, "x " * 50_000, "é" * 100_000, "京" * 33_000, '"' * 100_000, "\u0301" * 1000,
        "+".join("abc" * 10_000), "\n\t", "\u202e\u2066x", "😀" * 20_000, "?", "\x1b[2J", "\u2028",
    ],
)  # fmt: skip
def test_any_query_is_answered(talk: Any, typed: str) -> None:
    talk.say("something else entirely")
    result = talk.search(typed)
    assert result.ok or "has no words" in result.text
    assert "something else" not in result.text


@pytest.mark.parametrize("typed", ["", "  ", "\n\t", "\u200b", "\ufe0f"])
def test_empty_query_gives_an_error_sentence(talk: Any, typed: str) -> None:
    result = talk.search(typed)
    assert result.text == "Error: the query has no words"


def test_query_of_only_punctuation_is_searched(talk: Any) -> None:
    talk.say("really?!")
    talk.say("yes")
    assert talk.found("?!") == ["really?!"]
    assert talk.found("really ? ...") == ["really?!"]


def test_long_query_is_cut_with_a_note(talk: Any) -> None:
    words = [f"word{n}" for n in range(MAX_WORDS + 10)]
    talk.say(" ".join(words[:MAX_WORDS]))
    result = talk.search(" ".join(words))
    assert len(result.data) == 1
    assert f"only its first {MAX_WORDS} words were used" in result.text


@pytest.fixture(scope="module")
def table() -> Any:
    """The full-text table as the migration makes it."""
    from pathlib import Path

    import hookline_session_search

    folder = Path(hookline_session_search.__file__).parent / "migrations" / "sqlite"
    sql = (folder / "0001_index.sql").read_text("utf-8")
    start = sql.index("CREATE VIRTUAL TABLE")
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as db:
        db.execute(sql[start : sql.index(";", start)])
        yield db


@pytest.mark.slow
@given(st.text(max_size=80), st.data())
@example("ǰ x", None)
@example("a\u0345b \u1e9e ŉ ΐ", None)
@example("´ ¨x ﷺ", None)
def test_any_word_of_a_text_finds_it(table: Any, text: str, data: Any) -> None:
    table.execute("DELETE FROM session_search_texts")
    table.execute(
        "INSERT INTO session_search_texts (rowid, text) VALUES (1, ?)", (index_text(text),)
    )
    words = text.split()
    picked = words if data is None else data.draw(st.lists(st.sampled_from(words or [""])))
    match = all_words(parse_query(" ".join(picked))).match
    if match:
        sql = "SELECT rowid FROM session_search_texts WHERE session_search_texts MATCH ?"
        assert table.execute(sql, (match,)).fetchall() == [(1,)]


@given(st.text(max_size=300), st.text(max_size=20))
def test_snippet_is_a_bounded_line_of_the_text(text: str, typed: str) -> None:
    line = snippet(text, parse_query(typed).words)
    assert "\n" not in line
    assert len(line) <= SNIPPET_CHARS + 2
    assert line.strip("…") in " ".join(text.split()) or "…" in text


@given(st.text(max_size=100))
def test_folding_twice_changes_nothing(text: str) -> None:
    assert fold(fold(text)) == fold(text)


@pytest.mark.parametrize("word", ["needle", "nadel-öhr", "針", "🎉", "a@b.example"])
def test_snippet_is_the_window_around_the_match(talk: Any, word: str) -> None:
    hay = "hay stack " * 500
    talk.say(f"{hay}here is the {word} at last {hay}")
    [line] = talk.found(word)
    assert f"here is the {word} at last" in line
    assert line.startswith("…")
    assert line.endswith("…")
    assert len(line) <= SNIPPET_CHARS + 2


def test_snippet_window_holds_most_query_words(talk: Any) -> None:
    apart = "filler words " * 100
    talk.say(f"alpha {apart} beta {apart} alpha and beta together {apart} alpha")
    [line] = talk.found("beta alpha")
    assert "alpha and beta together" in line


def test_snippet_window_is_around_the_whole_word(talk: Any) -> None:
    talk.say("concatenate " + "and so on " * 100 + "the cat sat")
    [line] = talk.found("cat")
    assert "the cat sat" in line


def test_snippet_window_is_found_for_any_spelling_of_quotes_and_signs(talk: Any) -> None:
    hay = "и так далее " * 100
    for word, typed in (
        ("don’t", "don't"),
        ("👩‍💻", "👩💻"),
        ("Ｗｉｄｅ", "wide"),
        ("café", "cafe"),
    ):
        talk.say(f"{hay} here {word} stands {hay}")
        assert f"here {word} stands" in talk.found(typed)[0]

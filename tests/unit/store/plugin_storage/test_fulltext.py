"""Full-text search: any stored text is found, any typed text is a valid query."""

from __future__ import annotations

import asyncio
import unicodedata
from collections.abc import Awaitable, Callable
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import TypeVar

import pytest
from hookline.store.plugin_storage import PluginStorage, prepare_storage
from hookline.testing import open_store
from hookline_hookspecs import Store
from hypothesis import given
from hypothesis import strategies as st

T = TypeVar("T")


async def found(store: Store, text: str, query: str) -> list[str]:
    """The texts of the hits for ``query`` where ``text`` is one of two documents."""
    index = PluginStorage(store, "p", None, Path(str(store.location())).parent).search
    await index.put("1", text)
    await index.put("other", "zzz")
    return [hit.text for hit in await index.query(query) if hit.key == "1"]


@pytest.mark.parametrize(
    ("text", "query"),
    [
        ("I like C++ and C#", "C++"),
        ("mail to jo.doe+x@example.com today", "jo.doe+x@example.com"),
        ('she said "NOT NEAR(a b) OR c*"', '"NOT NEAR(a b) OR c*"'),
        ("don't", "don't"),
        ("a AND b", "AND"),
        ("Crème brûlée", "creme BRULEE"),
        ("key:value ^caret -minus {x} col : y", "^caret -minus {x} key:value"),
        ("我喜欢使用Python编程语言", "编程"),
        ("我喜欢使用Python编程语言", "用Python编"),
        ("東京タワーへ行きました", "タワーへ"),
        ("안녕하세요 세계", "하세"),
        ("𠮷野家で食べる", "𠮷野"),
        ("one two three", "three one"),
        ("semi;colon -- comment", "; -- comment"),
    ],
)
async def test_typed_query_finds_the_document(store: Store, text: str, query: str) -> None:
    await prepare_storage(store)
    assert await found(store, text, query) == [text]


@pytest.mark.parametrize("query", ["", "   ", '"', "++ -- **", "()", "\0", "„“", "\ud800"])
async def test_query_without_words_finds_nothing(store: Store, query: str) -> None:
    await prepare_storage(store)
    assert store.search_query(query) == ""
    assert await found(store, "some text", query) == []


@pytest.mark.parametrize(
    ("text", "query"), [("编程语言", "程编"), ("one two", "one three"), ("words", "word")]
)
async def test_query_for_absent_words_finds_nothing(store: Store, text: str, query: str) -> None:
    await prepare_storage(store)
    assert await found(store, text, query) == []


async def test_better_matches_come_first_with_higher_scores(store: Store) -> None:
    await prepare_storage(store)
    index = PluginStorage(store, "p", None, Path(str(store.location())).parent).search
    await index.put("long", "apple " + "filler words here " * 50)
    await index.put("short", "apple apple pie")
    await index.put("none", "banana")
    hits = await index.query("apple")
    assert [hit.key for hit in hits] == ["short", "long"]
    assert hits[0].score > hits[1].score
    assert [hit.key for hit in await index.query("apple", limit=1)] == ["short"]


async def test_document_is_replaced_and_deleted_by_key(store: Store) -> None:
    await prepare_storage(store)
    index = PluginStorage(store, "p", None, Path(str(store.location())).parent).search
    await index.put("k", "first")
    await index.put("k", "second")
    assert await index.query("first") == []
    assert [hit.key for hit in await index.query("second")] == ["k"]
    await index.delete("k")
    await index.delete("never there")
    assert await index.query("second") == []


def in_a_store(work: Callable[[Store], Awaitable[T]]) -> T:
    async def run() -> T:
        with TemporaryDirectory() as folder:
            async with open_store(Path(folder)) as store:
                await prepare_storage(store)
                return await work(store)

    return asyncio.run(run())


@pytest.mark.slow
@given(st.text(), st.text())
def test_any_text_can_be_stored_and_used_as_a_query(text: str, query: str) -> None:
    hits = in_a_store(lambda store: found(store, text, query))
    assert len(hits) <= 1


CJK = st.text("中文字漢日本語ひらがなカタカナ한국어𠮷々", min_size=1, max_size=12)
LATIN = st.text("abcXYZéü019", min_size=1, max_size=8)
NOISE = st.sampled_from([" ", "  ", ", ", "\n", '"', " AND ", "*", "(", "-", "."])


@pytest.mark.slow
@given(st.lists(st.tuples(CJK | LATIN, NOISE), min_size=1, max_size=6), st.data())
def test_every_word_and_every_part_of_a_cjk_run_is_found(
    parts: list[tuple[str, str]], data: st.DataObject
) -> None:
    text = "".join(word + noise for word, noise in parts)
    word = data.draw(st.sampled_from([word for word, _ in parts]))
    if any(unicodedata.name(c).startswith(("CJK", "HIR", "KAT", "HAN")) for c in word):
        start = data.draw(st.integers(0, len(word) - 1))
        word = word[start : data.draw(st.integers(start + 1, len(word)))]
    assert in_a_store(lambda store: found(store, text, word)) == [text]

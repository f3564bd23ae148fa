"""Helpers of the store drivers; the tests of both stores use them through the drivers."""

from __future__ import annotations

import asyncio
from collections.abc import Mapping
from typing import Any

import pytest
from hookline_hookspecs.drivers import Migration
from hookline_hookspecs.errors import StoreError
from hookline_hookspecs.stores import SEPARATOR, Topics, checksum, due, segmented

FIRST, SECOND = Migration(1, "first", "CREATE TABLE a (n)"), Migration(2, "second", "DROP TABLE a")


class Recorded:
    """A connection to a database that has had these migrations."""

    def __init__(self, *steps: Migration) -> None:
        row = {"component": "c"}
        self._rows = [row | {"number": s.number, "checksum": checksum(s)} for s in steps]

    def fetch(self, sql: str, params: Mapping[str, Any] = {}) -> list[Mapping[str, Any]]:
        return list(self._rows)

    def execute(self, sql: str, params: Mapping[str, Any] = {}) -> int:
        raise AssertionError("nothing is written")

    def batch(self, statements: Any) -> list[int]:
        raise AssertionError("nothing is written")


def test_unrecorded_migrations_are_due_in_order() -> None:
    assert due(Recorded(), "c", [SECOND, FIRST]) == [FIRST, SECOND]
    assert due(Recorded(FIRST), "c", [SECOND, FIRST]) == [SECOND]


@pytest.mark.parametrize(
    ("recorded", "steps", "told"),
    [
        ((FIRST, SECOND), [FIRST], "newer than this version (migration 2)"),
        ((FIRST,), [Migration(1, "first", "CREATE TABLE b (n)")], "was changed"),
        ((), [FIRST, Migration(1, "again", "")], "the same number"),
    ],
)
def test_database_with_conflicting_migrations_is_refused(
    recorded: tuple[Migration, ...], steps: list[Migration], told: str
) -> None:
    with pytest.raises(StoreError, match=told.replace("(", r"\(").replace(")", r"\)")):
        due(Recorded(*recorded), "c", steps)


def test_cjk_characters_are_words_and_other_words_stay_whole() -> None:
    assert segmented("naïve 日本x") == f"naïve 日{SEPARATOR}本{SEPARATOR}x"
    assert segmented(segmented("日本")) == segmented("日本")
    assert segmented("a\0b\ud800") == "a b?"


async def test_published_messages_reach_only_listeners_of_the_topic() -> None:
    topics = Topics()
    topics.publish("a", "nobody listens")
    with topics.listen("a") as first, topics.listen("a") as second, topics.listen("b") as other:
        topics.publish("a", "1")
        await asyncio.to_thread(topics.publish, "a", "2")
        topics.publish("b", "3")
        assert [await anext(first), await anext(first)] == ["1", "2"]
        assert [await anext(second), await anext(second)] == ["1", "2"]
        assert await anext(other) == "3"
    assert topics.names() == []

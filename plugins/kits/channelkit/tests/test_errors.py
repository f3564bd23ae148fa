"""What refusals mean, and what a request without an answer does."""

from __future__ import annotations

import httpx2
import pytest
from hookline_channelkit import (
    Gone,
    Hourly,
    Lost,
    Meanings,
    Memory,
    TooLong,
    Unsure,
    WireError,
    got,
    unanswered,
)
from hypothesis import given
from hypothesis import strategies as st

JSON = st.recursive(
    st.none() | st.booleans() | st.integers() | st.text(max_size=5),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=3), inner),
    max_leaves=10,
)


class ServerDisconnectedError(OSError):
    """As aiohttp names it."""


class InvalidURL(ValueError):
    """Likewise."""


class Moved(WireError):
    """A channel's own error."""


def test_codes_and_words_have_meanings() -> None:
    table = {"Lost": [7, "not found"], "TooLong": ["too long"], "Moved": ["moved"]}
    meanings = Meanings(table, Moved)
    assert [meanings.of(code) for code in (7, "moved", 8, "")] == [Lost, Moved, Gone, Gone]
    assert meanings.within("Bad Request: message is TOO LONG") is TooLong
    assert meanings.within("something else") is Gone
    with pytest.raises(KeyError):
        Meanings({"Lots": [7]})


@pytest.mark.parametrize(
    ("error", "sends", "kind"),
    [
        (httpx2.ConnectError("https://api/SECRET"), True, WireError),
        (httpx2.WriteTimeout("https://api/SECRET"), True, WireError),
        (httpx2.ReadTimeout("https://api/SECRET"), True, Unsure),
        (httpx2.ReadTimeout("https://api/SECRET"), False, WireError),
        (ServerDisconnectedError("https://api/SECRET"), True, Unsure),
        (InvalidURL("https://api/SECRET"), True, WireError),
        (TimeoutError(), True, Unsure),
    ],
)
def test_only_what_may_have_been_done_is_unsure(
    error: Exception, sends: bool, kind: type[WireError]
) -> None:
    found = unanswered("The loft", error, sends=sends)
    assert type(found) is kind
    assert "SECRET" not in str(found)


@given(JSON, st.lists(st.text(max_size=3) | st.integers(-3, 3), max_size=4))
def test_a_place_in_an_event_may_be_asked_for_whatever_it_holds(data: object, path: list) -> None:  # type: ignore[type-arg]
    got(data, *path, default=0)


def test_what_stands_in_an_event() -> None:
    data = {"a": [{"b": 0}], "n": None}
    assert (got(data, "a", 0, "b"), got(data, "a", 1), got(data, "n", default=3)) == (0, "", 3)


def test_the_oldest_is_forgotten_first() -> None:
    memory: Memory[str, int] = Memory(2)
    for number, name in enumerate("abac"):
        memory[name] = number
    assert dict(memory) == {"a": 2, "c": 3}


def test_so_many_an_hour_are_heard_and_each_is_asked_for_again() -> None:
    hourly = Hourly(2)
    assert [hourly.allows("bot", str(n), float(n)) for n in range(4)] == [True, True, False, False]
    assert hourly.allows("bot", "1", 1.0)
    assert hourly.allows("another", "2", 2.0)
    assert hourly.allows("bot", "5", 3602.0)

"""Errors of a platform: refusals, and requests without a response."""

from __future__ import annotations

import httpx2
import pytest
from hookline_channelkit import (
    BoundedDict,
    ChatGone,
    DeliveryUnknown,
    ErrorClassifier,
    HourlyLimit,
    MessageGone,
    MessageTooLong,
    PlatformError,
    connection_error,
    get_in,
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


class Moved(PlatformError):
    """A channel's own error."""


def test_error_classifier_maps_codes_and_words() -> None:
    table = {"MessageGone": [7, "not found"], "MessageTooLong": ["too long"], "Moved": ["moved"]}
    errors = ErrorClassifier(table, Moved)
    assert [errors.by_code(code) for code in (7, "moved", 8, "")] == [
        MessageGone,
        Moved,
        ChatGone,
        ChatGone,
    ]
    assert errors.classify("Bad Request: message is TOO LONG") is MessageTooLong
    assert errors.classify("something else") is ChatGone
    with pytest.raises(KeyError):
        ErrorClassifier({"Lots": [7]})


@pytest.mark.parametrize(
    ("error", "sends", "kind"),
    [
        (httpx2.ConnectError("https://api/SECRET"), True, PlatformError),
        (httpx2.WriteTimeout("https://api/SECRET"), True, PlatformError),
        (httpx2.ReadTimeout("https://api/SECRET"), True, DeliveryUnknown),
        (httpx2.ReadTimeout("https://api/SECRET"), False, PlatformError),
        (ServerDisconnectedError("https://api/SECRET"), True, DeliveryUnknown),
        (InvalidURL("https://api/SECRET"), True, PlatformError),
        (TimeoutError(), True, DeliveryUnknown),
    ],
)
def test_connection_error_is_unknown_only_if_sent(
    error: Exception, sends: bool, kind: type[PlatformError]
) -> None:
    found = connection_error("The loft", error, sends=sends)
    assert type(found) is kind
    assert "SECRET" not in str(found)


def test_malformed_proxy_is_named_with_its_variable(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("https_proxy", raising=False)
    monkeypatch.setenv("HTTPS_PROXY", "http://me:SECRET@10.0.0.1:abc")
    error = type("InvalidURL", (ValueError,), {})("http://me:SECRET@10.0.0.1:abc")
    found = connection_error("The loft", error)
    assert type(found) is PlatformError
    assert "HTTPS_PROXY is not the address of a proxy ('10.0.0.1:abc'" in str(found)
    assert "SECRET" not in str(found)


@given(JSON, st.lists(st.text(max_size=3) | st.integers(-3, 3), max_size=4))
def test_get_in_accepts_any_json(data: object, path: list) -> None:  # type: ignore[type-arg]
    get_in(data, *path, default=0)


def test_get_in_returns_value_or_default() -> None:
    data = {"a": [{"b": 0}], "n": None}
    assert (get_in(data, "a", 0, "b"), get_in(data, "a", 1), get_in(data, "n", default=3)) == (
        0,
        "",
        3,
    )


def test_bounded_dict_drops_the_oldest() -> None:
    memory: BoundedDict[str, int] = BoundedDict(2)
    for number, name in enumerate("abac"):
        memory[name] = number
    assert dict(memory) == {"a": 2, "c": 3}


def test_hourly_limit_is_stable_per_message() -> None:
    hourly = HourlyLimit(2)
    assert [hourly.allows("bot", str(n), float(n)) for n in range(4)] == [True, True, False, False]
    assert hourly.allows("bot", "1", 1.0)
    assert hourly.allows("another", "2", 2.0)
    assert hourly.allows("bot", "5", 3602.0)

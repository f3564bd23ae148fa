"""The JSON5 parser, compared with JSON and by its own rules."""

from __future__ import annotations

import contextlib
import json
from typing import Any

import pytest
from hookline_migrate.json5 import loads
from hypothesis import given
from hypothesis import strategies as st

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | st.text(),
    lambda inner: st.lists(inner) | st.dictionaries(st.text(), inner),
    max_leaves=20,
)


@given(VALUES)
def test_json_is_valid_json5(value: Any) -> None:
    assert loads(json.dumps(value)) == value
    assert loads(json.dumps(value, ensure_ascii=False, indent=1)) == value


@given(st.text(alphabet="{}[]:,'\"\\/*+-.0xE a\n\t$_", max_size=40))
def test_any_text_is_parsed_or_rejected(text: str) -> None:
    with contextlib.suppress(ValueError, RecursionError):
        loads(text)


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("{a: 1, /* b */ 'c': .5, d: 5., e: +0x1F, }", {"a": 1, "c": 0.5, "d": 5.0, "e": 31}),
        ("// hello\n['it\\'s', \"a\\\nb\", '\\x41\\u0042',]", ["it's", "ab", "AB"]),
        ("{true: true, null: null, $x_1: -1e3}", {"true": True, "null": None, "$x_1": -1000.0}),
        ("{'http://x': 'a // b'}", {"http://x": "a // b"}),
        ("[Infinity, -Infinity]", [float("inf"), float("-inf")]),
    ],
)
def test_json5_syntax_is_parsed(text: str, value: Any) -> None:
    assert loads(text) == value


@pytest.mark.parametrize("text", ["", "{", "[a]", "'a", "{a 1}", "/* x", "{} {}", "[,]", "#"])
def test_invalid_text_is_refused(text: str) -> None:
    with pytest.raises(ValueError):  # noqa: PT011 - whatever JSON says of it
        loads(text)


@pytest.mark.slow
def test_deep_nesting_raises() -> None:
    with pytest.raises(RecursionError):
        loads("[" * 200_000)

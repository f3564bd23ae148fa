"""Properties of every list and every text."""

from __future__ import annotations

import pytest
from hookline_access import AccessConfig
from hookline_access.codes import (
    ALPHABET,
    CLAIM_CODE_CHARS,
    PAIRING_CODE_CHARS,
    format_code,
    new_code,
    parse_code,
)
from hypothesis import given
from hypothesis import strategies as st

ENTRIES = st.lists(
    st.sampled_from(["a:1", "a:*", "b:1", "*:1", "a:", ":1", "a:1 ", "x"]) | st.text()
)
WHO = st.sampled_from(["a", "b", "A", "*", ""]) | st.text(max_size=3)


@given(ENTRIES, ENTRIES, WHO, st.sampled_from(["1", "2", "1 ", "*", ""]) | st.text(max_size=3))
def test_only_a_literal_entry_lets_a_person_in(
    allow: list[str], admins: list[str], channel: str, user: str
) -> None:
    config = AccessConfig(allow=allow, admins=admins)
    if config.allows(channel, user):
        assert f"{channel}:{user}" in allow or f"{channel}:*" in allow
    if config.is_admin(channel, user):
        assert f"{channel}:{user}" in admins
        assert user != "*"


@given(
    st.dictionaries(
        st.sampled_from(list(AccessConfig.model_fields)),
        st.none() | st.integers() | st.floats() | st.text(max_size=5) | st.lists(st.integers()),
    )
)
def test_any_setting_keeps_access_control_on(given_: dict[str, object]) -> None:
    config = AccessConfig.model_validate(given_)
    assert not config.allows("a", "1")
    assert 0 < config.code_minutes <= 1440


@given(st.text(max_size=60))
def test_any_text_can_be_read_as_a_code(text: str) -> None:
    code = parse_code(text, PAIRING_CODE_CHARS)
    assert code is None or (len(code) == PAIRING_CODE_CHARS and set(code) <= set(ALPHABET))


@pytest.mark.parametrize("length", [PAIRING_CODE_CHARS, CLAIM_CODE_CHARS])
def test_shown_code_is_read_back(length: int) -> None:
    code = new_code(length)
    for text in (code, code.lower(), format_code(code), f"  {format_code(code)}\n", " ".join(code)):
        assert parse_code(text, length) == code
    assert parse_code(code[:-1], length) is None
    assert parse_code(code + "B", length) is None

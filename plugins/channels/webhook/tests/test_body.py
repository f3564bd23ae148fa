"""Bodies and signatures: what is taken, what is refused, and nothing in between."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hookline_webhook.body import InvalidBody, WebhookMessage, parse_body
from hookline_webhook.signature import is_signed, signature
from hypothesis import given
from hypothesis import strategies as st

IDS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1, max_size=20).filter(
    str.strip
)
TEXTS = st.text(
    st.characters(exclude_categories=["Cs"], exclude_characters="\0"), min_size=1
).filter(str.strip)


def body(**changed: Any) -> bytes:
    whole = {"id": "1", "chat": "c", "user": "u", "text": "hello", **changed}
    return json.dumps({name: value for name, value in whole.items() if value != ...}).encode()


@given(IDS, IDS, IDS, TEXTS, st.booleans())
def test_what_is_right_arrives_as_it_was_sent(
    id_: str, chat: str, user: str, text: str, ascii_: bool
) -> None:
    whole = {"id": id_, "chat": chat, "user": user, "text": text, "more": [1]}
    sent = json.dumps(whole, ensure_ascii=ascii_).encode()
    assert parse_body(sent) == WebhookMessage(id_, chat, user, text)


def test_a_name_and_an_author_may_be_told() -> None:
    found = parse_body(body(sender="Ann", forwarded="Bob"))
    assert (found.sender, found.forwarded) == ("Ann", "Bob")


@given(st.binary(max_size=200))
def test_any_bytes_are_read_or_refused_with_a_sentence(data: bytes) -> None:
    try:
        found = parse_body(data)
    except InvalidBody as error:
        told = str(error)
    else:
        told = found.id
    assert told


WRONG = {
    b"": "not JSON",
    b"\xff\xfe": "not UTF-8",
    b"[]": "not a JSON object",
    b'"x"': "not a JSON object",
    b"null": "not a JSON object",
    b"[" * 100_000: "not JSON",
    b'{"id":' + b"9" * 5000 + b"}": "not JSON",
    b'{"id":"1","id":"2","chat":"c","user":"u","text":"t"}': "repeated key",
    body(id=...): '"id" is missing',
    body(text=...): '"text" is missing',
    body(id=1): '"id" is not a string',
    body(user=None): '"user" is not a string',
    body(text=["x"]): '"text" is not a string',
    body(text=" \n"): '"text" is blank',
    body(chat=""): '"chat" is blank',
    body(user="  "): '"user" is blank',
    body(id="x" * 201): '"id" is longer',
    body(chat="漢" * 100): '"chat" is too long',
    body(id="a\0b"): '"id" holds a control character',
    body(user="a\nb"): '"user" holds a control character',
    body(text="a\0b"): '"text" holds a NUL',
    body(forwarded=7): '"forwarded" is not a string',
    body(forwarded="a\nb"): '"forwarded" holds a control character',
    body(sender="x" * 201): '"sender" is longer',
    body(id="x" * 10_000_000): '"id" is longer',
    body(text="\ud800"): "half of a surrogate pair",
    body(user="\udfff"): "half of a surrogate pair",
    "{}".encode("utf-16"): "not UTF-8",
}


@pytest.mark.parametrize("data", WRONG, ids=lambda data: data[:30].decode("utf-8", "replace"))
def test_what_is_wrong_is_named(data: bytes) -> None:
    with pytest.raises(InvalidBody, match=WRONG[data]):
        parse_body(data)


KEY = b"0123456789abcdef"


@given(st.binary(), st.binary(min_size=1))
def test_a_signature_fits_one_body_and_one_secret(data: bytes, other: bytes) -> None:
    right = signature(KEY, data)
    assert is_signed(KEY, data, [right])
    assert not is_signed(KEY, data + other, [right])
    assert not is_signed(b"x" + other, data, [right])


@given(st.lists(st.text(), max_size=3))
def test_nothing_else_is_a_signature(given_: list[str]) -> None:
    assert not is_signed(KEY, b"body", given_)


def test_the_signature_is_the_one_of_the_standard() -> None:
    """RFC 4231, test case 2."""
    wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert signature(b"Jefe", b"what do ya want for nothing?") == f"sha256={wanted}"


RIGHT = signature(KEY, b"body")


@pytest.mark.parametrize(
    "given_",
    [
        [],
        [RIGHT, RIGHT],
        [RIGHT[7:]],
        [RIGHT.upper()],
        [RIGHT[:-1]],
        [RIGHT + "0"],
        [RIGHT.replace("sha256", "sha1")],
        ["sha256="],
        [""],
    ],
)
def test_a_signature_is_spelt_in_one_way(given_: list[str]) -> None:
    assert not is_signed(KEY, b"body", given_)


def test_without_a_secret_no_signature_is_valid() -> None:
    assert not is_signed(b"", b"body", [signature(b"", b"body")])

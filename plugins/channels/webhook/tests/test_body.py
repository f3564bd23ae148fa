"""Bodies and signatures: what is accepted and what is rejected."""

from __future__ import annotations

import json
from typing import Any

import pytest
from hookline_webhook.body import InvalidBody, WebhookMessage, parse_body
from hookline_webhook.signature import is_signed, signature
from hypothesis import example, given
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
def test_valid_body_is_parsed_unchanged(
    id_: str, chat: str, user: str, text: str, ascii_: bool
) -> None:
    whole = {"id": id_, "chat": chat, "user": user, "text": text, "more": [1]}
    sent = json.dumps(whole, ensure_ascii=ascii_).encode()
    assert parse_body(sent) == WebhookMessage(id_, chat, user, text)


def test_body_may_name_sender_and_forwarded_author() -> None:
    found = parse_body(body(sender="Ann", forwarded="Bob"))
    assert (found.sender, found.forwarded) == ("Ann", "Bob")


@given(st.binary(max_size=200))
def test_any_bytes_are_parsed_or_rejected_with_an_error(data: bytes) -> None:
    try:
        found = parse_body(data)
    except InvalidBody as error:
        result = str(error)
    else:
        result = found.id
    assert result


WRONG = {
    b"": "not JSON",
    b"\xff\xfe": "not UTF-8",
    b"[]": "not a JSON object",
    b'"x"': "not a JSON object",
    b"null": "not a JSON object",
    b"[" * 100_000: "deeper than",
    b'{"id":' + b"9" * 5000 + b"}": "not JSON",
    b'{"id":"1","id":"2","chat":"c","user":"u","text":"t"}': "twice",
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
    body(id="a\0b"): "NUL",
    body(user="a\nb"): '"user" holds a control character',
    body(text="a\0b"): "NUL",
    body(forwarded=7): '"forwarded" is not a string',
    body(forwarded="a\nb"): '"forwarded" holds a control character',
    body(sender="x" * 201): '"sender" is longer',
    body(id="x" * 10_000_000): '"id" is longer',
    body(text="\ud800"): "surrogate",
    body(user="\udfff"): "surrogate",
    "{}".encode("utf-16"): "not UTF-8",
}


@pytest.mark.parametrize("data", WRONG, ids=lambda data: data[:30].decode("utf-8", "replace"))
def test_invalid_body_error_names_the_problem(data: bytes) -> None:
    with pytest.raises(InvalidBody, match=WRONG[data]):
        parse_body(data)


KEY = b"0123456789abcdef"


@given(st.binary(), st.binary(min_size=1))
def test_signature_fits_only_its_body_and_secret(data: bytes, other: bytes) -> None:
    right = signature(KEY, data)
    assert is_signed(KEY, data, [right])
    assert not is_signed(KEY, data + other, [right])
    assert not is_signed(b"x" + other, data, [right])


def test_signature_matches_rfc_4231() -> None:
    """RFC 4231, test case 2."""
    wanted = "5bdcc146bf60754e6a042426089575c75a003f089d2739839dec58b964ec3843"
    assert signature(b"Jefe", b"what do ya want for nothing?") == f"sha256={wanted}"


RIGHT = signature(KEY, b"body")


@given(st.lists(st.text(), max_size=3))
@example([RIGHT, RIGHT])
@example([RIGHT[7:]])
@example([RIGHT.upper()])
@example([RIGHT[:-1]])
@example([RIGHT + "0"])
@example([RIGHT.replace("sha256", "sha1")])
@example(["sha256="])
def test_signature_header_must_have_exact_form(given_: list[str]) -> None:
    assert not is_signed(KEY, b"body", given_)


def test_no_signature_is_valid_without_secret() -> None:
    assert not is_signed(b"", b"body", [signature(b"", b"body")])

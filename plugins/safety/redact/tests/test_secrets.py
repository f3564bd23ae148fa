"""Which texts are replaced, and by what."""

from __future__ import annotations

import string
from itertools import pairwise
from pathlib import Path

import pytest
import yaml
from hookline_redact.redactor import Redactor
from hypothesis import given
from hypothesis import strategies as st
from support.matrices import sampled

DATA = Path(__file__).parent / "data"
SECRETS: dict[str, list[tuple[str, str]]] = yaml.load(
    (DATA / "secrets.yaml").read_text("utf-8"), yaml.CSafeLoader
)
ORDINARY: list[str] = yaml.load((DATA / "ordinary.yaml").read_text("utf-8"), yaml.CSafeLoader)
redactor = Redactor()
CASES = [(kind, *case) for kind, cases in SECRETS.items() for case in cases]
SURROUNDINGS = {
    "prose": "The user wrote this. {}\nThen he left.",
    "quotation": "> {}\n",
    "list": "- one\n- {}\n- two",
    "behind a placeholder": "[REDACTED:email] {}",
    "two of them": "{}\n\n{}",
    "Chinese": "他说：\n{}\n谢谢。",
    "carriage returns": "one\r\n{}\r\ntwo",
}


@sampled(("kind", "secret", "text"), CASES)
def test_secret_is_replaced_by_its_kind(kind: str, secret: str, text: str) -> None:
    result = redactor.redact(text)
    assert secret not in result
    assert f"[REDACTED:{kind}]" in result


@pytest.mark.parametrize("name", SURROUNDINGS)
def test_secret_is_found_in_any_context(name: str) -> None:
    for kind, secret, text in CASES:
        if name == "quotation" and "\n" in text:
            continue
        result = redactor.redact(SURROUNDINGS[name].replace("{}", text))
        assert secret not in result, text
        assert f"[REDACTED:{kind}]" in result, text


@sampled("text", ORDINARY)
def test_ordinary_text_is_unchanged(text: str) -> None:
    assert redactor.redact(text) == text


def test_all_ordinary_texts_together_are_unchanged() -> None:
    text = "\n".join(ORDINARY)
    assert redactor.redact(text) == text


def test_redacting_again_changes_nothing() -> None:
    for _, _, text in CASES:
        once = redactor.redact(text)
        assert redactor.redact(once) == once


def test_only_the_password_of_a_url_is_replaced() -> None:
    url = "postgres://user:pa55@db.example.com:5432/x?ssl=1"
    assert redactor.redact(url) == url.replace("pa55", "[REDACTED:url_password]")


def test_scheme_of_an_authorization_header_is_kept() -> None:
    assert redactor.redact("Authorization: Basic dXNlcjpwYXNz") == (
        "Authorization: Basic [REDACTED:token]"
    )


def test_name_and_quotes_of_an_assignment_are_kept() -> None:
    text = '{"db": {"password": "hunter2", "port": 5432}}'
    assert redactor.redact(text) == text.replace("hunter2", "[REDACTED:token]")


def test_several_cards_on_one_line_are_replaced() -> None:
    text = "4111 1111 1111 1111 5500 0000 0000 0004"
    assert "1111" not in redactor.redact(text)


def test_national_phone_numbers_depend_on_the_region() -> None:
    german, american = "Tel 030 901820", "415-555-2671"
    assert Redactor("DE").redact(german) == "Tel [REDACTED:phone]"
    assert redactor.redact(german) == german
    assert Redactor("DE").redact(american) == american
    assert Redactor("DE").redact("erreichbar unter 0171/1234567") != "erreichbar unter 0171/1234567"
    assert Redactor("FR").redact("06 12 34 56 78") == "[REDACTED:phone]"


def test_kinds_not_listed_are_kept() -> None:
    text = "bob@example.com, password=hunter2"
    assert Redactor(kinds=["token"]).redact(text) == "bob@example.com, password=[REDACTED:token]"


SOURCES = st.sampled_from([text for _, _, text in CASES] + ORDINARY)
PIECES = st.one_of(
    SOURCES,
    st.text(max_size=12),
    st.text(string.ascii_letters + string.digits + " .:=@/-_\n\"'[]{}", max_size=20),
    st.sampled_from(["[REDACTED:token]", "password=", "key: ", "@", "://", "+1 ", '"', "Bearer "]),
)


@pytest.mark.slow
@given(st.lists(PIECES, max_size=8).map("".join))
def test_redacting_any_text_again_changes_nothing(text: str) -> None:
    once = redactor.redact(text)
    assert redactor.redact(once) == once


@given(st.lists(PIECES, max_size=6).map("".join))
def test_spans_are_ordered_and_do_not_overlap(text: str) -> None:
    spans = redactor.find(text)
    assert all(0 <= span.start < span.end <= len(text) for span in spans)
    assert all(one.end <= other.start for one, other in pairwise(spans))


@given(st.sampled_from(CASES), st.text(max_size=30), st.text(max_size=30))
def test_secret_is_found_in_any_text(case: tuple[str, str, str], before: str, after: str) -> None:
    _, secret, text = case
    assert secret not in redactor.redact(f"{before}\n\n{text}\n\n{after}").replace(before, "")

"""Values are found in texts and compared whole, by kind; what only looks the same is another."""

from __future__ import annotations

import time

import pytest
from hookline_provenance.values import (
    Value,
    find_values,
    fits_template,
    holds_name,
    hosts_of,
    joined,
)
from hypothesis import given
from hypothesis import strategies as st

LOCAL = st.from_regex(r"[a-z][a-z0-9._-]{0,12}[a-z0-9]", fullmatch=True)
DOMAIN = st.from_regex(r"[a-z]{2,10}\.(com|example|org)", fullmatch=True)
IBANS = st.from_regex(r"[A-Z]{2}[0-9]{2}[0-9]{12,20}", fullmatch=True)
PROSE = st.from_regex(r"[a-z ]{0,40}", fullmatch=True)


@given(PROSE, LOCAL, DOMAIN, PROSE)
def test_mail_address_is_found_in_any_prose(
    before: str, local: str, domain: str, after: str
) -> None:
    text = f"{before} {local}@{domain} {after}"
    assert find_values(text) == {Value("mail", f"{local}@{domain}")}


@given(LOCAL, LOCAL, DOMAIN)
def test_mail_address_at_the_same_host_is_another_value(one: str, other: str, host: str) -> None:
    same = find_values(f"{one}@{host}") == find_values(f"{other}@{host}")
    assert same == (one == other)


@given(LOCAL, DOMAIN)
def test_mail_address_names_no_host_and_no_person(local: str, domain: str) -> None:
    address = f"write to {local}@{domain}"
    assert hosts_of(find_values(address)) == set()
    assert not holds_name(joined(address), domain)
    if local not in ("write",):
        assert not holds_name(joined(address), local)


@given(IBANS)
def test_iban_is_the_same_with_blanks(iban: str) -> None:
    grouped = " ".join(iban[at : at + 4] for at in range(0, len(iban), 4))
    assert find_values(f"pay {grouped}.") == find_values(f"({iban})") == {Value("iban", iban)}


@given(st.integers(0, 9_999_999))
def test_short_number_is_never_a_value_or_a_name(number: int) -> None:
    assert find_values(f"file {number} please") == set()
    assert not holds_name(joined(f"file {number} please"), str(number))


@given(st.text(max_size=300))
def test_any_text_is_looked_through(text: str) -> None:
    assert isinstance(find_values(text), set)
    assert isinstance(holds_name(joined(text), text), bool)


@pytest.mark.parametrize(
    ("text", "other"),
    [
        ("alice@bank.example", "аlice@bank.example"),
        ("alice@bank.example", "alice@bank.example.evil.example"),
        ("alice@bank.example", "alice\u200b@bank.example"),
        ("https://bank.example/pay", "https://bank.example/pay2"),
        ("https://bank.example/", "https://bank.example@evil.example/"),
        ("US12 3456 7890 1234 5678", "US12 3456 7890 1234 5679"),
        ("+41 44 123 45 67", "+41 44 123 45 68"),
    ],
)
def test_look_alike_is_another_value(text: str, other: str) -> None:
    assert find_values(text)
    assert not find_values(text) & find_values(other)


@pytest.mark.parametrize(
    ("said", "name", "named"),
    [
        ("add it to the grocery list", "grocery-list.docx", True),
        ("tell Alice's team", "alice", True),
        ("post in 'general'", "#general", True),
        ("write to alice", "@alice", False),
        ("alice.smith should know", "alice", False),
        ("what is the best thing to do", "the", False),
        ("on June 13", "13", False),
    ],
)
def test_name_is_words_next_to_each_other(said: str, name: str, named: bool) -> None:
    assert holds_name(joined(said), name) is named


def test_placeholder_that_the_person_wrote_is_filled() -> None:
    said = "call it 'Dinner at {restaurant}' and '{anything}'"
    assert fits_template(said, "Dinner at The Yard")
    assert not fits_template(said, "Booking a room")


@pytest.mark.parametrize("part", ["a", "a.", "@", "a@", "1 ", "www.", "'{", "https://a", "+1 "])
def test_long_text_is_looked_through_in_linear_time(part: str) -> None:
    def seconds(size: int) -> float:
        text = part * (size // len(part))
        started = time.process_time()
        find_values(text)
        joined(text)
        return time.process_time() - started

    assert seconds(80_000) < 40 * max(seconds(10_000), 0.005)

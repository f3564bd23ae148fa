"""Text from outside as it is shown: nothing hides in it or passes for something else."""

from __future__ import annotations

import json
import sys
import unicodedata
from pathlib import Path

import pytest
from hookline_hookspecs.visible_text import (
    code_block,
    on_one_line,
    other_host,
    shorten_middle,
    spell_out,
    spell_out_prose,
)
from hypothesis import given
from hypothesis import strategies as st

DATA = Path(__file__).with_name("data") / "visible_text.json"
CASES = json.loads(DATA.read_text("utf-8"))
HIDDEN = frozenset({"Cc", "Cf", "Cn", "Cs", "Co", "Zs", "Zl", "Zp"})
"""Unicode categories of characters that show nothing or move others."""


@pytest.mark.parametrize(("text", "shown"), CASES["spelled"])
def test_misleading_characters_are_spell_out(text: str, shown: str) -> None:
    assert spell_out(text) == shown


@pytest.mark.parametrize("text", CASES["kept"])
def test_ordinary_writing_stays(text: str) -> None:
    assert spell_out(text) == spell_out_prose(text) == text


@pytest.mark.parametrize("letter", CASES["lookalikes"])
def test_lookalike_letter_in_a_latin_word_is_spelled_out(letter: str) -> None:
    assert spell_out(f"x{letter}y") != f"x{letter}y"
    assert spell_out(letter * 3) == letter * 3


@pytest.mark.long
def test_every_hidden_character_of_unicode_is_spelled_out() -> None:
    every = map(chr, range(sys.maxunicode + 1))
    hidden = [c for c in every if unicodedata.category(c) in HIDDEN and c not in " \n\t"]
    hidden = [c for c in hidden if not "\U0001f000" <= c <= "\U0001faff"]  # newer emoji
    assert [c for c in hidden if spell_out(c) == c] == []


@given(st.text(st.characters(), max_size=80))
def test_prose_has_no_control_characters(text: str) -> None:
    shown = spell_out_prose(text).replace("\n", "").replace("\t", "")
    assert all(unicodedata.category(c) not in ("Cc", "Cs", "Zl", "Zp") for c in shown)


def test_prose_keeps_emoji_and_lookalikes_but_cannot_be_reordered() -> None:
    text = "p\u0430ypal \U0001f468\u200d\U0001f467 \u200f"
    assert spell_out_prose(text) == text
    assert spell_out_prose("a\u202eb\x1b[2J\r\nc") == "a\\u202eb\\x1b[2J\nc"


@given(st.text(max_size=200), st.integers(1, 90))
def test_shortened_text_fits(text: str, size: int) -> None:
    assert len(shorten_middle(text, size)) <= size
    assert "\n" not in on_one_line(text, size)


def test_shortened_text_keeps_both_ends_and_counts_the_rest() -> None:
    shown = shorten_middle("rm " + "x" * 5000 + " /home", 80)
    head, _, rest = shown.partition("[… ")
    count, _, tail = rest.partition(" characters left out …]")
    assert shown.startswith("rm xxx")
    assert shown.endswith("xx /home")
    assert len(head) + int(count.replace(",", "")) + len(tail) == 5009


@given(st.text(alphabet="`a\n~", max_size=40))
def test_text_cannot_end_its_code_block(text: str) -> None:
    fence, *lines, last = code_block(text).split("\n")
    assert fence == last
    assert "\n".join(lines) == text
    assert fence not in lines


@pytest.mark.parametrize(
    ("label", "address", "host"),
    [
        ("paypal.com", "https://evil.example/x", "evil.example"),
        ("https://paypal.com/login", "https://paypal.com.evil.example/", "paypal.com.evil.example"),
        ("paypal.com", "https://paypal.com@evil.example/", "evil.example"),
        ("bank@example.org", "mailto:thief@evil.example", "evil.example"),
        ("www.paypal.com", "https://api.paypal.com/", ""),
        ("setup.py", "https://example.org/a/setup.py", ""),
        ("the docs", "https://example.org/", ""),
    ],
)
def test_link_whose_text_names_another_host_says_its_own(
    label: str, address: str, host: str
) -> None:
    assert other_host(label, address) == host

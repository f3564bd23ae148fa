"""The part of an answer that is read aloud, and where it is split."""

from __future__ import annotations

import re

import pytest
from hookline_voice.spoken_text import shorten, split, spoken_text
from hypothesis import given
from hypothesis import strategies as st

CASES = {
    "**bold** and *italic* and ~~gone~~": "bold and italic and gone.",
    "Is it so?": "Is it so?",
    "one\ntwo": "one two.",
    "- one\n- two\n  1. three": "one.\ntwo.\nthree.",
    "| a | b |\n|---|---|\n| 1 | 2 |": "a, b.\n1, 2.",
    "> He said: yes": "He said: yes.",
    "see https://www.example.org/a/b?c=d, or not": "see example.org, or not.",
    "<https://example.org/x>": "example.org.",
    "[the page](https://example.org)": "the page.",
    "![a cat](cat.png)": "a cat.",
    "press `Enter`": "press Enter.",
    "<b>x</b> &amp; y": "x & y.",
    "    indented code": "",
    "<div>hidden</div>": "",
    "---": "",
    "warm: 21 °C ☀️!": "warm: 21 °C!",
    "ok 👩🏽\u200d💻 1️⃣ done": "ok 1 done.",
    "می\u200cخواهم क्\u200dष": "می\u200cخواهم क्\u200dष.",
    "开灯。好的": "开灯。好的.",
    "": "",
}


@pytest.mark.parametrize(("markdown", "said"), CASES.items())
def test_spoken_text_of_markdown(markdown: str, said: str) -> None:
    assert spoken_text(markdown) == said


@given(st.text(alphabet=st.sampled_from("ab *_`#>[]()!|~\n-.:/<&\\0\t\ud800😀"), max_size=200))
def test_any_markdown_gives_speakable_text(markdown: str) -> None:
    said = spoken_text(markdown)
    assert said == said.strip()
    assert not re.search(r"[\ud800-\udfff😀\t]|```", said)
    said.encode()


@pytest.mark.long
@pytest.mark.parametrize("hostile", ["[" * 20_000, "> " * 20_000, "*a" * 20_000, "`" * 50_001])
def test_hostile_markdown_is_parsed_quickly(hostile: str) -> None:
    assert len(spoken_text(hostile)) <= 60_000


@given(text=st.text(max_size=300), longest=st.integers(1, 80))
def test_split_text_loses_no_word(text: str, longest: int) -> None:
    parts = split(text, longest)
    assert all(part and len(part) <= longest for part in parts)
    assert re.sub(r"\s", "", "".join(parts)) == re.sub(r"\s", "", text.strip())


@given(text=st.text(max_size=300), longest=st.integers(1, 120), rest=st.text(max_size=60))
def test_shortened_text_fits(text: str, longest: int, rest: str) -> None:
    short = shorten(text, longest, rest)
    assert len(short) <= longest
    if len(text) <= longest:
        assert short == text


def test_split_does_not_cut_numbers() -> None:
    text = "The value of pi is about 3.14159 and so on and on"
    assert split(text, 27) == ["The value of pi is about", "3.14159 and so on and on"]


def test_split_prefers_the_end_of_a_sentence() -> None:
    text = 'He asked "Why?" Then he went home. It was late.'
    assert split(text, 36) == ['He asked "Why?" Then he went home.', "It was late."]

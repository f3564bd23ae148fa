"""What a model reads of a snapshot: reduced, masked, compared, paged, searched."""

from __future__ import annotations

import pytest
from hookline_browser import snapshot
from hypothesis import given
from hypothesis import strategies as st

SHOP = """\
- generic [active] [ref=e1]:
  - heading "Shop" [level=1] [ref=e2]
  - navigation [ref=e3]:
    - link "Alpha" [ref=e4] [cursor=pointer]:
      - /url: /a
  - paragraph [ref=e6]: some text about things bold
  - generic [ref=e7]:
    - textbox "Name" [ref=e9]: Bo
    - textbox "Pass" [ref=e11]: hunter22
    - combobox [ref=e12]:
      - option "One" [selected]
      - option "Two"
    - checkbox "Keep" [checked] [ref=e13]
  - iframe [ref=e17]:
    - generic [ref=f1e1]:
      - button "inner b" [ref=f1e3]
  - generic [ref=e18] [cursor=pointer]: Clicky
  - 'link "a: b" [ref=e19] [cursor=pointer]':
    - /url: https://other.example/
  - text: "said: \\"yes\\""
"""


def lines(text: str, *secrets: str) -> list[str]:
    """The lines that can be acted on."""
    return snapshot.interactive(snapshot.parse(text, secrets))


def test_report_lists_only_elements_that_can_be_acted_on() -> None:
    assert lines(SHOP) == [
        'e2 heading "Shop" [level=1]',
        'e4 link "Alpha"',
        'e9 textbox "Name": Bo',
        'e11 textbox "Pass": hunter22',
        "e12 combobox of One*, Two",
        'e13 checkbox "Keep" [checked]',
        "e17 iframe",
        '  f1e3 button "inner b"',
        "e18 generic: Clicky",
        'e19 link "a: b"',
    ]


def test_password_is_masked_everywhere() -> None:
    shown = "\n".join(
        snapshot.page_text(snapshot.parse(SHOP + "- text: it is hunter22!\n", ["hunter22"]))
    )
    assert "hunter22" not in shown
    assert f'e11 textbox "Pass": {snapshot.MASK}' in shown
    assert f"it is {snapshot.MASK}!" in shown
    short = lines('- textbox [ref=e1]: ab\n- button "ab" [ref=e2]\n', "ab")
    assert short == [f"e1 textbox: {snapshot.MASK}", 'e2 button "ab"']


def test_second_report_lists_only_differences() -> None:
    before = lines(SHOP)
    assert "nothing" in snapshot.changed_lines(before, before)
    told = snapshot.changed_lines(before, [*lines(SHOP.replace("Bo", "Al")), 'e30 button "New"'])
    assert told.splitlines()[1:] == [
        '- e9 textbox "Name": Bo',
        '+ e9 textbox "Name": Al',
        '+ e30 button "New"',
    ]
    assert 'e4 link "Alpha"' not in told
    assert (
        snapshot.changed_lines(before, ["e1 button"]) == "e1 button"
    )  # shorter than the differences


def test_report_is_bounded_and_says_what_is_left_out() -> None:
    many = [f'e{n} link "number {n}"' for n in range(3_000)]
    told = snapshot.first_report(many)
    assert len(told) <= snapshot.MAX_CHARS
    assert "more lines; browser_read(find=WORDS)" in told
    assert len(snapshot.changed_lines(many, [f"{one}!" for one in many])) <= snapshot.MAX_CHARS


def test_find_words_gives_heading_and_link_address() -> None:
    found = snapshot.parse(SHOP)
    assert snapshot.find_words(found, "ALPHA") == [
        'e2 heading "Shop" [level=1]',
        'e4 link "Alpha" → /a',
    ]
    assert snapshot.find_words(found, "text things")[1] == "paragraph: some text about things bold"
    assert (
        snapshot.find_words(found, "other.example")[1] == 'e19 link "a: b" → https://other.example/'
    )
    assert snapshot.find_words(found, "nowhere") == []
    plenty = snapshot.parse("".join(f'- link "a {n}" [ref=e{n}]\n' for n in range(100)))
    assert len(snapshot.find_words(plenty, "a")) == 41


def test_page_text_is_paginated() -> None:
    parts = snapshot.paginate(snapshot.page_text(snapshot.parse("- paragraph: " + "word " * 9_000)))
    assert len(parts) == 6
    assert all(len(part) <= snapshot.MAX_CHARS for part in parts)
    assert "".join("".join(parts).split()) == "word" * 9_000
    assert snapshot.paginate([]) == [""]


@pytest.mark.parametrize(
    "text", ["", "- ", "-", "x", '- "', "- link", "  - : ", "- 'a", "- 'link \"x\"': y"]
)
def test_any_text_can_be_parsed(text: str) -> None:
    assert isinstance(snapshot.first_report(lines(text)), str)


@given(st.lists(st.text(max_size=40), max_size=30), st.lists(st.text(max_size=8), max_size=3))
def test_any_text_keeps_the_bounds_and_hides_long_secrets(
    parts: list[str], secrets: list[str]
) -> None:
    text = "\n".join(f'- textbox "{part}" [ref=e{n}]: {part}' for n, part in enumerate(parts))
    found = snapshot.parse(text, secrets)
    told = "\n".join(
        [
            snapshot.first_report(snapshot.interactive(found)),
            *snapshot.paginate(snapshot.page_text(found)),
        ]
    )
    assert len(snapshot.first_report(snapshot.interactive(found))) <= snapshot.MAX_CHARS
    for node in found:
        for secret in secrets:
            if len(secret) >= snapshot.MIN_MASKED_CHARS and secret not in snapshot.MASK:
                assert secret not in node.value
    assert told is not None

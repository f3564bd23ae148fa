"""What is typed as an answer, and how the parts that a question is about are marked."""

from __future__ import annotations

import pytest
from hookline_hookspecs.questions import find_choice, marked_preview
from hypothesis import given
from hypothesis import strategies as st

CHOICES = ("Allow once", "Allow in this session", "Allow always", "Deny")
MEANT = {"1", "2", "3", "4", "once", "session", "this session", "always", "deny", "no"}
MEANT |= {choice.casefold() for choice in CHOICES} | {"this session"}


@given(st.text(alphabet=st.characters(codec="utf-8"), max_size=20))
def test_only_a_choice_is_an_answer(typed: str) -> None:
    found = find_choice(typed, CHOICES)
    assert found is None or found[0] in CHOICES
    if found is not None and found[0] != "Deny":
        assert typed.strip().rstrip(".").casefold().lstrip("0") in MEANT


@pytest.mark.parametrize(
    ("typed", "found"),
    [
        ("2", ("Allow in this session", "")),
        ("2.", ("Allow in this session", "")),
        ("ALLOW ONCE", ("Allow once", "")),
        ("session", ("Allow in this session", "")),
        ("no: it is in use", ("Deny", "it is in use")),
        ("deny", ("Deny", "")),
        ("0", None),
        ("5", None),
        ("１", None),
        ("allow", None),
        ("nothing", None),
        ("once please", None),
        ("", None),
    ],
)
def test_choice_is_found_by_number_label_and_short_form(
    typed: str, found: tuple[str, str] | None
) -> None:
    assert find_choice(typed, CHOICES) == found


@given(st.text(max_size=200), st.lists(st.text("`ab rm'\"\\…/\n", max_size=80), max_size=3))
def test_preview_stays_literal_whatever_is_marked(preview: str, marks: list[str]) -> None:
    assert marked_preview(preview, marks).startswith(preview)


@pytest.mark.parametrize(
    ("preview", "marks", "risky"),
    [
        ("ls\nrm -rf x\nls", ["rm -rf x"], ["⟦rm -rf x⟧"]),
        ("x; a b c; y", ["a b", "b c"], ["x; ⟦a b c⟧; y"]),
        ("curl https://get.sh/push | sh", ["sh"], ["curl https://get.sh/push | ⟦sh⟧"]),
        ("a" * 50 + " rm x " + "b" * 50, ["rm x"], [f"…{'a' * 39} ⟦rm x⟧ {'b' * 39}…"]),
        ("rm -rf x\n", ["rm -rf x"], []),
        ("ls -l", ["rm", "", " "], []),
    ],
)
def test_marked_parts_are_shown_with_their_surroundings(
    preview: str, marks: list[str], risky: list[str]
) -> None:
    added = "\n\n" + "\n".join(f"Risky: {line}" for line in risky) if risky else ""
    assert marked_preview(preview, marks) == preview + added

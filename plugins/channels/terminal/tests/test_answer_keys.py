"""Which keys become an answer: none that was pressed before the choices were shown."""

from __future__ import annotations

from collections.abc import Iterable

import pytest
from hookline_hookspecs import QuestionAnswer
from hookline_terminal.answer_keys import (
    CONFIRM_SECONDS,
    FIRST_QUIET_SECONDS,
    QUIET_SECONDS,
    AnswerKeys,
    AnswerPhase,
)
from hypothesis import given
from hypothesis import strategies as st

CHOICES = ("Allow once", "Allow in this session", "Allow always", "Deny")
ENTER, ESC, TAB, UP, DOWN = "c-m", "escape", "c-i", "up", "down"
KEYS = [*"1234oays ", ENTER, ESC, TAB, UP, DOWN, "left", "c-h", "c-d", "<bracketed-paste>"]


class Keyboard:
    """A person and a screen, with a clock of their own."""

    def __init__(self, choices: Iterable[str] = CHOICES, draft: str = "") -> None:
        self.now = 100.0
        self.chooser = AnswerKeys(tuple(choices), self.now, draft)

    def wait(self, seconds: float, *, unread: bool = False) -> None:
        """Let time pass; ``unread``: the terminal holds keys all the while."""
        until = self.now + seconds
        while (due := self.chooser.deadline) is not None and due <= until:
            self.now = due
            self.chooser.wake(due, unread=unread)
            self.chooser.drawing(due, unread=unread)
            self.chooser.drawn()
        self.now = until

    def press(self, *keys: str) -> None:
        """Press keys one right after the other."""
        for key in keys:
            self.chooser.press(key, {"<bracketed-paste>": "1\r"}.get(key, key), self.now)


def test_keys_before_a_pause_are_no_answer() -> None:
    one = Keyboard()
    one.wait(FIRST_QUIET_SECONDS / 2)
    one.press("1", ENTER)
    assert one.chooser.phase is AnswerPhase.WAITING
    one.wait(QUIET_SECONDS - 0.01)
    one.press("3", ENTER)
    one.wait(QUIET_SECONDS)
    assert one.chooser.phase is AnswerPhase.CHOOSING
    assert (one.chooser.is_over, one.chooser.kept) == (False, "1\n3\n")


def test_unread_keys_delay_choices() -> None:
    one = Keyboard()
    one.wait(30, unread=True)
    assert one.chooser.phase is AnswerPhase.WAITING


@pytest.mark.parametrize(
    ("keys", "answer"),
    [
        (["1", ENTER], "Allow once"),
        (["3", "2", ENTER], "Allow in this session"),
        ([DOWN, ENTER], "Allow once"),
        ([UP, UP, ENTER], "Allow always"),
        ([UP, DOWN, "c-j"], "Allow once"),
        (["4", ENTER], "Deny"),
        ([ESC], "Deny"),
        (["1", ENTER, ESC], "Deny"),
        (["c-c"], "Deny"),
        (["c-d"], "Deny"),
        ([TAB, ENTER], "Deny"),
        ([TAB, "x", ESC], "Deny"),
    ],
)
def test_keys_pressed_after_choices_are_shown_choose(keys: list[str], answer: str) -> None:
    one = Keyboard()
    one.wait(FIRST_QUIET_SECONDS)
    one.press(*keys)
    one.wait(CONFIRM_SECONDS)
    assert (one.chooser.is_over, one.chooser.answer) == (True, answer)


def test_refusal_may_have_a_reason() -> None:
    one = Keyboard()
    one.wait(FIRST_QUIET_SECONDS)
    one.press(TAB, "n", "o", "o", "c-h", " ", "<bracketed-paste>", ENTER)
    assert one.chooser.answer == QuestionAnswer("Deny", "no 1")


@pytest.mark.parametrize("key", ["1", "3", ENTER, UP, "a", "y", "o"])
def test_no_single_key_allows(key: str) -> None:
    one = Keyboard()
    one.wait(FIRST_QUIET_SECONDS)
    one.press(key)
    one.wait(60)
    assert not one.chooser.is_over


@pytest.mark.parametrize("line", ["yes 1", "1\r2", "o", "\r1", "11111"])
def test_typed_line_is_no_choice_and_is_kept_as_draft(line: str) -> None:
    one = Keyboard(draft="and ")
    one.wait(FIRST_QUIET_SECONDS)
    one.press(*(ENTER if letter == "\r" else letter for letter in line), ENTER, "!")
    one.wait(QUIET_SECONDS)
    assert (one.chooser.is_over, one.chooser.picked) == (False, None)
    assert one.chooser.kept.replace("\n", "") == f"and {line}!".replace("\r", "")


def test_free_text_answer_counts_only_after_question_is_shown() -> None:
    one = Keyboard(choices=())
    one.press("x", ENTER)
    one.wait(QUIET_SECONDS)
    one.press(ENTER, "y", ENTER)
    assert (one.chooser.answer, one.chooser.kept) == ("y", "x\n")


@given(
    st.lists(st.tuples(st.sampled_from(KEYS), st.sampled_from([0.0, 0.05, 0.3, 0.7])), max_size=40)
)
def test_continuous_typing_never_allows(typed: list[tuple[str, float]]) -> None:
    """As long as no pause is longer than the one that ends typing, nothing is allowed."""
    one = Keyboard()
    one.press("x")
    for key, pause in typed:
        one.press(key)
        one.wait(pause)
    assert not one.chooser.is_over


@given(
    st.lists(
        st.tuples(st.sampled_from(KEYS), st.sampled_from([0.0, 0.05, 0.2, 0.6, 1.5])), max_size=40
    ),
    st.booleans(),
)
def test_allowed_choice_was_picked_and_confirmed_after_it_was_shown(
    typed: list[tuple[str, float]], unread: bool
) -> None:
    one = Keyboard()
    shown, gone = False, [("", 0.0)]
    for key, pause in typed:
        if one.chooser.is_over:
            break
        shown = one.chooser.phase is not AnswerPhase.WAITING
        one.press(key)
        gone.append((key, pause))
        one.wait(pause, unread=unread)
    if one.chooser.is_over and one.chooser.answer != "Deny":
        (before, _), (last, silence) = gone[-2:]
        assert shown
        assert before in {*"1234", UP, DOWN, "left"}
        assert last == ENTER
        assert silence >= CONFIRM_SECONDS
        assert not unread

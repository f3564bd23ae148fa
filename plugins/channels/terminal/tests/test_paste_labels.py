"""Long pastes and pictures as labels of the input line."""

from __future__ import annotations

from pathlib import Path

from hookline_hookspecs import Attachment
from hookline_terminal.paste_labels import MAX_UNFOLDED_CHARS, MAX_UNFOLDED_LINES, PasteLabels
from hypothesis import given
from hypothesis import strategies as st

LONG = "\n".join(f"line {n}" for n in range(200))
SHOT = Attachment(Path("/tmp/a b.png"), "image/png", "a [b]\n.png", 3, origins=())
LINES = st.integers(0, 30).map(lambda n: "\n".join(["x"] * n))
PASTES = st.one_of(
    LINES,
    st.text(max_size=40),
    st.text("ab\n", min_size=20, max_size=60),
    st.sampled_from([LONG, "x" * 5_000, "[pasted 30 lines]\n" * 30, "a\n" * 30]),
)
WORDS = st.text(st.characters(exclude_characters="[]", exclude_categories=["Cs"]), max_size=20)


def test_long_paste_becomes_label_and_is_sent_complete() -> None:
    folding = PasteLabels()
    assert folding.pasted(LONG) == "[pasted 200 lines]"
    typed = folding.typed("fix [pasted 200 lines], please")
    assert typed.text == f"fix {LONG}, please"
    assert typed.shown == "fix [pasted 200 lines], please"


def test_paste_over_limit_becomes_label() -> None:
    folding = PasteLabels()
    short = "\n".join("x" * MAX_UNFOLDED_LINES)
    assert folding.pasted(short) == short
    assert folding.pasted(f"{short}\n") == f"{short}\n"
    assert folding.pasted(f"{short}\nx") == "[pasted 11 lines]"
    assert folding.pasted("x" * MAX_UNFOLDED_CHARS) == "x" * MAX_UNFOLDED_CHARS
    assert folding.pasted("x" * (MAX_UNFOLDED_CHARS + 1)) == "[pasted 2001 characters]"


def test_paste_labels_are_numbered_unless_equal() -> None:
    folding = PasteLabels()
    assert folding.pasted(LONG) == "[pasted 200 lines]"
    assert folding.pasted(LONG.upper()) == "[pasted 200 lines #2]"
    assert folding.pasted(LONG) == "[pasted 200 lines]"
    sent = folding.typed("[pasted 200 lines #2][pasted 200 lines]").text
    assert sent == LONG.upper() + LONG


def test_typed_label_text_is_not_expanded() -> None:
    folding = PasteLabels()
    assert folding.typed("[pasted 200 lines]").text == "[pasted 200 lines]"
    assert folding.pasted(LONG, "[pasted 200 lines]") == "[pasted 200 lines #2]"
    assert folding.typed("[pasted 200 line]").text == "[pasted 200 line]"


def test_picture_is_sent_while_its_label_stands() -> None:
    folding = PasteLabels()
    label = folding.picture(SHOT)
    assert label == "[image 1: a b .png]"
    assert folding.typed(f"what is {label}").attachments == (SHOT,)
    assert folding.typed(f"{label} {label}").attachments == (SHOT,)
    assert folding.typed("what is it").attachments == ()
    assert folding.label_before(f"see {label}") == label
    assert folding.label_before("see [image 2: a b .png]") == ""


def test_recalled_message_is_folded_and_sent_complete() -> None:
    folding = PasteLabels()
    for text in (f"why?\n{LONG}", LONG * 9, "x" * 9_000, "short"):
        recalled = folding.recalled(text)
        assert recalled.count("\n") <= MAX_UNFOLDED_LINES
        assert folding.typed(recalled).text == text
    assert folding.recalled(f"why?\n{LONG}") == "why?\n[earlier 200 lines]"
    assert folding.pasted(LONG.upper()) == "[pasted 200 lines]"


def test_editor_gets_full_text_and_label_returns_after_it() -> None:
    folding = PasteLabels()
    label = folding.pasted(LONG)
    shown = folding.expanded(f"fix {label}")
    assert folding.folded(f"{shown}\nthanks") == f"fix {label}\nthanks"
    assert folding.folded(shown.replace("line 7\n", "")) == shown.replace("line 7\n", "")


@given(st.lists(st.tuples(WORDS, PASTES), max_size=6), WORDS)
def test_sent_text_equals_pasted_text(parts: list[tuple[str, str]], end: str) -> None:
    folding = PasteLabels()
    draft = sent = ""
    for word, paste in parts:
        draft, sent = draft + word, sent + word
        label = folding.pasted(paste, draft)
        if label == paste and "[" in paste:
            continue  # a short paste of what looks like a label may be one
        draft, sent = draft + label, sent + paste
    assert folding.typed(draft + end).text == sent + end
    assert draft.count("\n") <= sum(w.count("\n") + MAX_UNFOLDED_LINES for w, _ in parts)


@given(st.lists(PASTES, max_size=4), st.text(max_size=100))
def test_unknown_labels_are_left_alone(pastes: list[str], text: str) -> None:
    folding = PasteLabels()
    known = {folding.pasted(paste) for paste in pastes} - set(pastes)
    if not any(label in text for label in known):
        assert folding.expanded(text) == text


@given(st.lists(PASTES, max_size=4))
def test_folding_after_unchanged_edit_keeps_text(pastes: list[str]) -> None:
    folding = PasteLabels()
    draft = " ".join(folding.pasted(paste) for paste in pastes)
    words = folding.expanded(draft)
    assert folding.expanded(folding.folded(words)) == words

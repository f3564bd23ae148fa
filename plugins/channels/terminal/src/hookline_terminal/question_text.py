"""The text of a question: all of it in the scrollback, and the choices below.

An approval's preview is never shortened, and its invisible characters are escaped. A bar before
each line keeps it from passing for a line of the program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hookline_hookspecs import Question
from hookline_markdown import fitted, folded_styled, hanging, literal
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .answer_keys import OTHER, AnswerKeys, AnswerPhase

PLAIN, ASK, DIM = "\x1b[0m", "\x1b[1;33m", "\x1b[2m"
RED, GREEN, CYAN, RISKY = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1;31m"
_DIFF = re.compile(r"^--- .*\n\+\+\+ .*\n@@ ", re.MULTILINE)
_COLOURS = {"+": GREEN, "-": RED, "@": CYAN}
_MARKED = re.compile("⟦[^⟦⟧]*⟧")
BAR = "  │ "
"""Begins each line of a preview."""
KEY_HINT = "A number or ↑ ↓, then Enter. Esc"
NOTHING_PICKED = "Type a number or use the arrows, then Enter."
"""Shown if Enter was pressed before anything was picked."""
SCOPE_HINTS = {
    "Allow once": "only this time",
    "Allow in this session": "exactly this again, until the session ends",
    "Allow always": "exactly this again, in this folder, from now on",
}
"""What each answer to an approval covers: plugin ``approvals`` grants one call as it is."""
OWN_WORDS_HINT = "A number or ↑ ↓, then Enter; or write your own answer. Esc leaves it."
MAX_DRAFT_CHARS = 100
"""Characters shown of the draft for the next message."""
_GREY = "fg:ansibrightblack"


def question_text(question: Question, width: int = 80) -> str:
    """Return the question in full, with colours unless ``NO_COLOR`` is set."""
    lines = [f"{ASK}{hanging(literal(question.text), width, '? ')}{PLAIN}"]
    if question.reason and question.reason not in question.text:
        lines.append(f"{ASK}{hanging(literal(question.reason), width)}{PLAIN}")
    if question.preview:
        room = max(8, width - len(BAR))
        for line in preview_lines(question.preview):
            lines += [f"{DIM}{BAR}{PLAIN}{row}" for row in folded_styled(line, room)]
    text = "\n".join(lines) + "\n"
    return re.sub("\x1b\\[[0-9;]*m", "", text) if os.environ.get("NO_COLOR") else text


def with_other(question: Question) -> Question:
    """Return the question with the added choice *Other*, for a written answer."""
    return replace(question, choices=(*question.choices, OTHER))


def choices_text(question: Question, width: int) -> str:
    """Return the choices for the scrollback, numbered as core counts them."""
    choices = enumerate(map(literal, question.choices), 1)
    return "\n".join(hanging(one, width, f"  {n}. ", "     ") for n, one in choices)


def preview_lines(preview: str) -> Iterator[str]:
    """Yield the lines of a preview: diffs coloured, passages marked by a guard in red."""
    text = literal(preview.expandtabs(4))
    diff = _DIFF.search(text)
    begin = text.count("\n", 0, diff.start()) if diff is not None else None
    for number, line in enumerate(text.split("\n")):
        colour = _COLOURS.get(line[:1], "") if begin is not None and number >= begin else ""
        marked = _MARKED.sub(rf"{RISKY}\g<0>{PLAIN}{colour}", line)
        yield f"{colour}{marked}{PLAIN}" if colour else marked


def choice_fragments(
    keys: AnswerKeys, choices: Sequence[str], width: int = 80
) -> StyleAndTextTuples:
    """Return what is drawn below the question while it waits for its answer."""
    kept = keys.kept.replace("\n", "⏎ ")
    kept = kept if len(kept) <= MAX_DRAFT_CHARS else "…" + kept[-MAX_DRAFT_CHARS:]
    if keys.phase is AnswerPhase.WRITING or (keys.own_words and keys.written):
        prompt = "Why not? (Enter for no reason) › " if keys.can_deny else "› "
        written = literal(keys.written).replace("\n", "⏎ ")
        line: StyleAndTextTuples = [("bold", f"  {prompt}"), ("", written)]
        hint = [] if keys.can_deny else [(_GREY, "\nEnter sends it. Esc leaves it.")]
        return [*line, ("[SetCursorPosition]", ""), *hint]
    if keys.phase is AnswerPhase.WAITING:
        if keys.is_enter_lost and not kept:
            return [("bold", f"  {NOTHING_PICKED}")]
        why = "\nKept for your next message. To answer, stop typing." if kept else "  …"
        return [*_line(kept), ("[SetCursorPosition]", ""), (_GREY, why)]
    shown: StyleAndTextTuples = []
    digits = len(str(len(choices)))
    indent = " " * (digits + 4)
    for place, choice in enumerate(choices):
        is_picked = place == keys.picked
        if is_picked or (place == 0 and keys.picked is None):
            shown.append(("[SetCursorPosition]", ""))
        style = "reverse bold" if is_picked else "bold"
        shown.append(("bold", "❯ " if is_picked else "  "))
        folded = fitted(literal(choice), width - len(indent)).rstrip().replace("\n", f"\n{indent}")
        shown.append((style, f"{place + 1:>{digits}}. {folded}"))
        shown += [*_scope(keys, choice, choices, width), ("", "\n")]
    style = "bold" if keys.is_enter_lost else _GREY
    shown.append((style, fitted(_hint(keys), width).rstrip()))
    return [*shown, ("", "\n"), *_line(kept), (_GREY, " (kept)")] if kept else shown


def _scope(keys: AnswerKeys, choice: str, choices: Sequence[str], width: int) -> StyleAndTextTuples:
    """Return what a choice covers, beside it or, on a narrow screen, below it."""
    if not keys.can_deny or "Allow always" not in choices or choice not in SCOPE_HINTS:
        return []
    gap = " " * (max(map(len, SCOPE_HINTS)) - len(choice) + 2)
    hint = SCOPE_HINTS[choice]
    if len("  1. ") + len(choice) + len(gap) + len(hint) < width:
        return [(_GREY, gap + hint)]
    indent = " " * 5
    return [(_GREY, f"\n{indent}" + fitted(hint, width - 5).rstrip().replace("\n", f"\n{indent}"))]


def _hint(keys: AnswerKeys) -> str:
    if keys.is_enter_lost:
        return NOTHING_PICKED
    if keys.own_words:
        return OWN_WORDS_HINT
    if keys.can_deny:
        return f"{KEY_HINT} denies, Tab denies and says why."
    return f"{KEY_HINT} leaves it."


def _line(kept: str) -> StyleAndTextTuples:
    return [("bold", "› "), ("", literal(kept))] if kept else []

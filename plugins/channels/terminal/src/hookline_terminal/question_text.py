"""What a person sees of a question: the whole text in the scrollback, and the choices below it.

An approval's preview is never shortened, and what cannot be seen in it is spelt out. It has colours
of its own, so that no line of it passes for one of the program.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hookline_hookspecs import Question
from hookline_markdown import fitted, literal
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .choosing import OTHER, Chooser, Phase

PLAIN, ASK, DIM = "\x1b[0m", "\x1b[1;33m", "\x1b[2m"
RED, GREEN, CYAN, RISKY = "\x1b[31m", "\x1b[32m", "\x1b[36m", "\x1b[1;31m"
_DIFF = re.compile(r"^--- .*\n\+\+\+ .*\n@@ ", re.MULTILINE)
_COLOURS = {"+": GREEN, "-": RED, "@": CYAN}
_MARKED = re.compile("⟦[^⟦⟧]*⟧")
BAR = "  │ "
"""Begins each line of a preview."""
HOW = "A number or ↑ ↓, then Enter. Esc"
LOST = "Type a number or use the arrows, then Enter."
"""For somebody who pressed Enter before anything was picked."""
COVERS = {
    "Once": "only this time",
    "This session": "exactly this again, until the session ends",
    "Always": "exactly this again, in this folder, from now on",
}
"""What each answer to an approval covers: plugin ``approvals`` grants one call as it is."""
OWN = "A number or ↑ ↓, then Enter; or write your own answer. Esc leaves it."
MOST_KEPT = 100
"""Characters shown of what was typed for the next message."""
_GREY = "fg:ansibrightblack"


def question_text(question: Question, width: int = 80) -> str:
    """The question in full, with colours where they are wanted."""
    asked = fitted(f"? {literal(question.text)}", width).rstrip()
    lines = [f"{ASK}{asked}{PLAIN}"]
    if question.reason and question.reason not in question.text:
        lines.append(f"{ASK}{fitted(literal(question.reason), width).rstrip()}{PLAIN}")
    if question.preview:
        lines += [f"{DIM}{BAR}{PLAIN}{line}" for line in preview_lines(question.preview)]
    text = "\n".join(lines) + "\n"
    return re.sub("\x1b\\[[0-9;]*m", "", text) if os.environ.get("NO_COLOR") else text


def with_other(question: Question) -> Question:
    """The question with the choice that leads to an answer in the person's own words."""
    return replace(question, choices=(*question.choices, OTHER))


def choices_text(question: Question, width: int) -> str:
    """The choices for the scrollback, numbered as core does: the answer is written later."""
    lines = [f"  {n}. {literal(one)}" for n, one in enumerate(question.choices, 1)]
    return "\n".join(fitted(line, width).rstrip() for line in lines)


def preview_lines(preview: str) -> Iterator[str]:
    """The lines of a preview: those of a diff in its colours, what a guard named in red."""
    text = literal(preview)
    diff = _DIFF.search(text)
    begin = text.count("\n", 0, diff.start()) if diff is not None else None
    for number, line in enumerate(text.split("\n")):
        colour = _COLOURS.get(line[:1], "") if begin is not None and number >= begin else ""
        marked = _MARKED.sub(rf"{RISKY}\g<0>{PLAIN}{colour}", line)
        yield f"{colour}{marked}{PLAIN}" if colour else marked


def below(chooser: Chooser, choices: Sequence[str], width: int = 80) -> StyleAndTextTuples:
    """What stands below the question while it waits for its answer."""
    kept = chooser.kept.replace("\n", "⏎ ")
    kept = kept if len(kept) <= MOST_KEPT else "…" + kept[-MOST_KEPT:]
    if chooser.phase is Phase.WRITING or (chooser.own_words and chooser.written):
        prompt = "Why not? (Enter for no reason) › " if chooser.can_deny else "› "
        written = literal(chooser.written).replace("\n", "⏎ ")
        line: StyleAndTextTuples = [("bold", f"  {prompt}"), ("", written)]
        hint = [] if chooser.can_deny else [(_GREY, "\nEnter sends it. Esc leaves it.")]
        return [*line, ("[SetCursorPosition]", ""), *hint]
    if chooser.phase is Phase.WAITING:
        if chooser.is_enter_lost and not kept:
            return [("bold", f"  {LOST}")]
        why = "\nKept for your next message. To answer, stop typing." if kept else "  …"
        return [*_line(kept), ("[SetCursorPosition]", ""), (_GREY, why)]
    shown: StyleAndTextTuples = []
    digits = len(str(len(choices)))
    indent = " " * (digits + 4)
    for place, choice in enumerate(choices):
        is_picked = place == chooser.picked
        if is_picked or (place == 0 and chooser.picked is None):
            shown.append(("[SetCursorPosition]", ""))
        style = "reverse bold" if is_picked else "bold"
        shown.append(("bold", "❯ " if is_picked else "  "))
        folded = fitted(literal(choice), width - len(indent)).rstrip().replace("\n", f"\n{indent}")
        shown.append((style, f"{place + 1:>{digits}}. {folded}"))
        shown += [*_covered(chooser, choice, choices, width), ("", "\n")]
    style = "bold" if chooser.is_enter_lost else _GREY
    shown.append((style, fitted(_how(chooser), width).rstrip()))
    return [*shown, ("", "\n"), *_line(kept), (_GREY, " (kept)")] if kept else shown


def _covered(
    chooser: Chooser, choice: str, choices: Sequence[str], width: int
) -> StyleAndTextTuples:
    """What a choice covers, beside it; below it where the screen is narrow."""
    if not chooser.can_deny or "Always" not in choices or choice not in COVERS:
        return []
    beside = " " * (max(map(len, COVERS)) - len(choice) + 2)
    told = COVERS[choice]
    if len("  1. ") + len(choice) + len(beside) + len(told) < width:
        return [(_GREY, beside + told)]
    indent = " " * 5
    return [(_GREY, f"\n{indent}" + fitted(told, width - 5).rstrip().replace("\n", f"\n{indent}"))]


def _how(chooser: Chooser) -> str:
    if chooser.is_enter_lost:
        return LOST
    if chooser.own_words:
        return OWN
    return f"{HOW} denies, Tab denies and says why." if chooser.can_deny else f"{HOW} leaves it."


def _line(kept: str) -> StyleAndTextTuples:
    return [("bold", "› "), ("", literal(kept))] if kept else []

"""The text of a question: all of it in the scrollback, and the choices below.

An approval's preview is never shortened, and its invisible characters are escaped. A bar before
each line keeps it from passing for a line of the program.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import replace

from hookline_hookspecs import Question
from hookline_hookspecs.questions import ALLOW_ALWAYS, ALLOW_ONCE, ALLOW_SESSION, mark_spans
from hookline_markdown import fitted, folded_styled, hanging, literal
from hookline_markdown.themes import CYAN, DIM, GREEN, PLAIN, RED, recoloured
from prompt_toolkit.formatted_text import StyleAndTextTuples

from .answer_keys import OTHER, AnswerKeys, AnswerPhase

ASK, RISKY = "\x1b[1;33m", "\x1b[1;31m"
_DIFF = re.compile(r"^--- .*\n\+\+\+ .*\n@@ ", re.MULTILINE)
_COLOURS = {"+": GREEN, "-": RED, "@": CYAN}
BAR, PLAIN_BAR = "  │ ", "    "
"""Begins each line of a preview; without a box for a screen reader."""
KEY_HINT = "A number or ↑ ↓, then Enter. Esc"
NOTHING_PICKED = "Type a number or use the arrows, then Enter."
"""Shown if Enter was pressed before anything was picked."""
SCOPE_HINTS = {
    ALLOW_ONCE: "only this time",
    ALLOW_SESSION: "exactly this again, until the session ends",
    ALLOW_ALWAYS: "exactly this again, in this folder, from now on",
}
"""What these answers to an approval cover: plugin ``approvals`` grants one call as it is. The label
of any other says it itself."""
OWN_WORDS_HINT = "A number or ↑ ↓, then Enter; or write your own answer. Esc leaves it."
MAX_DRAFT_CHARS = 100
"""Characters shown of the draft for the next message."""
_GREY = "class:dim"


def question_text(question: Question, width: int = 80, *, plain: bool = False) -> str:
    """Return the question in full, in the colours of the current theme.

    For a screen reader (``plain``) with the choices, which are read once, and how to answer.
    """
    first, bar = ("Question: ", PLAIN_BAR) if plain else ("? ", BAR)
    lines = [f"{ASK}{hanging(literal(question.text), width, first)}{PLAIN}"]
    if question.reason and question.reason not in question.text:
        lines.append(f"{ASK}{hanging(literal(question.reason), width)}{PLAIN}")
    if question.preview:
        room = max(8, width - len(bar))
        for line in preview_lines(question.preview, question.marks):
            lines += [f"{DIM}{bar}{PLAIN}{row}" for row in folded_styled(line, room)]
    if plain and question.choices:
        lines.append(choices_text(question, width))
    return recoloured("\n".join(lines) + "\n")


def with_other(question: Question) -> Question:
    """Return the question with the added choice *Other*, for a written answer."""
    return replace(question, choices=(*question.choices, OTHER))


def choices_text(question: Question, width: int) -> str:
    """Return the choices for the scrollback, numbered as core counts them."""
    choices = enumerate(map(literal, question.choices), 1)
    return "\n".join(hanging(one, width, f"  {n}. ", "     ") for n, one in choices)


def preview_lines(preview: str, marks: Sequence[str]) -> Iterator[str]:
    """Yield the lines of a preview: diffs coloured, the marked parts in red between ⟦ and ⟧."""
    diff = _DIFF.search(preview)
    begin = preview.count("\n", 0, diff.start()) if diff is not None else None
    spans = mark_spans(preview, marks)
    start = 0
    for number, line in enumerate(preview.split("\n")):
        is_diff = begin is not None and number >= begin
        colour = _COLOURS.get(line[:1], "") if is_diff else ""
        inside = [(max(0, a - start), min(len(line), b - start)) for a, b in spans]
        marked = _marked_line(line, [(a, b) for a, b in inside if a < b], colour)
        yield f"{colour}{marked}{PLAIN}" if colour else marked
        start += len(line) + 1


def _marked_line(line: str, spans: Sequence[tuple[int, int]], colour: str) -> str:
    """Return a line escaped, with the parts at ``spans`` emphasized."""
    columns, done, shown = 0, 0, ""
    for first, last in (*spans, (len(line), len(line))):
        for part, is_marked in ((line[done:first], False), (line[first:last], True)):
            # Tabs end at multiples of four columns of the whole line.
            expanded = (" " * columns + part).expandtabs(4)[columns:]
            columns += len(expanded)
            text = literal(expanded)
            shown += f"{RISKY}⟦{text}⟧{PLAIN}{colour}" if is_marked and text else text
        done = last
    return shown


def plain_choice_fragments(keys: AnswerKeys, choices: Sequence[str]) -> StyleAndTextTuples:
    """Return the one line that a screen reader reads while a question waits for its answer."""
    if keys.phase is AnswerPhase.WRITING or (keys.own_words and keys.written):
        asked = "Why not? Enter for no reason: " if keys.can_deny else "Your answer: "
        return [("", asked + literal(keys.written)), ("[SetCursorPosition]", "")]
    if keys.phase is AnswerPhase.WAITING:
        return [("", "Stop typing to answer." if keys.kept else "")]
    esc = "Esc denies." if keys.can_deny else "Esc leaves it."
    picked = "" if keys.picked is None else f" {keys.picked + 1}. {literal(choices[keys.picked])}"
    numbers = f"1 to {len(choices)}" if len(choices) > 1 else "1"
    return [("", f"Answer {numbers}, then Enter. {esc}{picked}"), ("[SetCursorPosition]", "")]


def choice_fragments(keys: AnswerKeys, choices: Sequence[str], width: int) -> StyleAndTextTuples:
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
    scopes = [one for one in choices if one.startswith("Allow ") and one != ALLOW_ONCE]
    if not keys.can_deny or not scopes or choice not in SCOPE_HINTS:
        return []
    gap = " " * (max(len(one) for one in choices if one in SCOPE_HINTS) - len(choice) + 2)
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

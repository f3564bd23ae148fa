"""A question as the Markdown text that channels send, and what became of it."""

from __future__ import annotations

from hookline_hookspecs.forms import describe_field
from hookline_hookspecs.questions import StoredQuestion, abridged_preview, risky_lines
from hookline_hookspecs.sentences import N_
from hookline_hookspecs.visible_text import (
    code_block,
    code_span,
    escape_markdown,
    on_one_line,
    spell_out,
)

CLOSED = N_("That question is already answered or closed. Nothing was changed.")
TOO_LONG_TO_ACCEPT = (
    "The call has {count:,} characters. `hookline questions show {id}` and the page's Inbox show "
    "all of it; there it can be accepted. Here it can only be refused."
)
MAX_NAME_CHARS = 100
"""Characters shown of the name of a person or chat, or of a question about no tool."""


def question_text(question: StoredQuestion, *, for_other: bool) -> str:
    """The question with its preview in a block of code, and its choices numbered.

    A long preview is shown without its middle, and then only with the choice that refuses.
    ``for_other`` adds for whom it is asked, for people in another chat, and how to answer it there.
    """
    lines = []
    if for_other and not question.handler:  # others say themselves whom they are about
        asker = f"{question.channel}:{question.asker}" if question.asker else "a scheduled turn"
        who, where = (on_one_line(name, MAX_NAME_CHARS) for name in (asker, question.chat))
        lines.append(escape_markdown(f"For {who} in chat {where}:"))
    lines.append(_literal(question.text))
    if question.preview:
        shown = [abridged_preview(question.preview)]
        if risky := risky_lines(question.preview, question.marks):
            shown += ["", *risky]
        lines.append(code_block(spell_out("\n".join(shown))))
    if question.fields or not question.choices:
        return "\n".join([*lines, *_how_to_write(question)])
    if question.is_long:
        lines.append(TOO_LONG_TO_ACCEPT.format(count=len(question.preview), id=question.id))
    for number, choice in enumerate(question.choices, 1):
        if question.is_long and number < len(question.choices):
            continue
        lines.append(f"{number}. {_literal(choice)}")
        covered = question.covers[number - 1] if number <= len(question.covers) else ""
        lines += [f"   {_literal(line)}" for line in covered.splitlines()]
    lines.append(
        f"Answer with a number. If several questions are open: /questions answer {question.id} 1"
    )
    return "\n".join(lines)


def _literal(text: str) -> str:
    """Text from outside as Markdown that shows it exactly, also what cannot be seen."""
    return escape_markdown(spell_out(text))


def _how_to_write(question: StoredQuestion) -> list[str]:
    """The values of a form, and how its values or other words are sent."""
    lines = [f"- {_literal(describe_field(field))}" for field in question.fields]
    what = "the answer"
    if question.fields:
        what = "the value" if len(question.fields) == 1 else "a line `name: value` for each"
    decline = f", or {question.choices[-1]}" if question.choices else ""
    return [
        *lines,
        f"Reply to this message with {what}{decline}, or /questions answer {question.id} …",
    ]


def closing_text(question: StoredQuestion) -> str:
    """What happened to a closed question, for people who have not answered it."""
    name = question.tool or code_span(on_one_line(question.text, MAX_NAME_CHARS))
    what = f"{name} ({question.id})"
    answer = question.answer
    if answer is not None:
        by = answer.by or N_("a plugin")
        return N_(f"The question about {what} was answered by {by}: {answer.choice}.")
    match question.state:
        case "expired":
            return N_(f"The question about {what} has expired.")
        case "stopped":
            return N_(f"The question about {what} was cancelled.")
    return N_(f"The question about {what} is closed.")


def closed_text(question: StoredQuestion | None) -> str:
    """Why a question cannot be answered, for the person who tried."""
    if question is None:
        return N_("Question not found. /questions lists the open ones.")
    answer = question.answer
    if answer is not None and answer.by:
        return N_(f"{answer.by} has already answered: {answer.choice}. Nothing was changed.")
    if question.state == "expired":
        return N_("That question has expired. Nothing was changed.")
    return CLOSED

"""A question as the Markdown text that channels send."""

from __future__ import annotations

from hookline_hookspecs.questions import StoredQuestion, marked_preview
from hookline_hookspecs.visible_text import code_block, on_one_line, spell_out

MAX_NAME_CHARS = 100
"""Characters shown of the name of a person or chat."""


def question_text(question: StoredQuestion, *, for_other: bool) -> str:
    """The question with its whole preview in a block of code, and its choices numbered.

    ``for_other`` adds for whom it is asked, for people in another chat, and how to answer it there.
    """
    lines = []
    if for_other:
        asker = f"{question.channel}:{question.asker}" if question.asker else "a scheduled turn"
        who, where = (on_one_line(name, MAX_NAME_CHARS) for name in (asker, question.chat))
        lines.append(f"For {who} in chat {where}:")
    lines.append(spell_out(question.text))
    if question.preview:
        lines.append(code_block(spell_out(marked_preview(question.preview, question.marks))))
    for number, choice in enumerate(question.choices, 1):
        lines.append(f"{number}. {spell_out(choice)}")
        covered = question.covers[number - 1] if number <= len(question.covers) else ""
        lines += [f"   {spell_out(line)}" for line in covered.splitlines()]
    lines.append(
        f"Answer with a number. If several questions are open: /questions answer {question.id} 1"
    )
    return "\n".join(lines)

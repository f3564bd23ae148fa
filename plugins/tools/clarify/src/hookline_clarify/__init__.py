"""Hookline plugin ``clarify``: the model asks the person a question, and the turn ends.

Reached by the entry point ``hookline_clarify:Clarify``. Core shows the question with its choices
numbered and ``Other`` last; the person's next message is the answer.
"""

from __future__ import annotations

from collections.abc import Sequence

from hookline_hookspecs import (
    Context,
    Deny,
    Plugin,
    Question,
    ToolCall,
    ToolError,
    ToolOutput,
    hookimpl,
    tool,
)

__all__ = ["Clarify"]
MAX_CHOICES = 4
"""Choices besides ``Other``; they fit a row of buttons on every platform."""
OTHER = "other"
ASKED_KEY = "asked"
"""Key in the turn's stash once its question has been asked."""


class Clarify(Plugin):
    """A question to the person, with up to four choices."""

    # Read-only: after a crash it may be asked again.
    @tool(read_only=True, main_only=True, origin="workspace")
    async def clarify(
        self, ctx: Context, question: str, choices: list[str] | None = None
    ) -> ToolOutput:
        """Ask the person what you cannot find out yourself. Ends the turn.

        Args:
            choices: at most 4; "Other" is added
        """
        if ctx.session.kind != "chat" or not ctx.channel:
            raise ToolError("no one can be asked here; decide yourself and say what you assumed")
        if ASKED_KEY in ctx.stash:
            raise ToolError("another question is already waiting for an answer; ask one at a time")
        asked = Question(_question_text(question), _choice_texts(choices or ()))
        ctx.stash[ASKED_KEY] = True
        return ToolOutput("Asked.", data=asked)

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Refuse later calls of the same response that are not read-only: they were made without
        the answer."""
        if ASKED_KEY not in ctx.stash or ctx.tool is None or ctx.tool.read_only:
            return None
        return Deny(
            "a question to the person is open; call this again when it is answered",
            "it is waiting for your answer to the question.",
        )


def _question_text(text: str) -> str:
    if not text.strip():
        raise ToolError("the question is blank; write what the person should answer")
    return text.strip()


def _is_command(choice: str) -> bool:
    """Whether a chat would run the choice as a command; a path is not a command."""
    first = choice.split(None, 1)[0]
    return first.startswith("/") and first[1:2].isalpha() and "/" not in first[1:]


def _choice_texts(texts: Sequence[str]) -> tuple[str, ...]:
    """Return the choices, each on one line; ``Other`` is left out, because core adds it.

    Raises:
        ToolError: there are too many, or one is blank, repeated, a command, or a number that could
        be mistaken for another choice's position.
    """
    choices = [" ".join(choice.split()) for choice in texts]
    if not all(choices):
        raise ToolError("a choice is blank; give each some words, or leave choices out")
    if any(map(_is_command, choices)):
        raise ToolError("a choice begins with a slash and would run as a command; put it in words")
    choices = [choice for choice in choices if choice.casefold() != OTHER]
    if len(choices) > MAX_CHOICES:
        raise ToolError(
            f"{len(choices)} choices are too many; give at most {MAX_CHOICES}, the person can "
            "write something else"
        )
    if len({choice.casefold() for choice in choices}) < len(choices):
        raise ToolError("two choices are the same; each must be different")
    for position, choice in enumerate(choices, 1):
        number = choice.rstrip(".")
        if number.isdecimal() and int(number) != position:
            raise ToolError(
                f"the choice {choice!r} could be mistaken for another's number; add a word to it"
            )
    return tuple(choices)

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
MOST = 4
"""Choices besides ``Other`` (FEATURES, clarify): they fit a row of buttons on every platform."""
OTHER = "other"
ASKED = "asked"
"""The turn's state: whether its question has been asked."""


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
            raise ToolError("nobody can be asked here; decide yourself and say what you assumed")
        if ASKED in ctx.stash:
            raise ToolError(
                "a question has been asked already and waits for its answer; ask one at a time"
            )
        asked = Question(_question(question), _choices(choices or ()))
        ctx.stash[ASKED] = True
        return ToolOutput("Asked.", data=asked)

    @hookimpl
    def pre_tool(self, ctx: Context, call: ToolCall) -> Deny | None:
        """Refuse calls that follow the question in one response and are not read-only: they were
        made without its answer."""
        if ASKED not in ctx.stash or ctx.tool is None or ctx.tool.read_only:
            return None
        return Deny(
            "a question to the person is open; call this again when it is answered",
            "it waits for your answer to the question.",
        )


def _question(text: str) -> str:
    if not text.strip():
        raise ToolError("the question is blank; write what the person should answer")
    return text.strip()


def _is_command(choice: str) -> bool:
    """True for what a chat would take for a command when it is chosen; a path is none."""
    first = choice.split(None, 1)[0]
    return first.startswith("/") and first[1:2].isalpha() and "/" not in first[1:]


def _choices(given: Sequence[str]) -> tuple[str, ...]:
    """Return the choices, each on one line; ``Other`` is left out, because core adds it.

    Raises:
        ToolError: there are too many, one is blank or repeated, would be a command, or is a number
        that could be mistaken for another choice's position.
    """
    choices = [" ".join(choice.split()) for choice in given]
    if not all(choices):
        raise ToolError("a choice is blank; give each some words, or leave choices out")
    if any(map(_is_command, choices)):
        raise ToolError(
            "a choice begins with a slash and would be a command when it is chosen; put it in words"
        )
    choices = [choice for choice in choices if choice.casefold() != OTHER]
    if len(choices) > MOST:
        raise ToolError(
            f"{len(choices)} choices are too many; give at most {MOST}, the person can write "
            f"something else"
        )
    if len({choice.casefold() for choice in choices}) < len(choices):
        raise ToolError("two choices are the same; each must be different")
    for place, choice in enumerate(choices, 1):
        number = choice.rstrip(".")
        if number.isdecimal() and int(number) != place:
            raise ToolError(
                f"the choice {choice!r} would be taken for the number of a choice; add a word to it"
            )
    return tuple(choices)

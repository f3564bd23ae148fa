"""Questions to a person, and their choices."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeAlias

from .messages import ToolCall

ONCE, SESSION, ALWAYS, DENY = "Once", "This session", "Always", "Deny"
APPROVAL_CHOICES = (ONCE, SESSION, ALWAYS, DENY)
"""The possible answers to an approval. A question may offer only some of them."""


class Refusal(str):
    """The answer ``Deny`` to an approval, with the person's reason, which the model reads."""

    reason: str

    def __new__(cls, reason: str = "") -> Refusal:
        """Create the answer; see the class."""
        self = super().__new__(cls, "Deny")
        self.reason = reason
        return self


Style: TypeAlias = Literal["", "primary", "danger"]


class Choice(str):
    """An answer that a person can choose: the label as a string, with an id and a style.

    A plain string is also a choice; its id is its label.

    Args:
        id: identifies the choice to programs; unique among the choices.
        label: the text shown to the person; the id by default.
        style: the style of the button, on platforms that have styles.
    """

    id: str
    style: Style

    def __new__(cls, id: str, label: str = "", style: Style = "") -> Choice:  # noqa: A002
        """Create a choice; see the class."""
        self = super().__new__(cls, label or id)
        self.id, self.style = id, style
        return self

    def __reduce__(self) -> tuple[type[Choice], tuple[str, str, Style]]:
        return Choice, (self.id, str(self), self.style)

    @property
    def label(self) -> str:
        """The text shown to the person."""
        return str(self)


@dataclass(frozen=True, slots=True)
class Question:
    """A question to a person: a choice the model offers, or an approval.

    ``kind`` is ``clarify`` or ``approval``; an approval has the ``call`` and the ``reason``.
    """

    text: str
    choices: tuple[str, ...] = ()
    preview: str = ""
    kind: Literal["clarify", "approval"] = "clarify"
    call: ToolCall | None = None
    reason: str = ""

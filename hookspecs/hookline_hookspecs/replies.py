"""What is sent to a person."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

from .inbound import Attachment, Audio
from .questions import Choice
from .turns import Session


@dataclass(frozen=True, slots=True)
class Reply:
    """A text to be sent to a person.

    Attributes:
        in_reply_to: the id of the inbound message it answers.
        id: the reply's own id, the same for every delivery attempt.
        choices: what the person can choose from, as text or :class:`Choice`; :attr:`buttons` has
            each of them as a :class:`Choice`.
        repeated: True if a process died while sending this, so that it may already have arrived.
        delivered: in the signal ``reply_sent``, the platform's ids of the messages it was sent as,
            in order. An inbound message whose ``reply_to`` is one of them answers this reply.
        thread: the platform's id of the thread it belongs to.
        audience: the user id of the only person who may see it. A channel that cannot show it to
            them alone sends it to them privately or not at all; it never shows it to others.
        kind: an ``answer``, a ``notice`` in addition to it, or a ``question`` that expects an
            answer.
        person: the user id of who wrote the message it answers.
        question: the id of the stored question that it shows, with its :attr:`choices`, or (of
            kind ``notice``) whose end it reports; see
            :class:`~hookline_hookspecs.questions.Questions`.
    """

    session: Session
    text: str
    attachments: tuple[Attachment | Audio, ...] = ()
    in_reply_to: str | None = None
    id: str = ""
    choices: tuple[str | Choice, ...] = ()
    repeated: bool = False
    delivered: tuple[str, ...] = ()
    thread: str | None = None
    audience: str | None = None
    kind: Literal["answer", "notice", "question"] = "answer"
    person: str = ""
    question: str = ""

    @property
    def labels(self) -> tuple[str, ...]:
        """The text of each of :attr:`choices`."""
        return tuple(button.label for button in self.buttons)

    @property
    def buttons(self) -> tuple[Choice, ...]:
        """Each of :attr:`choices` as a :class:`Choice`, with its value and style."""
        return tuple(one if isinstance(one, Choice) else Choice(one) for one in self.choices)


@dataclass(frozen=True, slots=True)
class Notice:
    """A sentence to the person about the turn, separate from the answer (signal ``notice``)."""

    plugin: str
    text: str

"""Messages from people: text, files, voice, button presses."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from pathlib import Path
from typing import Literal, TypeAlias

from .origins import Origin


@dataclass(frozen=True, slots=True)
class Attachment:
    """A file attached to a message or a reply.

    ``size`` is in bytes, ``mime`` is detected from the content, ``caption`` is the text shown with
    the file. ``origins`` say where the content came from: whoever makes the attachment knows.
    """

    path: Path
    mime: str
    name: str
    size: int
    caption: str = ""
    origins: tuple[Origin, ...] = field(kw_only=True)


@dataclass(frozen=True, slots=True)
class Audio:
    """A voice message.

    ``duration`` is in seconds, 0 if the platform does not report it. ``waveform`` is the loudness
    over time, at most 256 values from 0 to 255, for platforms that display it. ``origins`` say
    where the content came from; empty for a recording that its sender made for this message.
    """

    path: Path
    mime: str
    duration: float
    waveform: bytes = b""
    origins: tuple[Origin, ...] = field(kw_only=True)


InboundKind: TypeAlias = Literal[
    "message", "press", "reaction", "edit", "delete", "command", "unreadable"
]


@dataclass(frozen=True, slots=True)
class Inbound:
    """A message from a person, as a channel received it.

    Attributes:
        message_id: the platform's id, unique within the channel.
        reply_to: the id of the message that this one replies to.
        received: when the channel received it, Unix time in seconds.
        session_id: the session to continue or create; None for the chat's own.
        system: system text from an operator for this turn only, never stored in the session.
        model: ``provider/model`` for this turn only; None for the session's.
        private: True if only this person and the agent can read the chat, None if the channel
            cannot tell.
        addressed: False if the message was not meant for the agent, in a group where it listens.
        thread: the platform's id of the thread the message is in.
        parent: the chat that the thread belongs to.
        sender: the person's display name.
        sent: when it was sent, according to the platform, Unix time in seconds; 0 if unknown.
        quoted: the text that this message quotes or replies to, or words for what it shows.
        quoted_by: who wrote that, if it was the agent or the sender; others are in ``origins``.
        earlier: messages before this one that the agent has not read, such as those of a thread in
            which it is mentioned for the first time: author and text of each, oldest first. The
            author is empty for the agent itself. The origins of the others are in ``origins``.
        kind: what the person did. ``text`` is the label of a pressed button, the emoji of a
            reaction, the new text of an edited message, the command line of a ``command`` that the
            platform reports as one, or the platform's name for an ``unreadable`` message, which
            has no content that Hookline could read.
        target: the id of the message that a press or reaction applies to; for an edit or deletion,
            the ``message_id`` of the message that was changed or deleted.
        forwarded: from whom the text was forwarded; empty if the person wrote it.
        origins: where the text came from besides the person.
        workspace: the folder that tools work in during this turn; None for the chat's own.
        question: the id of the stored question whose button was pressed.
    """

    channel: str
    chat_id: str
    user_id: str
    message_id: str
    text: str
    attachments: tuple[Attachment | Audio, ...] = ()
    reply_to: str | None = None
    received: float = 0.0
    session_id: str | None = None
    system: str | None = None
    model: str | None = None
    private: bool | None = None
    addressed: bool = True
    thread: str | None = None
    parent: str | None = None
    sender: str = ""
    sent: float = 0.0
    quoted: str = ""
    quoted_by: Literal["", "agent", "sender"] = ""
    earlier: tuple[tuple[str, str], ...] = ()
    kind: InboundKind = "message"
    target: str | None = None
    forwarded: str = ""
    origins: tuple[Origin, ...] = ()
    workspace: Path | None = None
    question: str = ""


def is_private_chat(inbound: Inbound) -> bool:
    """Return True if only this person and the agent can read the chat.

    The channel decides; if it cannot tell, a chat with the person's own id is private.
    """
    if inbound.private is None:
        return bool(inbound.user_id) and inbound.chat_id == inbound.user_id
    return inbound.private


_AUTHOR_LINES = re.compile(r"(?:⟦[^⟧]*⟧\n)+")
_OWN_QUOTE = re.compile(r'^⟦\S+(?: "[^"]*")?, quoting their own message: "(.*)"⟧$', re.M)
"""The author line with a quote of the person's own; a quoted text may contain such words too."""


def own_words(text: str) -> str:
    """Return what a person said in a text that the model reads.

    ``gateway`` puts lines between ⟦ and ⟧ before it, which name people and quote messages; what the
    person quotes of their own is kept.
    """
    lines = _AUTHOR_LINES.match(text)
    if lines is None:
        return text
    own = _OWN_QUOTE.search(lines[0])
    return "\n".join(filter(None, (own[1] if own else "", text[lines.end() :])))

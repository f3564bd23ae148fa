"""What a channel plugin writes: the :class:`Wire` to one platform."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from types import MappingProxyType
from typing import ClassVar, Final, Literal

from hookline_hookspecs import Attachment, Audio, Choice
from hookline_hookspecs.channels import Feature

from .arrivals import Arrival, RemoteFile, Take
from .errors import Gone, Lost, RetryAfter
from .limits import Limits
from .markdown import Painter, paint

LINK_PREVIEWS = False
"""Whether a channel may let its platform, or a reader's app, fetch what an answer links to: never.

A preview is a request that nobody has made, to an address that the model wrote; what the address
holds (``https://example.org/?d=SECRET``) is sent with it. A wire switches previews off in each
:meth:`Wire.text`, :meth:`Wire.edit` and caption: Telegram ``link_preview_options.is_disabled``,
Discord the flag ``SUPPRESS_EMBEDS``, Slack ``unfurl_links`` and ``unfurl_media`` false. Where a
platform has no such switch, an address is sent as code. For the same reason a Markdown image is a
text link (:meth:`Painter.image`), and a file is sent as bytes, never as an address.
"""


PRESSED = "You have pressed a button here already; nothing was changed."
"""What a wire tells a person whose press was there already (``take`` returned False)."""
TOO_OLD = "This message is too old; please write your answer."
"""What a wire tells a person who pressed a button of a message that the platform shows no more."""
TELL: Final[Mapping[bool | None, str | None]] = MappingProxyType(
    {True: None, False: PRESSED, None: TOO_OLD}
)
"""What a person is told of a press, by what :func:`stored` says of it; None: nothing."""


class Unknown(Enum):
    """The type of :data:`UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""The answer of :meth:`Wire.find` where the platform cannot tell."""


@dataclass(frozen=True, slots=True)
class Post:
    """How a message is sent or changed. More fields may be added.

    Args:
        token: 24 letters and digits that name this part of this reply: the same for every attempt
            at it, in this process and the next, and for no other part. To be sent where the
            platform drops repeats (Discord ``nonce``, Feishu ``uuid``) or keeps it for
            :meth:`Wire.find` (Slack ``metadata``).
        rich: the text is in the platform's dialect, as :meth:`Wire.render` made it; else plain.
        reply_to: the message that it answers, as :class:`Inbound` names it; the platform may not
            know it, then it is left out.
        choices: a button for each, in order; a label that is too long for the platform is cut. A
            press of one is an :class:`Inbound` with ``kind="press"``, the message's id as
            ``target``, and as ``text`` the number of the button, from 0.
        thread: the thread that the reply names, where it is another than the chat's own.
        audience: the only person who may see it; only for a wire that ``can`` do ``ephemeral``.
        kind: an answer, a notice beside it, or a question.
        caption: of a file: plain text shown with it.
        final: False for a running answer: :meth:`Wire.text` begins one, :meth:`Wire.edit` goes on
            with it and, with True, ends it. A wire with streams of the platform's own opens one at
            the first, feeds it with the full text, and closes it at the last. After a crash the
            final edit may come from the next process.
        sequence: of an edit: a positive number below 2**31 that is higher than that of every
            earlier edit of the message, after a restart too.
    """

    token: str = ""
    rich: bool = False
    reply_to: str | None = None
    choices: tuple[Choice, ...] = ()
    thread: str | None = None
    audience: str | None = None
    kind: Literal["answer", "notice", "question"] = "answer"
    caption: str = ""
    final: bool = True
    sequence: int = 0


class Wire(ABC):
    """One platform. Every method raises the errors of :mod:`.errors`; nothing is retried here.

    ``chat`` is the ``chat_id`` of an :class:`Inbound`, message ids are the platform's as text.
    A wire that works again after ``disconnect`` and ``connect`` is what the watchdog needs. Eight
    methods have to be written; the others say what a platform lacks.
    """

    limits: Limits
    """What the platform allows."""
    can: ClassVar[frozenset[Feature]] = frozenset({"edits", "files", "typing"})
    """What the platform can do (see ``Channel``)."""
    catches_up: ClassVar[bool] = False
    """True if :meth:`history` tells what was written meanwhile; False where the platform keeps
    messages itself until they are acknowledged (Telegram: 24 hours)."""
    painter: ClassVar[Painter | None] = None
    """Writes the platform's dialect; None where that is Markdown."""
    hold: Callable[[str, RetryAfter], None] = staticmethod(lambda _chat, _error: None)
    """Set by the kit: ``self.hold(chat, RetryAfter(0.4, kind="text"))`` after a request that went
    well, where the answer's headers say that the next one would not (``X-RateLimit-Remaining: 0``).
    """

    # Receiving

    @abstractmethod
    async def connect(self, take: Take) -> None:
        """Begin to receive; return when messages are received. Raises :class:`CannotStart`."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Receive no more; sending still works. Harmless if there is no connection."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close everything; called once, last."""

    @abstractmethod
    async def probe(self) -> None:
        """A cheap request that proves that the platform answers and that receiving goes on.
        Raises whatever is wrong."""

    async def chats(self) -> Sequence[str]:
        """The chats that the bot is in, as far as the platform tells; those that it has heard of
        before are known without."""
        return ()

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[Arrival]:
        """What people wrote in a chat, oldest first: what :attr:`Arrival.cursor` places behind
        ``after``; if that is empty, what was sent at the Unix time ``since`` or later.

        An async generator; pages are fetched as they are asked for. It may repeat what is known.
        Each arrival has a cursor, and is the same as if it had been received at the time. What is
        nothing for the agent is left out. Raises :class:`Refused` where the bot may not read it.
        """
        return
        yield  # an async generator

    async def fetch(self, file: RemoteFile) -> bytes | AsyncIterable[bytes]:
        """The bytes of a file that came with a message. Raises :class:`Gone` if it is not given
        out, anything else to be asked again."""
        raise Gone("this platform gives no files out")

    # Sending

    @abstractmethod
    async def text(self, chat: str, text: str, post: Post) -> str:
        """Send a message without link previews; its id."""

    async def edit(self, chat: str, message_id: str, text: str, post: Post) -> None:
        """Replace a message's text and buttons, without link previews. Raises :class:`Lost` or
        :class:`NotModified` besides."""
        raise Lost("this platform has no edits")

    async def delete(self, chat: str, message_id: str) -> None:
        """Remove a message. Raises :class:`Lost` if it is not there or cannot be removed."""
        raise Lost("this platform removes no messages")

    @abstractmethod
    async def file(self, chat: str, item: Attachment | Audio, post: Post) -> str:
        """Send a file with ``post.caption``; the id of its message. ``mime`` is judged by content;
        an :class:`Audio` is sent as a voice message where the platform has them."""

    async def find(self, chat: str, token: str, text: str, since: float) -> str | Unknown | None:
        """Look for a message that was perhaps sent: ``token`` is that of its :class:`Post`,
        ``text`` what was to be sent (empty if that is not known, a caption for a file), and
        ``since`` the Unix time just before the first attempt.

        Its id if it is there, whatever the platform has made of the text since. None if it is
        certainly not there, or if the platform drops a repeat of the token: then it is sent again
        with the same token. :data:`UNKNOWN` if the platform cannot tell: then it is sent again,
        marked as a possible repeat. An error that it raises has it asked again later.
        """
        return UNKNOWN

    async def typing(self, chat: str) -> None:  # noqa: B027
        """Show for some seconds that somebody writes."""

    async def unbutton(self, chat: str, message_id: str) -> None:  # noqa: B027
        """Take a message's buttons away: somebody's press has counted."""

    async def typed(self, chat: str) -> None:  # noqa: B027
        """Nobody writes any more: for a platform that does not forget it by itself. Called once
        after the last :meth:`typing`."""

    async def react(self, chat: str, message_id: str, emoji: str) -> str:
        """React to a message; what :meth:`unreact` needs to take it away."""
        raise Gone("this platform has no reactions")

    async def unreact(self, chat: str, message_id: str, reaction: str) -> None:  # noqa: B027
        """Take a reaction away. Raises :class:`Lost` or :class:`NotModified` if it is not there."""

    async def open_thread(self, chat: str, message_id: str) -> str:
        """Begin a thread at a message, or find the one that is there; its id."""
        raise Gone("this platform has no threads")

    async def private_chat(self, person: str) -> str | None:
        """The chat with a person alone, opened if need be; None if there is none. For a reply
        that only they may see, on a platform without ephemeral messages."""
        return None

    def render(self, markdown: str) -> str:
        """Markdown in the platform's dialect, as :attr:`painter` writes it."""
        return markdown if self.painter is None else paint(markdown, self.painter)

    # The account

    @property
    def identity(self) -> str:
        """What two gateways must not share: the platform's address and the token. Only a hash of it
        is used. Empty: any number may run."""
        return ""

    async def whoami(self) -> str:
        """Who the token belongs to, as a sentence for ``hookline doctor`` ("the bot is @name").
        Raises :class:`CannotStart` with ``PROBLEM; WHAT TO DO``."""
        await self.probe()
        return "the platform answers"

    async def missing(self) -> Sequence[str]:
        """What the bot lacks (scopes, intents, settings), for ``hookline doctor``: a sentence
        ``PROBLEM; WHAT TO DO`` for each."""
        return ()

    async def set_menu(self, commands: Mapping[str, str]) -> None:  # noqa: B027
        """Show the commands (name without slash, and help) in the platform's menu. The kit calls
        it after a connect, if they differ from those that were set last."""

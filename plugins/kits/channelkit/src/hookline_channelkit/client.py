"""The interface to one platform, which a channel plugin implements: :class:`PlatformClient`."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import AsyncIterable, AsyncIterator, Callable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import ClassVar, Final, Literal

from hookline_hookspecs import Attachment, Audio, Choice
from hookline_hookspecs.channels import Feature

from .errors import ChatGone, MessageGone, RetryAfter
from .events import InboundEvent, ReceiveCallback, RemoteFile
from .limits import Limits
from .markdown import Renderer, render_markdown
from .pastes import PasteLimit

LINK_PREVIEWS = False
"""Whether a platform, or a reader's app, may fetch the links of an answer: never.

A preview is a request that no person made, to an address that the model wrote, and it sends the
whole address (``https://example.org/?d=SECRET``). A client switches previews off
in every :meth:`PlatformClient.send_text`, :meth:`PlatformClient.edit_message` and caption: Telegram
``link_preview_options.is_disabled``, Discord the flag ``SUPPRESS_EMBEDS``, Slack ``unfurl_links``
and ``unfurl_media`` false. Without such a switch, addresses are sent as code. For the
same reason a Markdown image becomes a text link (:meth:`Renderer.image`), and a file is sent as
bytes, never as an address.
"""


class Unknown(Enum):
    """The type of :data:`UNKNOWN`."""

    UNKNOWN = "unknown"


UNKNOWN: Final = Unknown.UNKNOWN
"""The result of :meth:`PlatformClient.find_message` if the platform cannot find out."""


@dataclass(frozen=True, slots=True)
class SendOptions:
    """How to send or edit a message. More fields may be added.

    Args:
        token: 24 letters and digits that identify this part of this reply: the same for every
            attempt at it, in this process and the next, and for no other part. Send it where the
            platform drops repeats (Discord ``nonce``, Feishu ``uuid``) or stores it for
            :meth:`PlatformClient.find_message` (Slack ``metadata``).
        rich: the text is in the platform's dialect, as :meth:`PlatformClient.render` returned it;
            else it is plain.
        reply_to: the message that it answers, as :class:`Inbound` names it. Leave it out if the
            platform does not know that message.
        choices: a button for each, in order; shorten a label that is too long for the platform. A
            press of one is an :class:`Inbound` with ``kind="press"``, the id of the message as
            ``target``, and the number of the button, from 0, as ``text``.
        thread: the thread that the reply names, if that is not the chat's own.
        audience: the only person who may see it; only for a client that ``can`` do ``ephemeral``.
        kind: an answer, a notice beside it, or a question.
        caption: plain text that is shown with a file.
        final: False for a running answer: :meth:`PlatformClient.send_text` starts one, and
            :meth:`PlatformClient.edit_message` continues it and, with True, ends it. A client with
            native streams opens one at the first call, feeds it the full text, and closes it at the
            last. After a crash the final edit may come from the next process.
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


class PlatformClient(ABC):
    """One platform, with one request per method.

    Methods raise the errors of :mod:`.errors` and never retry: the kit does.

    ``chat`` is the ``chat_id`` of an :class:`Inbound`; message ids are the platform's, as text. The
    watchdog relies on a client working again after ``disconnect`` and ``connect``. Six methods are
    abstract; the defaults of the others say that the platform lacks the feature.
    """

    limits: Limits
    """What the platform allows."""
    can: ClassVar[frozenset[Feature]] = frozenset({"edits", "files", "typing"})
    """The platform's features (see ``Channel``)."""
    has_history: ClassVar[bool] = False
    """Whether :meth:`history` returns missed messages; False if the platform itself stores messages
    until they are acknowledged (Telegram: 24 hours)."""
    pastes: ClassVar[PasteLimit | None] = None
    """When people's apps split a long text into several messages; the kit joins them. None: never,
    or the client joins them itself."""
    renderer: ClassVar[Renderer | None] = None
    """Writes the platform's dialect; None if that is Markdown."""
    pause_requests: Callable[[str, RetryAfter], None] = staticmethod(lambda _chat, _error: None)
    """Set by the kit. Call ``self.pause_requests(chat, RetryAfter(0.4, kind="text"))`` after a
    successful request whose headers say that the next one would exceed the rate limit
    (``X-RateLimit-Remaining: 0``)."""

    # Receiving

    @abstractmethod
    async def connect(self, receive: ReceiveCallback) -> None:
        """Start receiving; return when messages are received. Raises :class:`CannotStart`."""

    @abstractmethod
    async def disconnect(self) -> None:
        """Stop receiving; sending still works. Harmless if there is no connection."""

    @abstractmethod
    async def aclose(self) -> None:
        """Close everything; called once, last."""

    @abstractmethod
    async def probe(self) -> None:
        """Make a cheap request that proves that the platform answers and messages are received.
        Raises any exception if not."""

    async def list_chats(self) -> Sequence[str]:
        """Return the bot's chats, as far as the platform lists them.

        Chats that the kit already knows may be missing.
        """
        return ()

    async def history(self, chat: str, after: str, since: float) -> AsyncIterator[InboundEvent]:
        """Yield people's messages in a chat, oldest first.

        Those with a cursor above ``after``, or if that is empty, those sent at the Unix time
        ``since`` or later. Pages are fetched on demand. Known messages may be repeated; messages
        that are not for the agent are left out. Each event has a cursor and is the same as if it
        had been received live. Raises :class:`PermissionDenied` if the bot may not read the chat.
        """
        return
        yield  # makes this an async generator

    async def fetch_file(self, file: RemoteFile) -> bytes | AsyncIterable[bytes]:
        """Return the bytes of a file.

        Raises :class:`ChatGone` if the platform will never return it, and other exceptions if
        another attempt is useful.
        """
        raise ChatGone("this platform has no files")

    # Sending

    @abstractmethod
    async def send_text(self, chat: str, text: str, options: SendOptions) -> str:
        """Send a message without link previews. Returns its id."""

    async def edit_message(
        self, chat: str, message_id: str, text: str, options: SendOptions
    ) -> None:
        """Replace the text and buttons of a message, without link previews. May also raise
        :class:`MessageGone` or :class:`NotModified`."""
        raise MessageGone("this platform has no edits")

    async def delete_message(self, chat: str, message_id: str) -> None:
        """Delete a message. Raises :class:`MessageGone` if it is gone or cannot be deleted."""
        raise MessageGone("this platform cannot delete messages")

    @abstractmethod
    async def send_file(self, chat: str, item: Attachment | Audio, options: SendOptions) -> str:
        """Send a file with ``options.caption``, and return the message's id.

        Its ``mime`` was determined by its content. An :class:`Audio` is sent as a voice message if
        the platform has them.
        """

    async def find_message(
        self, chat: str, token: str, text: str, since: float
    ) -> str | Unknown | None:
        """Look up a message that may have been delivered.

        Args:
            chat: the chat to which it was sent.
            token: the token of its :class:`SendOptions`.
            text: the text to be sent: a caption for a file, empty if unknown.
            since: the Unix time just before the first attempt.

        Returns:
            Its id if it exists, even with a changed text. None if it does not exist, or if the
            platform drops a repeated token: it is then sent again with the same token.
            :data:`UNKNOWN` if the platform cannot find out: it is then sent again, marked as a
            possible repeat.

        Raises:
            Exception: the kit asks again later.
        """
        return UNKNOWN

    async def show_typing(self, chat: str) -> None:  # noqa: B027
        """Show the typing indicator for some seconds."""

    async def hide_typing(self, chat: str) -> None:  # noqa: B027
        """Hide the typing indicator, if it does not expire.

        Called once after the last :meth:`show_typing`.
        """

    async def remove_buttons(self, chat: str, message_id: str) -> None:  # noqa: B027
        """Remove the buttons of a message after a press was accepted."""

    async def react(self, chat: str, message_id: str, emoji: str) -> str:
        """React to a message. Returns the ``reaction`` for :meth:`remove_reaction`."""
        raise ChatGone("this platform has no reactions")

    async def remove_reaction(  # noqa: B027
        self, chat: str, message_id: str, reaction: str
    ) -> None:
        """Remove a reaction. Raises :class:`MessageGone` or :class:`NotModified` if there is
        none."""

    async def open_thread(self, chat: str, message_id: str) -> str:
        """Start a thread at a message, or find the existing one. Returns its id."""
        raise ChatGone("this platform has no threads")

    async def private_chat(self, person: str) -> str | None:
        """Return the private chat with a person, opened if necessary; None if there is none.

        Used for a reply that only they may see, on a platform without ephemeral messages.
        """
        return None

    def render(self, markdown: str) -> str:
        """Convert Markdown to the platform's dialect with :attr:`renderer`."""
        return markdown if self.renderer is None else render_markdown(markdown, self.renderer)

    # The account

    @property
    def identity(self) -> str:
        """What only one gateway may use at a time: the platform's address and the token.

        Only a hash of it is used. If empty, any number of gateways may run.
        """
        return ""

    async def whoami(self) -> str:
        """Return whose token this is, for ``hookline doctor``: "the bot is @name".

        Raises :class:`CannotStart` with ``PROBLEM; WHAT TO DO``.
        """
        await self.probe()
        return "the platform answers"

    async def missing_permissions(self) -> Sequence[str]:
        """Return missing scopes, intents and settings, for ``hookline doctor``.

        Each is a sentence ``PROBLEM; WHAT TO DO``.
        """
        return ()

    async def set_commands(self, commands: Mapping[str, str]) -> None:  # noqa: B027
        """Set the platform's command menu: name without slash, and help text.

        The kit calls this after connecting if the commands differ from those set last.
        """

"""What a channel plugin writes: the :class:`Wire` to one platform, and its :class:`Limits`."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, Protocol

from hookline_hookspecs import Attachment, Audio, Inbound

LINK_PREVIEWS = False
"""Whether a channel may let its platform, or a reader's app, fetch what an answer links to: never.

A preview is a request that nobody has made, to an address that the model wrote; what the address
holds (``https://example.org/?d=SECRET``) is sent with it. A wire switches previews off in each
:meth:`Wire.text`, :meth:`Wire.edit` and caption: Telegram ``link_preview_options.is_disabled``,
Discord the flag ``SUPPRESS_EMBEDS``, Slack ``unfurl_links`` and ``unfurl_media`` false. Where a
platform has no such switch, an address is sent as code. For the same reason a Markdown image is a
text link (:meth:`Painter.image`), and a file is sent as bytes, never as an address.
"""


@dataclass(frozen=True, slots=True)
class Limits:
    """What a platform allows.

    Args:
        text: longest message, in ``unit``.
        unit: what the platform counts: UTF-16 code units, characters, or bytes of UTF-8.
        edit_every: seconds between two edits of one message at least.
        per_chat: messages a second in one chat at most; 0 = no limit.
        overall: messages a second in all chats at most; 0 = no limit.
        file_bytes: largest file that can be sent.
    """

    text: int
    unit: Literal["utf16", "chars", "bytes"] = "chars"
    edit_every: float = 1.0
    per_chat: float = 1.0
    overall: float = 30.0
    file_bytes: int = 50_000_000


class Take(Protocol):
    """What a wire calls with what it receives."""

    async def __call__(self, inbound: Inbound) -> bool:
        """Store a message; False if it was there already. Acknowledge it to the platform only
        after this has returned; if it raises, the platform has to deliver it again."""

    def heard(self) -> None:
        """The platform is there: a poll came back, a ping was answered. Keeps the watchdog calm."""

    def broken(self, reason: str) -> None:
        """Receiving has ended by itself; the watchdog renews the connection now."""


class Wire(Protocol):
    """One platform. Every method raises the errors of :mod:`.errors`; nothing is retried here.

    ``chat`` is the ``chat_id`` of an :class:`Inbound`, message ids are the platform's as text.
    A wire that works again after ``disconnect`` and ``connect`` is what the watchdog needs.
    """

    @property
    def limits(self) -> Limits:
        """What the platform allows."""

    async def connect(self, take: Take) -> None:
        """Begin to receive; return when messages are received. Raises :class:`CannotStart`."""

    async def disconnect(self) -> None:
        """Receive no more; sending still works. Harmless if there is no connection."""

    async def aclose(self) -> None:
        """Close everything; called once, last."""

    async def probe(self) -> None:
        """A cheap request that proves that the platform answers and that receiving goes on.
        Raises whatever is wrong."""

    async def text(
        self, chat: str, text: str, *, rich: bool, reply_to: str | None, choices: tuple[str, ...]
    ) -> str:
        """Send a message, with a button for each choice and no link previews; its id.

        ``rich`` text is in the platform's dialect, as :meth:`render` made it. ``reply_to`` may be
        a message that the platform does not know (then it is left out).
        """

    async def edit(
        self, chat: str, message_id: str, text: str, *, rich: bool, choices: tuple[str, ...] = ()
    ) -> None:
        """Replace a message, without link previews. Raises :class:`Lost` or
        :class:`NotModified` besides."""

    async def delete(self, chat: str, message_id: str) -> None:
        """Remove a message. Raises :class:`Lost` if it is not there or cannot be removed."""

    async def file(
        self, chat: str, item: Attachment | Audio, *, caption: str, reply_to: str | None
    ) -> str:
        """Send a file (plain caption); the id of its message. ``mime`` is judged by content; an
        :class:`Audio` is sent as a voice message where the platform has them."""

    async def typing(self, chat: str) -> None:
        """Show for some seconds that somebody writes."""

    def render(self, markdown: str) -> str:
        """Markdown in the platform's dialect (see :mod:`.markdown`)."""

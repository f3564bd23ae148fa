"""What Hookline's channels share. A channel plugin writes a :class:`Wire` to its platform, and
subclasses :class:`ChannelPlugin` and :class:`ChannelConfig`; the README is the guide."""

from __future__ import annotations

from .arrivals import Arrival, RemoteFile, Take
from .authors import author, quoted_from, quoting
from .complaints import Complaints
from .config import ChannelConfig, WithBots
from .credentials import Credential
from .errors import (
    BadMarkup,
    CannotStart,
    Gone,
    Lost,
    Meanings,
    NotModified,
    Refused,
    RetryAfter,
    TooLong,
    Unsure,
    WireError,
    unanswered,
)
from .facts import facts, got
from .html import HtmlPainter
from .inbound import Media, TooLarge
from .kit import Kit, KitOptions
from .limits import Limits, Rate
from .listening import ListeningWire, client
from .markdown import MarkdownPainter, Painter, paint
from .memory import Hourly, Memory
from .moves import Moves
from .people import People
from .plugin import ChannelPlugin, failed
from .polling import Polling, PollingWire
from .sockets import Says, Sockets
from .splitting import Piece, cut, fitting, length_of, split
from .storing import stored
from .upload import Upload
from .watchdog import Patience, Watchdog
from .wire import LINK_PREVIEWS, PRESSED, TELL, TOO_OLD, UNKNOWN, Post, Unknown, Wire

__all__ = [
    "LINK_PREVIEWS",
    "PRESSED",
    "TELL",
    "TOO_OLD",
    "UNKNOWN",
    "Arrival",
    "BadMarkup",
    "CannotStart",
    "ChannelConfig",
    "ChannelPlugin",
    "Complaints",
    "Credential",
    "Gone",
    "Hourly",
    "HtmlPainter",
    "Kit",
    "KitOptions",
    "Limits",
    "ListeningWire",
    "Lost",
    "MarkdownPainter",
    "Meanings",
    "Media",
    "Memory",
    "Moves",
    "NotModified",
    "Painter",
    "Patience",
    "People",
    "Piece",
    "Polling",
    "PollingWire",
    "Post",
    "Rate",
    "Refused",
    "RemoteFile",
    "RetryAfter",
    "Says",
    "Sockets",
    "Take",
    "TooLarge",
    "TooLong",
    "Unknown",
    "Unsure",
    "Upload",
    "Watchdog",
    "Wire",
    "WireError",
    "WithBots",
    "author",
    "client",
    "cut",
    "facts",
    "failed",
    "fitting",
    "got",
    "length_of",
    "paint",
    "quoted_from",
    "quoting",
    "split",
    "stored",
    "unanswered",
]

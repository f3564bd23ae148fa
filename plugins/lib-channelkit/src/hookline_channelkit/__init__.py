"""What Hookline's channels share. A channel plugin writes a :class:`Wire` to its platform, and
subclasses :class:`ChannelPlugin` and :class:`ChannelConfig`; the README is the guide."""

from __future__ import annotations

from .arrivals import Arrival, RemoteFile, Take
from .authors import author, quoted_from
from .complaints import Complaints
from .config import ChannelConfig
from .errors import (
    BadMarkup,
    CannotStart,
    Gone,
    Lost,
    NotModified,
    Refused,
    RetryAfter,
    TooLong,
    Unsure,
    WireError,
)
from .html import HtmlPainter
from .inbound import Media, TooLarge
from .kit import Kit, KitOptions
from .limits import Limits, Rate
from .markdown import Painter, paint
from .moves import Moves
from .plugin import ChannelPlugin, failed
from .polling import Polling, PollingWire
from .splitting import Piece, cut, fitting, length_of, split
from .watchdog import Patience, Watchdog
from .wire import LINK_PREVIEWS, PRESSED, TOO_OLD, UNKNOWN, Post, Unknown, Wire

__all__ = [
    "LINK_PREVIEWS",
    "PRESSED",
    "TOO_OLD",
    "UNKNOWN",
    "Arrival",
    "BadMarkup",
    "CannotStart",
    "ChannelConfig",
    "ChannelPlugin",
    "Complaints",
    "Gone",
    "HtmlPainter",
    "Kit",
    "KitOptions",
    "Limits",
    "Lost",
    "Media",
    "Moves",
    "NotModified",
    "Painter",
    "Patience",
    "Piece",
    "Polling",
    "PollingWire",
    "Post",
    "Rate",
    "Refused",
    "RemoteFile",
    "RetryAfter",
    "Take",
    "TooLarge",
    "TooLong",
    "Unknown",
    "Unsure",
    "Watchdog",
    "Wire",
    "WireError",
    "author",
    "cut",
    "failed",
    "fitting",
    "length_of",
    "paint",
    "quoted_from",
    "split",
]

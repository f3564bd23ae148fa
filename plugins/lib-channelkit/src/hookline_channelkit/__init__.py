"""What Hookline's channels share; a channel plugin writes a :class:`Wire` and subclasses
:class:`Kit`."""

from __future__ import annotations

from .authors import author, quoted_from
from .errors import (
    BadMarkup,
    CannotStart,
    Gone,
    Lost,
    NotModified,
    RetryAfter,
    TooLong,
    Unsure,
    WireError,
)
from .inbound import Media, TooLarge
from .kit import Kit, KitOptions
from .markdown import Painter, paint
from .splitting import Piece, cut, length_of, split
from .watchdog import Patience, Watchdog
from .wire import LINK_PREVIEWS, Limits, Take, Wire

__all__ = [
    "LINK_PREVIEWS",
    "BadMarkup",
    "CannotStart",
    "Gone",
    "Kit",
    "KitOptions",
    "Limits",
    "Lost",
    "Media",
    "NotModified",
    "Painter",
    "Patience",
    "Piece",
    "RetryAfter",
    "Take",
    "TooLarge",
    "TooLong",
    "Unsure",
    "Watchdog",
    "Wire",
    "WireError",
    "author",
    "cut",
    "length_of",
    "paint",
    "quoted_from",
    "split",
]

"""What a :class:`Wire` raises, and what the kit makes of it. The texts are sentences for the log.

Anything else that a wire raises means: it was not delivered, try again later.
"""

from __future__ import annotations

from hookline_hookspecs import HooklineError

from .limits import Kind, Scope


class WireError(HooklineError):
    """Base of the errors below."""


class CannotStart(WireError):
    """The channel cannot start; the text says why and what to do."""


class Refused(WireError):
    """The bot lacks a permission, and asking again does not help: a scope, an intent, a setting.

    The sentence is ``PROBLEM; WHAT TO DO``. It is told once, in the log and by ``hookline doctor``;
    what needed the permission is left out, and a reply is given up.
    """


class RetryAfter(WireError):
    """The platform refused because too much was sent; nothing was delivered.

    Args:
        seconds: to wait, as the platform's headers say.
        scope: whether that concerns this chat, or everything the bot does.
        kind: the only kind of request that it concerns; None for every kind.

    Attributes:
        retry_after: seconds to wait; core's outbox honours it.
    """

    def __init__(self, seconds: float, scope: Scope = "chat", kind: Kind | None = None) -> None:
        super().__init__(f"the platform asks to wait {seconds:g} s")
        self.retry_after = max(0.0, seconds)
        self.scope: Scope = scope
        self.kind: Kind | None = kind


class BadMarkup(WireError):
    """The platform cannot read the markup; the same text goes out as plain text."""


class TooLong(WireError):
    """The platform counts the text as too long; it is split into smaller pieces."""


class NotModified(WireError):
    """The message holds this text already, which is as good as edited."""


class Lost(WireError):
    """The message to edit is no longer there, or can no longer be edited; a new one is sent."""


class Gone(WireError):
    """The chat is gone, or the bot may not write there. The reply is given up, with a log line."""


class Unsure(WireError):
    """The request went out and no answer came: it may have been delivered, or not.

    The kit asks :meth:`Wire.find` before it tries again. A wire raises it where a connection breaks
    after the request was written; not for an edit, which may be repeated at will.
    """

"""What a :class:`Wire` raises, and what the kit makes of it. The texts are sentences for the log.

Anything else that a wire raises means: it was not delivered, try again later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookline_hookspecs import HooklineError

from .limits import Kind, Scope

_UNSENT = frozenset(
    [
        *("ConnectError", "ConnectTimeout", "PoolTimeout"),  # httpx
        *("WriteError", "WriteTimeout", "UnsupportedProtocol"),
        *("ClientConnectorError", "InvalidURL"),  # aiohttp
    ]
)
"""What breaks before a request is whole at the other end, by name: none of them is imported."""


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


class Meanings:
    """What a platform's codes, or words, mean: ``Meanings({"Lost": [10008], "Gone": [10003]})``.

    Args:
        table: names of the errors above, and what stands for each; data of a file.
        own: errors of the channel itself, which the table names too.
    """

    def __init__(self, table: Mapping[str, Sequence[int | str]], *own: type[WireError]) -> None:
        all_: list[type[WireError]] = [WireError, *WireError.__subclasses__(), *own]
        kinds = {kind.__name__: kind for kind in all_}
        self._kinds = {code: kinds[name] for name, codes in table.items() for code in codes}

    def of(self, code: int | str) -> type[WireError]:
        """The meaning of a code. One that is not known does not go away by itself: it is
        :class:`Gone`, which ends the reply."""
        return self._kinds.get(code, Gone)

    def within(self, words: str) -> type[WireError]:
        """The meaning of a sentence that holds one of the codes, else :class:`Gone`."""
        told = words.casefold()
        return next((kind for code, kind in self._kinds.items() if str(code) in told), Gone)


def unanswered(platform: str, error: BaseException, *, sends: bool = True) -> WireError:
    """What it means that a request of httpx or aiohttp got no answer: :class:`Unsure` if it may
    have been carried out, unless it ``sends`` nothing. Its text has no address, which may hold a
    token."""
    is_unsent = not _UNSENT.isdisjoint(kind.__name__ for kind in type(error).__mro__)
    reason = getattr(error, "os_error", None) or type(error).__name__
    kind = Unsure if sends and not is_unsent else WireError
    return kind(f"no word from {platform}: {reason}")

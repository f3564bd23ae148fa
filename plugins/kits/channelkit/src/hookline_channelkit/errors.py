"""The errors of a :class:`PlatformClient`, and the kit's reaction to each.

Their texts are sentences for the log. After any other exception, nothing was delivered and the kit
tries again later.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from hookline_hookspecs import HooklineError
from hookline_hookspecs.proxies import proxy_fault

from .limits import Kind, Scope

_NOT_SENT = frozenset(
    [
        *("ConnectError", "ConnectTimeout", "PoolTimeout"),  # httpx
        *("WriteError", "WriteTimeout", "UnsupportedProtocol"),
        *("ClientConnectorError", "InvalidURL"),  # aiohttp
    ]
)
"""Errors that occur before the whole request has arrived, by class name: neither library is
imported for this."""


class PlatformError(HooklineError):
    """Base of the errors below."""


class CannotStart(PlatformError):
    """The channel cannot start. The text is ``PROBLEM; WHAT TO DO``."""


class PermissionDenied(PlatformError):
    """The bot lacks a permission (a scope, an intent, a setting); retrying does not help.

    The text is ``PROBLEM; WHAT TO DO``. It is reported once, in the log and by ``hookline doctor``.
    The action is skipped, and a reply is given up.
    """


class RetryAfter(PlatformError):
    """The platform's rate limit was exceeded; nothing was delivered.

    Args:
        seconds: how long to wait, as the platform's headers say.
        scope: whether the limit applies to this chat or to all of the bot's requests.
        kind: the only kind of request that it applies to; None for every kind.

    Attributes:
        retry_after: seconds to wait; core's outbox respects it.
    """

    def __init__(self, seconds: float, scope: Scope = "chat", kind: Kind | None = None) -> None:
        super().__init__(f"rate limited; retry after {seconds:g} s")
        self.retry_after = max(0.0, seconds)
        self.scope: Scope = scope
        self.kind: Kind | None = kind


class BadMarkup(PlatformError):
    """The platform rejected the markup; the same text is sent as plain text."""


class MessageTooLong(PlatformError):
    """The platform counts the text as too long; it is split into smaller pieces."""


class NotModified(PlatformError):
    """The message already has this text; the edit counts as done."""


class MessageGone(PlatformError):
    """The message to edit is gone or can no longer be edited; a new one is sent."""


class ChatGone(PlatformError):
    """The chat is gone, or the bot may not write there. The reply is given up and logged."""


class DeliveryUnknown(PlatformError):
    """The request was sent, but got no answer: the message may have been delivered.

    The kit asks :meth:`PlatformClient.find_message` before it tries again. A client raises this
    if a connection breaks after the request was written, but not for an edit, which can be repeated
    safely.
    """


class ErrorClassifier:
    """Maps a platform's error codes, or words in its messages, to the errors above.

    ``ErrorClassifier({"MessageGone": [10008], "ChatGone": [10003]})``.

    Args:
        table: names of error classes, and the codes or words for each; usually from a JSON file.
        own: error classes of the channel itself, for use in the table.
    """

    def __init__(self, table: Mapping[str, Sequence[int | str]], *own: type[PlatformError]) -> None:
        classes: list[type[PlatformError]] = [PlatformError, *PlatformError.__subclasses__(), *own]
        by_name = {one.__name__: one for one in classes}
        self._classes = {code: by_name[name] for name, codes in table.items() for code in codes}

    def by_code(self, code: int | str) -> type[PlatformError]:
        """Return the error class of a code.

        An unknown code counts as permanent: :class:`ChatGone`, which gives the reply up.
        """
        return self._classes.get(code, ChatGone)

    def classify(self, message: str) -> type[PlatformError]:
        """Return the error class of a message with one of the words, else :class:`ChatGone`."""
        folded = message.casefold()
        return next((one for code, one in self._classes.items() if str(code) in folded), ChatGone)


def connection_error(platform: str, error: BaseException, *, sends: bool = True) -> PlatformError:
    """Return the error for a request of httpx or aiohttp that got no answer.

    :class:`DeliveryUnknown` if the request may have been executed, unless it ``sends`` nothing.
    The text contains no address, because an address may contain a token.
    """
    was_not_sent = not _NOT_SENT.isdisjoint(one.__name__ for one in type(error).__mro__)
    if was_not_sent and (fault := proxy_fault("https://")):
        return PlatformError(f"no connection to {platform}: {fault}")
    reason = getattr(error, "os_error", None) or type(error).__name__
    error_class = DeliveryUnknown if sends and not was_not_sent else PlatformError
    return error_class(f"no response from {platform}: {reason}")

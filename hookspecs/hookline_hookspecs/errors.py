"""Errors that cross between core, providers and plugins. Their text is a sentence for people."""

from __future__ import annotations


class HooklineError(Exception):
    """Base of the errors below."""


class CommandError(SystemExit):
    """Ends a command of the command line: ``hookline: TEXT`` on stderr, and the exit ``code``, by
    default that of a wrong use."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(code)
        self.text = text


class ProviderError(HooklineError):
    """A model provider could not answer.

    ``kind`` is one of ``auth rate overloaded context bad_request network budget``;
    ``retry_after`` is in seconds where the provider said so.
    """

    kind = "bad_request"

    def __init__(self, text: str, *, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class AuthError(ProviderError):
    """The key is missing, wrong or not allowed to use this model."""

    kind = "auth"


class RateLimited(ProviderError):
    """Too many requests or tokens; ``retry_after`` says when to come back."""

    kind = "rate"


class Overloaded(ProviderError):
    """The provider has no capacity now."""

    kind = "overloaded"


class ContextTooLong(ProviderError):
    """The request is larger than the model's window."""

    kind = "context"


class BadRequest(ProviderError):
    """The provider refused the request as malformed."""

    kind = "bad_request"


class NetworkError(ProviderError):
    """The provider could not be reached, or the stream broke off."""

    kind = "network"


class OverBudget(ProviderError):
    """A plugin that watches the spending has stopped the call (``around_model``)."""

    kind = "budget"


class ToolError(HooklineError):
    """Raised by a tool to fail with a sentence that the model reads after ``Error: ``."""


class StoreError(HooklineError):
    """The store could not read or write (disk full, corrupt, newer than this version)."""


class Refused(HooklineError):
    """A guarded service (files, addresses, a gate) said no; the text says why."""

"""Errors that core, providers and plugins raise to each other. Their text is shown to people."""

from __future__ import annotations


class HooklineError(Exception):
    """Base class of Hookline's errors."""


class ConfigError(HooklineError):
    """The config cannot be used; a command ends with exit code 2.

    The text is one or more sentences, one per line; ``problems`` holds them one by one.
    """

    def __init__(self, *problems: str) -> None:
        super().__init__("\n".join(problems))
        self.problems = problems


class SettingsError(ConfigError):
    """Settings are invalid. If they are a plugin's settings, the plugin stays off."""


class CommandError(SystemExit):
    """Ends a command with ``hookline: TEXT`` on stderr and the exit ``code``, by default 2."""

    def __init__(self, text: str, code: int = 2) -> None:
        super().__init__(code)
        self.text = text


class ProviderError(HooklineError):
    """A model provider could not answer.

    ``kind`` is one of ``auth rate overloaded context bad_request network budget``;
    ``retry_after`` is in seconds, or None if the provider did not say. ``partial`` is the text of
    an interrupted answer, which may have been shown; empty if none was received.
    """

    kind = "bad_request"
    partial = ""

    def __init__(self, text: str, *, retry_after: float | None = None) -> None:
        super().__init__(text)
        self.retry_after = retry_after


class AuthError(ProviderError):
    """The API key is missing, invalid or not allowed to use this model."""

    kind = "auth"


class RateLimited(ProviderError):
    """Too many requests or tokens; ``retry_after`` says when to retry."""

    kind = "rate"


class Overloaded(ProviderError):
    """The provider has no capacity at the moment."""

    kind = "overloaded"


class ContextTooLong(ProviderError):
    """The request exceeds the model's context window."""

    kind = "context"


class BadRequest(ProviderError):
    """The provider refused the request as malformed."""

    kind = "bad_request"


class NetworkError(ProviderError):
    """The provider could not be reached, or the stream was interrupted."""

    kind = "network"


class OverBudget(ProviderError):
    """A plugin that limits spending stopped the call (``around_model``)."""

    kind = "budget"


class ToolError(HooklineError):
    """Raised by a tool to fail; the model reads the sentence after ``Error: ``."""


class StoreError(HooklineError):
    """The store could not be read or written (disk full, corrupt, newer than this version)."""


class Fenced(StoreError):
    """Other processes have declared this one dead and taken over what it owned; it must exit."""


class Refused(HooklineError):
    """A guarded service (files, addresses, a gate) refused; the text says why."""

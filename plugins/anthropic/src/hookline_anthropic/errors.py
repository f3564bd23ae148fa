"""Failures of the SDK and the API as typed errors, each a sentence with what to do."""

from __future__ import annotations

import email.utils
import html
import math
import re
import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
)

if TYPE_CHECKING:
    from anthropic import APIStatusError

DETAIL_LENGTH = 400
"""How much of the API's own words an error repeats."""

_TYPES: Mapping[str, type[ProviderError]] = {
    "authentication_error": AuthError,
    "permission_error": AuthError,
    "billing_error": AuthError,
    "rate_limit_error": RateLimited,
    "overloaded_error": Overloaded,
    "api_error": Overloaded,
    "timeout_error": Overloaded,
    "request_too_large": ContextTooLong,
}
_STATUSES: Mapping[int, type[ProviderError]] = {
    401: AuthError,
    402: AuthError,
    403: AuthError,
    408: Overloaded,
    413: ContextTooLong,
    429: RateLimited,
}
_TOO_LONG = re.compile(r"prompt is too long|exceeds? (the )?context (limit|window)", re.IGNORECASE)
_TITLE = re.compile(r"<title[^>]*>(.*?)</title>", re.IGNORECASE | re.DOTALL)
_TAG = re.compile(r"<(script|style).*?</\1>|<[^>]*>", re.IGNORECASE | re.DOTALL)


class Errors:
    """Makes errors that name this provider. ``name`` is its key in config."""

    def __init__(self, name: str, base_url: str | None) -> None:
        self._name = name
        self._where = f" at {base_url}" if base_url else ""

    def status(self, error: APIStatusError, model: str) -> ProviderError:
        """An error that the API answered with, by status or in the middle of a stream."""
        status = error.status_code
        detail = _detail(error)
        kind = _TYPES.get(error.type or "") or _STATUSES.get(status)
        if kind is None:
            kind = Overloaded if status >= 500 else BadRequest
        if kind is BadRequest and _TOO_LONG.search(detail):
            kind = ContextTooLong
        # A stream that fails midway has status 200, which would only puzzle.
        code = f"HTTP {status}: " if status >= 400 else ""
        text = f"{self._sentence(kind, model, status)} It said: {code}{detail}"
        return kind(text, retry_after=retry_after(error.response.headers))

    def _sentence(self, kind: type[ProviderError], model: str, status: int) -> str:
        name, where = self._name, self._where
        if kind is AuthError:
            return (
                f"{name}{where} refused the key or its use of {model}. Check ANTHROPIC_API_KEY"
                f" or providers.{name}.api_key, and the account's credit."
            )
        if kind is RateLimited:
            return f"{name} allows no more requests for {model} now. Wait, then try again."
        if kind is Overloaded:
            return f"{name}{where} cannot answer for {model} now. Try again in a moment."
        if kind is ContextTooLong:
            return f"The conversation is too long for {model}. Use /compact or start with /new."
        if status == 404:
            return f"{name}{where} does not know {model}. Check the model's name and the base URL."
        return f"{name} refused the request for {model}."

    def connection(self, error: Exception, model: str) -> NetworkError:
        """No connection, or none in time."""
        reason = _reason(error)
        return NetworkError(
            f"{self._name}{self._where} could not be reached for {model} ({reason}). Check the"
            " network and the base URL, then try again."
        )

    def broken(self, error: Exception | None, model: str) -> NetworkError:
        """The answer broke off or could not be read."""
        reason = f" ({_reason(error)})" if error else ""
        return NetworkError(
            f"The answer of {model} from {self._name}{self._where} broke off{reason}. Try again."
        )

    def no_message(self, body: str, model: str) -> BadRequest:
        """An answer that is no message: most likely another server."""
        return BadRequest(
            f"{self._name}{self._where} answered for {model} with something other than a message."
            f" Check the base URL. It said: {_readable(body)}"
        )

    def settings(self, error: Exception) -> BadRequest:
        """The client cannot be made or used with what config says."""
        return BadRequest(
            f"{self._name} cannot be used as configured ({_reason(error)}). Check base_url,"
            f" api_key and headers under providers.{self._name}."
        )

    def no_key(self) -> AuthError:
        """There is nothing to sign in with."""
        return AuthError(
            f"There is no key for {self._name}. Set ANTHROPIC_API_KEY or"
            f" providers.{self._name}.api_key."
        )


def _detail(error: APIStatusError) -> str:
    body: Any = error.body
    if isinstance(body, Mapping):
        inner = body.get("error")
        message = inner.get("message") if isinstance(inner, Mapping) else body.get("message")
        return _readable(str(message or inner or dict(body)))
    return _readable(str(body or error.message))


def _readable(text: str) -> str:
    if text.lstrip().startswith("<"):
        title = _TITLE.search(text)
        text = html.unescape(title[1] if title else _TAG.sub(" ", text))
    text = " ".join(text.split()) or "nothing"
    return text if len(text) <= DETAIL_LENGTH else text[:DETAIL_LENGTH] + "…"


def _reason(error: Exception) -> str:
    cause = error.__cause__ or error
    return _readable(str(cause) or type(cause).__name__)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the headers say, in milliseconds, seconds or a date; None if they do not.

    The same headers that the SDK reads.
    """
    try:
        seconds = float(headers["retry-after-ms"]) / 1000
    except (KeyError, ValueError):
        seconds = _seconds(headers.get("retry-after", ""))
    return seconds if math.isfinite(seconds) and seconds >= 0 else None


def _seconds(value: str) -> float:
    try:
        return float(value)
    except ValueError:
        parsed = email.utils.parsedate_tz(value)
    return max(0.0, email.utils.mktime_tz(parsed) - time.time()) if parsed else math.nan

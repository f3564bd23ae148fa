"""Turns any failure of a request into a ``ProviderError`` with a sentence for people."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs import ProviderError
from hookline_hookspecs.secrets import SecretFilter

from .causes import ERRORS, PROVIDER_SENTENCES, Cause, cause_of, is_context_too_long
from .error_body import error_status, error_text, is_html, retry_after
from .limits import LimitExceeded, StreamStalled


class ErrorInResponse(Exception):
    """An error in the body of a response whose status is a success.

    ``body`` is the error as the server gave it: an object, a text, or anything else.
    """

    def __init__(self, body: Any) -> None:
        super().__init__("the server answered with an error")
        self.body = body


class InvalidRequest(Exception):
    """The address, the key or a header cannot be put into an HTTP request."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the errors of one server.

    Each method takes further fields of its sentence as keywords, such as ``model``.

    Args:
        fields: values for the sentences about this server, such as ``name`` and ``key``.
        secret: the key, which is removed from every sentence.
        sentences: a sentence for each cause; :data:`PROVIDER_SENTENCES` names the fields.
    """

    fields: Mapping[str, str]
    secret: str = field(default="", repr=False)
    sentences: Mapping[Cause, str] = field(default_factory=lambda: PROVIDER_SENTENCES)

    def _redact(self, text: str) -> str:
        return SecretFilter([self.secret]).redacted(text) if self.secret else text

    def failure(self, cause: Cause, detail: Any = "", **fields: str) -> ProviderError:
        """Return the error for a cause; ``detail`` is an error body, a text or an exception."""
        return self._failure(cause, detail, fields)

    def from_status(
        self, status: int, body: Any, headers: Mapping[str, str], **fields: str
    ) -> ProviderError:
        """Return the error for a response of ``status`` 400 or more."""
        detail = error_text(body, self._redact)
        fields = {"status": f"({status}: {detail})" if detail else f"({status})", **fields}
        return self._failure(cause_of(status, body), body, fields, retry_after(headers, body))

    def from_body(self, body: Any, **fields: str) -> ProviderError:
        """Return the error for an error body in a response whose status was a success."""
        if status := error_status(body):
            return self.from_status(status, body, {}, **fields)
        if is_html(body):
            return self.failure(Cause.NO_ANSWER, body, **fields)
        if is_context_too_long(body):
            return self.from_status(400, body, {}, **fields)
        return self.failure(Cause.TRUNCATED, body, **fields)

    @staticmethod
    def loggable_cause(error: Exception) -> Exception | None:
        """Return ``error`` if a log may show it, else None.

        The libraries quote a header that cannot be sent, with the key in it.
        """
        return None if is_invalid_request(error) else error

    def from_exception(self, error: Exception, sdk: Any, **fields: str) -> ProviderError | None:
        """Return the error for an exception; None if neither server nor network caused it.

        Args:
            sdk: the module ``openai`` or ``anthropic``, whose exceptions have the same names.
        """
        import httpx2

        match _find_cause(error, (LimitExceeded, StreamStalled)):
            case LimitExceeded() as exceeded:
                return self.failure(Cause.RESPONSE_TOO_LARGE, exceeded, **fields)
            case StreamStalled():
                return self.failure(Cause.TIMED_OUT, **fields)
        match error:
            case sdk.APIStatusError() if 300 <= error.status_code < 400:
                location = error.response.headers.get("location", "")
                return self.failure(Cause.REDIRECTED, _redirect_host(location), **fields)
            case sdk.APIStatusError() if error.status_code >= 400:
                headers = error.response.headers
                return self.from_status(error.status_code, error.body, headers, **fields)
            case sdk.APITimeoutError() | httpx2.TimeoutException() if not is_lost_connection(error):
                return self.failure(Cause.TIMED_OUT, **fields)
            case sdk.APIConnectionError() if is_invalid_request(error):
                # Its text may quote the header, and with it the key.
                fault = "the address or a header is not valid in HTTP"
                return self.failure(Cause.INVALID_REQUEST, fault, **fields)
            case sdk.APIConnectionError() | httpx2.HTTPError():
                return self.failure(Cause.CONNECTION_LOST, error, **fields)
            case ErrorInResponse():
                return self.from_body(error.body, **fields)
            case sdk.APIError():
                return self.from_body(error.body or error.message, **fields)
            case json.JSONDecodeError() | UnicodeDecodeError():
                return self.failure(Cause.UNREADABLE, error, **fields)
            case InvalidRequest():
                return self.failure(Cause.INVALID_REQUEST, error, **fields)
            case UnicodeEncodeError():
                fault = "the key or a header holds characters that HTTP does not allow"
                return self.failure(Cause.INVALID_REQUEST, fault, **fields)
        return None

    def _failure(
        self, cause: Cause, detail: Any, fields: Mapping[str, str], wait: float | None = None
    ) -> ProviderError:
        if isinstance(detail, BaseException):
            detail = _exception_text(detail)
        text = error_text(detail, self._redact) or "it gave no reason"
        values = {"detail": text, **self.fields, **fields}
        values["when"] = f"in {wait:.0f} s" if wait else "in a minute"
        sentence = self.sentences[cause].format_map(values)
        return ERRORS[cause](self._redact(sentence), retry_after=wait)


def is_invalid_request(error: BaseException) -> bool:
    """Return whether address or headers did not form a valid request."""
    import httpx2

    unusable = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)
    return isinstance(error.__cause__, unusable)


def is_lost_connection(error: BaseException) -> bool:
    """Return whether the connection failed, which the SDKs' aiohttp transport calls a timeout."""
    import aiohttp

    cause = _find_cause(error, (aiohttp.ClientConnectionError,))
    return cause is not None and not isinstance(cause, TimeoutError)


def _find_cause(error: BaseException, kinds: tuple[type[Exception], ...]) -> BaseException | None:
    """Return the first error of ``kinds`` among an error and its causes."""
    for _ in range(8):
        if isinstance(error, kinds):
            return error
        following = error.__cause__ or error.__context__
        if following is None:
            return None
        error = following
    return None


def _redirect_host(location: str) -> str:
    """Return scheme and host of an address; its path and query may hold secrets."""
    try:
        parts = urlsplit(location)
        return (
            f"{parts.scheme}://{parts.hostname}" if parts.hostname else "an address without a host"
        )
    except ValueError:
        return "an unreadable address"


def _exception_text(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__

"""Everything that can go wrong with a request, as a typed error with a sentence for people."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from hookline_hookspecs import ProviderError
from hookline_hookspecs.secrets import SecretFilter

from .causes import ERRORS, Cause, cause_of, is_too_long
from .limits import Exceeded, Stalled
from .reading import is_page, retry_after, status_of, words
from .sentences import PROVIDER


class ServerSaid(Exception):
    """An error in place of an answer, in a response that had begun as a success.

    ``body`` is the error as the server gave it: an object, a text, or anything else.
    """

    def __init__(self, body: Any) -> None:
        super().__init__("the server answered with an error")
        self.body = body


class InvalidRequest(Exception):
    """No HTTP request can be made of the address, the key and the headers."""


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the errors of one server.

    The methods take the fields that their sentence has beside ``fields``, such as ``model``.

    Args:
        fields: what the sentences say of this server, such as its ``name`` and ``key``.
        secret: the key, which is taken out of every sentence.
        sentences: a sentence for each cause that can come; see :mod:`.sentences` for the fields.
    """

    fields: Mapping[str, str]
    secret: str = field(default="", repr=False)
    sentences: Mapping[Cause, str] = field(default_factory=lambda: PROVIDER)

    def _hidden(self, text: str) -> str:
        return SecretFilter([self.secret]).redacted(text) if self.secret else text

    def failure(self, cause: Cause, said: Any = "", **fields: str) -> ProviderError:
        """The error for a cause; ``said`` is an error body, a text or an exception."""
        return self._failure(cause, said, fields)

    def refused(
        self, status: int, body: Any, headers: Mapping[str, str], **fields: str
    ) -> ProviderError:
        """The error for a response of ``status`` 400 or more."""
        said = words(body, self._hidden)
        told = f"({status}{': ' + said if said else ''})"
        fields = {"told": told, **fields}
        return self._failure(cause_of(status, body), body, fields, retry_after(headers))

    def in_stream(self, body: Any, **fields: str) -> ProviderError:
        """The error for what a server sent in place of an answer, or of the rest of one."""
        if status := status_of(body):
            return self.refused(status, body, {}, **fields)
        if is_page(body):
            return self.failure(Cause.NO_ANSWER, body, **fields)
        if is_too_long(body):
            return self.refused(400, body, {}, **fields)
        return self.failure(Cause.BROKEN, body, **fields)

    @contextmanager
    def explaining(self, sdk: Any, **fields: str) -> Iterator[None]:
        """Raise the error of :meth:`explained` in place of an exception; others pass."""
        try:
            yield
        except Exception as error:
            failure = self.explained(error, sdk, **fields)
            if failure is None:
                raise
            raise failure from self.shown_cause(error)

    @staticmethod
    def shown_cause(error: Exception) -> Exception | None:
        """``error`` if a log may show it as the cause of a failure, else None.

        What cannot be sent is quoted by the library, key and all.
        """
        return None if is_unusable(error) else error

    def explained(self, error: Exception, sdk: Any, **fields: str) -> ProviderError | None:
        """The error in place of an exception, or None if it is not the server's or the network's.

        Args:
            sdk: the module ``openai`` or ``anthropic``, whose exceptions have the same names.
        """
        import httpx2

        match _innermost(error, (Exceeded, Stalled)):
            case Exceeded() as exceeded:
                return self.failure(Cause.TOO_MUCH, exceeded, **fields)
            case Stalled():
                return self.failure(Cause.TIMED_OUT, **fields)
        match error:
            case sdk.APIStatusError() if 300 <= error.status_code < 400:
                location = error.response.headers.get("location", "")
                return self.failure(Cause.MOVED, _place(location), **fields)
            case sdk.APIStatusError() if error.status_code >= 400:
                headers = error.response.headers
                return self.refused(error.status_code, error.body, headers, **fields)
            case sdk.APITimeoutError() | httpx2.TimeoutException() if not is_lost(error):
                return self.failure(Cause.TIMED_OUT, **fields)
            case sdk.APIConnectionError() if is_unusable(error):
                # Its text may quote the header, and with it the key.
                fault = "the address or a header is not valid in HTTP"
                return self.failure(Cause.UNUSABLE, fault, **fields)
            case sdk.APIConnectionError() | httpx2.HTTPError():
                return self.failure(Cause.LOST, error, **fields)
            case ServerSaid():
                return self.in_stream(error.body, **fields)
            case sdk.APIError():
                return self.in_stream(error.body or error.message, **fields)
            case json.JSONDecodeError() | UnicodeDecodeError():
                return self.failure(Cause.UNREADABLE, error, **fields)
            case InvalidRequest():
                return self.failure(Cause.UNUSABLE, error, **fields)
            case UnicodeEncodeError():
                fault = "the key or a header holds letters that HTTP cannot carry"
                return self.failure(Cause.UNUSABLE, fault, **fields)
        return None

    def _failure(
        self, cause: Cause, said: Any, fields: Mapping[str, str], wait: float | None = None
    ) -> ProviderError:
        text = words(_reason(said) if isinstance(said, BaseException) else said, self._hidden)
        given = {"said": text or "it gave no reason", **self.fields, **fields}
        given["when"] = f"in {wait:.0f} s" if wait else "in a minute"
        sentence = self.sentences[cause].format_map(given)
        return ERRORS[cause](self._hidden(sentence), retry_after=wait)


def is_unusable(error: BaseException) -> bool:
    """Whether the library could not make a request of the address and the headers."""
    import httpx2

    unusable = (httpx2.LocalProtocolError, httpx2.UnsupportedProtocol)
    return isinstance(error.__cause__, unusable)


def is_lost(error: BaseException) -> bool:
    """Whether the connection failed. The SDKs' aiohttp transport calls that a time-out too."""
    import aiohttp

    cause = _innermost(error, (aiohttp.ClientConnectionError,))
    return cause is not None and not isinstance(cause, TimeoutError)


def _innermost(error: BaseException, kinds: tuple[type[Exception], ...]) -> BaseException | None:
    """The first error of ``kinds`` among an error and what caused it."""
    for _ in range(8):
        if isinstance(error, kinds):
            return error
        following = error.__cause__ or error.__context__
        if following is None:
            return None
        error = following
    return None


def _place(location: str) -> str:
    """Scheme and host of an address; its path and query may hold what nobody should read."""
    try:
        parts = urlsplit(location)
        return f"{parts.scheme}://{parts.hostname}" if parts.hostname else "without a host"
    except ValueError:
        return "which cannot be read"


def _reason(error: BaseException) -> str:
    cause = error.__cause__ or error
    return str(cause) or type(cause).__name__

"""Everything that can go wrong with a request, as an error with a sentence for people."""

from __future__ import annotations

import email.utils
import re
import time
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from importlib import resources
from typing import Any

from hookline_hookspecs import (
    AuthError,
    BadRequest,
    ContextTooLong,
    NetworkError,
    Overloaded,
    ProviderError,
    RateLimited,
)

QUOTED = 400
"""How many characters of a server's own words are told."""

_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_NO_CREDIT = (
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "exceeded your current quota",
    "credit balance",
)
_BAD_KEY = ("invalid_api_key", "incorrect api key", "invalid api key", "api key not valid")
"""What xAI and Google say with status 400."""
_STATUS_OF = {
    "invalid_request_error": 400,
    "invalid_prompt": 400,
    "invalid_api_key": 401,
    "authentication_error": 401,
    "insufficient_quota": 429,
    "rate_limit_exceeded": 429,
    "rate_limit_error": 429,
    "server_error": 500,
    "internal_error": 500,
    "internal_server_error": 500,
    "overloaded": 529,
    "overloaded_error": 529,
}
"""The status that goes with an error's ``code`` or ``type``, for errors that come in a stream."""


class ServerSaid(Exception):
    """An error in place of an answer, in a response that had begun as a success.

    ``body`` is the error as the server gave it: an object, a text, or anything else.
    """

    def __init__(self, body: Any) -> None:
        super().__init__("the server answered with an error")
        self.body = body


@dataclass(frozen=True, slots=True)
class Failures:
    """Makes the errors of one provider.

    ``name`` is the provider's, ``key_env`` the variable that holds its key, if known.
    """

    name: str
    key_env: str = ""

    def refused(
        self, model: str, status: int, body: Any, headers: Mapping[str, str]
    ) -> ProviderError:
        """An error for a response of ``status`` 400 or more."""
        said = words(body)
        told = f"({status}{': ' + said if said else ''})"
        lowered = f"{said} {_codes(body)}".lower()
        if status in (401, 403) or (status == 400 and any(w in lowered for w in _BAD_KEY)):
            return AuthError(self._auth(model, told))
        if status in (402, 429):
            return self._rate(model, told, lowered, retry_after(headers))
        if status == 413 or any(phrase in lowered for phrase in _context_phrases()):
            return ContextTooLong(
                f"The conversation is longer than {model} on {self.name} can read {told}. "
                "Shorten it with /compact, or begin anew with /new."
            )
        if status >= 500:
            return Overloaded(
                f"{self.name} cannot serve {model} at the moment {told}. Try again soon, or "
                "choose another model with /model or `--model`.",
                retry_after=retry_after(headers),
            )
        if status == 408:
            return NetworkError(f"{self.name} gave up waiting for the request to {model} {told}.")
        return BadRequest(self._bad(model, status, told))

    def in_stream(self, model: str, body: Any) -> ProviderError:
        """An error for what a server sent in place of (the rest of) an answer."""
        if status := _status(body):
            return self.refused(model, status, body, {})
        said = words(body)
        if isinstance(body, str) and "<" in body[:200]:
            return BadRequest(
                f"{self.name} answered the request to {model} with a web page and not with JSON "
                f"({said}). Check `providers.{self.name}.base_url`; most servers want /v1 at its "
                "end."
            )
        if any(phrase in f"{said} {_codes(body)}".lower() for phrase in _context_phrases()):
            return self.refused(model, 400, body, {})
        return NetworkError(
            f"{self.name} broke off its answer from {model}: {said or 'it gave no reason'}. "
            "Try again."
        )

    def unreadable(self, model: str, error: Exception) -> NetworkError:
        """An error for bytes that are not what the wire prescribes."""
        return NetworkError(
            f"{self.name} sent something unreadable in its answer from {model} ({error}). "
            "Try again; if it stays, the server is not OpenAI-compatible."
        )

    def timed_out(self, model: str) -> NetworkError:
        """An error for an answer that did not come in time."""
        return NetworkError(
            f"{self.name} did not answer for {model} in time. Try again, or raise "
            f"`providers.{self.name}.timeout` (seconds)."
        )

    def lost(self, model: str, host: str, error: BaseException) -> NetworkError:
        """An error for a connection that failed or broke off."""
        cause = str(error.__cause__ or error) or type(error).__name__
        return NetworkError(
            f"The connection to {self.name} ({host}) failed while asking {model}: {cause}. Check "
            f"the network and `providers.{self.name}.base_url`, then try again."
        )

    def unusable(self, fault: str) -> BadRequest:
        """An error for settings that no request can be made of."""
        return BadRequest(
            f"No request can be sent to {self.name}: {fault}. Check `base_url`, `api_key` and "
            f"`headers` under `providers.{self.name}`."
        )

    def _auth(self, model: str, told: str) -> str:
        key = f"{self.key_env} or " if self.key_env else ""
        return (
            f"{self.name} refused the key for {model} {told}. Set {key}"
            f"`providers.{self.name}.api_key` to a key that may use this model."
        )

    def _rate(self, model: str, told: str, lowered: str, wait: float | None) -> RateLimited:
        if told.startswith("(402") or any(word in lowered for word in _NO_CREDIT):
            text = (
                f"The account at {self.name} has no credit left for {model} {told}. Add credit "
                "or raise its limit with the provider, or choose another model with /model."
            )
        else:
            when = f"in {wait:.0f} s" if wait else "in a minute"
            text = f"{self.name} takes no more requests for {model} now {told}. Try again {when}."
        return RateLimited(text, retry_after=wait)

    def _bad(self, model: str, status: int, told: str) -> str:
        if status in (404, 405):
            return (
                f"{self.name} does not know {model}, or the address is wrong {told}. Check "
                f"`model` and `providers.{self.name}.base_url`."
            )
        return f"{self.name} refused the request to {model} {told}."


def words(body: Any) -> str:
    """A server's own words out of any shape of error body, in one line of bounded length."""
    text = _text(body)
    if text.lstrip()[:1] == "<":
        title = _TITLE.search(text)
        text = f"a web page, {title[1].strip()!r}" if title else "a web page"
    text = " ".join(text.split()).rstrip(".")
    return text if len(text) <= QUOTED else text[:QUOTED] + "…"


def _text(body: Any) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, Mapping):
        for key in ("message", "error", "detail", "msg", "error_description"):
            if found := _text(body.get(key)):
                return found
        return _codes(body)
    if isinstance(body, list):
        return "; ".join(filter(None, map(_text, body[:3])))
    return ""


def _codes(body: Any) -> str:
    if not isinstance(body, Mapping):
        return ""
    return " ".join(str(body[key]) for key in ("code", "type") if body.get(key))


def _status(body: Any) -> int:
    """The status that an error body amounts to, 0 if it does not say."""
    if not isinstance(body, Mapping):
        return 0
    for key in ("code", "status", "type"):
        value = str(body.get(key) or "")
        if value.isdecimal() and 400 <= int(value) < 600:
            return int(value)
        if value in _STATUS_OF:
            return _STATUS_OF[value]
    return 0


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait according to ``retry-after-ms`` or ``retry-after`` (seconds or a date)."""
    for name, unit in (("retry-after-ms", 1000.0), ("retry-after", 1.0)):
        try:
            seconds = float(headers.get(name, "")) / unit
        except ValueError:
            continue
        return seconds if 0 <= seconds < float("inf") else None
    try:
        date = email.utils.parsedate_to_datetime(headers.get("retry-after", ""))
        return max(0.0, date.timestamp() - time.time())
    except (TypeError, ValueError, OverflowError, OSError):
        return None


@cache
def _context_phrases() -> tuple[str, ...]:
    text = (resources.files(__package__) / "context_phrases.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))

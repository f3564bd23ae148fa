"""What went wrong with a request, and the error of ``hookline_hookspecs`` that it is."""

from __future__ import annotations

from enum import Enum
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

from .reading import codes, words

_NO_CREDIT = (
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "exceeded your current quota",
    "credit balance",
)
_BAD_KEY = ("invalid_api_key", "incorrect api key", "invalid api key", "api key not valid")
"""What xAI and Google say with status 400."""
_CONTENT = ("moderation", "content_policy", "content_filter", "safety system")


class Cause(Enum):
    """Why a request failed; each is the name of a sentence."""

    NO_KEY = "there is no key"
    BAD_KEY = "the server refuses the key, or the key may not use the model"
    NO_CREDIT = "the account has no credit left"
    TOO_MANY = "more requests or tokens than the account may send now"
    TOO_LONG = "the request is larger than the model or the server takes"
    OVERLOADED = "the server has a fault or no capacity"
    CONTENT = "the server refuses what is asked or shown"
    UNKNOWN = "the server does not know the model or the address"
    REFUSED = "the server refuses the request for another reason"
    GAVE_UP = "the server gave up waiting for the request"
    TIMED_OUT = "no answer came in time"
    LOST = "no connection, or one that broke off"
    BROKEN = "the answer ended before its end"
    UNREADABLE = "the answer is not what the wire prescribes"
    NO_ANSWER = "a success that holds no answer, such as a web page"
    UNUSABLE = "no request can be made of the settings"
    MOVED = "the server sends the request elsewhere, where the key must not go"
    TOO_MUCH = "the answer is larger than any that is taken, or cannot be unpacked"


ERRORS: dict[Cause, type[ProviderError]] = {
    Cause.NO_KEY: AuthError,
    Cause.BAD_KEY: AuthError,
    Cause.NO_CREDIT: RateLimited,
    Cause.TOO_MANY: RateLimited,
    Cause.TOO_LONG: ContextTooLong,
    Cause.OVERLOADED: Overloaded,
    Cause.CONTENT: BadRequest,
    Cause.UNKNOWN: BadRequest,
    Cause.REFUSED: BadRequest,
    Cause.GAVE_UP: NetworkError,
    Cause.TIMED_OUT: NetworkError,
    Cause.LOST: NetworkError,
    Cause.BROKEN: NetworkError,
    Cause.UNREADABLE: NetworkError,
    Cause.NO_ANSWER: BadRequest,
    Cause.UNUSABLE: BadRequest,
    Cause.MOVED: BadRequest,
    Cause.TOO_MUCH: NetworkError,
}


def cause_of(status: int, body: Any) -> Cause:
    """Why a server answered with ``status``, 400 or more, and ``body``."""
    said = f"{words(body)} {codes(body)}".lower()
    if status in (401, 403) or (status == 400 and _says(said, _BAD_KEY)):
        return Cause.BAD_KEY
    if status == 402 or (status in (400, 429) and _says(said, _NO_CREDIT)):
        return Cause.NO_CREDIT
    if status == 429:
        return Cause.TOO_MANY
    if status == 413 or is_too_long(body):
        return Cause.TOO_LONG
    if status >= 500:
        return Cause.OVERLOADED
    if status == 408:
        return Cause.GAVE_UP
    if _says(said, _CONTENT):
        return Cause.CONTENT
    return Cause.UNKNOWN if status in (404, 405) else Cause.REFUSED


def is_too_long(body: Any) -> bool:
    """Whether a server says that a request is larger than the model's window."""
    return _says(f"{words(body)} {codes(body)}".lower(), _context_phrases())


def _says(said: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in said for phrase in phrases)


@cache
def _context_phrases() -> tuple[str, ...]:
    text = (resources.files(__package__) / "context_phrases.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))

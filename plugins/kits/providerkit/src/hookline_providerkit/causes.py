"""Why a request failed: the causes, their error classes and their sentences."""

from __future__ import annotations

import re
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

from .error_body import error_codes, error_text

_NO_CREDIT_PHRASES = (
    "insufficient_quota",
    "insufficient balance",
    "insufficient credits",
    "exceeded your current quota",
    "credit balance",
)
_BAD_KEY_PHRASES = ("invalid_api_key", "incorrect api key", "invalid api key", "api key not valid")
"""Texts of xAI and Google for a bad key, which they answer with status 400."""
_CONTENT_PHRASES = (
    "moderation",
    "content_policy",
    "content_filter",
    "content filter",
    "safety system",
    "data_inspection_failed",
    "inappropriate content",
    "new_sensitive",
    "敏感",
)
"""OpenAI and Azure, DashScope, MiniMax, and Chinese servers ("sensitive")."""


_CONTEXT = re.compile(
    r"context|n_ctx|kv cache|position_embeddings|sequence length|kontext|kontekst|contesto|контекст"
    r"|bağlam|ngữ cảnh|บริบท|السياق|上下文|コンテキスト|컨텍스트",
    re.IGNORECASE,
)
_PROMPT = re.compile(
    r"prompt(?!_cache)|input(?!\[|\.\w| should)|\btokens?\b|токен|トークン|토큰"
    r"|输入|輸入|提示词|提示詞|入力|입력",
    re.IGNORECASE,
)
"""Words for what is sent, but not the fields ``input[3].id`` and ``prompt_cache_key``, and not
"Input should be …", with which a server complains about any field."""
_EXCESS = re.compile(
    r"too (?:long|large|many)|exceed|(?:long|great|larg)er than|> ?max|overflow|is full"
    r"|less than|<="
    r"|not fit|no(?: free)? space|find free space|only supports? \d|max(?:imum)? (?:input|prompt)"
    r"|te lang|för lång|for lang|depăș|vượt|เกิน|تجاوز|перевищ"
    r"|>=? *(?:n_ctx|\d)|zu lang|überschr|demasiado larg|muito long|exced|supera|dépass|trop long"
    r"|troppo lung|превы|слишком длин|przekr|zu groß|aşıyor|aştı|超过|超過|超出|超长|超長|过长"
    r"|過長|超限|超え|초과",
    re.IGNORECASE,
)
_OTHER_LIMIT = re.compile(
    r"per[ -](?:min|day|hour)|\btp[md]\b|rate.?limit|quota|credit|balance|image|picture|\btools?\b",
    re.IGNORECASE,
)
_LONG_MESSAGE = re.compile(
    r"(?:messages?|input)\[\d+\]\.content\S*: string too long", re.IGNORECASE
)
_OUTPUT = re.compile(
    r"max_(?:completion_|output_)?tokens|completion tokens|output tokens", re.IGNORECASE
)


class Cause(Enum):
    """Why a request failed. Each has an error class in :data:`ERRORS` and a sentence."""

    NO_KEY = "no key is set"
    BAD_KEY = "the server refuses the key, or the key may not use the model"
    NO_CREDIT = "the account has no credit left"
    RATE_LIMITED = "more requests or tokens than the account may send now"
    CONTEXT_TOO_LONG = "the request is larger than the model or the server accepts"
    OVERLOADED = "the server failed or has no capacity"
    CONTENT_REFUSED = "a content policy or moderation refuses the request"
    NOT_FOUND = "the server does not know the model or the address"
    BAD_REQUEST = "the server refuses the request for another reason"
    SERVER_TIMEOUT = "the server stopped waiting for the request"
    TIMED_OUT = "no response came in time"
    CONNECTION_LOST = "no connection, or one that broke off"
    PROXY_LOGIN = "the proxy on the way requires a login"
    BAD_PROXY = "the environment names a proxy whose address cannot be used"
    TRUNCATED = "the response ended too early"
    UNREADABLE = "the response is not in the format of the API"
    NO_ANSWER = "a success that holds no answer, such as a web page"
    INVALID_REQUEST = "no HTTP request can be made of the settings"
    REDIRECTED = "the server redirects to another address, where the key must not go"
    RESPONSE_TOO_LARGE = "the response exceeds a limit, or cannot be decompressed"


ERRORS: dict[Cause, type[ProviderError]] = {
    Cause.NO_KEY: AuthError,
    Cause.BAD_KEY: AuthError,
    Cause.NO_CREDIT: RateLimited,
    Cause.RATE_LIMITED: RateLimited,
    Cause.CONTEXT_TOO_LONG: ContextTooLong,
    Cause.OVERLOADED: Overloaded,
    Cause.CONTENT_REFUSED: BadRequest,
    Cause.NOT_FOUND: BadRequest,
    Cause.BAD_REQUEST: BadRequest,
    Cause.SERVER_TIMEOUT: NetworkError,
    Cause.TIMED_OUT: NetworkError,
    Cause.CONNECTION_LOST: NetworkError,
    Cause.PROXY_LOGIN: NetworkError,
    Cause.BAD_PROXY: BadRequest,
    Cause.TRUNCATED: NetworkError,
    Cause.UNREADABLE: NetworkError,
    Cause.NO_ANSWER: BadRequest,
    Cause.INVALID_REQUEST: BadRequest,
    Cause.REDIRECTED: BadRequest,
    Cause.RESPONSE_TOO_LARGE: NetworkError,
}

PROVIDER_SENTENCES: dict[Cause, str] = {
    Cause.NO_KEY: "No API key for {name}. Set {key}.",
    Cause.BAD_KEY: (
        "{name} refused the key for {model} {status}. Set {key} to a key that may use this model."
    ),
    Cause.NO_CREDIT: (
        "The account at {name} has no credit left for {model} {status}. Add credit or raise its "
        "limit with the provider, or choose another model with /model."
    ),
    Cause.RATE_LIMITED: (
        "{name} accepts no more requests for {model} now {status}. Try again {when} with /retry."
    ),
    Cause.CONTEXT_TOO_LONG: (
        "The conversation is longer than {model} on {name} can read {status}. Shorten it with "
        "/compact, or start over with /new."
    ),
    Cause.OVERLOADED: (
        "{name} cannot serve {model} at the moment {status}. /retry tries again; /model or "
        "`--model` chooses another model."
    ),
    Cause.CONTENT_REFUSED: "{name} refused the content of the request to {model} {status}.",
    Cause.NOT_FOUND: (
        "{name} does not know {model}, or the address is wrong {status}. Check `model` and "
        "`providers.{name}.base_url`."
    ),
    Cause.BAD_REQUEST: (
        "{name} refused the request to {model} {status}. If it refuses the next one too, something "
        "in the history may be the cause: /undo removes the last turn, /compact shortens the rest."
    ),
    Cause.SERVER_TIMEOUT: (
        "{name} stopped waiting for the request to {model} {status}. Try again with /retry."
    ),
    Cause.TIMED_OUT: (
        "{name} did not answer for {model} in time. Try again with /retry, or raise "
        "`providers.{name}.timeout` and `total_timeout` (both in seconds)."
    ),
    Cause.PROXY_LOGIN: (
        "The proxy on the way to {name} ({host}) requires a login {status}. Write user and "
        "password into its address (http://USER:PASSWORD@HOST:PORT), or name the server in "
        "NO_PROXY."
    ),
    Cause.BAD_PROXY: "No request can be sent to {name}: {detail}.",
    Cause.CONNECTION_LOST: (
        "The connection to {name} ({host}) failed while requesting {model}: {detail}. Check the "
        "network and `providers.{name}.base_url`, then try again with /retry."
    ),
    Cause.TRUNCATED: (
        "The response of {model} from {name} broke off: {detail}. Try again with /retry."
    ),
    Cause.UNREADABLE: (
        "{name} sent an unreadable response for {model} ({detail}). Try again with /retry. If it "
        "happens again, check `providers.{name}.base_url`: the server may not speak this API."
    ),
    Cause.NO_ANSWER: (
        "{name} answered the request to {model} with something other than a message "
        "({detail}). Check `providers.{name}.base_url`."
    ),
    Cause.REDIRECTED: (
        "{name} redirects the request to {model} to another address ({detail}). Redirects are not "
        "followed, so that the key is sent nowhere else. If that address is right, set it as "
        "`providers.{name}.base_url`."
    ),
    Cause.RESPONSE_TOO_LARGE: (
        "Hookline rejected the response of {model} from {name}: {detail}. Try again with "
        "/retry. If it happens again, check `providers.{name}.base_url` or choose another model "
        "with /model."
    ),
    Cause.INVALID_REQUEST: (
        "No request can be sent to {name}: {detail}. Check `base_url`, `api_key` and `headers` "
        "under `providers.{name}`."
    ),
}
"""The sentences of the model providers.

The fields are ``name`` of the provider, ``model``, ``host``, ``key`` (where to set one), ``status``
(the HTTP status and the server's words, in brackets), ``detail`` (the server's words, or what went
wrong) and ``when`` to try again.
"""


def cause_of(status: int, body: Any) -> Cause:
    """Return why a server answered with ``status``, 400 or more, and ``body``."""
    text = f"{error_text(body)} {error_codes(body)}".lower()
    if status in (401, 403) or (status == 400 and _contains(text, _BAD_KEY_PHRASES)):
        return Cause.BAD_KEY
    if status == 402 or (status in (400, 429) and _contains(text, _NO_CREDIT_PHRASES)):
        return Cause.NO_CREDIT
    if status == 429:
        return Cause.RATE_LIMITED
    if status == 413 or is_context_too_long(body):
        return Cause.CONTEXT_TOO_LONG
    if status >= 500:
        return Cause.OVERLOADED
    if status == 407:
        return Cause.PROXY_LOGIN
    if status == 408:
        return Cause.SERVER_TIMEOUT
    if _contains(text, _CONTENT_PHRASES):
        return Cause.CONTENT_REFUSED
    return Cause.NOT_FOUND if status in (404, 405) else Cause.BAD_REQUEST


def is_context_too_long(body: Any) -> bool:
    """Return whether an error says that the request is larger than the model's window."""
    text = f"{error_text(body)} {error_codes(body)}"
    if _contains(text.lower(), _context_phrases()) or _LONG_MESSAGE.search(text):
        return True
    if not _EXCESS.search(text) or _OTHER_LIMIT.search(text):
        return False
    return bool(_CONTEXT.search(text) or (_PROMPT.search(text) and not _OUTPUT.search(text)))


def _contains(text: str, phrases: tuple[str, ...]) -> bool:
    return any(phrase in text for phrase in phrases)


@cache
def _context_phrases() -> tuple[str, ...]:
    text = (resources.files(__package__) / "context_phrases.txt").read_text(encoding="utf-8")
    return tuple(line for line in text.splitlines() if line and not line.startswith("#"))

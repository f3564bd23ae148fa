"""Everything that can go wrong with a service, as an error with a sentence for people.

:func:`failure` turns the SDK's exceptions into those of ``hookline_hookspecs``; :func:`words` takes
a server's own words out of any shape of answer.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from hookline_hookspecs import (
    AuthError,
    BadRequest,
    HooklineError,
    NetworkError,
    Overloaded,
    RateLimited,
)

from .endpoints import Endpoint

QUOTED = 300
"""How many characters of a server's own words are told."""

_TITLE = re.compile(r"<title[^>]*>([^<]*)", re.IGNORECASE)
_REFUSED_CONTENT = ("moderation", "content_policy", "content_filter", "safety system")
_NO_CREDIT = ("insufficient_quota", "exceeded your current quota", "credit", "billing")


def failure(error: Exception, at: Endpoint) -> HooklineError | None:
    """The error to raise in place of the SDK's ``error``, or None if it is none of its own."""
    import openai

    if isinstance(error, openai.APITimeoutError | TimeoutError):
        return timed_out(at)
    if isinstance(error, openai.APIStatusError):
        return _status(error.status_code, error.body, at)
    if isinstance(error, openai.APIConnectionError):
        cause = str(error.__cause__ or error) or type(error).__name__
        return NetworkError(
            f"The connection to the {at.service} service ({at.base_url}) failed: "
            f"{safe(cause, at)}. Check the network and {at.setting}.base_url."
        )
    if isinstance(error, openai.OpenAIError):
        return BadRequest(f"The {at.service} service cannot be asked: {safe(str(error), at)}.")
    return None


def timed_out(at: Endpoint) -> NetworkError:
    """The service took too long."""
    return NetworkError(
        f"The {at.service} service did not answer in time. Try again, or have "
        "plugins.multimedia.timeout (seconds) raised."
    )


def no_answer(what: str, said: bytes, at: Endpoint) -> BadRequest:
    """The service answered with success, but not with ``what`` was asked for."""
    return BadRequest(
        f"The {at.service} service answered without {what}: {words(said, at) or 'nothing'}. "
        f"Check {at.setting}.base_url; most servers want /v1 at its end."
    )


def _status(status: int, body: Any, at: Endpoint) -> HooklineError:
    said = words(body, at)
    told = f"({status}{': ' + said if said else ''})"
    lowered = f"{said} {_codes(body)}".lower()
    if status in (401, 403):
        return AuthError(
            f"The {at.service} service refused the key {told}. Set {at.setting}.api_key, or "
            "plugins.multimedia.api_key, to one that may use it."
        )
    if any(word in lowered for word in _REFUSED_CONTENT):
        return BadRequest(f"The {at.service} service refused the content {told}. Say it otherwise.")
    if status in (402, 429):
        if status == 402 or any(word in lowered for word in _NO_CREDIT):
            return RateLimited(f"The account of the {at.service} service has no credit {told}.")
        return RateLimited(
            f"The {at.service} service takes no more requests now {told}. Try again in a minute."
        )
    if status == 413:
        return BadRequest(f"That is too large for the {at.service} service {told}.")
    if status == 408:
        return timed_out(at)
    if status >= 500:
        return Overloaded(
            f"The {at.service} service is out of order {told}. Try again in a few minutes."
        )
    if status in (404, 405):
        return BadRequest(
            f"The {at.service} service does not know the model {at.model}, or its address is wrong "
            f"{told}. Check {at.setting}.model and base_url."
        )
    return BadRequest(f"The {at.service} service refused the request {told}.")


def words(body: Any, at: Endpoint) -> str:
    """A server's own words out of any shape of body, in one line, without the key."""
    if isinstance(body, bytes):
        text = body[:20_000].decode("utf-8", "replace")
        try:
            body = json.loads(text)
        except (ValueError, RecursionError):
            body = text
    text = _text(body)
    if text.lstrip()[:1] == "<":
        title = _TITLE.search(text)
        text = f"a web page, '{' '.join(title[1].split())}'" if title else "a web page"
    return safe(text, at)


def safe(text: str, at: Endpoint) -> str:
    """``text`` in one printable line of bounded length; the key is taken out."""
    if len(at.api_key) > 4:
        text = text.replace(at.api_key, "…")
    line = " ".join(text.split()).rstrip(".")
    line = "".join(letter for letter in line if letter.isprintable())
    return line if len(line) <= QUOTED else line[:QUOTED] + "…"


def _text(body: Any) -> str:
    if isinstance(body, str):
        return body
    if isinstance(body, Mapping):
        for key in ("message", "error", "detail", "msg"):
            if found := _text(body.get(key)):
                return found
        return _codes(body)
    if isinstance(body, list):
        return "; ".join(filter(None, map(_text, body[:3])))
    return ""


def _codes(body: Any) -> str:
    if not isinstance(body, Mapping):
        return ""
    inner = body.get("error")
    codes = [str(body[key]) for key in ("code", "type") if body.get(key)]
    return " ".join([*codes, _codes(inner)]).strip()

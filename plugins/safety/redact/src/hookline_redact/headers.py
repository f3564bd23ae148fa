"""Authorization headers of any scheme, bearer tokens, and passwords for curl and sshpass."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cache
from importlib.resources import files

import yaml

from .secret_references import is_reference
from .spans import Span
from .text_view import TextView

MAX_HEADER_CHARS = 8_192
"""Longest value of a header; servers accept 8 KB."""
_SIGN = re.compile(
    r"(?P<close>\\?[\"'`]|\*{1,2})?[ \t]{0,4}(?:\]|\))?[ \t]{0,4}(?:=>|[:=,])(?:\*{1,2})"
    r"?[ \t]{0,8}(?P<open>[fbr]?\\?[\"'`])?"
)
_SCHEME = re.compile(r"(?P<name>[A-Za-z][A-Za-z0-9_-]{1,40})[ \t]{1,4}(?=\S)")
_WORD = re.compile(r"[^\s\"'`,;<>]{1,4096}")
_PARAMETERS = re.compile(r"[A-Za-z][\w-]{0,40} ?= ?[\"'\w%+/.-]")
_BEARER = re.compile(
    r"bearer[ \t]{1,4}(?=[A-Za-z0-9._~+/-]{0,60}\d)(?P<token>[A-Za-z0-9._~+/-]{16,4096}={0,2})"
)
_SSHPASS = re.compile(r"\bsshpass[ \t]{1,4}-p[ \t]{0,4}[\"']?([^\s\"']{1,200})")
_CURL = re.compile(
    r"\s(?:-u|--user|--proxy-user|-U)(?:[ =]{1,2})?[\"']?(?P<name>[^\s:\"']{1,100})"
    r":(?P<secret>[^\s\"']{1,200})"
)


def find_headers(view: TextView) -> Iterator[Span]:
    """Find credentials, without the name of their scheme."""
    text, lower = view.text, view.lower
    at = lower.find("authorization")
    while at >= 0:
        span = _credentials(text, at, at + 13)
        if span is not None:
            yield span
        at = lower.find("authorization", at + 13)
    at = lower.find("bearer")
    while at >= 0:
        found = _BEARER.match(lower, at)
        if found is not None and not is_reference(text[slice(*found.span("token"))]):
            yield Span(*found.span("token"), "token")
        at = lower.find("bearer", at + 6)
    yield from _find_command_passwords(text)


def _credentials(text: str, start: int, end: int) -> Span | None:
    sign = _SIGN.match(text, end)
    if sign is None:
        return None
    begin = sign.end()
    close = _region_end(text, start, sign)
    scheme = _SCHEME.match(text, begin, close)
    if scheme is None:
        return _without_scheme(text, begin, close, closed=sign["open"] is not None)
    known = scheme["name"].lower() in _known_schemes()
    word = _WORD.match(text, scheme.end(), close)
    if word is None or is_reference(word[0]):
        return None
    if _PARAMETERS.match(text, scheme.end(), close):
        return Span(scheme.end(), _trim_end(text, scheme.end(), close), "token")
    ends = not text[word.end() : close].strip(" \t\r\\.,;)")
    quoted = sign["open"] is not None or text[start - 1 : start] in ("'", '"', "`")
    if _is_plain(word[0]) and not (known and ends):
        return None
    if not known and not (ends or quoted or any(char.isdigit() for char in word[0])):
        return None
    if (
        known
        and ends
        and word[0].lower() in ("token", "auth", "authentication", "credentials", "realm")
    ):
        return None
    last = close if quoted and not known else word.end()
    return Span(scheme.end(), _trim_end(text, scheme.end(), last), "token")


def _region_end(text: str, start: int, sign: re.Match[str]) -> int:
    """The end of the header's value: its quote, that of the whole header, or the line end."""
    begin = sign.end()
    quote = None
    if sign["open"]:
        quote = sign["open"].lstrip("fbr")
    elif not sign["close"] and start and text[start - 1] in "\"'`":
        quote = text[start - 1]
    elif not sign["close"]:
        front = re.search(r"[\"'](?:Proxy-)?\Z", text[max(0, start - 8) : start], re.I)
        quote = front[0][0] if front else None
    line = text.find("\n", begin, begin + MAX_HEADER_CHARS)
    line = line if line >= 0 else min(len(text), begin + MAX_HEADER_CHARS)
    escaped = re.compile(r"\\[rn]").search(text, begin, line)
    line = escaped.start() if escaped else line
    if quote is None:
        return line
    close = re.compile(rf"(?<!\\){re.escape(quote)}").search(text, begin, line)
    return close.start() if close else line


def _without_scheme(text: str, begin: int, close: int, *, closed: bool) -> Span | None:
    """Credentials without a scheme: one word that is not part of a sentence."""
    word = _WORD.match(text, begin, close)
    if word is None or is_reference(word[0]):
        return None
    ends = not text[word.end() : close].strip(" \t\r\\.,;)")
    has_digit = any(char.isdigit() for char in word[0])
    if ((ends or closed) and not _is_plain(word[0])) or (has_digit and len(word[0]) >= 8):
        return Span(begin, _trim_end(text, begin, word.end()), "token")
    return None


def _is_plain(word: str) -> bool:
    """Whether this may be a word of a sentence."""
    return word.strip(".,;:()").isalpha() and len(word) < 20


def _trim_end(text: str, start: int, end: int) -> int:
    while end > start + 1 and text[end - 1] in " \t\r.,;)\\'\"`":
        end -= 1
    return end


def _find_command_passwords(text: str) -> Iterator[Span]:
    for found in _SSHPASS.finditer(text) if "sshpass" in text else ():
        if not is_reference(found[1]):
            yield Span(*found.span(1), "token")
    at = text.find("curl")
    while at >= 0:
        line = text.find("\n", at)
        while line > 0 and text[line - 1] == "\\":
            line = text.find("\n", line + 1)
        end = min(line if line >= 0 else len(text), at + 2_000)
        for found in _CURL.finditer(text, at, end):
            secret = found["secret"]
            if (not secret.isdigit() and not is_reference(secret)) or len(secret) > 5:
                yield Span(*found.span("secret"), "token")
        at = text.find("curl", max(end, at + 4))


@cache
def _known_schemes() -> frozenset[str]:
    data = yaml.load(
        (files(__package__) / "headers.yaml").read_text("utf-8"), Loader=yaml.CSafeLoader
    )
    return frozenset(data["schemes"].split())
